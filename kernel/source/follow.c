// SPDX-License-Identifier: GPL-2.0
/*
 * A session that follows some tasks: what they create is entered into the set
 * before it runs for the first time.
 */
#include <linux/sched.h>
#include <linux/tracepoint.h>

#include "../session/session.h"
#include "source.h"

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct kl_session *s = data;
	bool in;

	if (s->gate & KL_GATE_TASKS) {
		in = kl_taskset_has(s->heirs, parent->pid);
		kl_taskset_set(s->heirs, child->pid, in);
		kl_taskset_set(s->tasks, child->pid, in);
	}
	/* The flags are those of a dead task that had the same id. */
	for (u32 i = 0; i < ARRAY_SIZE(s->custom.task_flag); i++) {
		/* Pairs with make_flag. */
		struct kl_taskset *flag = smp_load_acquire(&s->custom.task_flag[i]);

		if (flag)
			kl_taskset_set(flag, child->pid, false);
	}
}

/**
 * kl_follow_attach - keep a session's sets of tasks up to date
 * @s: the session; its lock is held
 *
 * Nothing happens if they are already. Context: may sleep.
 */
int kl_follow_attach(struct kl_session *s)
{
	struct tracepoint *fork = kl_tracepoint_find("sched_process_fork");
	int error;

	lockdep_assert_held(&s->lock);
	if (s->following)
		return 0;
	if (!fork)
		return -ENOENT;
	error = tracepoint_probe_register(fork, on_fork, s);
	s->following = !error;
	return error;
}

/**
 * kl_follow_detach - undo kl_follow_attach
 * @s: the session; its lock is held
 */
void kl_follow_detach(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	if (!s->following)
		return;
	tracepoint_probe_unregister(kl_tracepoint_find("sched_process_fork"), on_fork, s);
	s->following = false;
}
