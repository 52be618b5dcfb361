// SPDX-License-Identifier: GPL-2.0
/*
 * Work that handlers request and that no probe can do: freezing a session,
 * switching its maskset. A probe notes it and kicks an interrupt, which queues
 * work. The notes are written by probes of all CPUs and taken by the work.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "later.h"
#include "session.h"

/* How often a freeze that waits for more records counts them, while the user has tokens. */
#define LOOK_AGAIN_MS 1u

/* A request that fails for lack of memory is retried, for at most a second in total. */
#define TRY_AGAIN_MS 20u
#define TRIES_MAX 50

/* How often a switch looks for tokens at least: root may raise the limit meanwhile. */
#define TOKENS_MS 1000u

/* A rule that switches at each event would have the kernel's text patched all the time. */
#define USE_EVERY_MS 10

/*
 * Work items running at the same time: one for each session that users may have, as each may be
 * waiting for memory (memory.high). What they may take together is limited by tokens.
 */
#define WORKERS_MAX 512

/* Longer than all retries take. */
#define FREEZE_WAIT_S 5

/* Not the kernel's own: text patching takes long, and others' work waits there. */
static struct workqueue_struct *workers;

static u64 records_written(struct kl_session *s)
{
	struct kl_abi_stats stats = { .cpu = -1 };

	kl_session_stats(s, &stats);
	return stats.written + stats.lost;
}

/* Should a request that failed with @error be retried? */
static bool may_try_again(struct kl_later *l, int error)
{
	if (error == -ENOMEM && ++l->tries < TRIES_MAX)
		return true;
	l->tries = 0;
	return false;
}

/*
 * Returns false if it is to be tried again. Stopping takes no memory: a freeze
 * happens in any case, if later than it should.
 */
static bool freeze_now(struct kl_session *s)
{
	int error = kl_session_use(s, KL_MASKSET_RNOTHING, NULL);

	if (error && may_try_again(&s->later, error))
		return false;
	if (error)
		kl_session_stop(s);
	WRITE_ONCE(s->frozen, true);
	wake_up_interruptible_all(&s->waiters.wait);
	kl_news_wake(s);
	return true;
}

/*
 * Returns in how many milliseconds it is to be tried again, or 0. Each switch takes a token,
 * even if it patches nothing: a session cannot keep a worker busy with them.
 */
static u32 use_now(struct kl_session *s, u32 maskset)
{
	struct mem_cgroup *before = set_active_memcg(s->memcg);
	struct kl_later *l = &s->later;
	u32 delay;
	int error = kl_session_try_use(s, maskset, 1, &delay, NULL);

	set_active_memcg(before);
	l->used = jiffies;
	if (!error && !delay) {
		l->tries = 0;
		return 0;
	}
	if (delay || may_try_again(l, error)) {
		/* A request that arrived in the meantime is newer. */
		cmpxchg(&l->maskset, KL_MASKSET_NONE, maskset);
		return min(delay ?: TRY_AGAIN_MS, TOKENS_MS);
	}
	WRITE_ONCE(l->failed, l->failed + 1);
	return 0;
}

static void do_later(struct work_struct *work)
{
	struct kl_later *l = container_of(to_delayed_work(work), struct kl_later, work);
	struct kl_session *s = container_of(l, struct kl_session, later);
	unsigned long next = l->used + msecs_to_jiffies(USE_EVERY_MS);
	u64 wanted = READ_ONCE(l->freeze_at), began = ktime_get_ns();
	/* A user whose time is used up waits, except for the freeze itself, which happens once. */
	u32 again_ms = wanted ? 0 : kl_payer_delay(&s->payer, KL_BUCKET_WORK);
	u32 maskset = KL_MASKSET_NONE;
	bool counting = false;

	if (READ_ONCE(s->frozen) || READ_ONCE(s->closed))
		return;
	if (!again_ms && READ_ONCE(l->maskset) != KL_MASKSET_NONE && time_before(jiffies, next))
		again_ms = USE_EVERY_MS;
	if (!again_ms)
		maskset = xchg(&l->maskset, KL_MASKSET_NONE);
	if (maskset != KL_MASKSET_NONE)
		again_ms = use_now(s, maskset);
	/*
	 * Records of other CPUs count as they arrive, so the freeze follows at least this many
	 * records.
	 */
	if (wanted && records_written(s) < wanted - 1)
		counting = true;
	else if (wanted && !freeze_now(s))
		again_ms = TRY_AGAIN_MS;
	kl_payer_spend(&s->payer, KL_BUCKET_WORK,
		       div_u64(ktime_get_ns() - began, NSEC_PER_USEC) + 1);
	/* It may be for as long as the session runs, so that it waits for tokens as others do. */
	if (counting)
		again_ms =
			clamp(kl_payer_delay(&s->payer, KL_BUCKET_WORK), LOOK_AGAIN_MS, TOKENS_MS);
	if (again_ms)
		queue_delayed_work(workers, &l->work, msecs_to_jiffies(again_ms));
}

static void kick(struct irq_work *irq)
{
	struct kl_later *l = container_of(irq, struct kl_later, irq);

	/* A switch may be waiting for tokens; a freeze does not wait for that. */
	if (READ_ONCE(l->freeze_at))
		mod_delayed_work(workers, &l->work, 0);
	else
		queue_delayed_work(workers, &l->work, 0);
}

/**
 * kl_workers_init - have workers, before the first session
 *
 * Returns 0 or -ENOMEM.
 */
int kl_workers_init(void)
{
	workers = alloc_workqueue("kernlens", WQ_UNBOUND, WORKERS_MAX);
	return workers ? 0 : -ENOMEM;
}

/**
 * kl_workers_deinit - after the last session
 */
void kl_workers_deinit(void)
{
	destroy_workqueue(workers);
}

/**
 * kl_worker_queue - have a session's work done that may wait for memory, or for long
 * @work: nothing happens if it is queued
 *
 * Context: any.
 */
void kl_worker_queue(struct work_struct *work)
{
	queue_work(workers, work);
}

/**
 * kl_later_init - nothing is to be done yet
 * @l: of a new session
 */
void kl_later_init(struct kl_later *l)
{
	init_irq_work(&l->irq, kick);
	INIT_DELAYED_WORK(&l->work, do_later);
	l->maskset = KL_MASKSET_NONE;
	l->used = jiffies - msecs_to_jiffies(USE_EVERY_MS);
}

/**
 * kl_later_deinit - wait for what is being done, and forget the rest
 * @l: of a session in which no probe runs; its lock is not held
 */
void kl_later_deinit(struct kl_later *l)
{
	irq_work_sync(&l->irq);
	cancel_delayed_work_sync(&l->work);
}

/**
 * kl_later_freeze - stop recording after some more records
 * @s: the session
 * @records: at least so many, of all CPUs
 *
 * Only the first call counts. Context: any, preemption off.
 */
void kl_later_freeze(struct kl_session *s, u64 records)
{
	u64 none = 0;

	if (READ_ONCE(s->later.freeze_at))
		return;
	if (try_cmpxchg(&s->later.freeze_at, &none, records_written(s) + records + 1))
		irq_work_queue(&s->later.irq);
}

/**
 * kl_later_freeze_now - stop recording, and wait for that
 * @s: the session, which the caller holds
 * @why: set on failure
 *
 * What a rule wants to be recorded first is not waited for. Returns 0 also if it is
 * frozen already, -ENODATA if it does not run. Context: may sleep.
 */
int kl_later_freeze_now(struct kl_session *s, struct kl_error *why)
{
	long left;

	if (READ_ONCE(s->frozen))
		return 0;
	if (!READ_ONCE(s->running))
		return kl_fail(why, -ENODATA, "the session is not running");
	WRITE_ONCE(s->later.freeze_at, 1);
	mod_delayed_work(workers, &s->later.work, 0);
	left = wait_event_interruptible_timeout(s->waiters.wait,
						READ_ONCE(s->frozen) || READ_ONCE(s->closed),
						FREEZE_WAIT_S * HZ);
	if (left < 0)
		return -EINTR;
	return READ_ONCE(s->frozen) ? 0 : kl_fail(why, -ENODATA, "the session has been closed");
}

/**
 * kl_later_use - switch to another maskset
 * @s: the session
 * @maskset: its id
 *
 * Context: any, preemption off.
 */
void kl_later_use(struct kl_session *s, u32 maskset)
{
	WRITE_ONCE(s->later.maskset, maskset);
	irq_work_queue(&s->later.irq);
}
