// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks a session follows: set before it starts, the set of tasks also
 * while it runs. Under the session's lock; probes read without.
 */
#include <linux/sched/signal.h>

#include "../latency/latency.h"
#include "gate.h"
#include "session.h"

static int create_set(struct kl_session *s, struct kl_taskset **set, struct kl_error *why)
{
	struct kl_taskset *made;

	if (*set)
		return 0;
	made = kl_taskset_create(&s->payer, why);
	if (IS_ERR(made))
		return PTR_ERR(made);
	*set = made;
	return 0;
}

static void change_task(struct kl_session *s, struct task_struct *t, u32 flags)
{
	bool in = flags & KL_TASK_ADD;

	kl_gate_follow(s, t->pid, in, flags & KL_TASK_INHERIT);
	if (in)
		kl_latency_add(s, t);
}

/**
 * kl_session_set_filter - which tasks' events are recorded
 * @s: the session; must not be running
 * @f: the filter; what the owner may not see stays hidden in any case
 * @why: set on failure
 */
int kl_session_set_filter(struct kl_session *s, const struct kl_abi_filter *f, struct kl_error *why)
{
	kuid_t uid = INVALID_UID;
	u32 gate = 0;
	int error = 0;

	if (f->reserved || f->kind > KL_FILTER_UID)
		return kl_fail(why, -EINVAL, "there is no filter kind %u", f->kind);
	mutex_lock(&s->lock);
	if (s->running) {
		error = kl_fail(why, -EBUSY, "the filter cannot change while the session runs");
		goto unlock;
	}
	if (f->kind == KL_FILTER_TASKS) {
		gate = KL_GATE_TASKS;
		error = create_set(s, &s->tasks, why) ?: create_set(s, &s->heirs, why);
		if (error)
			goto unlock;
	} else if (f->kind == KL_FILTER_UID) {
		gate = KL_GATE_UID;
		uid = make_kuid(s->owner->user_ns, f->uid);
		if (!uid_valid(uid)) {
			error = kl_fail(why, -EINVAL, "user id %u is not valid here", f->uid);
			goto unlock;
		}
	}
	s->uid = uid;
	s->gate = gate | (s->gate & KL_GATE_OWN);
	kl_maskset_ask(s, rcu_dereference_protected(s->actions, lockdep_is_held(&s->lock)));
unlock:
	mutex_unlock(&s->lock);
	return error;
}

static bool is_descendant(const struct task_struct *t, const struct task_struct *of)
{
	for (; t->pid; t = rcu_dereference(t->real_parent))
		if (same_thread_group((struct task_struct *)t, (struct task_struct *)of))
			return true;
	return false;
}

/**
 * kl_session_change_tasks - put tasks in the session's set, or take them out
 * @s: the session, with KL_FILTER_TASKS
 * @t: which; `count` is set
 * @why: set on failure
 *
 * Context: the process whose pid namespace counts.
 */
int kl_session_change_tasks(struct kl_session *s, struct kl_abi_tasks *t, struct kl_error *why)
{
	struct task_struct *wanted, *process, *thread;
	int error = 0;

	if (!(t->flags & KL_TASK_ADD) == !(t->flags & KL_TASK_REMOVE))
		return kl_fail(why, -EINVAL, "either add tasks or remove them");
	mutex_lock(&s->lock);
	rcu_read_lock();
	wanted = pid_task(find_vpid(t->pid), PIDTYPE_PID);
	t->count = 0;
	if (!s->tasks || !s->heirs) {
		error = kl_fail(why, -EINVAL, "the session's filter is not a set of tasks");
	} else if (!wanted) {
		error = kl_fail(why, -ESRCH, "there is no process %d", t->pid);
	} else if (t->flags & (KL_TASK_PROCESS | KL_TASK_TREE)) {
		for_each_process_thread(process, thread) {
			if (!(t->flags & KL_TASK_TREE ? is_descendant(thread, wanted) :
							same_thread_group(thread, wanted)))
				continue;
			change_task(s, thread, t->flags);
			t->count++;
		}
	} else {
		change_task(s, wanted, t->flags);
		t->count = 1;
	}
	rcu_read_unlock();
	if (t->flags & KL_TASK_REMOVE)
		kl_gate_forget(s);
	mutex_unlock(&s->lock);
	return error;
}
