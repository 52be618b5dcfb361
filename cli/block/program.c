// SPDX-License-Identifier: GPL-2.0
/*
 * Count executions of blocks of programs. Each block is an event of a session with the handler
 * `count`: a uprobe, or a splice in the processes (program_splice.c). The listing goes to stderr,
 * JSON to stdout, as for blocks of the kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/aggregate.h"
#include "../session/program_splice.h"
#include "../session/run.h"
#include "page.h"
#include "print.h"
#include "program.h"

struct counting {
	struct cli_program_count *of;
	struct cli_run run;
	struct kl_event_count *count; /* sorted by name */
	size_t n;
	struct kl_process_splices *spliced; /* used instead of a session, or NULL */
	uint64_t elapsed_ns;
	struct kl_buffer text;
	json_t *list; /* for JSON; NULL: text */
	json_t *page; /* functions of the page; NULL: none is written */
};

/* -------------------------------------------------------------------- counts */

static int compare_names(const void *left, const void *right)
{
	const struct kl_event_count *a = left, *b = right;

	return strcmp(a->event_class->name, b->event_class->name);
}

static int read_counts(struct counting *c)
{
	const struct cli_session *s = &c->of->session;
	int n = kl_event_counts_read(s->session, s->plan, s->schema, &c->count);

	if (n < 0)
		return cli_library_error(n, NULL);
	c->n = (size_t)n;
	qsort(c->count, c->n, sizeof(*c->count), compare_names);
	return CLI_OK;
}

/* Count of an event; NULL if no such event was counted. */
static const uint64_t *find_count(const struct counting *c, const char *name)
{
	const struct kl_class class = { .name = name };
	const struct kl_event_count key = { .event_class = &class };
	const struct kl_event_count *found =
		bsearch(&key, c->count, c->n, sizeof(*c->count), compare_names);

	return found ? &found->count : NULL;
}

/*
 * Uprobes are inserted and removed one at a time, so that a running process could execute the first
 * before the last is in place. A switch of masksets takes effect at once. A command needs no
 * switch: it waits until all uprobes are in place.
 */
static int count_at_once(struct counting *c)
{
	struct kl_session *session = c->of->session.session;
	struct kl_abi_stats stats;
	int error = kl_session_stats(session, -1, &stats), status;

	if (!error)
		error = kl_session_use_maskset(session, KL_MASKSET_RNOTHING);
	status = error ? cli_library_error(error, NULL) : cli_run_begin(&c->run);
	if (status)
		return status;
	error = kl_session_use_maskset(session, stats.maskset);
	while (!error && !c->run.over)
		cli_run_wait(&c->run, -1, -1);
	c->elapsed_ns = cli_run_elapsed(&c->run);
	if (!error)
		error = kl_session_use_maskset(session, KL_MASKSET_RNOTHING);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int count_command(struct counting *c)
{
	int status = cli_run_begin(&c->run);

	while (!status && !c->run.over)
		cli_run_wait(&c->run, -1, -1);
	c->elapsed_ns = cli_run_elapsed(&c->run);
	return status;
}

static int run_session(struct counting *c)
{
	const struct cli_session *session = &c->of->session;
	int status = session->select.words ? count_command(c) : count_at_once(c);
	int error = status ? 0 : kl_session_stop(session->session);

	if (error)
		return cli_library_error(error, NULL);
	return status ? status : read_counts(c);
}

/* ------------------------------------------------------------------- listing */

/* A function, as one -e selects it. */
struct view {
	struct counting *c;
	struct kl_program *program;
	const struct kl_program_selector *selector;
	struct kl_block_graph graph;
	struct cli_source source;
	const char *name;
};

static const struct kl_block_point *point_of(const struct view *v, uint32_t block)
{
	const struct kl_block *of = &v->graph.block[block];

	return v->selector->want.behind ? &of->post : &of->pre;
}

/* Returns the reason why a block was not counted, or 0 if it was. */
static unsigned int count_of(const struct view *v, uint32_t block, uint64_t *count)
{
	const uint64_t *found = NULL;
	char name[512];

	*count = 0;
	if (v->c->spliced)
		return kl_process_splices_get(v->c->spliced, v->selector->path,
					      v->graph.function.address, block,
					      v->selector->want.behind, count);
	if (!kl_program_selector_name(v->selector, v->name, &v->graph, block, name, sizeof(name)))
		found = find_count(v->c, name);
	if (!found)
		return point_of(v, block)->reason ?: KL_BLOCK_unreached;
	*count = *found;
	return 0;
}

static void print_row(const struct view *v, uint32_t i)
{
	const struct kl_block *block = &v->graph.block[i];
	char number[CLI_NUMBER_MAX], next[CLI_BLOCK_WORD_MAX], taken[CLI_BLOCK_WORD_MAX];
	char where[CLI_SOURCE_MAX];
	uint64_t count;
	unsigned int reason = count_of(v, i, &count);

	kl_buffer_printf(&v->c->text, "%15s %6u  +0x%-5x %5u %5u  %-6s  %5s %5s  %s%s%s%s\n",
			 reason ? "-" : cli_print_count(number, count), i, block->begin,
			 block->bytes, block->n, kl_block_end_name(block->end),
			 cli_block_word(block->next, next), cli_block_taken(&v->graph, i, taken),
			 v->selector->want.behind ? "after  " : "", reason ? "not counted: " : "",
			 reason ? kl_block_reason_name(reason) : "",
			 cli_source_text(&v->source, block, where));
	if (v->c->of->instructions)
		cli_print_instructions(kl_program_blocks(v->program), &v->graph, block, &v->source,
				       &v->c->text);
}

static void print_function(const struct view *v)
{
	const struct kl_block_graph *g = &v->graph;
	struct kl_buffer *text = &v->c->text;

	kl_buffer_printf(text, "%s:", v->selector->path);
	cli_print_counted(g, v->name, text);
	for (uint32_t i = 0; i < g->blocks && !g->function.reason; i++)
		if (kl_block_want_fits(&v->selector->want, g, i))
			print_row(v, i);
	kl_buffer_add_char(text, '\n');
}

static void add_to_page(const struct view *v)
{
	const struct cli_block_listing listing = {
		.blocks = kl_program_blocks(v->program),
		.graph = &v->graph,
		.name = v->name,
		.program = v->selector->path,
		.source = &v->source,
	};

	cli_page_add(v->c->page, &listing);
}

static void add_json(const struct view *v)
{
	const struct kl_block_graph *g = &v->graph;
	json_t *rows = json_array();

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		unsigned int reason;
		uint64_t count;
		json_t *row;

		if (!kl_block_want_fits(&v->selector->want, g, i))
			continue;
		row = json_pack("{s:I, s:I, s:I, s:b}", "block", (json_int_t)i, "offset",
				(json_int_t)block->begin, "bytes", (json_int_t)block->bytes, "post",
				v->selector->want.behind);
		reason = count_of(v, i, &count);
		if (reason)
			json_object_set_new(row, "reason",
					    json_string(kl_block_reason_name(reason)));
		else
			json_object_set_new(row, "count", json_integer((json_int_t)count));
		cli_source_json(&v->source, block->first, row);
		json_array_append_new(rows, row);
	}
	json_array_append_new(
		v->c->list,
		json_pack("{s:o, s:o, s:o, s:o}", "program", cli_json_text(v->selector->path),
			  "function", cli_json_text(v->name), "address",
			  json_sprintf("0x%llx", (unsigned long long)g->function.address), "points",
			  rows));
}

static int list_functions(struct view *v)
{
	size_t position = 0;
	long index;

	while ((index = kl_program_next(v->program, v->selector->want.pattern, &position,
					&v->name)) >= 0) {
		int ret = kl_blocks_graph(kl_program_blocks(v->program), (size_t)index, &v->graph);

		if (ret)
			return cli_library_error(ret, NULL);
		cli_source_read(&v->source, &v->graph);
		if (v->c->page)
			add_to_page(v);
		if (v->c->list)
			add_json(v);
		else
			print_function(v);
		kl_block_graph_free(&v->graph);
	}
	return CLI_OK;
}

/* List the blocks that one -e selects. */
static int list_selector(struct counting *c, const char *text)
{
	struct kl_program_selector selector;
	struct view v = { .c = c, .selector = &selector };
	int ret = kl_program_selector_parse(&selector, text), status;

	if (ret)
		return cli_library_error(ret, NULL);
	v.program = kl_program_open(selector.path);
	v.source.program = v.program;
	status = v.program ? list_functions(&v) : cli_library_error(-errno, NULL);
	cli_source_deinit(&v.source);
	kl_program_close(v.program);
	kl_program_selector_free(&selector);
	return status;
}

/* -------------------------------------------------------------------- output */

static int write_json(struct counting *c)
{
	return cli_json_write(json_pack("{s:o, s:f}", "functions", json_incref(c->list), "seconds",
					(double)c->elapsed_ns / 1e9));
}

static int write_text(struct counting *c, FILE *file)
{
	kl_buffer_printf(&c->text, "    %.6f seconds time elapsed\n\n",
			 (double)c->elapsed_ns / 1e9);
	return cli_write_buffer(&c->text, file) ? CLI_OK : CLI_FAILED;
}

static int list_selectors(struct counting *c)
{
	const struct cli_select *select = &c->of->session.select;
	int status = CLI_OK;

	for (unsigned int i = 0; i < select->n_specs && !status; i++)
		status = list_selector(c, select->spec[i]);
	return status;
}

static int write_page(struct counting *c)
{
	int status;

	c->list = json_array();
	c->page = json_array();
	status = list_selectors(c);
	if (!status) {
		cli_page_count(c->page, c->list);
		status = cli_page_write(c->of->html, json_incref(c->page), NULL);
	}
	json_decref(c->page);
	json_decref(c->list);
	return status;
}

static int write_result(struct counting *c)
{
	const struct cli_select *select = &c->of->session.select;
	FILE *file;
	int status;

	if (cli_settings.json)
		c->list = json_array();
	else
		kl_buffer_add_string(&c->text, "\n");
	status = list_selectors(c);
	if (!status) {
		file = cli_open_result(select->output, cli_settings.json);
		status = file ? CLI_OK : CLI_FAILED;
	}
	if (!status)
		status = cli_close_result(file, select->output,
					  c->list ? write_json(c) : write_text(c, file));
	json_decref(c->list);
	if (!status && c->of->html)
		status = write_page(c);
	return status;
}

static int count_by_session(struct counting *c)
{
	struct cli_session *session = &c->of->session;
	int status;

	/* Nothing is written to the buffers. */
	session->select.buffer_bytes = 1;
	status = cli_session_open(session, NULL, KL_HANDLER_count);
	if (status)
		return status;
	status = run_session(c);
	cli_session_interrupts(session, true);
	if (!status)
		status = write_result(c);
	cli_session_interrupts(session, false);
	if (c->run.began_ns)
		status = cli_run_status(&c->run, status);
	cli_session_close(session);
	return status;
}

static int count_by_splices(struct counting *c)
{
	int status = cli_program_splice(&c->run, &c->spliced, &c->elapsed_ns);

	if (!status)
		status = write_result(c);
	if (c->run.began_ns)
		status = cli_run_status(&c->run, status);
	kl_process_splices_destroy(c->spliced);
	cli_child_destroy(&c->of->session.child);
	return status;
}

int cli_program_count(struct cli_program_count *count)
{
	const struct cli_select *select = &count->session.select;
	bool splices = count->splices || cli_program_splice_fits();
	struct counting c = { .of = count };
	int status;

	if (splices && ((!select->words && !select->n_pids) || select->cgroup.key))
		cli_usage_error(
			count->session.command,
			"without CAP_SYS_ADMIN and the module, or with --ptrace, -p PID or a "
			"command is required");
	status = cli_run_init(&c.run, &count->session);
	if (!status)
		status = splices ? count_by_splices(&c) : count_by_session(&c);
	cli_run_deinit(&c.run);
	kl_buffer_deinit(&c.text);
	free(c.count);
	return status;
}
