/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Count blocks while a command runs: the functions, their splices, and the counts. Shared by count,
 * coverage and path, which print the results.
 */
#ifndef KL_CLI_BLOCK_SPLICED_H
#define KL_CLI_BLOCK_SPLICED_H

#include "../session/run.h"
#include "source.h"

/* Keys of options; those of one of the commands begin with CLI_SPLICED_OWN. */
enum {
	CLI_SPLICED_IN_PLACE = CLI_KEY_OWN,
	CLI_SPLICED_DEBUG,
	CLI_SPLICED_OWN,
};

/* Where a block begins, relative to its function, and its length, in bytes. */
struct cli_spliced_place {
	uint32_t offset;
	uint32_t bytes;
};

/**
 * struct cli_spliced_function - a function whose blocks are counted
 * @index: its index in the blocks
 * @first: number of its first point
 * @n: number of points
 * @target: the points
 * @place: block of each point
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
 * @session: session, for all tasks; @run: its duration
 * @choose: selects blocks of a matching function, by block: fills in @chosen and returns CLI_OK, or
 *          another status after an error message; NULL: the requested blocks
 * @context: argument of @choose
 * @in_place: do not relocate functions
 * @lines: look up source lines; @debug: where to look for debug information first, or NULL
 * @source: the source lines
 * @function: functions that match the request, by address; @functions: how many
 * @count: executions of each point while the session ran
 * @sum: what became of the points
 * @install_ns: time to install; @remove_ns: time to remove; @elapsed_ns: time between
 * @ended_early: the machine was about to suspend, and counting stopped
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
	uint32_t *row; /* for each function of the kernel: its index in @function plus 1, or 0 */
	uint64_t *count;
	struct kl_splices_sum sum;
	uint64_t install_ns;
	uint64_t remove_ns;
	bool ended_early;
	uint64_t elapsed_ns;
};

/* Take --in-place, --debug, -o, or an option of the session. */
void cli_spliced_option(struct cli_spliced *spliced, const struct cli_parser *parser, int key);

/**
 * cli_spliced_run - splice, run the command, read the counts and remove the splices
 * @spliced: with `session.command` and `session.select` filled in
 * @want: texts "[block:]FUNCTION[+OFFSET|#NUMBER][:post]", FUNCTION may be a pattern
 * @n: number of texts; 0: each function of the kernel and its modules
 *
 * Returns CLI_OK if there are counts, or another status after an error message. In either case,
 * cli_spliced_end() must be called last.
 */
int cli_spliced_run(struct cli_spliced *spliced, char *const *want, size_t n);

/**
 * cli_spliced_print_sum - print how many points were counted, and the times
 * @spliced: run
 * @file: output stream
 */
void cli_spliced_print_sum(const struct cli_spliced *spliced, FILE *file);

/* The same as a JSON object. */
json_t *cli_spliced_json_sum(const struct cli_spliced *spliced);

/* Why a point has no count, in one word; NULL if it has one. */
const char *cli_spliced_reason(const struct cli_spliced *spliced, uint32_t point);

/* What was counted, for a heading: "of all tasks during 'make'". To be freed. */
char *cli_spliced_subject(const struct cli_spliced *spliced);

/**
 * cli_spliced_end - free everything; returns the command's status if there was one
 * @spliced: after cli_spliced_run()
 * @status: status of kernlens itself
 */
int cli_spliced_end(struct cli_spliced *spliced, int status);

#endif /* KL_CLI_BLOCK_SPLICED_H */
