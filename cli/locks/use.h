/* SPDX-License-Identifier: GPL-2.0 */
/* How a module uses locks: output of kernlens locks --module. */
#ifndef KL_CLI_LOCKS_USE_H
#define KL_CLI_LOCKS_USE_H

#include <stdint.h>
#include <stdio.h>
#include <kernlens/internal.h>

#include "../session/select.h"

/*
 * Add the events that are recorded of a module to the options. @layout: out: how the kernel has
 * locks in memory
 */
void cli_lock_use_select(struct cli_select *select, const struct cli_command *command,
			 const char *module, struct kl_lock_layout *layout);

/**
 * struct cli_lock_use - how it is printed
 * @limit_ns: report locks held longer; 0: none
 * @top: rows of the table of locks; 0: all
 * @plan: of the session that has recorded the trace and has just ended; NULL: it was recorded
 *        earlier
 * @layout: of that session's kernel, if there is a @plan
 */
struct cli_lock_use {
	uint64_t limit_ns;
	size_t top;
	const struct kl_plan *plan;
	struct kl_lock_layout layout;
};

/**
 * cli_lock_use_print - print what is wrong, and how long locks were held
 * @trace: read from its start to its end
 * @how: what to print
 * @file: for text
 *
 * Returns CLI_OK, or another status after an error message.
 */
int cli_lock_use_print(struct kl_trace *trace, const struct cli_lock_use *how, FILE *file);

#endif /* KL_CLI_LOCKS_USE_H */
