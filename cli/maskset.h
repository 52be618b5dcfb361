/* SPDX-License-Identifier: GPL-2.0 */
/* What kernlens maskset was asked for. */
#ifndef KL_CLI_MASKSET_H
#define KL_CLI_MASKSET_H

#include <stdbool.h>

#include "cli.h"

#define CLI_MASKSET_LINES_MAX 64

struct cli_maskset_options {
	const struct cli_command *command;
	const char *line[CLI_MASKSET_LINES_MAX]; /* each -e */
	unsigned int n_lines;
	const char *path;
	const char *session; /* its name or number; NULL: not given */
	bool load;
	bool system;
	bool force;
	bool names;
};

/* list, show or use NAME of a session. */
int cli_maskset_session(const struct cli_maskset_options *o, const char *verb, const char *name);

/* All masksets that there are here, as a table, JSON or only their names. */
int cli_maskset_list(bool names);

#endif /* KL_CLI_MASKSET_H */
