// SPDX-License-Identifier: GPL-2.0
/* Counts of a run as rows of functions and blocks, written as a table or JSON. */
#include <stdlib.h>

#include "../base/common.h"
#include "coverage.h"
#include "print.h"

/* --------------------------------------------------------------------- reading */

static void read_function(struct cli_covered_function *to, const struct cli_spliced *sp,
			  const struct cli_spliced_function *f)
{
	struct kl_block_function function;

	kl_blocks_function(sp->blocks, f->index, &function);
	*to = (struct cli_covered_function){
		.name = function.name,
		.module = function.module,
		.address = function.address,
		.block = cli_alloc((f->n + 1) * sizeof(*to->block)),
		.n = f->n,
	};
	for (uint32_t i = 0; i < f->n; i++) {
		struct cli_covered *row = &to->block[i];

		row->offset = f->place[i].offset;
		row->bytes = f->place[i].bytes;
		row->reason = cli_spliced_reason(sp, f->first + i);
		row->count = sp->count[f->first + i];
		if (row->reason)
			continue;
		to->counted++;
		to->ran += !!row->count;
		to->passes += row->count;
		if (!row->offset)
			to->entered = row->count;
	}
}

static int read_lines(struct cli_coverage *coverage, struct cli_spliced *spliced, size_t index)
{
	struct kl_block_graph graph;
	int ret = kl_blocks_graph(spliced->blocks, index, &graph);

	if (ret)
		return cli_library_error(ret, NULL);
	cli_coverage_add_lines(coverage, &graph, &spliced->source);
	kl_block_graph_free(&graph);
	return CLI_OK;
}

int cli_coverage_read(struct cli_coverage *coverage, struct cli_spliced *spliced)
{
	int status = CLI_OK;

	coverage->function = cli_alloc((spliced->functions + 1) * sizeof(*coverage->function));
	for (size_t i = 0; i < spliced->functions && !status; i++) {
		const struct cli_spliced_function *f = &spliced->function[i];

		read_function(&coverage->function[coverage->n++], spliced, f);
		if (spliced->lines)
			status = read_lines(coverage, spliced, f->index);
	}
	return status;
}

void cli_coverage_deinit(struct cli_coverage *coverage)
{
	for (size_t i = 0; i < coverage->n; i++)
		free(coverage->function[i].block);
	free(coverage->function);
	free(coverage->line);
}

/* ---------------------------------------------------------------------- table */

static int compare_passes(const void *left, const void *right)
{
	const struct cli_covered_function *const *a = left, *const *b = right;

	if ((*a)->passes != (*b)->passes)
		return (*a)->passes > (*b)->passes ? -1 : 1;
	return ((*a)->address > (*b)->address) - ((*a)->address < (*b)->address);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void cli_coverage_add_name(struct cli_table *table, const char *name, const char *module)
{
	if (*module)
		cli_table_add(table, "%s [%s]", name, module);
	else
		cli_table_add(table, "%s", name);
}

static void add_row(struct cli_table *table, const struct cli_covered_function *f)
{
	char number[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", cli_print_count(number, f->entered));
	cli_table_add(table, "%s", cli_print_count(number, f->passes));
	cli_table_add(table, "%s", cli_print_count(number, f->ran));
	cli_table_add(table, "%s", cli_print_count(number, f->counted));
	cli_table_add(table, "%.1f %%", percent(f->ran, f->counted));
	cli_coverage_add_name(table, f->name, f->module);
}

void cli_coverage_print(const struct cli_coverage *coverage, uint64_t top, FILE *file)
{
	struct cli_table *table =
		cli_table_create(">entered|>executed|>blocks ran|>of|>percent|function");
	const struct cli_covered_function **sorted = cli_alloc((coverage->n + 1) * sizeof(*sorted));
	uint64_t functions = 0, ran = 0, counted = 0, passes = 0;
	char number[5][CLI_NUMBER_MAX];
	size_t n = 0;

	for (size_t i = 0; i < coverage->n; i++) {
		const struct cli_covered_function *f = &coverage->function[i];

		functions += !!f->counted;
		counted += f->counted;
		ran += f->ran;
		passes += f->passes;
		if (f->ran)
			sorted[n++] = f;
	}
	qsort(sorted, n, sizeof(*sorted), compare_passes);
	for (size_t i = 0; i < n && (!top || i < top); i++)
		add_row(table, sorted[i]);
	cli_table_print(table, file, 4);
	if (top && n > top)
		fprintf(file, "    ... and %s more functions (--top 0 shows all)\n",
			cli_print_count(number[0], n - top));
	fprintf(file,
		"\n    %s of %s blocks ran (%.1f %%), in %zu of %s functions; "
		"%s block executions\n",
		cli_print_count(number[0], ran), cli_print_count(number[1], counted),
		percent(ran, counted), n, cli_print_count(number[2], functions),
		cli_print_count(number[3], passes));
	free(sorted);
}

/* ----------------------------------------------------------------------- JSON */

static json_t *json_blocks(const struct cli_covered_function *f)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < f->n; i++) {
		const struct cli_covered *row = &f->block[i];

		json_array_append_new(rows,
				      json_pack("[I, I, o]", (json_int_t)row->offset,
						(json_int_t)row->bytes,
						row->reason ?
							json_string(row->reason) :
							json_integer((json_int_t)row->count)));
	}
	return rows;
}

/* Lines of each file, as [line, count]. */
static json_t *json_files(struct cli_coverage *coverage)
{
	json_t *files = json_object(), *lines = NULL;
	const char *last = NULL;

	cli_coverage_merge_lines(coverage);
	for (size_t i = 0; i < coverage->lines; i++) {
		const struct cli_covered_line *line = &coverage->line[i];

		if (line->at.file != last) {
			json_t *name = cli_json_text(line->at.file);

			lines = json_array();
			json_object_set_new(files, json_string_value(name), lines);
			json_decref(name);
		}
		last = line->at.file;
		json_array_append_new(lines, json_pack("[I, I]", (json_int_t)line->at.line,
						       (json_int_t)line->count));
	}
	return files;
}

json_t *cli_coverage_json(struct cli_coverage *coverage, const struct cli_spliced *spliced)
{
	json_t *list = json_array(), *document;

	for (size_t i = 0; i < coverage->n; i++) {
		const struct cli_covered_function *f = &coverage->function[i];
		json_t *row = json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:o}", "function", f->name,
					"address",
					json_sprintf("0x%llx", (unsigned long long)f->address),
					"entered", (json_int_t)f->entered, "passes",
					(json_int_t)f->passes, "counted", (json_int_t)f->counted,
					"ran", (json_int_t)f->ran, "blocks", json_blocks(f));

		cli_json_module(f->module, row);
		cli_source_json_line(&f->start, row);
		json_array_append_new(list, row);
	}
	document = json_pack("{s:o, s:o}", "functions", list, "splices",
			     cli_spliced_json_sum(spliced));
	if (spliced->lines)
		json_object_set_new(document, "files", json_files(coverage));
	return document;
}
