/* SPDX-License-Identifier: GPL-2.0 */
/* kernlens count --time: times from one block to another. */
#ifndef KL_CLI_BLOCK_COUNT_TIMES_H
#define KL_CLI_BLOCK_COUNT_TIMES_H

#include "../session/run.h"
#include "times.h"

/**
 * struct cli_count_times - a run
 * @session: with `command` and `select` filled in
 * @text: each --time, as in "vfs_read#0,vfs_read#7"; @n: how many
 */
struct cli_count_times {
	struct cli_session session;
	const char *text[CLI_TIMES_MAX];
	unsigned int n;
};

/**
 * cli_count_times - measure and print times
 * @of: run
 *
 * Returns the exit status of the subcommand.
 */
int cli_count_times(struct cli_count_times *of);

#endif /* KL_CLI_BLOCK_COUNT_TIMES_H */
