/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of processes and threads, without an event. See docs/design/task.md. */
#ifndef KL_TASK_INSPECT_H
#define KL_TASK_INSPECT_H

#include "../core/session.h"

/**
 * struct kl_inspect_sink - takes rows that the module itself has requested
 * @variables: their ids, as many as struct kl_abi_inspect states; its `room` bounds the rows
 * @take: gets rows as user space does, a batch at a time; may sleep; a result other than 0 ends
 *   the call
 */
struct kl_inspect_sink {
	const u32 *variables;
	int (*take)(struct kl_inspect_sink *sink, const u8 *rows, u32 bytes);
};

int kl_inspect(struct kl_abi_inspect *params, const struct cred *cred, u32 may,
	       struct kl_inspect_sink *sink, struct kl_payer *payer, struct kl_error *why);

#endif /* KL_TASK_INSPECT_H */
