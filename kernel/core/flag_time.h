/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The times at which flags of tasks were set, for flags of which some program uses since(). The
 * number of tasks is fixed: a full bucket forgets the task that has had the flag longest. Written
 * by the handler `set`, for the running task only; read by programs that run in that task; no
 * locks. See flag_time.c.
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
 * A task's flags reveal what it did before. An event that also concerns another task may be hit in
 * a task that the owner may not see; the owner sees none of its flags.
 */
static __always_inline bool kl_flags_are_shown(const struct kl_session *s)
{
	return likely(!(s->gate & KL_GATE_OWN)) || kl_access_shows_current(s);
}

#endif /* KL_CORE_FLAG_TIME_H */
