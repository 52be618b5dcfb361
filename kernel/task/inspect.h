/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of processes and threads, without an event. docs/design/task.md */
#ifndef KL_TASK_INSPECT_H
#define KL_TASK_INSPECT_H

#include "../session/session.h"

int kl_inspect(struct kl_abi_inspect *wish, const struct cred *cred, u32 may, struct kl_error *why);

#endif /* KL_TASK_INSPECT_H */
