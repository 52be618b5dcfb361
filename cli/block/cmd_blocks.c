// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens blocks: list the basic blocks of functions of the kernel or of a program, and where each
 * can be instrumented, from the running kernel's text or the program's file. The library decodes
 * the text; the module is not needed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "page.h"
#include "print.h"
#include "server.h"

enum {
	KEY_ASM = CLI_KEY_OWN,
	KEY_DOT,
	KEY_HTML,
	KEY_COUNTS,
	KEY_SERVE,
	KEY_SURVEY,
	KEY_CORE,
	KEY_SYMBOLS,
	KEY_DEBUG,
};

static const struct cli_option options[] = {
	{ KEY_ASM, "asm", NULL, "also show the instructions" },
	{ KEY_DOT, "dot", NULL, "write the graph for graphviz" },
	{ KEY_HTML, "html", "FILE", "write the graph as a page for the browser" },
	{ KEY_COUNTS, "counts", "FILE", "with --html: --json result of count, path or coverage" },
	{ KEY_SERVE, "serve", "[=PORT]",
	  "serve the page to a browser here, which can instrument blocks" },
	{ KEY_SURVEY, "survey", NULL, "summarize the whole kernel instead" },
	{ KEY_CORE, "core", "FILE", "kernel memory image (/proc/kcore)" },
	{ KEY_SYMBOLS, "symbols", "FILE", "kernel symbols (/proc/kallsyms)" },
	{ KEY_DEBUG, "debug", "PATH", "file or directory with kernel debug information" },
	{},
};

struct options {
	const char *core;
	const char *symbols;
	const char *debug;
	const char *html;
	const char *counts;
	bool instructions;
	bool dot;
	bool survey;
	bool serve;
	uint64_t port;
};

struct printer {
	struct kl_blocks *blocks; /* the kernel's, opened on demand, or those of @program */
	struct kl_blocks *kernel;
	struct kl_symbols *symbols;
	struct kl_program *program; /* program whose functions are printed, or NULL */
	struct cli_source source; /* source lines of @blocks */
	const char *name; /* the function's name, if it has several or shares one */
	json_t *list;
	struct kl_buffer text;
	const struct options *options;
};

/* ------------------------------------------------------------------ a function */

/*
 * Describe a point in one word: its tier, the offset and length of its patch site, and the edge if
 * the site is on the only edge to the block; or why there is none.
 */
static const char *point_word(const struct printer *p, const struct kl_block_point *point,
			      char text[64])
{
	if (point->tier == KL_TIER_NONE)
		snprintf(text, 64, "no: %s", kl_block_reason_name(point->reason));
	else if (p->program)
		snprintf(text, 64, "uprobe +0x%x", point->begin);
	else
		snprintf(text, 64, "%s +0x%x,%u%s%s", kl_block_tier_name(point->tier), point->begin,
			 point->bytes, point->edge ? " " : "",
			 point->edge ? kl_block_edge_name(point->edge) : "");
	return text;
}

static void print_text(struct printer *p, const struct kl_block_graph *g)
{
	char pre[64], post[64], next[CLI_BLOCK_WORD_MAX], taken[CLI_BLOCK_WORD_MAX];
	char where[CLI_SOURCE_MAX];

	cli_print_function(g, p->name, p->program ? "cannot be probed" : "cannot be instrumented",
			   &p->text);
	kl_buffer_printf(&p->text, "%5s  %-8s %5s %5s  %-6s  %5s %5s  %-24s %-*s%s\n", "block",
			 "offset", "bytes", "instr", "ends", "next", "taken", "before",
			 p->source.graph ? 17 : 0, "after", p->source.graph ? " source" : "");
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];

		kl_buffer_printf(&p->text, "%5u  +0x%-5x %5u %5u  %-6s  %5s %5s  %-24s %-*s%s\n", i,
				 block->begin, block->bytes, block->n,
				 kl_block_end_name(block->end), cli_block_word(block->next, next),
				 cli_block_taken(g, i, taken), point_word(p, &block->pre, pre),
				 p->source.graph ? 17 : 0, point_word(p, &block->post, post),
				 cli_source_text(&p->source, block, where));
		if (p->options->instructions)
			cli_print_instructions(p->blocks, g, block, &p->source, &p->text);
	}
}

static void print_dot(struct printer *p, const struct kl_block_graph *g)
{
	char where[CLI_SOURCE_MAX];

	kl_buffer_printf(&p->text, "digraph \"%s\" {\n\tnode [shape=box fontname=monospace];\n",
			 p->name);
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];

		kl_buffer_printf(&p->text, "\tb%u [label=\"%u +0x%x%s\\l", i, i, block->begin,
				 cli_source_text(&p->source, block, where));
		for (uint32_t k = block->first;
		     p->options->instructions && k < block->first + block->n; k++) {
			kl_block_print_instruction(p->blocks, g, k, &p->text);
			kl_buffer_add_string(&p->text, "\\l");
		}
		kl_buffer_printf(&p->text, "\"%s];\n",
				 block->pre.tier == KL_TIER_NONE ? " style=dashed" : "");
		if (block->next != UINT32_MAX)
			kl_buffer_printf(&p->text, "\tb%u -> b%u;\n", i, block->next);
		if (block->taken != UINT32_MAX)
			kl_buffer_printf(&p->text, "\tb%u -> b%u [style=bold];\n", i, block->taken);
	}
	for (uint32_t i = 0; i < g->edges; i++)
		kl_buffer_printf(&p->text, "\tb%u -> b%u [style=dotted];\n", g->edge[i].from,
				 g->edge[i].to);
	kl_buffer_add_string(&p->text, "}\n");
}

static void add_json(const struct printer *p, const struct kl_block_graph *g)
{
	const struct cli_block_listing listing = {
		.blocks = p->blocks,
		.graph = g,
		.name = p->name,
		.program = p->program ? kl_program_path(p->program) : NULL,
		.source = &p->source,
	};

	if (p->options->html)
		cli_page_add(p->list, &listing);
	else
		json_array_append_new(p->list, cli_block_json(&listing, p->options->instructions));
}

/* @name: NULL: the name from the list of functions. */
static int print_index(struct printer *p, long index, const char *name)
{
	struct kl_block_graph graph;
	int ret = index < 0 ? (int)index : kl_blocks_graph(p->blocks, index, &graph);

	if (ret)
		return ret;
	p->name = name ?: graph.function.name;
	cli_source_read(&p->source, &graph);
	if (p->list)
		add_json(p, &graph);
	else if (p->options->dot)
		print_dot(p, &graph);
	else
		print_text(p, &graph);
	kl_block_graph_free(&graph);
	if (!p->list && !cli_write_buffer(&p->text, stdout))
		return -EIO;
	return 0;
}

/* Print all functions of a program that match. */
static int print_program(struct printer *p, const char *text)
{
	struct kl_program_selector selector;
	const char *name;
	size_t position = 0;
	bool found = false;
	long index;
	int status = CLI_OK, ret = kl_program_selector_parse(&selector, text);

	if (ret)
		return cli_library_error(ret, NULL);
	p->program = kl_program_open(selector.path);
	if (!p->program)
		status = cli_library_error(-errno, NULL);
	else if (selector.want.at_offset || selector.want.at_number || selector.want.behind)
		status =
			cli_error(-EINVAL, "invalid function \"%s\"; expected PATH:FUNCTION", text);
	else
		p->blocks = kl_program_blocks(p->program);
	p->source.program = p->program;
	while (!status && (index = kl_program_next(p->program, selector.want.pattern, &position,
						   &name)) >= 0) {
		ret = print_index(p, index, name);
		status = ret ? cli_library_error(ret, NULL) : CLI_OK;
		found = true;
	}
	if (!status && !found)
		status = cli_error(-ENOENT, "%s has no function %s", selector.path,
				   selector.want.pattern);
	kl_program_close(p->program);
	p->program = NULL;
	p->source.program = NULL;
	kl_program_selector_free(&selector);
	return status;
}

static int print_found(void *context, size_t index)
{
	return print_index(context, (long)index, NULL);
}

/* Print all functions of the kernel and its modules that match a name or pattern. */
static int print_functions(struct printer *p, const char *pattern)
{
	struct kl_block_want want;
	int status, ret = kl_block_want_parse(&want, pattern);

	if (ret)
		return cli_library_error(ret, NULL);
	if (want.at_offset || want.at_number || want.behind) {
		status = cli_error(-EINVAL, "invalid function \"%s\"; expected [MODULE:]FUNCTION",
				   pattern);
	} else {
		ret = kl_block_want_visit(&want, p->symbols, p->kernel, print_found, p);
		status = ret ? cli_library_error(ret, NULL) : CLI_OK;
	}
	kl_block_want_free(&want);
	return status;
}

/* ------------------------------------------------------------------ all of them */

static uint64_t splices(const uint64_t tier[KL_TIER_COUNT])
{
	uint64_t sum = 0;

	for (int i = KL_TIER_NONE + 1; i < KL_TIER_COUNT; i++)
		sum += tier[i];
	return sum;
}

/* Counts by name, without index 0, "none". */
static json_t *json_counts(const uint64_t *count, unsigned int n, const char *(*name)(unsigned int))
{
	json_t *row = json_object();

	for (unsigned int i = 1; i < n; i++)
		json_object_set_new(row, name(i), json_integer((json_int_t)count[i]));
	return row;
}

static json_t *json_tiers(const uint64_t tier[KL_TIER_COUNT])
{
	return json_counts(tier, KL_TIER_COUNT, kl_block_tier_name);
}

static json_t *json_reasons(const uint64_t count[KL_BLOCK_REASON_COUNT])
{
	json_t *row = json_object();

	for (int i = 1; i < KL_BLOCK_REASON_COUNT; i++)
		if (count[i])
			json_object_set_new(row, kl_block_reason_name(i), json_integer(count[i]));
	return row;
}

static int write_survey_json(const struct kl_block_survey *s)
{
	return cli_json_write(json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:o, s:o}, s:o, s:o, s:{s:o, s:o}, s:I, s:I, s:I}",
		"functions", (json_int_t)s->functions, "regular", (json_int_t)s->regular, "blocks",
		(json_int_t)s->blocks, "bytes", (json_int_t)s->bytes, "instructions",
		(json_int_t)s->instructions, "instrumentable_pre", (json_int_t)splices(s->pre),
		"instrumentable_post", (json_int_t)splices(s->post), "by_tier", "pre",
		json_tiers(s->pre), "post", json_tiers(s->post), "by_edge",
		json_counts(s->pre_edge, KL_EDGE_COUNT, kl_block_edge_name),
		"functions_excluded_by_reason", json_reasons(s->excluded), "excluded_by_reason",
		"pre", json_reasons(s->pre_reason), "post", json_reasons(s->post_reason),
		"flags_live", (json_int_t)s->flags_live, "registers_live",
		(json_int_t)s->registers_live, "do_not_return", (json_int_t)s->never));
}

static void add_line(struct cli_table *table, const char *what, uint64_t pre, uint64_t post,
		     uint64_t of)
{
	char number[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", what);
	cli_table_add(table, "%s", cli_print_count(number, pre));
	cli_table_add(table, "%.2f %%", of ? 100.0 * pre / of : 0);
	cli_table_add(table, "%s", cli_print_count(number, post));
	cli_table_add(table, "%.2f %%", of ? 100.0 * post / of : 0);
}

static int write_survey_text(const struct kl_block_survey *s)
{
	struct cli_table *table = cli_table_create("splices|>before|>of blocks|>after|>of blocks");
	char number[3][CLI_NUMBER_MAX];

	printf("%s functions, %s of them regular; %s blocks\n\n",
	       cli_print_count(number[0], s->functions), cli_print_count(number[1], s->regular),
	       cli_print_count(number[2], s->blocks));
	for (int i = KL_TIER_NONE + 1; i < KL_TIER_COUNT; i++)
		add_line(table, kl_block_tier_name(i), s->pre[i], s->post[i], s->blocks);
	add_line(table, "total", splices(s->pre), splices(s->post), s->blocks);
	for (int i = 1; i < KL_BLOCK_REASON_COUNT; i++)
		if (s->pre_reason[i] || s->post_reason[i])
			add_line(table, kl_block_reason_name(i), s->pre_reason[i],
				 s->post_reason[i], s->blocks);
	cli_table_print(table, stdout, 0);
	printf("\nbefore: %s on the fall-through edge into the block, %s on the taken edge\n",
	       cli_print_count(number[0], s->pre_edge[KL_EDGE_NEXT]),
	       cli_print_count(number[1], s->pre_edge[KL_EDGE_TAKEN]));
	puts("\nfunctions that cannot be spliced:");
	for (int i = 1; i < KL_BLOCK_REASON_COUNT; i++)
		if (s->excluded[i])
			printf("%8s  %-22s  %s\n", cli_print_count(number[0], s->excluded[i]),
			       kl_block_reason_name(i), kl_block_reason_help(i));
	return CLI_OK;
}

static int survey(struct kl_blocks *blocks)
{
	struct kl_block_survey s;
	int ret = kl_blocks_survey(blocks, &s);

	if (ret)
		return cli_library_error(ret, NULL);
	return cli_settings.json ? write_survey_json(&s) : write_survey_text(&s);
}

/* ------------------------------------------------------------------ the command */

/* Reading the kernel's text takes seconds: do so only if a request needs it. */
static int open_kernel(struct printer *p)
{
	if (!p->kernel) {
		cli_busy("reading the kernel's code");
		p->symbols = kl_symbols_open(p->options->symbols);
		if (p->symbols)
			p->kernel = kl_blocks_open(p->options->core, p->symbols);
		if (p->kernel)
			p->source.kernel =
				kl_source_open(p->kernel, !p->options->core, p->options->debug);
	}
	cli_busy(NULL);
	p->blocks = p->kernel;
	return p->source.kernel ? CLI_OK : cli_library_error(-errno, NULL);
}

static int print_pattern(struct printer *p, const char *pattern)
{
	int status;

	if (kl_program_selector_is(pattern))
		return print_program(p, pattern);
	status = open_kernel(p);
	return status ?: print_functions(p, pattern);
}

static int write_page(struct printer *p, const json_t *counts)
{
	size_t n = json_array_size(p->list), found = cli_page_count(p->list, counts);
	json_t *functions = p->list;
	char *about = counts ? cli_format("counts from %s", p->options->counts) : NULL;
	int status;

	p->list = NULL;
	if (counts && found < n)
		cli_note("%s: no counts of %zu of %zu functions", p->options->counts, n - found, n);
	status = cli_page_write(p->options->html, functions, about);
	free(about);
	return status;
}

static int write_list(struct printer *p, const json_t *counts)
{
	json_t *functions = p->list;

	if (p->options->html)
		return write_page(p, counts);
	p->list = NULL;
	return cli_json_write(json_pack("{s:o}", "functions", functions));
}

static int run(const struct options *options, int n, char **patterns)
{
	/* A file that is wrong is reported before the kernel's code is read, which takes long. */
	json_t *counts = options->counts ? cli_page_counts_load(options->counts) : NULL;
	struct printer p = { .options = options };
	int status = options->counts && !counts ? CLI_FAILED :
		     options->survey		? open_kernel(&p) :
						  CLI_OK;

	if (options->survey && !status)
		status = survey(p.blocks);
	if ((cli_settings.json || options->html) && !options->survey)
		p.list = json_array();
	for (int i = 0; i < n && status == CLI_OK; i++)
		status = print_pattern(&p, patterns[i]);
	if (p.list && status == CLI_OK)
		status = write_list(&p, counts);
	json_decref(p.list);
	json_decref(counts);
	kl_buffer_deinit(&p.text);
	kl_source_close(p.source.kernel);
	cli_source_deinit(&p.source);
	kl_blocks_close(p.kernel);
	kl_symbols_close(p.symbols);
	return status;
}

static void take_option(struct options *options, const struct cli_parser *parser, int key)
{
	switch (key) {
	case KEY_ASM:
		options->instructions = true;
		break;
	case KEY_DOT:
		options->dot = true;
		break;
	case KEY_HTML:
		options->html = parser->arg;
		break;
	case KEY_COUNTS:
		options->counts = parser->arg;
		break;
	case KEY_SERVE:
		options->serve = true;
		if (parser->arg)
			cli_take_number(parser, "--serve", UINT16_MAX, &options->port);
		break;
	case KEY_SURVEY:
		options->survey = true;
		break;
	case KEY_CORE:
		options->core = parser->arg;
		break;
	case KEY_SYMBOLS:
		options->symbols = parser->arg;
		break;
	case KEY_DEBUG:
		options->debug = parser->arg;
		break;
	}
}

static void check_options(const struct cli_command *self, const struct options *options, int words)
{
	if (options->survey ? words > 0 : !words && !options->serve)
		cli_usage_error(self, options->survey ? "--survey does not take a function" :
							"no function given; expected FUNCTION or "
							"--survey");
	if (options->dot && (cli_settings.json || options->survey))
		cli_usage_error(self, "--dot cannot be used with --json or --survey");
	if (options->html && (cli_settings.json || options->dot || options->survey))
		cli_usage_error(self, "--html cannot be used with --json, --dot or --survey");
	if (options->counts && !options->html)
		cli_usage_error(self, "--counts requires --html");
	if (options->serve && (options->instructions || options->dot || options->html ||
			       options->survey || options->core || options->symbols))
		cli_usage_error(self, "--serve shows the running kernel; of the other options of "
				      "blocks, it can be used with --debug only");
}

static void check_served(const struct cli_command *self, int n, char *const *names)
{
	for (int i = 0; i < n; i++)
		if (kl_program_selector_is(names[i]))
			cli_usage_error(self, "--serve shows functions of the kernel, not of "
					      "programs");
}

static int exec_blocks(const struct cli_command *self, int argc, char **argv)
{
	struct options options = {};
	struct cli_parser parser;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(&options, &parser, key);
	check_options(self, &options, parser.n_words);
	if (options.serve) {
		check_served(self, parser.n_words, parser.words);
		return cli_blocks_serve((uint16_t)options.port, options.debug, parser.words,
					(size_t)parser.n_words);
	}
	cli_start_pager();
	return run(&options, parser.n_words, parser.words);
}

const struct cli_command_ops cmd_blocks = {
	.text = "FUNCTION is the name of a function, or a shell pattern, in the kernel, in a\n"
		"loaded MODULE, or in the program or library PATH. For each block, the output\n"
		"shows how it can be instrumented before and after its execution, or why it\n"
		"cannot; see kernlens-blocks(1).\n"
		"Reading kernel code requires CAP_SYS_RAWIO and CAP_SYSLOG.\n"
		"\n"
		"  kernlens blocks ksys_read\n"
		"  kernlens blocks --asm --dot vfs_read | dot -Tsvg >vfs_read.svg\n"
		"  kernlens blocks vfs_read --html vfs_read.html\n"
		"  kernlens blocks vfs_read --serve\n"
		"  kernlens blocks ext4:ext4_sync_file\n"
		"  kernlens blocks ./program:main\n"
		"  kernlens blocks --survey\n",
	.options = options,
	.exec = exec_blocks,
};
