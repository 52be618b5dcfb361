/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of processes and threads, without an event. docs/design/task.md */
#ifndef KL_TASK_INSPECT_H
#define KL_TASK_INSPECT_H

#include "../core/session.h"

/**
 * struct kl_inspect_sink - where rows go that the module itself has asked for
 * @variables: ids, as many as struct kl_abi_inspect says, whose `room` bounds the rows
 * @take: gets rows as user space does, some at a time. It may sleep; what it returns, if
 *	not 0, ends the call
 */
struct kl_inspect_sink {
	const u32 *variables;
	int (*take)(struct kl_inspect_sink *sink, const u8 *rows, u32 bytes);
};

int kl_inspect(struct kl_abi_inspect *params, const struct cred *cred, u32 may,
	       struct kl_inspect_sink *sink, struct kl_payer *payer, struct kl_error *why);

#endif /* KL_TASK_INSPECT_H */
