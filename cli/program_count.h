/* SPDX-License-Identifier: GPL-2.0 */
/* Counting blocks of programs: what kernlens count does where -e names a file. */
#ifndef KL_CLI_PROGRAM_COUNT_H
#define KL_CLI_PROGRAM_COUNT_H

#include <stdbool.h>

#include "select.h"

/**
 * struct cli_program_count - what is asked for
 * @session: with `command`, and in `select` what -e, -p and the others say
 * @splices: by splices in the processes, also where the kernel's uprobes could be had
 * @instructions: show them
 * @path: of the result; NULL: standard error, or output for JSON
 */
struct cli_program_count {
	struct cli_session session;
	bool splices;
	bool instructions;
	const char *path;
};

/* Count while the command or the time runs, and print. Returns the command's status, or ours. */
int cli_program_count(struct cli_program_count *count);

#endif /* KL_CLI_PROGRAM_COUNT_H */
