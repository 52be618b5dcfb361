/* SPDX-License-Identifier: GPL-2.0 */
/* Options of kernlens maskset. */
#ifndef KL_CLI_LIST_MASKSET_H
#define KL_CLI_LIST_MASKSET_H

#include <stdbool.h>

#include "../base/cli.h"

#define CLI_MASKSET_LINES_MAX 64

struct cli_maskset_options {
	const struct cli_command *command;
	const char *line[CLI_MASKSET_LINES_MAX]; /* argument of each -e */
	unsigned int n_lines;
	const char *path;
	const char *session; /* name or number; NULL: not given */
	bool load;
	bool system;
	bool force;
	bool names;
};

/* Run list, show NAME or use NAME on a session. */
int cli_maskset_session(const struct cli_maskset_options *o, const char *verb, const char *name);

#endif /* KL_CLI_LIST_MASKSET_H */
