/* SPDX-License-Identifier: GPL-2.0 */
/* Reads tasks other than the running one: iterates over them, and tests their state. */
#ifndef KL_BASE_TASK_ITER_H
#define KL_BASE_TASK_ITER_H

#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

struct signal_struct;

/**
 * struct kl_task_list - tasks, with a reference to each
 * @task: @n tasks, and room for @room
 * @of: only threads of this task's process, or NULL
 * @threads: every thread, not only the first of each process
 * @alive: index after the last task from which the list can be continued
 */
struct kl_task_list {
	struct task_struct **task;
	u32 n;
	u32 room;
	u32 alive;
	bool threads;
	struct task_struct *of;
};

int kl_tasks_list(struct kl_task_list *l, struct task_struct *of, bool threads);
void kl_tasks_put(struct kl_task_list *l);
int kl_threads_list(struct kl_task_list *l, struct task_struct *of,
		    void (*note)(const struct signal_struct *signal, void *data), void *data);

/*
 * The deepest cgroup whose path is reported. The kernel builds a path with interrupts off, in a
 * time that is quadratic in the depth, which is unlimited.
 */
#define KL_CGROUP_LEVELS_MAX 256

/*
 * Pids without a task that one RCU read-side critical section skips: process groups that outlive
 * their first task.
 */
#define KL_TASK_NEXT_SKIPS 64

/**
 * kl_task_next - iterate over the tasks of a pid namespace
 * @from: in: the pid to begin with; out: the pid of the returned task
 * @ns: pid namespace
 *
 * Returns a task with a reference, or NULL after the last. Context: may be preempted.
 */
static inline struct task_struct *kl_task_next(pid_t *from, struct pid_namespace *ns)
{
	struct task_struct *t = NULL;
	struct pid *pid;

	do {
		rcu_read_lock();
		for (u32 i = 0; i < KL_TASK_NEXT_SKIPS; i++) {
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
		cond_resched();
	} while (!t && pid);
	return t;
}

/* PF_* flags. The task may be changing them: callers act on their current values. */
static inline unsigned int kl_task_flags(const struct task_struct *t)
{
	return data_race(t->flags);
}

/*
 * EXIT_* state. A task that is just exiting may still look alive: callers check again, or tolerate
 * that.
 */
static inline int kl_task_exit_state(const struct task_struct *t)
{
	return data_race(READ_ONCE(t->exit_state));
}

/* A task's mm, with a reference; NULL for kernel threads, which only borrow one. */
static inline struct mm_struct *kl_task_get_mm(struct task_struct *t)
{
	/* get_task_mm() also reads the flags, which only the task itself changes. */
	return kl_task_flags(t) & PF_KTHREAD ? NULL : data_race(get_task_mm(t));
}

/*
 * Number of context switches away from the task: if it is the same before and after, the task has
 * not run.
 */
static inline unsigned long kl_task_switches(const struct task_struct *t)
{
	/*
	 * Counted by the CPU that the task leaves; callers also check that the task is on no CPU.
	 */
	return data_race(READ_ONCE(t->nvcsw) + READ_ONCE(t->nivcsw));
}

/* Is the task not released yet? The kernel changes what this reads with plain stores. */
static inline bool kl_task_is_alive(const struct task_struct *t)
{
	return data_race(pid_alive(t));
}

/*
 * The parents of a task, unless it has been released: then they may be freed before it is. Call
 * under RCU, which keeps them.
 */
static inline struct task_struct *kl_task_real_parent(const struct task_struct *t)
{
	return kl_task_is_alive(t) ? rcu_dereference(t->real_parent) : NULL;
}

static inline struct task_struct *kl_task_parent(const struct task_struct *t)
{
	return kl_task_is_alive(t) ? rcu_dereference(t->parent) : NULL;
}

/*
 * The first thread of a task's process; call under RCU, too. A released task may outlive that
 * thread and is returned itself: its process does not change any more.
 */
static inline struct task_struct *kl_task_leader(struct task_struct *t)
{
	return kl_task_is_alive(t) ? t->group_leader : t;
}

/* The same with a reference. The caller has one to @t, too. */
static inline struct task_struct *kl_task_get_leader(struct task_struct *t)
{
	struct task_struct *leader;

	rcu_read_lock();
	leader = get_task_struct(kl_task_leader(t));
	rcu_read_unlock();
	return leader;
}

#endif /* KL_BASE_TASK_ITER_H */
