// SPDX-License-Identifier: GPL-2.0
/*
 * Count blocks: decode the selected functions, splice all their points, run the command, read the
 * counts, and restore the kernel's text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/output.h"
#include "spliced.h"

void cli_spliced_option(struct cli_spliced *spliced, const struct cli_parser *parser, int key)
{
	if (key == CLI_SPLICED_IN_PLACE)
		spliced->in_place = true;
	else if (key == CLI_SPLICED_DEBUG)
		spliced->debug = parser->arg;
	else if (key == 'o')
		spliced->session.select.output = parser->arg;
	else
		cli_select_option(&spliced->session.select, parser, key);
}

/* ---------------------------------------------------------------- selection */

static int compare_functions(const void *left, const void *right)
{
	const struct cli_spliced_function *a = left, *b = right;

	return (a->index > b->index) - (a->index < b->index);
}

/* Row of a function, added if it is new. */
static struct cli_spliced_function *function_at(struct cli_spliced *sp, size_t index)
{
	if (!sp->row[index]) {
		sp->function[sp->functions].index = index;
		sp->row[index] = ++sp->functions;
	}
	return &sp->function[sp->row[index] - 1];
}

/*
 * Add the points of a function that one text selects, each only once. Points that are not @chosen
 * are not added. Returns how many points the text selects.
 */
static uint32_t add_targets(struct cli_spliced_function *f, const struct kl_block_graph *g,
			    const struct kl_block_want *want, const bool *chosen)
{
	uint32_t found = 0;

	f->target = realloc(f->target, (f->n + g->blocks + 1) * sizeof(*f->target));
	if (!f->target)
		abort();
	for (uint32_t i = 0; i < g->blocks; i++) {
		bool there = chosen && !chosen[i];

		if (!kl_block_want_fits(want, g, i))
			continue;
		found++;
		for (uint32_t k = 0; k < f->n; k++)
			there |= f->target[k].block == i && f->target[k].behind == want->behind;
		if (!there)
			f->target[f->n++] = (struct kl_splice_target){
				.block = i,
				.behind = want->behind,
				.instrument = KL_INSTRUMENT_COUNT,
			};
	}
	return found;
}

/* A text, and the number of blocks that it selects. */
struct search {
	struct cli_spliced *spliced;
	const struct kl_block_want *want;
	uint32_t found;
	int status; /* result of choose() */
};

static int add_function(void *context, size_t index)
{
	struct search *search = context;
	struct cli_spliced *sp = search->spliced;
	struct kl_block_graph graph;
	bool *chosen = NULL;
	int ret = kl_blocks_graph(sp->blocks, index, &graph);

	if (ret)
		return ret;
	if (sp->choose) {
		chosen = cli_alloc(graph.blocks + 1);
		search->status = sp->choose(sp->context, &graph, chosen);
	}
	search->found += add_targets(function_at(sp, index), &graph, search->want, chosen);
	free(chosen);
	kl_block_graph_free(&graph);
	return search->status ? -ECANCELED : 0;
}

static int add_want(struct cli_spliced *sp, const struct kl_block_want *want, const char *text)
{
	struct search search = { .spliced = sp, .want = want };
	int ret = kl_block_want_visit(want, sp->symbols, sp->blocks, add_function, &search);

	if (search.status)
		return search.status;
	if (ret)
		return cli_library_error(ret, NULL);
	if (!search.found)
		return cli_error(-ENOENT, "%s: no such block (kernlens blocks lists them)", text);
	return CLI_OK;
}

static int parse_wants(struct cli_spliced *sp, char *const *texts, size_t n,
		       struct kl_block_want *want)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		ret = kl_block_want_parse(&want[i], texts[i]);
		if (!ret)
			ret = kl_block_want_load(&want[i], sp->symbols, sp->blocks);
	}
	return ret ? cli_library_error(ret, NULL) : CLI_OK;
}

/* -------------------------------------------------------------------- splicing */

static int plan_function(struct cli_spliced *sp, struct cli_spliced_function *f,
			 const struct kl_block_graph *g)
{
	long first = kl_splices_add(sp->splices, g, f->target, f->n);

	if (first < 0)
		return (int)first;
	f->first = first;
	f->place = cli_alloc((f->n + 1) * sizeof(*f->place));
	for (uint32_t i = 0; i < f->n; i++)
		f->place[i] = (struct cli_spliced_place){
			.offset = g->block[f->target[i].block].begin,
			.bytes = g->block[f->target[i].block].bytes,
		};
	return 0;
}

static int plan_wants(struct cli_spliced *sp)
{
	for (size_t i = 0; i < sp->functions; i++) {
		struct kl_block_graph graph;
		int ret = kl_blocks_graph(sp->blocks, sp->function[i].index, &graph);

		if (!ret) {
			ret = plan_function(sp, &sp->function[i], &graph);
			kl_block_graph_free(&graph);
		}
		if (ret)
			return cli_library_error(ret, NULL);
	}
	return CLI_OK;
}

/* Decoding a function is most of the work, so it is done only once. */
static int plan_all(struct cli_spliced *sp)
{
	const struct kl_block_want all = {};

	for (size_t i = 0; i < kl_blocks_functions(sp->blocks); i++) {
		struct kl_block_function function;
		struct kl_block_graph graph;
		int ret;

		kl_blocks_function(sp->blocks, i, &function);
		if (function.reason)
			continue;
		ret = kl_blocks_graph(sp->blocks, i, &graph);
		if (ret)
			return cli_library_error(ret, NULL);
		/* Decoding may find a reason that the list does not have. */
		if (!graph.function.reason) {
			struct cli_spliced_function *f = function_at(sp, i);

			add_targets(f, &graph, &all, NULL);
			ret = plan_function(sp, f, &graph);
		}
		kl_block_graph_free(&graph);
		if (ret)
			return cli_library_error(ret, NULL);
	}
	return CLI_OK;
}

static int plan(struct cli_spliced *sp, char *const *texts, size_t n)
{
	struct kl_block_want *want = cli_alloc((n + 1) * sizeof(*want));
	char *const every[] = { "*" };
	size_t functions;
	int status = parse_wants(sp, n ? texts : every, n ?: 1, want);

	/* Including those of the requested modules. */
	functions = kl_blocks_functions(sp->blocks);
	sp->function = cli_alloc(functions * sizeof(*sp->function));
	sp->row = cli_alloc(functions * sizeof(*sp->row));
	for (size_t i = 0; i < n && !status; i++)
		status = add_want(sp, &want[i], texts[i]);
	for (size_t i = 0; i < (n ?: 1); i++)
		kl_block_want_free(&want[i]);
	free(want);
	qsort(sp->function, sp->functions, sizeof(*sp->function), compare_functions);
	if (status)
		return status;
	return n ? plan_wants(sp) : plan_all(sp);
}

/* Between two requests, print the progress and check for Ctrl-C. */
static int on_progress(void *context, uint32_t done, uint32_t windows)
{
	struct cli_spliced *sp = context;

	if (isatty(STDERR_FILENO) && windows > KL_SPLICE_WINDOWS_MAX)
		fprintf(stderr, "\rsplicing: %u of %u", done, windows);
	cli_run_wait(&sp->run, -1, 0);
	return sp->run.asked ? -EINTR : 0;
}

static int install(struct cli_spliced *sp)
{
	uint64_t began = cli_now_ns();
	int ret = kl_splices_install(sp->splices, sp->session.session, on_progress, sp);

	sp->sum = kl_splices_sum(sp->splices);
	sp->install_ns = cli_now_ns() - began;
	if (isatty(STDERR_FILENO) && sp->sum.windows > KL_SPLICE_WINDOWS_MAX)
		fputs("\r\033[K", stderr);
	if (ret == -EINTR)
		return cli_error(0, "interrupted before the command started");
	return ret ? cli_library_error(ret, NULL) : CLI_OK;
}

/* Counts between start and end: subtract what was counted before. */
static int count(struct cli_spliced *sp)
{
	uint64_t *before = cli_alloc((sp->sum.points + 1) * sizeof(*before));
	int ret, status;

	sp->count = cli_alloc((sp->sum.points + 1) * sizeof(*sp->count));
	ret = kl_splices_counts(sp->splices, sp->session.session, before);
	status = ret ? cli_library_error(ret, NULL) : cli_run_begin(&sp->run);
	while (!status && !sp->run.over)
		cli_run_wait(&sp->run, -1, -1);
	if (!status) {
		sp->elapsed_ns = cli_run_elapsed(&sp->run);
		ret = kl_splices_counts(sp->splices, sp->session.session, sp->count);
		status = ret ? cli_library_error(ret, NULL) : CLI_OK;
	}
	for (uint32_t i = 0; i < sp->sum.points; i++)
		sp->count[i] -= sp->count[i] < before[i] ? sp->count[i] : before[i];
	free(before);
	return status;
}

static int take_back(struct cli_spliced *sp)
{
	struct kl_abi_unsplice result;
	uint64_t began = cli_now_ns();
	int ret = kl_session_unsplice(sp->session.session, &result);

	sp->remove_ns = cli_now_ns() - began;
	if (ret)
		return cli_library_error(ret, NULL);
	sp->ended_early = result.windows + result.lost < sp->sum.windows;
	if (result.lost)
		return cli_error(-EBUSY,
				 "%u patch sites in the kernel's text were modified by others "
				 "and left unchanged: the module stays loaded",
				 result.lost);
	return CLI_OK;
}

int cli_spliced_run(struct cli_spliced *spliced, char *const *want, size_t n)
{
	struct cli_spliced *sp = spliced;
	int status, taken;

	/* Counters count all tasks, and no event is recorded. */
	sp->session.select.all = true;
	sp->session.select.buffer_bytes = 1;
	sp->session.select.maskset = KL_MASKSET_RNOTHING;
	status = cli_run_init(&sp->run, &sp->session);
	if (!status)
		status = cli_session_open(&sp->session, NULL, KL_HANDLER_log);
	if (status)
		return status;
	cli_session_interrupts(&sp->session, true);
	cli_busy("reading the kernel's code");
	sp->symbols = kl_symbols_open(NULL);
	sp->blocks = sp->symbols ? kl_blocks_open(NULL, sp->symbols) : NULL;
	sp->splices = sp->blocks ? kl_splices_create(!sp->in_place) : NULL;
	if (!sp->splices)
		return cli_library_error(-errno, NULL);
	if (sp->lines) {
		sp->source.kernel = kl_source_open(sp->blocks, true, sp->debug);
		if (!sp->source.kernel)
			return cli_library_error(-errno, NULL);
	}
	cli_busy("planning the counters");
	status = plan(sp, want, n);
	cli_busy(NULL);
	cli_session_interrupts(&sp->session, false);
	if (!status)
		status = install(sp);
	if (!status)
		status = count(sp);
	taken = take_back(sp);
	if (!status)
		kl_session_stop(sp->session.session);
	cli_session_interrupts(&sp->session, true);
	return status ? status : taken;
}

/* -------------------------------------------------------------------- results */

const char *cli_spliced_reason(const struct cli_spliced *spliced, uint32_t point)
{
	struct kl_splice_point p = kl_splices_point(spliced->splices, point);

	if (p.placed)
		return NULL;
	return p.refusal ? kl_splice_refusal_name(p.refusal) : kl_block_reason_name(p.reason);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void cli_spliced_print_sum(const struct cli_spliced *spliced, FILE *file)
{
	const struct kl_splices_sum *sum = &spliced->sum;
	char number[4][CLI_NUMBER_MAX];

	fprintf(file, "\n    %.6f seconds time elapsed\n", seconds(spliced->elapsed_ns));
	fprintf(file, "    %s of %s points counted (%s not instrumentable, %s refused)\n",
		cli_print_count(number[0], sum->placed), cli_print_count(number[1], sum->points),
		cli_print_count(number[2], sum->without), cli_print_count(number[3], sum->refused));
	fprintf(file, "    %s patch sites, %s of %s functions relocated\n",
		cli_print_count(number[0], sum->windows), cli_print_count(number[1], sum->moved),
		cli_print_count(number[2], spliced->functions));
	fprintf(file, "    installed in %.3f s, removed in %.3f s\n", seconds(spliced->install_ns),
		seconds(spliced->remove_ns));
	if (spliced->ended_early)
		fputs("    the machine was about to suspend, so the counters were removed early:\n"
		      "    later executions are not counted\n",
		      file);
	fputc('\n', file);
}

json_t *cli_spliced_json_sum(const struct cli_spliced *spliced)
{
	const struct kl_splices_sum *sum = &spliced->sum;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b}", "points",
			 (json_int_t)sum->points, "counted", (json_int_t)sum->placed, "without",
			 (json_int_t)sum->without, "refused", (json_int_t)sum->refused, "windows",
			 (json_int_t)sum->windows, "functions", (json_int_t)spliced->functions,
			 "moved", (json_int_t)sum->moved, "seconds", seconds(spliced->elapsed_ns),
			 "install_seconds", seconds(spliced->install_ns), "remove_seconds",
			 seconds(spliced->remove_ns), "ended_early", spliced->ended_early);
}

char *cli_spliced_subject(const struct cli_spliced *spliced)
{
	struct kl_buffer text = {};
	char *subject;

	kl_buffer_add_string(&text, "of all tasks");
	for (char **word = spliced->session.select.words; word && *word; word++)
		kl_buffer_printf(&text, "%s%s",
				 word == spliced->session.select.words ? " during '" : " ", *word);
	if (spliced->session.select.words)
		kl_buffer_add_char(&text, '\'');
	subject = cli_format("%.*s", (int)text.length, text.data);
	kl_buffer_deinit(&text);
	return subject;
}

int cli_spliced_end(struct cli_spliced *spliced, int status)
{
	struct cli_spliced *sp = spliced;

	cli_busy(NULL);
	cli_session_interrupts(&sp->session, false);
	if (sp->run.began_ns)
		status = cli_run_status(&sp->run, status);
	for (size_t i = 0; i < sp->functions; i++) {
		free(sp->function[i].target);
		free(sp->function[i].place);
	}
	free(sp->function);
	free(sp->row);
	free(sp->count);
	kl_source_close(sp->source.kernel);
	cli_source_deinit(&sp->source);
	kl_splices_destroy(sp->splices);
	kl_blocks_close(sp->blocks);
	kl_symbols_close(sp->symbols);
	if (sp->session.session)
		cli_session_close(&sp->session);
	cli_run_deinit(&sp->run);
	return status;
}
