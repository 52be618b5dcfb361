// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage as a tracefile for lcov: by source lines where these are known; else each function is a
 * file, whose lines are its blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "coverage.h"

/* A function of a source file. Copies of an inline function are merged into one. */
struct row {
	const char *file;
	const char *name;
	uint32_t line;
	uint64_t entered;
};

/* -------------------------------------------------------------------- reading */

static void add_line(struct cli_coverage *coverage, const struct kl_source_line *at, uint64_t count)
{
	if (coverage->lines == coverage->room) {
		struct cli_covered_line *grown;

		coverage->room = coverage->room ? 2 * coverage->room : 1024;
		grown = cli_alloc(coverage->room * sizeof(*grown));
		if (coverage->lines)
			memcpy(grown, coverage->line, coverage->lines * sizeof(*grown));
		free(coverage->line);
		coverage->line = grown;
	}
	coverage->line[coverage->lines++] = (struct cli_covered_line){ *at, count };
}

static const struct kl_block *block_at(const struct kl_block_graph *g, uint32_t offset)
{
	uint32_t low = 0, high = g->blocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (g->block[middle].begin <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return &g->block[low - 1];
}

void cli_coverage_add_lines(struct cli_coverage *coverage, const struct kl_block_graph *g,
			    struct cli_source *source)
{
	struct cli_covered_function *f = &coverage->function[coverage->n - 1];

	if (!f->counted)
		return;
	cli_source_read(source, g);
	if (!cli_source_at(source, 0))
		return;
	f->start = *cli_source_at(source, 0);
	for (uint32_t i = 0; i < f->n; i++) {
		const struct kl_block *block = block_at(g, f->block[i].offset);
		const struct kl_source_line *last = NULL;

		if (f->block[i].reason)
			continue;
		for (uint32_t k = block->first; k < block->first + block->n; k++) {
			const struct kl_source_line *at = cli_source_at(source, k);

			if (at && (!last || at->line != last->line || at->file != last->file))
				add_line(coverage, at, f->block[i].count);
			last = at;
		}
	}
}

/* ------------------------------------------------------------------- by lines */

/* File names are interned: equal names have the same address. */
static int compare_files(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

static int compare_lines(const void *left, const void *right)
{
	const struct cli_covered_line *a = left, *b = right;
	int order = compare_files(a->at.file, b->at.file);

	if (order)
		return order;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	return (a->count < b->count) - (a->count > b->count);
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = compare_files(a->file, b->file);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

void cli_coverage_merge_lines(struct cli_coverage *coverage)
{
	size_t n = 0;

	if (coverage->lines)
		qsort(coverage->line, coverage->lines, sizeof(*coverage->line), compare_lines);
	for (size_t i = 0; i < coverage->lines; i++) {
		const struct kl_source_line *at = &coverage->line[i].at;

		if (n && coverage->line[n - 1].at.line == at->line &&
		    coverage->line[n - 1].at.file == at->file)
			continue;
		coverage->line[n++] = coverage->line[i];
	}
	coverage->lines = n;
}

/* How often a function was entered, as far as known: at least once if any of its blocks ran. */
static uint64_t entered(const struct cli_covered_function *f)
{
	return f->entered ? f->entered : f->ran > 0;
}

static struct row *find_rows(const struct cli_coverage *coverage, size_t *n)
{
	struct row *row = cli_alloc((coverage->n + 1) * sizeof(*row));
	size_t all = 0;

	for (size_t i = 0; i < coverage->n; i++) {
		const struct cli_covered_function *f = &coverage->function[i];

		if (f->counted && f->start.line)
			row[all++] =
				(struct row){ f->start.file, f->name, f->start.line, entered(f) };
	}
	qsort(row, all, sizeof(*row), compare_rows);
	*n = 0;
	for (size_t i = 0; i < all; i++) {
		if (*n && row[*n - 1].file == row[i].file && !strcmp(row[*n - 1].name, row[i].name))
			row[*n - 1].entered += row[i].entered;
		else
			row[(*n)++] = row[i];
	}
	return row;
}

/* Write the functions of a file. Returns the first one of the next file. */
static size_t write_functions(const struct row *row, size_t from, size_t n, const char *source,
			      FILE *file)
{
	size_t to = from, hit = 0;

	for (; to < n && row[to].file == source; to++) {
		fprintf(file, "FN:%u,%s\n", row[to].line, row[to].name);
		hit += row[to].entered > 0;
	}
	for (size_t i = from; i < to; i++)
		fprintf(file, "FNDA:%llu,%s\n", (unsigned long long)row[i].entered, row[i].name);
	fprintf(file, "FNF:%zu\nFNH:%zu\n", to - from, hit);
	return to;
}

/* Write the lines of a file. Returns the first one of the next file. */
static size_t write_lines(const struct cli_coverage *coverage, size_t from, const char *source,
			  FILE *file)
{
	size_t to = from, hit = 0;

	for (; to < coverage->lines && coverage->line[to].at.file == source; to++) {
		fprintf(file, "DA:%u,%llu\n", coverage->line[to].at.line,
			(unsigned long long)coverage->line[to].count);
		hit += coverage->line[to].count > 0;
	}
	fprintf(file, "LF:%zu\nLH:%zu\n", to - from, hit);
	return to;
}

static void write_files(struct cli_coverage *coverage, FILE *file)
{
	size_t n, at = 0, i = 0;
	struct row *row = find_rows(coverage, &n);

	cli_coverage_merge_lines(coverage);
	while (i < coverage->lines || at < n) {
		const char *source = i < coverage->lines ? coverage->line[i].at.file : row[at].file;

		/* A file may have functions but no counted line, or the other way around. */
		if (at < n && compare_files(row[at].file, source) < 0)
			source = row[at].file;
		fprintf(file, "TN:kernlens\nSF:%s\n", source);
		at = write_functions(row, at, n, source, file);
		i = write_lines(coverage, i, source, file);
		fputs("end_of_record\n", file);
	}
	free(row);
}

/* ------------------------------------------------------------------ by blocks */

static void write_function(const struct cli_covered_function *f, FILE *file)
{
	fprintf(file, "TN:kernlens\nSF:%s%s%s\n", f->module, *f->module ? ":" : "", f->name);
	fprintf(file, "FN:1,%s\nFNDA:%llu,%s\nFNF:1\nFNH:%d\n", f->name,
		(unsigned long long)f->entered, f->name, f->ran > 0);
	for (uint32_t i = 0; i < f->n; i++)
		if (!f->block[i].reason)
			fprintf(file, "DA:%u,%llu\n", i + 1, (unsigned long long)f->block[i].count);
	fprintf(file, "LF:%u\nLH:%u\nend_of_record\n", f->counted, f->ran);
}

void cli_coverage_lcov(struct cli_coverage *coverage, FILE *file)
{
	write_files(coverage, file);
	for (size_t i = 0; i < coverage->n; i++)
		if (coverage->function[i].counted && !coverage->function[i].start.line)
			write_function(&coverage->function[i], file);
}
