/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of kernlens path: the request, and the results for a function. */
#ifndef KL_CLI_BLOCK_PATH_H
#define KL_CLI_BLOCK_PATH_H

#include <jansson.h>
#include <stdio.h>

#include "../session/select.h"
#include "source.h"

/**
 * struct cli_path_request - the command line
 * @function: function name
 * @path: output file, or NULL
 * @top: maximum number of paths or edges to show; 0: all
 * @instructions: also print the instructions of the blocks
 * @debug: where to look for debug information first, or NULL
 * @html: also write a page with the graph to this file; NULL: do not
 * @check: also count all other blocks, and compare
 */
struct cli_path_request {
	const char *function;
	const char *path;
	uint64_t top;
	bool instructions;
	const char *debug;
	const char *html;
	bool check;
};

/**
 * struct cli_path_block - what is known about a block
 * @reason: why it cannot be instrumented; NULL: it can
 * @count: executions; @known: @count is valid
 * @counted: it had one of the counters that the other counts are derived from
 * @unexplained: executions that belong to no path
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
 * struct cli_path_result - results for a function, ready to print
 * @blocks: the kernel's text; @graph: the function; @source: its source lines
 * @paths: path numbers; @block: by block number
 * @edge: counts of edges
 * @profile: of the recorded paths; NULL: edges were counted
 * @lost: number of lost records
 * @counters: number of counters; @differ: with --check, number of blocks whose counts differ
 * @elapsed_ns: duration
 * @subject: the traced tasks, for the heading
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

/* Print or write it as requested. Returns CLI_OK, or another status after an error message. */
int cli_path_write(const struct cli_path_request *request, struct cli_path_result *result);

void cli_path_result_deinit(struct cli_path_result *result);

/**
 * cli_path_count_edges - run the command while counting as few blocks as possible
 * @request: the request
 * @command: the subcommand; @select: its remaining options
 *
 * Returns the exit status.
 */
int cli_path_count_edges(const struct cli_path_request *request, const struct cli_command *command,
			 const struct cli_select *select);

#endif /* KL_CLI_BLOCK_PATH_H */
