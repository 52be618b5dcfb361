/* SPDX-License-Identifier: GPL-2.0 */
/* Looking at tasks that are not the running one: going through them, and whether they run. */
#ifndef KL_TASK_LOOK_H
#define KL_TASK_LOOK_H

#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

/**
 * kl_task_next - go through the tasks of a pid namespace
 * @from: in and out: the number to begin with; that of what is returned
 * @ns: pid namespace
 *
 * Returns a task with a reference, NULL after the last. Context: may be preempted.
 */
static inline struct task_struct *kl_task_next(pid_t *from, struct pid_namespace *ns)
{
	struct task_struct *t = NULL;
	struct pid *pid;

	rcu_read_lock();
	for (;;) {
		pid = find_ge_pid(*from, ns);
		if (!pid)
			break;
		*from = pid_nr_ns(pid, ns);
		t = pid_task(pid, PIDTYPE_PID);
		if (t)
			break;
		(*from)++;
	}
	if (t)
		get_task_struct(t);
	rcu_read_unlock();
	return t;
}

/* How often it has been switched from: the same before and after, so it has not run. */
static inline unsigned long kl_task_switches(const struct task_struct *t)
{
	return READ_ONCE(t->nvcsw) + READ_ONCE(t->nivcsw);
}

/*
 * Those that a task points to, as long as it is there itself: when it has been released they may
 * go before it does. Under RCU, which then keeps them.
 */
static inline struct task_struct *kl_task_real_parent(const struct task_struct *t)
{
	return pid_alive(t) ? rcu_dereference(t->real_parent) : NULL;
}

static inline struct task_struct *kl_task_parent(const struct task_struct *t)
{
	return pid_alive(t) ? rcu_dereference(t->parent) : NULL;
}

/*
 * The first thread of its process, under RCU, too. One that has been released may outlive that and
 * stands for itself: nobody changes its process any more.
 */
static inline struct task_struct *kl_task_leader(struct task_struct *t)
{
	return pid_alive(t) ? t->group_leader : t;
}

/* The same with a reference. @t: with one, too. */
static inline struct task_struct *kl_task_get_leader(struct task_struct *t)
{
	struct task_struct *leader;

	rcu_read_lock();
	leader = get_task_struct(kl_task_leader(t));
	rcu_read_unlock();
	return leader;
}

#endif /* KL_TASK_LOOK_H */
