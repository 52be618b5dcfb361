/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When tasks have got a flag, of a flag that some program asks since when it is set. A fixed number
 * of tasks: of each bucket the one that has it longest is forgotten. Written by the handler `set`,
 * for the running task only, read by programs that run in it; no locks. See flag_time.c.
 */
#ifndef KL_CORE_FLAG_TIME_H
#define KL_CORE_FLAG_TIME_H

#include <linux/types.h>

#include "session.h"

struct kl_abi_op;
struct kl_error;
struct kl_flag_times;
struct kl_session;

void kl_flag_times_destroy(struct kl_flag_times *times);
int kl_flag_prepare(struct kl_session *s, const struct kl_abi_op *ops, u32 n_ops,
		    struct kl_error *why);
void kl_flag_note(struct kl_session *s, u32 flag);

/*
 * A task's flags say what it did before. An event that concerns another task, too, may fire in a
 * stranger: of that one the owner learns nothing.
 */
static __always_inline bool kl_flags_are_shown(const struct kl_session *s)
{
	return likely(!(s->gate & KL_GATE_OWN)) || kl_access_shows_current(s);
}

#endif /* KL_CORE_FLAG_TIME_H */
