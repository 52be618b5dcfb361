/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens when an event fires, apart from `log`, which the probes contain.
 * Called by probes with preemption off.
 */
#ifndef KL_HANDLER_HANDLER_H
#define KL_HANDLER_HANDLER_H

#include "../core/session.h"

/* Handler `count`, for which kl_count_prepare has been called. */
static __always_inline void kl_count_fire(struct kl_session *s, u32 id)
{
	/* Attached only after the counters were made, and then they stay. */
	struct kl_counts *counts = rcu_dereference_protected(this_cpu_ptr(s->cpu)->counts, true);

	kl_local_add(&counts->of[id], 1);
}

/**
 * kl_handler_fire - an event happened whose handler is not `log`
 * @s: the session
 * @id: event
 * @handler: from the session's actions
 *
 * Context: any, preemption off.
 */
static __always_inline void kl_handler_fire(struct kl_session *s, u32 id, u8 handler)
{
	if (handler == KL_HANDLER_count)
		kl_count_fire(s, id);
}

bool kl_handler_is_plain(u8 handler);
bool kl_handler_is_known(u32 handler);
int kl_handler_prepare(struct kl_session *s, const struct kl_actions *actions,
		       struct kl_error *why);

int kl_count_prepare(struct kl_session *s, u32 n, struct kl_error *why);

#endif /* KL_HANDLER_HANDLER_H */
