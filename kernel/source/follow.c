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

	bool in = kl_taskset_has(s->heirs, parent->pid);

	kl_taskset_set(s->heirs, child->pid, in);
	kl_taskset_set(s->tasks, child->pid, in);
}

/**
 * kl_follow_attach - keep a session's task set up to date
 * @s: the session; its lock is held
 *
 * Context: may sleep.
 */
int kl_follow_attach(struct kl_session *s)
{
	struct tracepoint *fork = kl_tracepoint_find("sched_process_fork");

	lockdep_assert_held(&s->lock);
	if (!fork)
		return -ENOENT;
	return tracepoint_probe_register(fork, on_fork, s);
}

/**
 * kl_follow_detach - undo kl_follow_attach
 * @s: the session; its lock is held
 */
void kl_follow_detach(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	tracepoint_probe_unregister(kl_tracepoint_find("sched_process_fork"), on_fork, s);
}
