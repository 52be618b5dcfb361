// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens count: how often basic blocks of the kernel or of programs are executed, next to their
 * listing. The listing goes to stderr, JSON to stdout, as for stat.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "count_times.h"
#include "page.h"
#include "print.h"
#include "program.h"
#include "spliced.h"

enum {
	KEY_ASM = CLI_SPLICED_OWN,
	KEY_PTRACE,
	KEY_HTML,
	KEY_TIME,
	WANTS_MAX = 64,
};

static const struct cli_option options[] = {
	{ 'e', "event", "BLOCKS", "block:[PATH:|MODULE:]FUNCTION[+OFFSET|#NUMBER][:post]" },
	{ KEY_TIME, "time", "FROM,TO", "instead: times from a block to another" },
	{ 'p', "pid", "PID[,PID]", "for programs and --time: processes and their new children" },
	CLI_CGROUP_OPTIONS,
	{ CLI_KEY_DURATION, "duration", "SECONDS", "stop after this time" },
	{ KEY_PTRACE, "ptrace", NULL, "for programs: use ptrace, not the module" },
	{ CLI_SPLICED_IN_PLACE, "in-place", NULL,
	  "patch each block in place; do not move functions" },
	{ KEY_ASM, "asm", NULL, "also show the instructions" },
	{ KEY_HTML, "html", "FILE", "also write a page with the graphs and their counts" },
	{ CLI_SPLICED_DEBUG, "debug", "PATH", "file or directory with kernel debug information" },
	{ 'o', "output", "FILE", "write the result to FILE" },
	{},
};

struct count_run {
	struct cli_spliced spliced;
	char *want[WANTS_MAX];
	size_t wants;
	const char *time[CLI_TIMES_MAX];
	unsigned int times;
	const char *html;
	bool instructions;
	bool ptrace;
};

/* By block, points before it first: targets selected by several texts are unsorted. */
static int compare_targets(const void *left, const void *right)
{
	const struct kl_splice_target *a = *(const struct kl_splice_target *const *)left;
	const struct kl_splice_target *b = *(const struct kl_splice_target *const *)right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->behind - b->behind;
}

static const struct kl_splice_target **sorted_targets(const struct cli_spliced_function *f)
{
	const struct kl_splice_target **sorted = cli_alloc((f->n + 1) * sizeof(*sorted));

	for (uint32_t i = 0; i < f->n; i++)
		sorted[i] = &f->target[i];
	qsort(sorted, f->n, sizeof(*sorted), compare_targets);
	return sorted;
}

/* ---------------------------------------------------------------------- text */

static void print_row(const struct count_run *cr, const struct kl_block_graph *g,
		      const struct cli_spliced_function *f, const struct kl_splice_target *target,
		      struct kl_buffer *text)
{
	const struct cli_spliced *sp = &cr->spliced;
	const struct kl_block *block = &g->block[target->block];
	uint32_t point = f->first + (target - f->target);
	const char *reason = cli_spliced_reason(sp, point);
	char count[CLI_NUMBER_MAX], next[CLI_BLOCK_WORD_MAX], taken[CLI_BLOCK_WORD_MAX];
	char where[CLI_SOURCE_MAX];

	kl_buffer_printf(text, "%15s %6u  +0x%-5x %5u %5u  %-6s  %5s %5s  %s%s%s%s\n",
			 reason ? "-" : cli_print_count(count, sp->count[point]), target->block,
			 block->begin, block->bytes, block->n, kl_block_end_name(block->end),
			 cli_block_word(block->next, next), cli_block_word(block->taken, taken),
			 target->behind ? "after  " : "", reason ? "not counted: " : "",
			 reason ?: "", cli_source_text(&sp->source, block, where));
}

static void print_function(const struct count_run *cr, const struct kl_block_graph *g,
			   const struct cli_spliced_function *f, struct kl_buffer *text)
{
	const struct kl_splice_target **sorted = sorted_targets(f);

	cli_print_counted(g, g->function.name, text);
	for (uint32_t i = 0; i < f->n && !g->function.reason; i++) {
		print_row(cr, g, f, sorted[i], text);
		if (cr->instructions && (i + 1 == f->n || sorted[i + 1]->block != sorted[i]->block))
			cli_print_instructions(cr->spliced.blocks, g, &g->block[sorted[i]->block],
					       &cr->spliced.source, text);
	}
	kl_buffer_add_char(text, '\n');
	free(sorted);
}

/* ---------------------------------------------------------------------- JSON */

static json_t *json_function(const struct count_run *cr, const struct kl_block_graph *g,
			     const struct cli_spliced_function *f)
{
	const struct kl_splice_target **sorted = sorted_targets(f);
	json_t *rows = json_array(), *function;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct kl_splice_target *target = sorted[i];
		const struct kl_block *block = &g->block[target->block];
		uint32_t point = f->first + (target - f->target);
		const char *reason = cli_spliced_reason(&cr->spliced, point);
		json_t *row = json_pack("{s:I, s:I, s:I, s:b}", "block", (json_int_t)target->block,
					"offset", (json_int_t)block->begin, "bytes",
					(json_int_t)block->bytes, "post", target->behind);

		if (reason)
			json_object_set_new(row, "reason", json_string(reason));
		else
			json_object_set_new(row, "count",
					    json_integer((json_int_t)cr->spliced.count[point]));
		cli_source_json(&cr->spliced.source, block->first, row);
		json_array_append_new(rows, row);
	}
	free(sorted);
	function = json_pack("{s:s, s:o, s:o}", "function", g->function.name, "address",
			     json_sprintf("0x%llx", (unsigned long long)g->function.address),
			     "points", rows);
	cli_json_module(g->function.module, function);
	return function;
}

/* --------------------------------------------------------------------- output */

static void add_to_page(const struct count_run *cr, const struct kl_block_graph *g, json_t *page)
{
	const struct cli_block_listing listing = {
		.blocks = cr->spliced.blocks,
		.graph = g,
		.name = g->function.name,
		.source = &cr->spliced.source,
	};

	cli_page_add(page, &listing);
}

/* Print each function, as text or JSON. @page: add it there, too; NULL: do not. */
static int list_functions(struct count_run *cr, struct kl_buffer *text, json_t *list, json_t *page)
{
	struct cli_spliced *sp = &cr->spliced;

	for (size_t i = 0; i < sp->functions; i++) {
		struct kl_block_graph graph;
		int ret = kl_blocks_graph(sp->blocks, sp->function[i].index, &graph);

		if (ret)
			return cli_library_error(ret, NULL);
		cli_source_read(&sp->source, &graph);
		if (list)
			json_array_append_new(list, json_function(cr, &graph, &sp->function[i]));
		else
			print_function(cr, &graph, &sp->function[i], text);
		if (page)
			add_to_page(cr, &graph, page);
		kl_block_graph_free(&graph);
	}
	return CLI_OK;
}

static int write_json(struct count_run *cr)
{
	json_t *list = json_array();
	int status = list_functions(cr, NULL, list, NULL);

	if (status) {
		json_decref(list);
		return status;
	}
	return cli_json_write(json_pack("{s:o, s:o}", "functions", list, "splices",
					cli_spliced_json_sum(&cr->spliced)));
}

static int write_text(struct count_run *cr, FILE *file)
{
	char *subject = cli_spliced_subject(&cr->spliced);
	struct kl_buffer text = {};
	int status;

	kl_buffer_printf(&text, "\n Blocks %s:\n\n", subject);
	status = list_functions(cr, &text, NULL, NULL);
	if (!status && !cli_write_buffer(&text, file))
		status = cli_error(-errno, "%s: %s", cr->spliced.session.select.output ?: "stderr",
				   strerror(errno));
	if (!status)
		cli_spliced_print_sum(&cr->spliced, file);
	kl_buffer_deinit(&text);
	free(subject);
	return status;
}

static int write_page(struct count_run *cr)
{
	json_t *functions = json_array(), *counts = json_array();
	char *subject = cli_spliced_subject(&cr->spliced),
	     *about = cli_format("counts %s", subject);
	int status = list_functions(cr, NULL, counts, functions);

	if (!status) {
		cli_page_count(functions, counts);
		status = cli_page_write(cr->html, json_incref(functions), about);
	}
	json_decref(functions);
	json_decref(counts);
	free(about);
	free(subject);
	return status;
}

static int write_result(struct count_run *cr)
{
	const char *path = cr->spliced.session.select.output;
	FILE *file = cli_open_result(path, cli_settings.json);

	if (!file)
		return CLI_FAILED;
	return cli_close_result(file, path,
				cli_settings.json ? write_json(cr) : write_text(cr, file));
}

static bool is_of_program(const char *text)
{
	return kl_program_selector_is(strncmp(text, "block:", 6) ? text : text + 6);
}

/*
 * Are the blocks of programs? These and the kernel's are counted differently and cannot be mixed.
 */
static bool counts_programs(const struct cli_command *self, const struct count_run *cr)
{
	size_t programs = 0;

	for (size_t i = 0; i < cr->wants; i++)
		programs += is_of_program(cr->want[i]);
	if (programs && programs < cr->wants)
		cli_usage_error(self, "-e: cannot count kernel blocks and program blocks at "
				      "the same time");
	if (!programs && cr->ptrace)
		cli_usage_error(self, "--ptrace applies only to blocks of programs");
	if (programs && cr->spliced.debug)
		cli_usage_error(self, "--debug applies only to blocks of the kernel");
	if (!programs && cli_select_has_tasks(&cr->spliced.session.select))
		cli_usage_error(self,
				"-p, --cgroup, --unit and --container apply only to blocks "
				"of programs; blocks of the kernel are counted for all tasks");
	return programs;
}

/* Newcomers expect events here: lead them to what counts these. */
static void check_events(const struct cli_command *self, const struct count_run *cr)
{
	struct kl_schema *schema = kl_schema_create();

	for (size_t i = 0; schema && i < cr->wants; i++) {
		const char *name = cr->want[i];

		if (kl_schema_find(schema, name) || !strncmp(name, "tp:", 3) ||
		    !strncmp(name, "fn:", 3))
			cli_usage_error(self,
					"%s is an event; kernlens stat -e %s counts events, and "
					"block:FUNCTION a function's blocks",
					name, name);
	}
	kl_schema_destroy(schema);
}

static int count_programs(const struct count_run *cr)
{
	struct cli_program_count *count = cli_alloc(sizeof(*count));
	struct cli_select *select = &count->session.select;
	int status;

	count->session.command = cr->spliced.session.command;
	*select = cr->spliced.session.select;
	count->splices = cr->ptrace;
	count->instructions = cr->instructions;
	count->html = cr->html;
	for (size_t i = 0; i < cr->wants; i++)
		select->spec[select->n_specs++] =
			cli_format("%s%s", strncmp(cr->want[i], "block:", 6) ? "block:" : "",
				   cr->want[i]);
	status = cli_program_count(count);
	for (unsigned int i = 0; i < select->n_specs; i++)
		free((char *)select->spec[i]);
	free(count);
	return status;
}

/* Times have sessions of their own, with rules instead of counters. */
static int count_times(const struct cli_command *self, struct count_run *cr)
{
	struct cli_count_times *of;
	int status;

	if (cr->wants || cr->ptrace || cr->instructions || cr->html || cr->spliced.in_place ||
	    cr->spliced.debug)
		cli_usage_error(self, "--time cannot be used with -e, --ptrace, --in-place, --asm, "
				      "--html or --debug");
	of = cli_alloc(sizeof(*of));
	of->session.command = self;
	of->session.select = cr->spliced.session.select;
	memcpy(of->text, cr->time, sizeof(of->text));
	of->n = cr->times;
	status = cli_count_times(of);
	free(of);
	return status;
}

static void take_time(struct count_run *cr, const struct cli_parser *parser)
{
	if (cr->times == CLI_TIMES_MAX)
		cli_usage_error(parser->command, "too many --time options (maximum %d)",
				CLI_TIMES_MAX);
	cr->time[cr->times++] = parser->arg;
}

static void take_option(struct count_run *cr, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'e':
		if (cr->wants == WANTS_MAX)
			cli_usage_error(parser->command, "too many -e options (maximum %d)",
					WANTS_MAX);
		cr->want[cr->wants++] = parser->arg;
		break;
	case KEY_PTRACE:
		cr->ptrace = true;
		break;
	case KEY_ASM:
		cr->instructions = true;
		break;
	case KEY_HTML:
		cr->html = parser->arg;
		break;
	case KEY_TIME:
		take_time(cr, parser);
		break;
	default:
		cli_spliced_option(&cr->spliced, parser, key);
	}
}

static int exec_count(const struct cli_command *self, int argc, char **argv)
{
	struct count_run *cr = cli_alloc(sizeof(*cr));
	struct cli_parser parser;
	int key, status;

	cr->spliced.session.command = self;
	cli_select_init(&cr->spliced.session.select);
	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		take_option(cr, &parser, key);
	if (parser.n_words)
		cr->spliced.session.select.words = parser.words;
	if (cr->times) {
		status = count_times(self, cr);
		free(cr);
		return status;
	}
	if (!cr->wants)
		cli_usage_error(self, "no blocks given; use -e block:FUNCTION");
	check_events(self, cr);
	if (counts_programs(self, cr)) {
		status = count_programs(cr);
		free(cr);
		return status;
	}
	cr->spliced.lines = true;
	status = cli_spliced_run(&cr->spliced, cr->want, cr->wants);
	if (!status)
		status = write_result(cr);
	if (!status && cr->html)
		status = write_page(cr);
	status = cli_spliced_end(&cr->spliced, status);
	free(cr);
	return status;
}

const struct cli_command_ops cmd_count = {
	.options = options,
	.runs_command = true,
	.text = "Patches counters into the kernel's text, runs COMMAND (or waits for --duration\n"
		"or Ctrl-C), and removes them. Executions by all tasks and interrupts are\n"
		"counted. FUNCTION may be a pattern, or MODULE:FUNCTION. +OFFSET or #NUMBER\n"
		"selects one block, as shown by kernlens blocks. :post counts a block after its\n"
		"last instruction that is not a jump, call or return, instead of at its start.\n"
		"Requires CAP_SYS_ADMIN, CAP_SYS_RAWIO and CAP_SYSLOG, and no kernel lockdown.\n"
		"With PATH, blocks of a program or library are counted with uprobes: in COMMAND,\n"
		"in the processes given with -p, or otherwise in all processes. With --ptrace, or\n"
		"without CAP_SYS_ADMIN or the module, ptrace is used instead: on COMMAND, or on\n"
		"your own processes given with -p.\n"
		"--time measures times from the execution of a block to the next one of another by\n"
		"the same task, of COMMAND, the selected tasks or, without both, all tasks.\n"
		"\n"
		"  kernlens count -e block:ksys_read -- cat /etc/passwd\n"
		"  kernlens count -e 'block:vfs_*' --duration 5\n"
		"  kernlens count -e block:ksys_read#3 -e block:ksys_read#3:post --asm -- make\n"
		"  kernlens count --time vfs_read#0,vfs_read#6 -- make\n"
		"  kernlens count -e block:./program:main --html main.html -- ./program\n",
	.exec = exec_count,
};
