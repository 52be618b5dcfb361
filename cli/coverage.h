/* SPDX-License-Identifier: GPL-2.0 */
/* Coverage of blocks: rows of functions, blocks and lines, as table, JSON and for lcov. */
#ifndef KL_CLI_COVERAGE_H
#define KL_CLI_COVERAGE_H

#include "output.h"
#include "source.h"
#include "spliced.h"

/**
 * struct cli_covered - a block
 * @offset: from its function's start, bytes
 * @bytes: length
 * @reason: why it has no count; NULL: it has one
 * @count: how often it was passed
 */
struct cli_covered {
	uint32_t offset;
	uint32_t bytes;
	const char *reason;
	uint64_t count;
};

/**
 * struct cli_covered_function - a function
 * @name: of it; @module: whose it is, empty: the kernel's; @address: of its first byte
 * @block: its blocks, by address; @n: how many
 * @counted: blocks that have a count; @ran: of them, those that were passed
 * @entered: passes of the first block that has a count and is the function's first; else 0
 * @passes: of all blocks together
 * @start: where it begins in the source, if that is known and was asked for
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

/* A line of the source, and the count of a block that has an instruction of it. */
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
 * cli_coverage_read - put a run's counts into rows
 * @coverage: zeroed
 * @spliced: run; must outlive @coverage; with lines of the source if they were wanted
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_coverage_read(struct cli_coverage *coverage, struct cli_spliced *spliced);

/* The lines of the function that was read last. */
void cli_coverage_add_lines(struct cli_coverage *coverage, const struct kl_block_graph *graph,
			    struct cli_source *source);

void cli_coverage_deinit(struct cli_coverage *coverage);

/* A function as the cell of a table. */
void cli_coverage_add_name(struct cli_table *table, const char *name, const char *module);

/* Functions by passes, at most @top (0: all), and what they are together. */
void cli_coverage_print(const struct cli_coverage *coverage, uint64_t top, FILE *file);

json_t *cli_coverage_json(const struct cli_coverage *coverage, const struct cli_spliced *spliced);

/*
 * A record for each file of the source; and one for each function without lines of the source,
 * whose lines are its blocks, numbered from 1. Sorts the lines.
 */
void cli_coverage_lcov(struct cli_coverage *coverage, FILE *file);

/**
 * cli_coverage_diff - what ran in one of two runs only
 * @before: file of a run's JSON
 * @after: of another
 *
 * Prints to stdout. Returns CLI_OK, or another status after an error message.
 */
int cli_coverage_diff(const char *before, const char *after);

#endif /* KL_CLI_COVERAGE_H */
