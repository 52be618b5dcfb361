// SPDX-License-Identifier: GPL-2.0
/* Print the results of kernlens path: paths by frequency, or edges, and blocks, as text or JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "page.h"
#include "path.h"
#include "print.h"

/* ---------------------------------------------------------------------- text */

static void print_head(const struct cli_path_result *r, FILE *file)
{
	const struct kl_block_function *function = &r->graph.function;
	char paths[CLI_NUMBER_MAX];
	uint32_t limited, cuts = kl_paths_cuts(r->paths, &limited);

	fprintf(file, "\n %s of %s, %s:\n\n", r->profile ? "Paths" : "Edges", function->name,
		r->subject);
	fprintf(file, "    0x%llx, %u bytes, %u blocks, %s paths from its start, %u edges cut",
		(unsigned long long)function->address, function->bytes, r->graph.blocks,
		cli_print_count(paths, kl_paths_from(r->paths, 0)), cuts);
	if (limited)
		fprintf(file, " (%u because there are too many paths)", limited);
	fputs("\n\n", file);
}

/* Print block numbers as "0 1 (2) 5"; those in parentheses cannot be instrumented. */
static void print_blocks_of(const struct cli_path_result *r, const struct kl_path_row *row,
			    bool *shown, struct kl_buffer *text)
{
	uint32_t *block = cli_alloc(r->graph.blocks * sizeof(*block));
	long n = kl_path_blocks(r->paths, row->number, row->last, block);

	for (long i = 0; i < n; i++) {
		kl_buffer_printf(text, r->block[block[i]].reason ? "%s(%u)" : "%s%u", i ? " " : "",
				 block[i]);
		shown[block[i]] = true;
	}
	free(block);
}

static void print_paths(const struct cli_path_result *r, uint64_t top, bool *shown, FILE *file)
{
	struct cli_table *table = cli_table_create(">count|>share|ends|blocks");
	uint64_t paths = kl_path_profile_sum(r->profile).paths;
	const struct kl_path_row *row;
	char count[CLI_NUMBER_MAX];
	size_t rows;

	row = kl_path_profile_rows(r->profile, &rows);
	for (size_t i = 0; i < rows && (!top || i < top); i++) {
		struct kl_buffer text = {};

		print_blocks_of(r, &row[i], shown, &text);
		cli_table_add(table, "%s", cli_print_count(count, row[i].count));
		cli_table_add(table, "%.1f%%", 100.0 * (double)row[i].count / (double)paths);
		cli_table_add(table, "%s", kl_path_end_name(row[i].end));
		cli_table_add(table, "%.*s", (int)text.length, text.data);
		kl_buffer_deinit(&text);
	}
	cli_table_print(table, file, 4);
	if (!rows)
		fputs("    the function was not called\n", file);
	if (top && rows > top)
		fprintf(file, "    ... and %zu more (--top 0 shows all)\n", rows - top);
}

static const char *edge_word(uint32_t block, const char *outside, char text[CLI_BLOCK_WORD_MAX])
{
	return block == KL_PATH_OUTSIDE ? outside : cli_block_word(block, text);
}

/* Counts of the edges being sorted. Edges whose counts are unknown come last. */
static const struct kl_path_value *sorted_values;

static int compare_edges(const void *left, const void *right)
{
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const struct kl_path_value *x = &sorted_values[a], *y = &sorted_values[b];

	if (x->known != y->known)
		return x->known ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (a > b) - (a < b);
}

static void print_edges(const struct cli_path_result *r, uint64_t top, FILE *file)
{
	struct cli_table *table = cli_table_create(">count|>from|>to");
	char count[CLI_NUMBER_MAX], from[CLI_BLOCK_WORD_MAX], to[CLI_BLOCK_WORD_MAX];
	const struct kl_path_edge *edge;
	size_t n = kl_paths_edges(r->paths, &edge), unknown = 0;
	size_t *order = cli_alloc((n + 1) * sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	sorted_values = r->edge;
	qsort(order, n, sizeof(*order), compare_edges);
	for (size_t i = 0; i < n; i++) {
		const struct kl_path_value *value = &r->edge[order[i]];

		unknown += !value->known;
		if (top && i >= top)
			continue;
		cli_table_add(table, "%s",
			      value->known ? cli_print_count(count, value->count) : "?");
		cli_table_add(table, "%s", edge_word(edge[order[i]].from, "in", from));
		cli_table_add(table, "%s", edge_word(edge[order[i]].to, "out", to));
	}
	cli_table_print(table, file, 4);
	if (top && n > top)
		fprintf(file, "    ... and %zu more (--top 0 shows all)\n", n - top);
	fprintf(file, "\n    %u counters for %u blocks and %zu edges; ", r->counters,
		r->graph.blocks, n);
	if (unknown)
		fprintf(file, "%zu edges cannot be derived from block counts\n", unknown);
	else
		fputs("all edges are known\n", file);
	free(order);
}

static void print_block(const struct cli_path_request *request, const struct cli_path_result *r,
			uint32_t index, struct kl_buffer *text)
{
	const struct cli_path_block *known = &r->block[index];
	const struct kl_block *block = &r->graph.block[index];
	char count[CLI_NUMBER_MAX], next[CLI_BLOCK_WORD_MAX], taken[CLI_BLOCK_WORD_MAX];
	char where[CLI_SOURCE_MAX];

	kl_buffer_printf(text, "%15s %6u  +0x%-5x %5u %5u  %-6s  %5s %5s  %s%s%s%s\n",
			 known->known ? cli_print_count(count, known->count) : "-", index,
			 block->begin, block->bytes, block->n, kl_block_end_name(block->end),
			 cli_block_word(block->next, next), cli_block_word(block->taken, taken),
			 known->counted ? "counted" : "", known->reason ? "not instrumented: " : "",
			 known->reason ?: "", cli_source_text(r->source, block, where));
	if (request->instructions)
		cli_print_instructions(r->blocks, &r->graph, block, r->source, text);
}

static int print_blocks(const struct cli_path_request *request, const struct cli_path_result *r,
			const bool *shown, FILE *file)
{
	struct kl_buffer text = {};
	int status = CLI_OK;

	kl_buffer_printf(&text, "\n%15s %6s  %-8s %5s %5s  %-6s  %5s %5s\n", "count", "block",
			 "offset", "bytes", "instr", "ends", "next", "taken");
	for (uint32_t i = 0; i < r->graph.blocks; i++)
		if (!r->profile || shown[i])
			print_block(request, r, i, &text);
	if (!cli_write_buffer(&text, file))
		status = cli_error(-errno, "cannot write: %s", strerror(errno));
	kl_buffer_deinit(&text);
	return status;
}

static void print_sum(const struct cli_path_result *r, FILE *file)
{
	struct kl_path_sum sum = kl_path_profile_sum(r->profile);
	char number[CLI_NUMBER_MAX], other[CLI_NUMBER_MAX];
	uint32_t unseen = 0;

	fprintf(file, "\n    %s calls, %s block executions", cli_print_count(number, sum.entries),
		cli_print_count(other, sum.passes));
	if (sum.unexplained)
		fprintf(file, "; %s belong to no observed call",
			cli_print_count(number, sum.unexplained));
	if (sum.ambiguous)
		fprintf(file, "; %s fit two calls and were attributed to the inner one",
			cli_print_count(number, sum.ambiguous));
	fputc('\n', file);
	for (uint32_t i = 0; i < r->graph.blocks; i++)
		unseen += !!r->block[i].reason;
	if (unseen)
		fprintf(file, "    %u blocks could not be instrumented\n", unseen);
	if (r->lost)
		fprintf(file, "    %s records lost: try a larger --buffer\n",
			cli_print_count(number, r->lost));
}

static int write_text(const struct cli_path_request *request, const struct cli_path_result *r,
		      FILE *file)
{
	bool *shown = cli_alloc(r->graph.blocks + 1);
	int status;

	print_head(r, file);
	if (r->profile)
		print_paths(r, request->top, shown, file);
	else
		print_edges(r, request->top, file);
	status = print_blocks(request, r, shown, file);
	if (r->profile)
		print_sum(r, file);
	else if (request->check)
		fprintf(file, "\n    %u derived block counts differ from the counted ones%s\n",
			r->differ,
			r->differ ? ": calls were in progress when counting began or ended" : "");
	fprintf(file, "    %.6f seconds time elapsed\n\n", (double)r->elapsed_ns / 1e9);
	free(shown);
	return status;
}

/* ---------------------------------------------------------------------- JSON */

static json_t *json_block(uint32_t index)
{
	return index == UINT32_MAX ? json_null() : json_integer(index);
}

static json_t *json_blocks(const struct cli_path_request *request, const struct cli_path_result *r)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < r->graph.blocks; i++) {
		const struct cli_path_block *block = &r->block[i];
		json_t *row = json_pack("{s:I, s:I}", "block", (json_int_t)i, "offset",
					(json_int_t)r->graph.block[i].begin);

		if (block->reason)
			json_object_set_new(row, "reason", json_string(block->reason));
		json_object_set_new(row, "count",
				    block->known ? json_integer((json_int_t)block->count) :
						   json_null());
		if (r->profile) {
			json_object_set_new(row, "unexplained",
					    json_integer((json_int_t)block->unexplained));
		} else {
			json_object_set_new(row, "counted", json_boolean(block->counted));
		}
		if (request->check && !block->reason)
			json_object_set_new(row, "own", json_integer((json_int_t)block->full));
		cli_source_json(r->source, r->graph.block[i].first, row);
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *json_edges(const struct cli_path_result *r)
{
	const struct kl_path_edge *edge;
	size_t n = kl_paths_edges(r->paths, &edge);
	json_t *rows = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows,
				      json_pack("{s:o, s:o, s:o}", "from", json_block(edge[i].from),
						"to", json_block(edge[i].to), "count",
						r->edge[i].known ?
							json_integer((json_int_t)r->edge[i].count) :
							json_null()));
	return rows;
}

static json_t *json_paths(const struct cli_path_result *r)
{
	uint32_t *block = cli_alloc(r->graph.blocks * sizeof(*block));
	json_t *rows = json_array();
	const struct kl_path_row *row;
	size_t n;

	row = kl_path_profile_rows(r->profile, &n);
	for (size_t i = 0; i < n; i++) {
		long length = kl_path_blocks(r->paths, row[i].number, row[i].last, block);
		json_t *blocks = json_array();

		for (long k = 0; k < length; k++)
			json_array_append_new(blocks, json_integer(block[k]));
		json_array_append_new(rows,
				      json_pack("{s:I, s:I, s:s, s:o}", "number",
						(json_int_t)row[i].number, "count",
						(json_int_t)row[i].count, "ends",
						kl_path_end_name(row[i].end), "blocks", blocks));
	}
	free(block);
	return rows;
}

static json_t *json_result(const struct cli_path_request *request, const struct cli_path_result *r)
{
	uint32_t limited, cuts = kl_paths_cuts(r->paths, &limited);
	json_t *document;

	document = json_pack("{s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:f}", "function",
			     r->graph.function.name, "address",
			     json_sprintf("0x%llx", (unsigned long long)r->graph.function.address),
			     "paths_from_start", (json_int_t)kl_paths_from(r->paths, 0),
			     "edges_cut", (json_int_t)cuts, "edges_cut_by_limit",
			     (json_int_t)limited, "blocks", json_blocks(request, r), "edges",
			     json_edges(r), "seconds", (double)r->elapsed_ns / 1e9);
	cli_json_module(r->graph.function.module, document);
	if (r->profile) {
		struct kl_path_sum sum = kl_path_profile_sum(r->profile);

		json_object_update_new(document,
				       json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "paths",
						 json_paths(r), "calls", (json_int_t)sum.entries,
						 "passes", (json_int_t)sum.passes, "unexplained",
						 (json_int_t)sum.unexplained, "ambiguous",
						 (json_int_t)sum.ambiguous, "lost",
						 (json_int_t)r->lost));
	} else {
		json_object_set_new(document, "counters", json_integer(r->counters));
		if (request->check)
			json_object_set_new(document, "differ", json_integer(r->differ));
	}
	return document;
}

static int write_page(const struct cli_path_request *request, const struct cli_path_result *r)
{
	const struct cli_block_listing listing = {
		.blocks = r->blocks,
		.graph = &r->graph,
		.name = r->graph.function.name,
		.source = r->source,
	};
	json_t *functions = json_array(), *counts = json_pack("[o]", json_result(request, r));
	char *about = cli_format("counts %s", r->subject);
	int status;

	cli_page_add(functions, &listing);
	cli_page_count(functions, counts);
	status = cli_page_write(request->html, functions, about);
	json_decref(counts);
	free(about);
	return status;
}

int cli_path_write(const struct cli_path_request *request, struct cli_path_result *r)
{
	const char *path = request->path;
	FILE *file = cli_open_result(path, cli_settings.json);
	int status;

	if (!file)
		return CLI_FAILED;
	cli_source_read(r->source, &r->graph);
	status = cli_close_result(file, path,
				  cli_settings.json ? cli_json_write(json_result(request, r)) :
						      write_text(request, r, file));
	if (!status && request->html)
		status = write_page(request, r);
	return status;
}

void cli_path_result_deinit(struct cli_path_result *result)
{
	kl_path_profile_destroy(result->profile);
	kl_paths_destroy(result->paths);
	kl_block_graph_free(&result->graph);
	free(result->block);
	free(result->edge);
	free(result->subject);
}
