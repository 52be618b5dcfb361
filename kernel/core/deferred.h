/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What handlers request and a worker does: see deferred.c.
 */
#ifndef KL_CORE_DEFERRED_H
#define KL_CORE_DEFERRED_H

#include <linux/irq_work.h>
#include <linux/workqueue.h>

#define KL_MASKSET_NONE (~0u)

/* A rule that switches at each event would have the kernel's text patched all the time. */
#define KL_USE_EVERY_MS 10

struct kl_error;
struct kl_session;

/**
 * struct kl_deferred - what a session is to do soon
 * @irq: kicks @work from a context where a probe cannot
 * @work: does it
 * @freeze_at: records after which the session freezes, and 1; 0: it does not
 * @maskset: to switch to, or KL_MASKSET_NONE
 * @used: when a maskset was switched to last, in jiffies
 * @tries: of the work, since the last that went well
 * @failed: masksets that could not be switched to
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
