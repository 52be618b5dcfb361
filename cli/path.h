/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of kernlens path share: what was asked for, and what is shown of a function. */
#ifndef KL_CLI_PATH_H
#define KL_CLI_PATH_H

#include <jansson.h>
#include <stdio.h>

#include "select.h"
#include "source.h"

/**
 * struct cli_path_request - what the command line said
 * @function: name
 * @path: file for the result, or NULL
 * @top: paths, or edges, to show at most; 0: all
 * @instructions: those of the blocks, too
 * @debug: where lines of the source are looked for first, or NULL
 * @check: count all blocks, too, and compare
 */
struct cli_path_request {
	const char *function;
	const char *path;
	uint64_t top;
	bool instructions;
	const char *debug;
	bool check;
};

/**
 * struct cli_path_block - what is known of a block
 * @reason: why its passes cannot be seen; NULL: they can
 * @count: passes; @known: they are known
 * @counted: it had a counter that the others were derived from
 * @unexplained: passes that are in no path
 * @full: its own count, with --check
 */
struct cli_path_block {
	const char *reason;
	uint64_t count;
	bool known;
	bool counted;
	uint64_t unexplained;
	uint64_t full;
};

/**
 * struct cli_path_result - a function, ready to be shown
 * @blocks: its text; @graph: the function; @source: its lines
 * @paths: numbered; @block: by block
 * @edge: counts of edges
 * @profile: of what was recorded; NULL: edges were counted
 * @lost: records
 * @counters: edges were derived from so many; @differ: with --check, blocks that are not equal
 * @elapsed_ns: how long
 * @subject: whose, for a heading
 */
struct cli_path_result {
	struct kl_blocks *blocks;
	struct kl_block_graph graph;
	struct cli_source *source;
	struct kl_paths *paths;
	struct cli_path_block *block;
	struct kl_path_value *edge;
	struct kl_path_profile *profile;
	uint64_t lost;
	uint32_t counters;
	uint32_t differ;
	uint64_t elapsed_ns;
	char *subject;
};

/* Show it, or write it, as the request says. CLI_OK or another status after an error message. */
int cli_path_write(const struct cli_path_request *request, struct cli_path_result *result);

void cli_path_result_deinit(struct cli_path_result *result);

/**
 * cli_path_count_edges - run the command while the fewest blocks are counted
 * @request: what was asked for
 * @command: the subcommand; @select: what else was
 *
 * Returns the exit status.
 */
int cli_path_count_edges(const struct cli_path_request *request, const struct cli_command *command,
			 const struct cli_select *select);

#endif /* KL_CLI_PATH_H */
