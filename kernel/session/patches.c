// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching and detaching probes patches the kernel's text and interrupts all CPUs: what a
 * session's start and a change of its maskset take of its user's tokens and probes, and
 * waiting for tokens. See docs/design/limits.md. No lock is held while waiting.
 */
#include <linux/sched/signal.h>

#include "../source/dynamic/dynamic.h"
#include "../source/source.h"
#include "session.h"

/* How long a call waits until it may patch the kernel's text. */
#define PATCH_WAIT_MS 10000

#define LOOK_AGAIN_MS 1000u

/* Attaching and detaching what start attaches beside the events. */
#define FOLLOW_PATCHES 4
#define LATENCY_PATCHES 16

/**
 * kl_probe_attach - kl_source_attach, for a probe that is charged
 * @s: the session; its lock is held
 * @id: an event that is present, not a system call
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
 * kl_probe_attach_syscalls - the same, of all system calls' entries or exits
 * @s: the session; its lock is held
 * @exit: which
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
 * kl_patches_count - tokens for what has to be attached, and detached again some time
 * @s: the session; its lock is held
 * @wanted: the actions that it will have
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
 * kl_patches_to_start - tokens for all that is attached when a session starts
 * @s: the session; its lock is held
 * @actions: that it has
 *
 * Beside events: what follows forks and programs, and the probes of a latency profile.
 */
u32 kl_patches_to_start(struct kl_session *s, const struct kl_actions *actions)
{
	bool follows = s->gate & KL_GATE_TASKS || kl_session_has_flags(s);

	return kl_patches_count(s, actions) + (s->latency ? LATENCY_PATCHES : 0) +
	       (follows ? FOLLOW_PATCHES : 0);
}

/* Sleep until there may be tokens, without a lock. @left: milliseconds that it may take. */
static int wait_for_patches(struct kl_session *s, u32 delay, u32 *left, struct kl_error *why)
{
	if (delay > *left)
		return kl_payer_refuse_patches(&s->payer, why);
	/* Root can raise the limit in the meantime. */
	delay = min(delay, LOOK_AGAIN_MS);
	*left -= delay;
	schedule_timeout_interruptible(msecs_to_jiffies(delay) + 1);
	return signal_pending(current) ? -EINTR : 0;
}

/**
 * kl_session_use - as kl_session_try_use, but waits
 * @s: the session
 * @maskset: its id
 * @why: set on failure; then everything is as it was
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
 * kl_session_start - attach the probes
 * @s: the session
 * @why: set on failure; then nothing is attached
 *
 * Waits, without a lock, while too much text has been patched lately. Context: the
 * caller's system call; may sleep.
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
