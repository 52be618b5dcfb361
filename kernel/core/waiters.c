// SPDX-License-Identifier: GPL-2.0
/*
 * Wakes tasks that wait for blocks or notifications, at most once a jiffy: what they do when they
 * are woken may itself cause the next wakeup, and an interrupt must not walk through the whole
 * queue for each block. Used by buffer.c and notify.c; takes only the wait queue's own lock.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "waiters.h"

static void wake_now(struct kl_waiters *w)
{
	WRITE_ONCE(w->woken, jiffies);
	wake_up_interruptible_all(&w->wait);
}

static void wake_again(struct work_struct *work)
{
	struct kl_waiters *w = container_of(to_delayed_work(work), struct kl_waiters, again);

	/*
	 * A kick that still sees it set has already published what is new: pairs with
	 * kl_waiters_kick.
	 */
	smp_store_mb(w->is_due, 0);
	wake_now(w);
}

/**
 * kl_waiters_init - initialize, with no waiting tasks
 * @w: set
 */
void kl_waiters_init(struct kl_waiters *w)
{
	init_waitqueue_head(&w->wait);
	INIT_DELAYED_WORK(&w->again, wake_again);
}

/**
 * kl_waiters_deinit - undo kl_waiters_init
 * @w: waiters; no task waits, and kl_waiters_wake() is not called any more
 *
 * Context: may sleep.
 */
void kl_waiters_deinit(struct kl_waiters *w)
{
	cancel_delayed_work_sync(&w->again);
}

/**
 * kl_waiters_wake - wake all tasks now, or in the next jiffy if they were woken in this one
 * @w: waiters
 *
 * Context: any that may take a wait queue's lock, also a hard interrupt.
 */
void kl_waiters_wake(struct kl_waiters *w)
{
	unsigned long now = jiffies;

	if (READ_ONCE(w->woken) != now) {
		wake_now(w);
	} else if (!xchg(&w->is_due, 1)) {
		/* It is set first, because queueing the work may hit events. */
		schedule_delayed_work(&w->again, 1);
	}
}
