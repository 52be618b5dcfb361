/* SPDX-License-Identifier: GPL-2.0 */
/* Count blocks of programs: kernlens count if -e names a file. */
#ifndef KL_CLI_BLOCK_PROGRAM_H
#define KL_CLI_BLOCK_PROGRAM_H

#include <stdbool.h>

#include "../session/select.h"

/**
 * struct cli_program_count - the request
 * @session: with `command`, and `select` filled in from the options
 * @splices: count by splices in the processes, even if the kernel's uprobes are available
 * @instructions: print the instructions, too
 * @html: also write a page with the functions' graphs to this file; NULL: do not
 */
struct cli_program_count {
	struct cli_session session;
	bool splices;
	bool instructions;
	const char *html;
};

/* Count until the command ends or the time is up, and print. Returns the exit status. */
int cli_program_count(struct cli_program_count *count);

#endif /* KL_CLI_BLOCK_PROGRAM_H */
