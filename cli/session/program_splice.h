/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks of programs without privilege: splices in processes, through ptrace. */
#ifndef KL_CLI_SESSION_PROGRAM_SPLICE_H
#define KL_CLI_SESSION_PROGRAM_SPLICE_H

#include <stdbool.h>

#include "run.h"

/* Must splices be used, because there is no device or no privilege to count in the kernel? */
bool cli_program_splice_fits(void);

/**
 * cli_program_splice - count until the command ends or the time is up
 * @run: initialized; its session is not opened, and is used only for the command
 * @count: out: the ended splices; also set after an error, or NULL
 * @elapsed_ns: out
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_program_splice(struct cli_run *run, struct kl_process_splices **count,
		       uint64_t *elapsed_ns);

/**
 * cli_session_splice - splice the session's events into programs, if it has any there
 * @session: started; its command is ready
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_session_splice(struct cli_session *session);

/* Restore the programs' text and report the result. Does nothing if nothing was spliced. */
void cli_session_unsplice(struct cli_session *session);

#endif /* KL_CLI_SESSION_PROGRAM_SPLICE_H */
