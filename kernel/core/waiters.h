/* SPDX-License-Identifier: GPL-2.0 */
/* Those who wait for something of a session, woken at most once a jiffy. */
#ifndef KL_CORE_WAITERS_H
#define KL_CORE_WAITERS_H

#include <linux/wait.h>
#include <linux/workqueue.h>

/**
 * struct kl_waiters - who waits
 * @wait: they sleep here
 * @woken: when they were woken last, in jiffies
 * @again: wakes them a jiffy later
 */
struct kl_waiters {
	wait_queue_head_t wait;
	unsigned long woken;
	struct delayed_work again;
};

void kl_waiters_init(struct kl_waiters *w);
void kl_waiters_deinit(struct kl_waiters *w);
void kl_waiters_wake(struct kl_waiters *w);

#endif /* KL_CORE_WAITERS_H */
