// SPDX-License-Identifier: GPL-2.0
/*
 * Starting and stopping a session, and changing what it does while it runs. Probes are attached
 * and detached one after the other, which takes seconds if there are many. One pointer, the
 * session's actions, decides whether they act, so all events begin and end at the same moment.
 * Under the session's lock.
 */
#include <linux/slab.h>

#include "../compat/clock.h"
#include "../core/gate.h"
#include "../latency/latency.h"
#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "budget.h"
#include "session.h"
#include "watchdog.h"

static int attach(struct kl_session *s, u32 id, struct kl_error *why)
{
	int error = 0;
	bool exit;

	if (!kl_event_is_fired_by_syscalls(id, &exit))
		error = kl_probe_attach(s, id, why);
	else if (!s->syscalls_attached[exit])
		error = kl_probe_attach_syscalls(s, exit, why);
	if (!error)
		__set_bit(id, s->attached);
	return error;
}

static u32 defined_in(const struct kl_actions *actions)
{
	return actions->n - KL_EV_MAX;
}

/* Detach what @wanted does not need; everything if it is NULL. */
static void detach_unused(struct kl_session *s, const struct kl_actions *wanted)
{
	bool needed[2] = {};
	bool exit;
	u32 id;

	for_each_set_bit(id, s->attached, KL_EV_MAX) {
		bool by_syscalls = kl_event_is_fired_by_syscalls(id, &exit);

		if (wanted && wanted->action[id]) {
			needed[exit] |= by_syscalls;
			continue;
		}
		if (!by_syscalls) {
			kl_source_detach(s, id);
			kl_payer_uncharge(&s->payer, KL_LIMIT_probes, 1);
		}
		__clear_bit(id, s->attached);
	}
	for (int i = 0; i < 2; i++) {
		if (needed[i] || !s->syscalls_attached[i])
			continue;
		kl_syscalls_detach(s, i);
		kl_payer_uncharge(&s->payer, KL_LIMIT_probes, 1);
		s->syscalls_attached[i] = false;
	}
	kl_dynevent_detach(s, wanted ? wanted->action + KL_EV_MAX : NULL,
			   wanted ? defined_in(wanted) : 0);
}

static int attach_wanted(struct kl_session *s, const struct kl_actions *wanted,
			 struct kl_error *why)
{
	for (u32 id = 0; id < KL_EV_MAX; id++) {
		int error;

		if (!wanted->action[id] || test_bit(id, s->attached))
			continue;
		error = attach(s, id, why);
		if (error)
			return error;
	}
	return kl_dynevent_attach(s, wanted->action + KL_EV_MAX, defined_in(wanted), why);
}

static int claim_and_attach(struct kl_session *s, const struct kl_actions *wanted,
			    struct kl_budget **budget, struct kl_error *why)
{
	*budget = kl_budget_claim(s, wanted, why);
	return PTR_ERR_OR_ZERO(*budget) ?: attach_wanted(s, wanted, why);
}

/**
 * kl_session_try_use - switch to another maskset, if its text patches are allowed
 * @s: the session
 * @maskset: its id
 * @extra: tokens that it takes in addition to those for patches
 * @delay: set to 0; or, if nothing was done, to the milliseconds until it may be
 * @why: set on failure; nothing has changed then
 *
 * While the session runs, each event is handled by either the old or the new maskset, never by
 * neither or both: the probes of both are attached while the pointer changes. Context: may sleep.
 */
int kl_session_try_use(struct kl_session *s, u32 maskset, u32 extra, u32 *delay,
		       struct kl_error *why)
{
	struct kl_budget *budget = NULL;
	struct kl_actions *new, *old;
	int error;

	*delay = 0;
	mutex_lock(&s->lock);
	old = rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));
	new = kl_maskset_compile(s, maskset, why);
	if (IS_ERR(new)) {
		mutex_unlock(&s->lock);
		return PTR_ERR(new);
	}
	if (s->running)
		extra += kl_patches_count(s, new);
	*delay = kl_payer_take(&s->payer, KL_BUCKET_PATCHES, extra);
	if (*delay) {
		kl_actions_destroy(s, new);
		mutex_unlock(&s->lock);
		return 0;
	}
	error = s->running ? claim_and_attach(s, new, &budget, why) : kl_budget_check(s, new, why);
	if (error) {
		kl_budget_release(budget);
		if (s->running)
			detach_unused(s, old);
		kl_actions_destroy(s, new);
	} else {
		swap(s->budget, budget);
		kl_budget_release(budget);
		rcu_assign_pointer(s->actions, new);
		if (s->running)
			WRITE_ONCE(s->ended, maskset == KL_MASKSET_RNOTHING ? kl_clock() : 0);
		kl_actions_retire(s, old);
		if (s->running)
			detach_unused(s, new);
	}
	mutex_unlock(&s->lock);
	return error;
}

/* Make probes do nothing. Returns the previous actions, to be restored when no probe is running. */
static struct kl_actions *make_idle(struct kl_session *s)
{
	struct kl_actions *actions =
		rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));

	WRITE_ONCE(s->idle->maskset, actions->maskset);
	rcu_assign_pointer(s->actions, s->idle);
	return actions;
}

/* @actions: what make_idle() returned */
static void stop_running(struct kl_session *s, struct kl_actions *actions)
{
	u64 now = kl_clock();

	lockdep_assert_held(&s->lock);
	/* A frozen session recorded its last event earlier. */
	if (!s->ended)
		WRITE_ONCE(s->ended, now);
	kl_watchdog_stop(s);
	kl_latency_stop(s, now);
	detach_unused(s, NULL);
	kl_follow_detach(s);
	kl_gate_leave(s);
	kl_source_synchronize();
	kl_budget_release(s->budget);
	s->budget = NULL;
	rcu_assign_pointer(s->actions, actions);
	kl_buffer_finish(s, s->ended);
	kl_crash_ended(s, s->ended);
	/* Complete the last blocks before this store. Pairs with the smp_rmb() in reader_poll. */
	smp_store_release(&s->running, false);
	wake_up_interruptible_all(&s->waiters.wait);
}

static int attach_all(struct kl_session *s, const struct kl_actions *actions, struct kl_error *why)
{
	int error = kl_gate_enter(s, why);

	if (!error && (s->gate & KL_GATE_TASKS || kl_session_has_flags(s)))
		error = kl_follow_attach(s, why);
	return error ?: claim_and_attach(s, actions, &s->budget, why) ?: kl_latency_prepare(s, why);
}

/**
 * kl_session_try_start - attach the probes, then let all of them act at once
 * @s: the session
 * @delay: set to 0; or, if nothing was done, to the milliseconds until the text patches are
 *   allowed
 * @why: set on failure; nothing is attached then
 *
 * Attaching takes seconds if there are many events; none of them records anything until the last
 * probe is attached. Context: may sleep.
 */
int kl_session_try_start(struct kl_session *s, u32 *delay, struct kl_error *why)
{
	struct kl_actions *actions;
	int error = 0;

	*delay = 0;
	mutex_lock(&s->lock);
	if (s->closed)
		error = kl_fail(why, -ESHUTDOWN, "the session's creator has closed it");
	else if (s->running)
		error = kl_fail(why, -EALREADY, "the session is already running");
	if (error)
		goto unlock;
	actions = rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock));
	*delay = kl_payer_take(&s->payer, KL_BUCKET_PATCHES, kl_patches_to_start(s, actions));
	if (*delay)
		goto unlock;
	WRITE_ONCE(s->running, true);
	WRITE_ONCE(s->ended, 0);
	WRITE_ONCE(s->defs.began, kl_clock());
	make_idle(s);
	kl_watchdog_start(s);
	error = attach_all(s, actions, why);
	if (error) {
		stop_running(s, actions);
		goto unlock;
	}
	WRITE_ONCE(s->defs.began, kl_clock());
	kl_crash_began(s, s->defs.began);
	rcu_assign_pointer(s->actions, actions);
	kl_latency_start(s, s->defs.began);
unlock:
	mutex_unlock(&s->lock);
	return error;
}

/**
 * kl_session_stop_locked - kl_session_stop for a running session
 * @s: the session; its lock is held
 */
void kl_session_stop_locked(struct kl_session *s)
{
	stop_running(s, make_idle(s));
}

/**
 * kl_session_stop - detach the probes; what was recorded can still be read
 * @s: the session; nothing happens if it is not running
 *
 * Context: may sleep.
 */
void kl_session_stop(struct kl_session *s)
{
	mutex_lock(&s->lock);
	if (s->running)
		kl_session_stop_locked(s);
	mutex_unlock(&s->lock);
}

/**
 * kl_session_close - stop a session for good, as its creator has closed it
 * @s: the session
 */
void kl_session_close(struct kl_session *s)
{
	kl_session_stop(s);
	mutex_lock(&s->lock);
	WRITE_ONCE(s->closed, true);
	mutex_unlock(&s->lock);
}
