/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks of programs without privilege: splices in processes, by ptrace. */
#ifndef KL_CLI_PROGRAM_SPLICE_H
#define KL_CLI_PROGRAM_SPLICE_H

#include <stdbool.h>

#include "run.h"

/* Is it what can be done here: is there no device, or not the right to count by the kernel? */
bool cli_program_splice_fits(void);

/**
 * cli_program_splice - count while the command or the time runs
 * @run: initialized; its session is not opened, but for the command
 * @count: out: ended; also after an error, or NULL
 * @elapsed_ns: out
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_program_splice(struct cli_run *run, struct kl_process_splices **count,
		       uint64_t *elapsed_ns);

/**
 * cli_session_splice - have programs fire the session's events, if it has such
 * @session: started; its command is ready
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_session_splice(struct cli_session *session);

/* Put their text back, and say what has become of it. Also if there is nothing. */
void cli_session_unsplice(struct cli_session *session);

#endif /* KL_CLI_PROGRAM_SPLICE_H */
