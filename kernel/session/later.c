// SPDX-License-Identifier: GPL-2.0
/*
 * What handlers ask for and no probe can do: freezing a session, switching its
 * maskset. A probe notes it and kicks an interrupt, which queues work. The notes
 * are written by probes of all CPUs and taken by the work.
 */
#include <linux/workqueue.h>

#include "later.h"
#include "session.h"

/* How often a freeze that waits for more records looks how many there are. */
#define LOOK_AGAIN_MS 1

/* What finds no memory is tried again: at most a second in all. */
#define TRY_AGAIN_MS 20
#define TRIES_MAX 50

/* A rule that switches at each event would have the kernel's text patched all the time. */
#define USE_EVERY_MS 10

/* More than all tries take. */
#define FREEZE_WAIT_S 5

static u64 records_written(struct kl_session *s)
{
	struct kl_abi_stats stats = { .cpu = -1 };

	kl_session_stats(s, &stats);
	return stats.written + stats.lost;
}

/* Shall what failed with @error be tried again? */
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
	wake_up_interruptible_all(&s->wait);
	kl_news_wake(s);
	return true;
}

/* The same. */
static bool use_now(struct kl_session *s, u32 maskset)
{
	struct kl_later *l = &s->later;
	int error = kl_session_use(s, maskset, NULL);

	l->used = jiffies;
	if (!error) {
		l->tries = 0;
		return true;
	}
	if (may_try_again(l, error)) {
		/* What has been asked for meanwhile is newer. */
		cmpxchg(&l->maskset, KL_MASKSET_NONE, maskset);
		return false;
	}
	WRITE_ONCE(l->failed, l->failed + 1);
	return true;
}

static void do_later(struct work_struct *work)
{
	struct kl_later *l = container_of(to_delayed_work(work), struct kl_later, work);
	struct kl_session *s = container_of(l, struct kl_session, later);
	unsigned long next = l->used + msecs_to_jiffies(USE_EVERY_MS);
	u64 wanted = READ_ONCE(l->freeze_at);
	u32 maskset = KL_MASKSET_NONE, again_ms = 0;

	if (READ_ONCE(s->frozen) || READ_ONCE(s->closed))
		return;
	if (READ_ONCE(l->maskset) != KL_MASKSET_NONE && time_before(jiffies, next))
		again_ms = USE_EVERY_MS;
	else
		maskset = xchg(&l->maskset, KL_MASKSET_NONE);
	if (maskset != KL_MASKSET_NONE && !use_now(s, maskset))
		again_ms = TRY_AGAIN_MS;
	/* Records of other CPUs count as they come: at least so many, not just so many. */
	if (wanted && records_written(s) < wanted - 1)
		again_ms = LOOK_AGAIN_MS;
	else if (wanted && !freeze_now(s))
		again_ms = TRY_AGAIN_MS;
	if (again_ms)
		schedule_delayed_work(&l->work, msecs_to_jiffies(again_ms));
}

static void kick(struct irq_work *irq)
{
	struct kl_later *l = container_of(irq, struct kl_later, irq);

	schedule_delayed_work(&l->work, 0);
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
		return kl_fail(why, -ENODATA, "the session does not run");
	WRITE_ONCE(s->later.freeze_at, 1);
	mod_delayed_work(system_wq, &s->later.work, 0);
	left = wait_event_interruptible_timeout(s->wait,
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
