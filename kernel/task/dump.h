/* SPDX-License-Identifier: GPL-2.0 */
/* The state dump: what there was before the first event. */
#ifndef KL_TASK_DUMP_H
#define KL_TASK_DUMP_H

#include "../session/session.h"

int kl_dump_state(struct kl_session *s, struct kl_abi_dump *wish, struct kl_error *why);

#endif /* KL_TASK_DUMP_H */
