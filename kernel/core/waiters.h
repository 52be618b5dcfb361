/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Those who wait for something of a session, woken at most once a jiffy. A probe cannot wake: it
 * kicks an interrupt, which is itself an event that a session may record.
 */
#ifndef KL_CORE_WAITERS_H
#define KL_CORE_WAITERS_H

#include <linux/irq_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/**
 * struct kl_waiters - who waits
 * @wait: they sleep here
 * @woken: when they were woken last, in jiffies
 * @is_due: @again is going to wake them: nobody needs to kick
 * @again: wakes them a jiffy later
 */
struct kl_waiters {
	wait_queue_head_t wait;
	unsigned long woken;
	u32 is_due;
	struct delayed_work again;
};

void kl_waiters_init(struct kl_waiters *w);
void kl_waiters_deinit(struct kl_waiters *w);
void kl_waiters_wake(struct kl_waiters *w);

/**
 * kl_waiters_kick - there is something new: have those woken who wait
 * @w: waiters
 * @irq: calls kl_waiters_wake()
 *
 * Does nothing where nobody waits, or where they will be woken within a jiffy. So a session that
 * records what this interrupt causes gets two of them a jiffy, and not one after another without
 * end. Who waits looks for what is new behind a full barrier, after it has entered the queue.
 *
 * Context: any, preemption off.
 */
static inline void kl_waiters_kick(struct kl_waiters *w, struct irq_work *irq)
{
	/* What is new comes before both looks. The barrier in this one pairs with wake_again. */
	if (wq_has_sleeper(&w->wait) && !READ_ONCE(w->is_due))
		irq_work_queue(irq);
}

#endif /* KL_CORE_WAITERS_H */
