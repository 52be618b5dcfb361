/* SPDX-License-Identifier: GPL-2.0 */
/* How often locks are taken, and how long they are held: output of kernlens locks --holds. */
#ifndef KL_CLI_LOCKS_HOLDS_H
#define KL_CLI_LOCKS_HOLDS_H

#include <stdio.h>
#include <kernlens/internal.h>

#include "../session/recording.h"
#include "print.h"

/* The kinds of locks in a list such as "mutex,rwsem"; 0: there is another word in it. */
unsigned int cli_lock_holds_kinds(const char *list);

/* Add the events that are recorded to the options. Returns CLI_OK, or another status. */
int cli_lock_holds_select(struct cli_select *select, const struct cli_command *command,
			  unsigned int kinds);

/**
 * cli_lock_holds_print - print what locks were taken, waited for and held
 * @trace: read from its start to its end
 * @recording: that has just made it, to leave out what kernlens itself did; NULL: it was recorded
 *             earlier
 * @how: grouping, number of rows, histogram
 * @file: for text
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_lock_holds_print(struct kl_trace *trace, const struct cli_recording *recording,
			 const struct cli_locks *how, FILE *file);

#endif /* KL_CLI_LOCKS_HOLDS_H */
