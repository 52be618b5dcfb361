/* SPDX-License-Identifier: GPL-2.0 */
/* Output of kernlens profile: tables, trees, differences, and JSON. */
#ifndef KL_CLI_PROFILE_PRINT_H
#define KL_CLI_PROFILE_PRINT_H

#include <stdio.h>
#include <kernlens/internal.h>

#include "../base/cli.h"

/**
 * struct cli_profile - a profile to print
 * @profile: the profile
 * @old: an earlier one, to compare it with, or NULL
 * @key: what rows stand for
 * @n_keys: number of keys
 * @tree: print a tree of calls instead of rows
 * @direction: of the tree
 * @function: the tree's function, or NULL
 * @top: maximum number of rows; 0: all
 * @least: branches with less than this percentage of all samples are left out of trees
 * @seconds: how long samples were taken, for a profile that goes on; 0: the whole trace
 * @restarts: times that such a profile had to be begun again
 * @lost: samples that are missing from the trace
 * @off_cpu: with the time in which tasks wait; then amounts are in ns, else in samples
 * @late: ticks that came too late to be samples of any task; the tasks of the profile may have
 *        missed fewer
 */
struct cli_profile {
	struct kl_profile *profile;
	struct kl_profile *old;
	enum kl_profile_key key[KL_PROFILE_KEYS_MAX];
	unsigned int n_keys;
	bool tree;
	enum kl_profile_direction direction;
	const char *function;
	uint64_t top;
	double least;
	double seconds;
	unsigned int restarts;
	uint64_t lost;
	bool off_cpu;
	uint64_t late;
};

/**
 * cli_profile_take_keys - take the keys of --by
 * @report: changed
 * @command: for messages
 * @list: names separated by commas
 */
void cli_profile_take_keys(struct cli_profile *report, const struct cli_command *command,
			   const char *list);

/* Append one line about the samples, without a newline. */
void cli_profile_summarize(const struct cli_profile *report, struct kl_buffer *to);

/* Print the profile. Returns CLI_OK, or another status after an error message. */
int cli_profile_print(const struct cli_profile *report, FILE *file);

/* Write it to stdout as a JSON document. Returns as cli_profile_print() does. */
int cli_profile_write_json(const struct cli_profile *report);

#endif /* KL_CLI_PROFILE_PRINT_H */
