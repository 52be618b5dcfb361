// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of tasks, with a reference to each, for everything that visits many of them. The kernel's
 * own lists may only be walked under RCU, and users control their length. So tasks are taken a few
 * at a time; between two such sections other tasks may run and the caller may be killed.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/threads.h>

#include "task_iter.h"

#define SECTION 128 /* tasks taken in one RCU read-side critical section */
#define PAUSE 64 /* references dropped between two chances to be preempted */
#define TRIES 3

static struct task_struct *first_thread(struct signal_struct *signal)
{
	return list_first_or_null_rcu(&signal->thread_head, struct task_struct, thread_node);
}

static struct task_struct *next_process(const struct task_struct *leader)
{
	struct task_struct *next = list_entry_rcu(leader->tasks.next, struct task_struct, tasks);

	return next == &init_task ? NULL : next;
}

/*
 * The task that follows @t, which was in the kernel's lists at some time since rcu_read_lock(): so
 * its neighbors, and the first thread of its process, still exist. @t is NULL at the beginning.
 */
static struct task_struct *next_task_of(const struct kl_task_list *l, struct task_struct *t)
{
	struct task_struct *next = NULL;

	if (!t)
		return l->of ? first_thread(l->of->signal) : next_process(&init_task);
	if (l->of || l->threads)
		next = list_next_or_null_rcu(&t->signal->thread_head, &t->thread_node,
					     struct task_struct, thread_node);
	if (next || l->of)
		return next;
	return next_process(READ_ONCE(t->group_leader));
}

/* Take some more tasks. Returns false after the last. */
static bool take_some(struct kl_task_list *l)
{
	struct task_struct *t = l->alive ? l->task[l->alive - 1] : NULL;
	u32 end = min(l->n + SECTION, l->room);

	rcu_read_lock();
	/*
	 * The pointers of a task that has been released are stale: the caller finds an earlier
	 * task.
	 */
	if (t && !kl_task_is_alive(t)) {
		rcu_read_unlock();
		return true;
	}
	/* Under RCU, the reference count of a task in the lists is above zero. */
	for (t = next_task_of(l, t); t && l->n < end; t = next_task_of(l, t))
		l->task[l->n++] = get_task_struct(t);
	l->alive = l->n;
	rcu_read_unlock();
	return t;
}

/*
 * Go back to the last task that is still in the kernel's lists. Those that were listed after it
 * have left them, and new tasks are appended, so what follows it there has not been listed.
 */
static void find_alive(struct kl_task_list *l)
{
	for (u32 i = 1; l->alive && !kl_task_is_alive(l->task[l->alive - 1]); l->alive--, i++)
		if (i % PAUSE == 0)
			cond_resched();
}

static int grow(struct kl_task_list *l, u32 room)
{
	struct task_struct **task;

	if (room > 2 * PID_MAX_LIMIT)
		return -ENOMEM;
	task = kvmalloc_array(room, sizeof(*task), GFP_KERNEL_ACCOUNT);
	if (!task)
		return -ENOMEM;
	if (l->n)
		memcpy(task, l->task, l->n * sizeof(*task));
	kvfree(l->task);
	l->task = task;
	l->room = room;
	return 0;
}

/* Number of tasks in the last list of all tasks: an estimate of the room for the next one. */
static u32 guess = 256;

static int fill(struct kl_task_list *l)
{
	u32 room = l->of ? get_nr_threads(l->of) : READ_ONCE(guess);
	int error = grow(l, min(room + room / 8 + 16, 2u * PID_MAX_LIMIT));

	while (!error && take_some(l)) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		find_alive(l);
		if (l->n == l->room)
			error = grow(l, 2 * l->room);
	}
	return error;
}

/**
 * kl_tasks_list - list tasks, with a reference to each
 * @l: set; to be released with kl_tasks_put() on success
 * @of: only the threads of this task's process; NULL: all processes
 * @threads: all threads of all processes, not only the first of each
 *
 * Tasks are listed in the order in which they were created, so that a process comes after its
 * parent. Tasks that are created or exit in the meantime may be in the list or not. Context: may
 * sleep. Returns 0, -ENOMEM, or -EINTR if the caller is being killed.
 */
int kl_tasks_list(struct kl_task_list *l, struct task_struct *of, bool threads)
{
	int error;

	*l = (struct kl_task_list){ .of = of, .threads = threads };
	error = fill(l);
	if (error)
		kl_tasks_put(l);
	else if (!of)
		WRITE_ONCE(guess, l->n);
	return error;
}

/**
 * kl_tasks_put - release a list of tasks
 * @l: list; empty afterwards
 *
 * Context: may sleep.
 */
void kl_tasks_put(struct kl_task_list *l)
{
	for (u32 i = 0; i < l->n; i++) {
		put_task_struct(l->task[i]);
		if (i % PAUSE == PAUSE - 1)
			cond_resched();
	}
	kvfree(l->task);
	*l = (struct kl_task_list){};
}

/**
 * kl_threads_list - list the threads of a process, to sum up what they have used
 * @l: as of kl_tasks_list()
 * @of: any thread of the process
 * @note: reads what the process has accumulated from threads that have exited; starts again if
 *        called again. Called with interrupts off and stats_lock held
 * @data: for @note
 *
 * A thread that exits adds its usage to the process, and leaves the list, under stats_lock; its own
 * figures do not change. So if no thread has exited between @note and the end of the list, each
 * thread counts exactly once, however long the caller takes to read the figures. If threads exit
 * faster than they can be listed, those that exit in this time may be missing. None counts twice.
 * Context and return value: as of kl_tasks_list().
 */
int kl_threads_list(struct kl_task_list *l, struct task_struct *of,
		    void (*note)(const struct signal_struct *signal, void *data), void *data)
{
	seqlock_t *lock = &of->signal->stats_lock;
	int error;

	for (u32 i = 1;; i++) {
		unsigned int seq = read_seqbegin(lock);
		unsigned long irqs;

		read_seqlock_excl_irqsave(lock, irqs);
		note(of->signal, data);
		read_sequnlock_excl_irqrestore(lock, irqs);
		error = kl_tasks_list(l, of, true);
		if (error || !read_seqretry(lock, seq) || i == TRIES)
			return error;
		kl_tasks_put(l);
	}
}
