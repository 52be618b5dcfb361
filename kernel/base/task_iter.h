/* SPDX-License-Identifier: GPL-2.0 */
/* Looking at tasks that are not the running one: going through them, and whether they run. */
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
 * @task: @n of them, and room for @room
 * @of: of its process only, or NULL
 * @threads: every thread, not only the first of each process
 * @alive: behind the last that the list can be continued from
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
 * The deepest cgroup whose path is told. The kernel writes a path with interrupts off, in a time
 * that grows with the square of the depth, which may be any.
 */
#define KL_CGROUP_LEVELS_MAX 256

/* Numbers without a task that one read side of RCU skips: groups that outlive their first task. */
#define KL_TASK_NEXT_SKIPS 64

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

/* PF_*. The task may be changing them: callers act on what they see now. */
static inline unsigned int kl_task_flags(const struct task_struct *t)
{
	return data_race(t->flags);
}

/* EXIT_*. A task that is just ending may still look alive: callers look again, or do not care. */
static inline int kl_task_exit_state(const struct task_struct *t)
{
	return data_race(READ_ONCE(t->exit_state));
}

/* The memory of a program, with a reference; kernel threads, which stay that, borrow one. */
static inline struct mm_struct *kl_task_get_mm(struct task_struct *t)
{
	/* The kernel looks at the flags, too, which only their task changes. */
	return kl_task_flags(t) & PF_KTHREAD ? NULL : data_race(get_task_mm(t));
}

/* How often it has been switched from: the same before and after, so it has not run. */
static inline unsigned long kl_task_switches(const struct task_struct *t)
{
	/* Counted by the CPU that it leaves; that it is on none is looked at, too. */
	return data_race(READ_ONCE(t->nvcsw) + READ_ONCE(t->nivcsw));
}

/* Has it not been released? The kernel writes without a mark what this reads. */
static inline bool kl_task_is_alive(const struct task_struct *t)
{
	return data_race(pid_alive(t));
}

/*
 * Those that a task points to, as long as it is there itself: when it has been released they may
 * go before it does. Under RCU, which then keeps them.
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
 * The first thread of its process, under RCU, too. One that has been released may outlive that and
 * stands for itself: nobody changes its process any more.
 */
static inline struct task_struct *kl_task_leader(struct task_struct *t)
{
	return kl_task_is_alive(t) ? t->group_leader : t;
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

#endif /* KL_BASE_TASK_ITER_H */
