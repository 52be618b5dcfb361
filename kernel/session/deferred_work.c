// SPDX-License-Identifier: GPL-2.0
/*
 * Carries out what handlers have requested (core/deferred.c): freezes a session, or switches its
 * maskset. Runs in the module's own workers and takes the session's lock.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched/mm.h>

#include "../core/deferred.h"
#include "session.h"

/* How often a freeze that waits for more records counts them, as long as the user has tokens. */
#define LOOK_AGAIN_MS 1u

/* A request that fails for lack of memory is retried, for at most a second in total. */
#define TRY_AGAIN_MS 20u
#define TRIES_MAX 50

/* Longest pause before a switch checks for tokens again: root may have raised the limit. */
#define TOKENS_MS 1000u

/* Should a request that failed with @error be retried? */
static bool may_try_again(struct kl_deferred *l, int error)
{
	if (error == -ENOMEM && ++l->tries < TRIES_MAX)
		return true;
	l->tries = 0;
	return false;
}

/*
 * Returns false if the freeze must be retried. Stopping needs no memory, so a freeze happens in
 * any case, if later than it should.
 */
static bool freeze_now(struct kl_session *s)
{
	int error = kl_session_use(s, KL_MASKSET_RNOTHING, NULL);

	if (error && may_try_again(&s->deferred, error))
		return false;
	if (error)
		kl_session_stop(s);
	WRITE_ONCE(s->frozen, true);
	wake_up_interruptible_all(&s->waiters.wait);
	kl_notify_wake(s);
	return true;
}

/*
 * Returns the milliseconds until a retry, or 0. Each switch takes a token, even if it patches
 * nothing, so a session cannot keep a worker busy with switches.
 */
static u32 use_now(struct kl_session *s, u32 maskset)
{
	struct mem_cgroup *before = set_active_memcg(s->memcg);
	struct kl_deferred *l = &s->deferred;
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

/**
 * kl_deferred_work - carry out what a session's handlers have requested
 * @work: of its struct kl_deferred
 */
void kl_deferred_work(struct work_struct *work)
{
	struct kl_deferred *l = container_of(to_delayed_work(work), struct kl_deferred, work);
	struct kl_session *s = container_of(l, struct kl_session, deferred);
	unsigned long next = l->used + msecs_to_jiffies(KL_USE_EVERY_MS);
	u64 wanted = READ_ONCE(l->freeze_at), began = ktime_get_ns();
	/* A user who has no tokens left waits, except for the freeze itself, which happens once. */
	u32 again_ms = wanted ? 0 : kl_payer_delay(&s->payer, KL_BUCKET_WORK);
	u32 maskset = KL_MASKSET_NONE;
	bool counting = false;

	if (READ_ONCE(s->frozen) || READ_ONCE(s->closed))
		return;
	if (!again_ms && READ_ONCE(l->maskset) != KL_MASKSET_NONE && time_before(jiffies, next))
		again_ms = KL_USE_EVERY_MS;
	if (!again_ms)
		maskset = xchg(&l->maskset, KL_MASKSET_NONE);
	if (maskset != KL_MASKSET_NONE)
		again_ms = use_now(s, maskset);
	/*
	 * Records of other CPUs count as they arrive, so the freeze follows at least this many
	 * records.
	 */
	if (wanted && kl_buffer_written(s) + kl_buffer_lost(s) < wanted - 1)
		counting = true;
	else if (wanted && !freeze_now(s))
		again_ms = TRY_AGAIN_MS;
	kl_payer_spend(&s->payer, KL_BUCKET_WORK,
		       div_u64(ktime_get_ns() - began, NSEC_PER_USEC) + 1);
	/*
	 * Counting may last as long as the session runs, so it waits for tokens as all work does.
	 */
	if (counting)
		again_ms =
			clamp(kl_payer_delay(&s->payer, KL_BUCKET_WORK), LOOK_AGAIN_MS, TOKENS_MS);
	if (again_ms)
		kl_worker_queue_delayed(&l->work, again_ms);
}
