/* SPDX-License-Identifier: GPL-2.0 */
/* Coverage of blocks: rows of functions, blocks and lines, as a table, JSON or for lcov. */
#ifndef KL_CLI_BLOCK_COVERAGE_H
#define KL_CLI_BLOCK_COVERAGE_H

#include "../base/output.h"
#include "source.h"
#include "spliced.h"

/**
 * struct cli_covered - a block
 * @offset: from the function's start, in bytes
 * @bytes: length
 * @reason: why it has no count; NULL: it has one
 * @count: number of executions
 */
struct cli_covered {
	uint32_t offset;
	uint32_t bytes;
	const char *reason;
	uint64_t count;
};

/**
 * struct cli_covered_function - a function
 * @name: its name; @module: its module, empty for the kernel; @address: of its first byte
 * @block: its blocks, by address; @n: number of blocks
 * @counted: number of blocks that have a count; @ran: number of these that were executed
 * @entered: executions of the block at the function's start, if it has a count; else 0
 * @passes: executions of all blocks together
 * @start: where it begins in the source, if known and requested
 */
struct cli_covered_function {
	const char *name;
	const char *module;
	uint64_t address;
	struct cli_covered *block;
	uint32_t n;
	uint32_t counted;
	uint32_t ran;
	uint64_t entered;
	uint64_t passes;
	struct kl_source_line start;
};

/* A source line, and the count of a block that has an instruction of that line. */
struct cli_covered_line {
	struct kl_source_line at;
	uint64_t count;
};

struct cli_coverage {
	struct cli_covered_function *function;
	size_t n;
	struct cli_covered_line *line;
	size_t lines, room;
};

/**
 * cli_coverage_read - turn a run's counts into rows
 * @coverage: zeroed
 * @spliced: the run; must outlive @coverage; its @lines requests source lines, too
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_coverage_read(struct cli_coverage *coverage, struct cli_spliced *spliced);

/* Add the source lines of the function that was read last. */
void cli_coverage_add_lines(struct cli_coverage *coverage, const struct kl_block_graph *graph,
			    struct cli_source *source);

/* Sort the lines, and keep each once, with its largest count. */
void cli_coverage_merge_lines(struct cli_coverage *coverage);

void cli_coverage_deinit(struct cli_coverage *coverage);

/* Add a function's name as a table cell. */
void cli_coverage_add_name(struct cli_table *table, const char *name, const char *module);

/* Print at most @top functions by executions (0: all), and the totals. */
void cli_coverage_print(const struct cli_coverage *coverage, uint64_t top, FILE *file);

/*
 * The result as a document. If source lines were requested, functions have those where they start,
 * and `files` has the lines of each file; sorts the lines.
 */
json_t *cli_coverage_json(struct cli_coverage *coverage, const struct cli_spliced *spliced);

/*
 * Write a record for each source file, and one for each function without source lines, whose lines
 * are its blocks, numbered from 1. Sorts the lines.
 */
void cli_coverage_lcov(struct cli_coverage *coverage, FILE *file);

/**
 * cli_coverage_diff - print what ran in only one of two runs
 * @before: JSON file of one run
 * @after: JSON file of the other
 * @html: file for a page with both runs, instead; NULL: none
 *
 * Prints to stdout. Returns CLI_OK, or another status after an error message.
 */
int cli_coverage_diff(const char *before, const char *after, const char *html);

#endif /* KL_CLI_BLOCK_COVERAGE_H */
