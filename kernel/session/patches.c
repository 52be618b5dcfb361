// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching and detaching probes patches the kernel's text and interrupts all CPUs. This file
 * counts the tokens and probes that a session's start and a change of its maskset take from its
 * user, and waits for tokens. See docs/design/limits.md. No lock is held while waiting.
 */
#include <linux/sched/signal.h>

#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "session.h"

/* How long a call waits for tokens to patch the kernel's text. */
#define PATCH_WAIT_MS 10000

#define LOOK_AGAIN_MS 1000u

/* Patches to attach and detach what a start attaches in addition to the events. */
#define FOLLOW_PATCHES 4
#define LATENCY_PATCHES 16

/**
 * kl_probe_attach - attach a probe that is charged to the user
 * @s: the session; its lock is held
 * @id: an event that is available, not a system call
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_probe_attach(struct kl_session *s, u32 id, struct kl_error *why)
{
	int error = kl_payer_charge(&s->payer, KL_LIMIT_probes, 1, why);

	if (error)
		return error;
	error = kl_source_attach(s, id, why);
	if (error)
		kl_payer_uncharge(&s->payer, KL_LIMIT_probes, 1);
	return error;
}

/**
 * kl_probe_attach_syscalls - the same, for the entries or exits of all system calls
 * @s: the session; its lock is held
 * @exit: attach to the exits instead of the entries
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_probe_attach_syscalls(struct kl_session *s, bool exit, struct kl_error *why)
{
	int error = kl_payer_charge(&s->payer, KL_LIMIT_probes, 1, why);

	if (error)
		return error;
	error = kl_syscalls_attach(s, exit, why);
	if (error)
		kl_payer_uncharge(&s->payer, KL_LIMIT_probes, 1);
	s->syscalls_attached[exit] = !error;
	return error;
}

/**
 * kl_patches_count - tokens to attach what is missing, and to detach it later
 * @s: the session; its lock is held
 * @wanted: the session's future actions
 */
u32 kl_patches_count(struct kl_session *s, const struct kl_actions *wanted)
{
	bool counted[2] = { s->syscalls_attached[0], s->syscalls_attached[1] };
	u32 n = kl_dynevent_count_missing(s, wanted->action + KL_EV_MAX, wanted->n - KL_EV_MAX);
	bool exit;

	for (u32 id = 0; id < KL_EV_MAX; id++) {
		if (!wanted->action[id] || test_bit(id, s->attached))
			continue;
		if (!kl_event_is_fired_by_syscalls(id, &exit)) {
			n++;
		} else if (!counted[exit]) {
			counted[exit] = true;
			n += kl_tracepoint_patches(kl_syscall_tracepoint(exit));
		}
	}
	return 2 * n;
}

/**
 * kl_patches_to_start - tokens for everything that is attached when a session starts
 * @s: the session; its lock is held
 * @actions: the session's actions
 *
 * In addition to events: what follows forks and programs, and the probes of a latency profile.
 */
u32 kl_patches_to_start(struct kl_session *s, const struct kl_actions *actions)
{
	bool follows = s->gate & KL_GATE_TASKS || kl_session_has_flags(s);

	return kl_patches_count(s, actions) + (s->latency ? LATENCY_PATCHES : 0) +
	       (follows ? FOLLOW_PATCHES : 0);
}

/* Sleep without a lock until there may be tokens. @left: milliseconds that the call may wait. */
static int wait_for_patches(struct kl_session *s, u32 delay, u32 *left, struct kl_error *why)
{
	if (delay > *left)
		return kl_payer_refuse_patches(&s->payer, why);
	/* Root may raise the limit in the meantime. */
	delay = min(delay, LOOK_AGAIN_MS);
	*left -= delay;
	schedule_timeout_interruptible(msecs_to_jiffies(delay) + 1);
	return signal_pending(current) ? -EINTR : 0;
}

/**
 * kl_session_use - switch to another maskset, waiting for tokens
 * @s: the session
 * @maskset: its id
 * @why: set on failure; nothing has changed then
 *
 * Context: the caller's system call; may sleep.
 */
int kl_session_use(struct kl_session *s, u32 maskset, struct kl_error *why)
{
	u32 left = PATCH_WAIT_MS, delay;
	int error;

	do {
		error = kl_session_try_use(s, maskset, 0, &delay, why);
		if (!error && delay)
			error = wait_for_patches(s, delay, &left, why);
	} while (!error && delay);
	return error;
}

/**
 * kl_session_start - start a session, waiting for tokens
 * @s: the session
 * @why: set on failure; nothing is attached then
 *
 * Waits, without a lock, if too much text has been patched recently. Context: the caller's system
 * call; may sleep.
 */
int kl_session_start(struct kl_session *s, struct kl_error *why)
{
	u32 left = PATCH_WAIT_MS, delay;
	int error;

	do {
		error = kl_session_try_start(s, &delay, why);
		if (!error && delay)
			error = wait_for_patches(s, delay, &left, why);
	} while (!error && delay);
	return error;
}
