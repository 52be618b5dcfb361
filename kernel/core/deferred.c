// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of handlers that no probe can carry out: freezing a session, switching its maskset. A
 * probe notes the request and raises an interrupt (irq_work), which queues work. Probes on all CPUs
 * write the notes; session/deferred_work.c takes them.
 */
#include <linux/workqueue.h>

#include "deferred.h"
#include "session.h"

/*
 * Number of work items that may run concurrently: one for each session that users may have, as each
 * may be waiting for memory (memory.high). Tokens limit the time that they take in total.
 */
#define WORKERS_MAX 512

/* Longer than all retries take. */
#define FREEZE_WAIT_S 5

/* Not one of the kernel's workqueues: text patching takes long and would delay other work there. */
static struct workqueue_struct *workers;

static void kick(struct irq_work *irq)
{
	struct kl_deferred *l = container_of(irq, struct kl_deferred, irq);

	/*
	 * The work may be delayed, because a switch waits for tokens; a freeze does not wait for
	 * that.
	 */
	if (READ_ONCE(l->freeze_at))
		mod_delayed_work(workers, &l->work, 0);
	else
		queue_delayed_work(workers, &l->work, 0);
}

/**
 * kl_workers_init - create the workqueue, before the first session
 *
 * Returns 0 or -ENOMEM.
 */
int kl_workers_init(void)
{
	workers = alloc_workqueue("kernlens", WQ_UNBOUND, WORKERS_MAX);
	return workers ? 0 : -ENOMEM;
}

/**
 * kl_workers_deinit - destroy the workqueue, after the last session
 */
void kl_workers_deinit(void)
{
	destroy_workqueue(workers);
}

/**
 * kl_worker_queue - queue work of a session that may take long, or wait for memory
 * @work: the work; nothing happens if it is already queued
 *
 * Context: any.
 */
void kl_worker_queue(struct work_struct *work)
{
	queue_work(workers, work);
}

/**
 * kl_worker_queue_delayed - as kl_worker_queue(), after a delay
 * @work: the work; nothing happens if it is already queued
 * @ms: the delay
 *
 * Context: any.
 */
void kl_worker_queue_delayed(struct delayed_work *work, u32 ms)
{
	queue_delayed_work(workers, work, msecs_to_jiffies(ms));
}

/**
 * kl_deferred_init - initialize, with no requests
 * @l: requests of a new session
 * @work: carries out the requests
 */
void kl_deferred_init(struct kl_deferred *l, work_func_t work)
{
	init_irq_work(&l->irq, kick);
	INIT_DELAYED_WORK(&l->work, work);
	l->maskset = KL_MASKSET_NONE;
	l->used = jiffies - msecs_to_jiffies(KL_USE_EVERY_MS);
}

/**
 * kl_deferred_deinit - wait for work that is running, and drop the remaining requests
 * @l: requests of a session in which no probe runs; its lock is not held
 */
void kl_deferred_deinit(struct kl_deferred *l)
{
	irq_work_sync(&l->irq);
	cancel_delayed_work_sync(&l->work);
}

/**
 * kl_deferred_freeze - stop recording after some more records
 * @s: the session
 * @records: minimum number of further records, on all CPUs
 *
 * Only the first call counts. Context: any, preemption off.
 */
void kl_deferred_freeze(struct kl_session *s, u64 records)
{
	u64 none = 0;

	if (READ_ONCE(s->deferred.freeze_at))
		return;
	if (try_cmpxchg(&s->deferred.freeze_at, &none,
			kl_buffer_written(s) + kl_buffer_lost(s) + records + 1))
		irq_work_queue(&s->deferred.irq);
}

/**
 * kl_deferred_freeze_now - stop recording, and wait until it has stopped
 * @s: the session, to which the caller has a reference
 * @why: set on failure
 *
 * Does not wait for records that a rule still wants before its freeze. Returns 0, also if the
 * session is already frozen; -ENODATA if it is not running or has been closed; or -EINTR. Context:
 * may sleep.
 */
int kl_deferred_freeze_now(struct kl_session *s, struct kl_error *why)
{
	long left;

	if (READ_ONCE(s->frozen))
		return 0;
	if (!READ_ONCE(s->running))
		return kl_fail(why, -ENODATA, "the session is not running");
	WRITE_ONCE(s->deferred.freeze_at, 1);
	mod_delayed_work(workers, &s->deferred.work, 0);
	left = wait_event_interruptible_timeout(s->waiters.wait,
						READ_ONCE(s->frozen) || READ_ONCE(s->closed),
						FREEZE_WAIT_S * HZ);
	if (left < 0)
		return -EINTR;
	return READ_ONCE(s->frozen) ? 0 : kl_fail(why, -ENODATA, "the session has been closed");
}

/**
 * kl_deferred_use - switch to another maskset
 * @s: the session
 * @maskset: its id
 *
 * Context: any, preemption off.
 */
void kl_deferred_use(struct kl_session *s, u32 maskset)
{
	WRITE_ONCE(s->deferred.maskset, maskset);
	/*
	 * Pending work will see the request; the interrupt is avoided then, as it may be an event
	 * of the session. Pairs with the barrier between the end of `pending` and the work.
	 */
	smp_mb();
	if (!delayed_work_pending(&s->deferred.work))
		irq_work_queue(&s->deferred.irq);
}
