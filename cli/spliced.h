/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks that are counted while a command runs: which functions, their splices, and the counts.
 * What count and coverage share; they print what is found here.
 */
#ifndef KL_CLI_SPLICED_H
#define KL_CLI_SPLICED_H

#include "run.h"
#include "source.h"

/* Where a block begins, from its function's start, and its length, in bytes. */
struct cli_spliced_place {
	uint32_t offset;
	uint32_t bytes;
};

/**
 * struct cli_spliced_function - a function whose blocks are counted
 * @index: of the function, in the blocks
 * @first: number of its first point
 * @n: points
 * @target: they
 * @place: of each, the block
 */
struct cli_spliced_function {
	size_t index;
	uint32_t first;
	uint32_t n;
	struct kl_splice_target *target;
	struct cli_spliced_place *place;
};

/**
 * struct cli_spliced - a run
 * @session: its session, of all tasks; @run: how long
 * @choose: which blocks of a function that fits are counted, by block: filled in, and CLI_OK or
 *          another status after an error message; NULL: those that were asked for
 * @context: for that
 * @in_place: no function is moved
 * @lines: lines of the source are wanted; @debug: where they are looked for first, or NULL
 * @source: these
 * @function: functions that fit what was asked for, by address; @functions: how many
 * @count: passes of each point while the session ran
 * @sum: what has become of the points
 * @install_ns: time that splicing took; @remove_ns: and taking back; @elapsed_ns: between
 * @ended_early: the machine was about to sleep, and nothing was counted any more
 */
struct cli_spliced {
	struct cli_session session;
	struct cli_run run;
	int (*choose)(void *context, const struct kl_block_graph *graph, bool *chosen);
	void *context;
	bool in_place;
	bool lines;
	const char *debug;
	struct cli_source source;
	struct kl_symbols *symbols;
	struct kl_blocks *blocks;
	struct kl_splices *splices;
	struct cli_spliced_function *function;
	size_t functions;
	uint32_t *row; /* of each function of the kernel: its place in @function, and 1 */
	uint64_t *count;
	struct kl_splices_sum sum;
	uint64_t install_ns;
	uint64_t remove_ns;
	bool ended_early;
	uint64_t elapsed_ns;
};

/**
 * cli_spliced_run - splice, run the command, read the counts and take the splices back
 * @spliced: its `session.command` and `session.select` are filled in
 * @want: texts "[block:]FUNCTION[+OFFSET|#NUMBER][:post]", FUNCTION may be a pattern
 * @n: how many; none: each function of the kernel and its modules
 *
 * Returns CLI_OK if there are counts, or another status after an error message; either way
 * cli_spliced_end() comes last.
 */
int cli_spliced_run(struct cli_spliced *spliced, char *const *want, size_t n);

/**
 * cli_spliced_print_sum - how many could be counted, and what it took
 * @spliced: run
 * @file: where to
 */
void cli_spliced_print_sum(const struct cli_spliced *spliced, FILE *file);

/* The same for JSON. */
json_t *cli_spliced_json_sum(const struct cli_spliced *spliced);

/* Why a point has no count, in one word; NULL: it has one. */
const char *cli_spliced_reason(const struct cli_spliced *spliced, uint32_t point);

/* Who was counted, for a heading: "of all tasks during 'make'". Free it. */
char *cli_spliced_subject(const struct cli_spliced *spliced);

/**
 * cli_spliced_end - free; the command's status if there was one
 * @spliced: after cli_spliced_run()
 * @status: of what kernlens itself did
 */
int cli_spliced_end(struct cli_spliced *spliced, int status);

#endif /* KL_CLI_SPLICED_H */
