/* SPDX-License-Identifier: GPL-2.0 */
/* Requests of handlers that a worker carries out: see deferred.c. */
#ifndef KL_CORE_DEFERRED_H
#define KL_CORE_DEFERRED_H

#include <linux/irq_work.h>
#include <linux/workqueue.h>

#define KL_MASKSET_NONE (~0u)

/*
 * Minimum time between two switches of masksets: a rule that switches at each event would have the
 * kernel's text patched all the time.
 */
#define KL_USE_EVERY_MS 10

struct kl_error;
struct kl_session;

/**
 * struct kl_deferred - deferred requests of a session
 * @irq: queues @work, from a context where that is allowed
 * @work: carries out the requests
 * @freeze_at: number of records after which the session freezes, plus 1; 0: no freeze
 * @maskset: maskset to switch to, or KL_MASKSET_NONE
 * @used: when the session last switched to a maskset, in jiffies
 * @tries: attempts of the work since it last succeeded
 * @failed: number of switches that failed
 */
struct kl_deferred {
	struct irq_work irq;
	struct delayed_work work;
	u64 freeze_at;
	u32 maskset;
	unsigned long used;
	u32 tries;
	u32 failed;
};

int kl_workers_init(void);
void kl_workers_deinit(void);
void kl_worker_queue(struct work_struct *work);
void kl_worker_queue_delayed(struct delayed_work *work, u32 ms);
void kl_deferred_init(struct kl_deferred *l, work_func_t work);
void kl_deferred_deinit(struct kl_deferred *l);
void kl_deferred_freeze(struct kl_session *s, u64 records);
int kl_deferred_freeze_now(struct kl_session *s, struct kl_error *why);
void kl_deferred_use(struct kl_session *s, u32 maskset);

#endif /* KL_CORE_DEFERRED_H */
