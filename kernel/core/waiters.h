/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that wait for something of a session; they are woken at most once a jiffy. A probe cannot
 * wake a task: it raises an interrupt (irq_work), which is itself an event that a session may
 * record.
 */
#ifndef KL_CORE_WAITERS_H
#define KL_CORE_WAITERS_H

#include <linux/irq_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/**
 * struct kl_waiters - tasks that wait, and when they are woken
 * @wait: queue in which they sleep
 * @woken: when they were last woken, in jiffies
 * @is_due: @again is going to wake them, so no kick is needed
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
 * kl_waiters_kick - have waiting tasks woken, because there is something new
 * @w: waiters
 * @irq: calls kl_waiters_wake()
 *
 * Does nothing if no task waits, or if the tasks will be woken within a jiffy anyway. So a session
 * that records what this interrupt causes gets two such interrupts per jiffy, not an endless
 * series. A waiting task enters the queue, and then checks for something new after a full barrier.
 *
 * Context: any, preemption off.
 */
static inline void kl_waiters_kick(struct kl_waiters *w, struct irq_work *irq)
{
	/* The caller's update before both tests. The barrier in this one pairs with wake_again. */
	if (wq_has_sleeper(&w->wait) && !READ_ONCE(w->is_due))
		irq_work_queue(irq);
}

#endif /* KL_CORE_WAITERS_H */
