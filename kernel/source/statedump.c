// SPDX-License-Identifier: GPL-2.0
/*
 * The state dump: writes tasks, their files and mappings, interrupt lines and CPUs as events of
 * the session, so that an analysis knows the initial state. These events take the same path as all
 * others: same filter, same access rules, same losses.
 */
#include <linux/cpu.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <asm/processor.h>

#include "../base/task_iter.h"
#include "../compat/file.h"
#include "../compat/interrupt.h"
#include "../task/files.h"
#include "probes.h"
#include "statedump.h"

/* LTTng's numbers, which Trace Compass reads. */
#define TYPE_USER 0
#define TYPE_KERNEL 1
#define MODE_UNKNOWN 0
#define MODE_SYSCALL 2
#define SUBMODE_NONE 0
#define STATUS_WAIT_CPU 2
#define STATUS_EXIT 3
#define STATUS_ZOMBIE 4
#define STATUS_WAIT 5
#define STATUS_RUN 6

#define KNOWN_PARTS (KL_DUMP_PROCESSES | KL_DUMP_FILES | KL_DUMP_MAPPINGS)

/* Longest that a dump waits for readers to make room, in steps of 10 ms. */
#define PATIENCE 200

/* Longest that it waits for a task that the session awaits, in the same steps. */
#define EXEC_PATIENCE 100

/*
 * Longest that it waits for locks that tasks hold, in the same steps. A task can hold its own
 * locks for as long as it likes; the dump then omits what they guard.
 */
#define LOCK_PATIENCE 100

/* Mappings written before the lock of their address space is dropped for other users. */
#define MAPPINGS_BATCH 64

struct dump {
	struct kl_session *session;
	struct task_struct *task;
	char *path; /* one page */
	int patience;
	int lock_patience;
	struct kl_file_batch files;
};

/* Call a probe as the kernel's tracepoints do. */
#define fire(probe, ...)            \
	do {                        \
		preempt_disable();  \
		probe(__VA_ARGS__); \
		preempt_enable();   \
	} while (0)

static bool is_nearly_full(struct kl_session *s)
{
	bool full;

	/* The readers' positions that the ring reads are freed after an RCU grace period. */
	preempt_disable();
	full = kl_ring_is_nearly_full(&this_cpu_ptr(s->cpu)->ring);
	preempt_enable();
	return full;
}

/* Let readers catch up, so that a long dump does not drop its own records. */
static void wait_for_room(struct dump *d)
{
	struct kl_session *s = d->session;

	while (d->patience > 0 && s->mode == KL_MODE_DISCARD && READ_ONCE(s->reader_count) &&
	       is_nearly_full(s)) {
		d->patience--;
		schedule_timeout_interruptible(msecs_to_jiffies(10));
	}
	cond_resched();
}

/* Is a task about to execute a program and enter the session's set? */
static bool awaits_somebody(const struct kl_session *s)
{
	pid_t tid = READ_ONCE(s->awaited);
	struct task_struct *t;
	bool alive;

	if (tid == KL_NOBODY)
		return false;
	rcu_read_lock();
	t = pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID);
	alive = t && !t->exit_state;
	rcu_read_unlock();
	return alive;
}

/* Until then the task is not in the set, and its files and mappings are not the program's. */
static void wait_for_exec(const struct kl_session *s)
{
	for (int i = 0; i < EXEC_PATIENCE && awaits_somebody(s) && !signal_pending(current); i++)
		schedule_timeout_interruptible(msecs_to_jiffies(10));
}

static int status_of(struct task_struct *t)
{
	if (t->exit_state & EXIT_ZOMBIE)
		return STATUS_ZOMBIE;
	if (t->exit_state & EXIT_DEAD)
		return STATUS_EXIT;
	if (READ_ONCE(t->__state) != TASK_RUNNING)
		return STATUS_WAIT;
	return t == current ? STATUS_RUN : STATUS_WAIT_CPU;
}

static void dump_task(struct dump *d)
{
	struct task_struct *t = d->task;
	bool kernel = kl_task_flags(t) & PF_KTHREAD;
	int mode = kernel || t == current ? MODE_SYSCALL : MODE_UNKNOWN;

	fire(kl_probe_lttng_statedump_process_state, d->session, t,
	     kernel ? TYPE_KERNEL : TYPE_USER, mode, SUBMODE_NONE,
	     data_race(status_of(t))); /* may change at any time */
}

/* Skip what the owner is not allowed to see. */
static bool is_hidden(const struct dump *d)
{
	const struct kl_session *s = d->session;

	return s->gate & KL_GATE_OWN && !kl_access_sees(s->owner, 0, d->task);
}

static void dump_file(struct dump *d, const struct file *file, u32 fd)
{
	const char *name = file_path((struct file *)file, d->path, PAGE_SIZE);

	fire(kl_probe_lttng_statedump_file_descriptor, d->session, d->task, fd, file->f_flags,
	     (__force unsigned int)file->f_mode, IS_ERR(name) ? "" : name);
}

/* The task may execute another program at any time, so check is_hidden() for each batch. */
static void dump_files(struct dump *d)
{
	struct kl_file_batch *b = &d->files;
	u64 next = 0;

	while (next != KL_FILES_END && !signal_pending(current) && !is_hidden(d)) {
		next = kl_files_take(d->task, b, next);
		for (u32 i = 0; i < b->n; i++) {
			dump_file(d, b->file[i], b->fd[i]);
			cond_resched();
		}
		kl_files_put(b);
		wait_for_room(d);
	}
}

static void write_mapping(struct dump *d, struct vm_area_struct *vma)
{
	const char *name = "";
	u64 inode = 0;

	if (vma->vm_file) {
		name = d_path(kl_file_user_path(vma->vm_file), d->path, PAGE_SIZE);
		inode = kl_file_user_inode(vma->vm_file)->i_ino;
	}
	fire(kl_probe_lttng_statedump_vm_map, d->session, d->task, vma->vm_start, vma->vm_end,
	     vma->vm_flags, inode, (u64)vma->vm_pgoff << PAGE_SHIFT, IS_ERR(name) ? "" : name);
}

/* The lock of the address space is held. Returns where to continue, or 0 after the last mapping. */
static unsigned long dump_some_mappings(struct dump *d, struct mm_struct *mm, unsigned long from)
{
	VMA_ITERATOR(vmi, mm, from);
	struct vm_area_struct *vma;
	u32 n = 0;

	for_each_vma(vmi, vma) {
		if (n++ == MAPPINGS_BATCH)
			return vma->vm_start;
		write_mapping(d, vma);
		cond_resched();
	}
	return 0;
}

static bool take_lock(struct dump *d, struct rw_semaphore *lock)
{
	while (!down_read_trylock(lock)) {
		if (!d->lock_patience || signal_pending(current))
			return false;
		d->lock_patience--;
		schedule_timeout_interruptible(msecs_to_jiffies(10));
	}
	return true;
}

/*
 * The task's memory if the owner may see the program that it belongs to, else NULL. A task that
 * executes a program gets its new memory before its new credentials; only this lock orders the
 * two.
 */
static struct mm_struct *get_mm(struct dump *d)
{
	struct rw_semaphore *exec = &d->task->signal->exec_update_lock;
	struct mm_struct *mm = NULL;

	if (!(d->session->gate & KL_GATE_OWN))
		return kl_task_get_mm(d->task);
	if (!take_lock(d, exec))
		return NULL;
	if (!is_hidden(d))
		mm = kl_task_get_mm(d->task);
	up_read(exec);
	return mm;
}

/* Give up on a task that keeps creating mappings after twice as many as it had at first. */
static void dump_mappings(struct dump *d)
{
	struct mm_struct *mm = get_mm(d);
	unsigned long next = 0;
	int left;

	if (!mm)
		return;
	left = 2 * READ_ONCE(mm->map_count);
	do {
		if (!take_lock(d, &mm->mmap_lock))
			break;
		next = dump_some_mappings(d, mm, next);
		up_read(&mm->mmap_lock);
		wait_for_room(d);
		left -= MAPPINGS_BATCH;
	} while (next && left > 0 && !signal_pending(current));
	mmput(mm);
}

static void dump_tasks(struct dump *d, u32 what)
{
	pid_t from = 1;

	for (; (d->task = kl_task_next(&from, &init_pid_ns)); from++) {
		dump_task(d);
		if (thread_group_leader(d->task) && !is_hidden(d)) {
			if (what & KL_DUMP_FILES)
				dump_files(d);
			if (what & KL_DUMP_MAPPINGS)
				dump_mappings(d);
		}
		put_task_struct(d->task);
		wait_for_room(d);
		if (signal_pending(current))
			break;
	}
}

static void dump_interrupt(struct kl_session *s, unsigned int irq)
{
	struct irq_data *data = irq_get_irq_data(irq);
	struct irqaction *action;
	struct irq_desc *desc;
	unsigned long flags;

	if (!data)
		return;
	desc = irq_data_to_desc(data);
	raw_spin_lock_irqsave(&desc->lock, flags);
	for (action = desc->action; action; action = action->next)
		kl_probe_lttng_statedump_interrupt(s, irq, data->chip ? data->chip->name : "",
						   action->name);
	raw_spin_unlock_irqrestore(&desc->lock, flags);
}

static void dump_interrupts(struct kl_session *s)
{
	unsigned int lines = kl_nr_irqs();

	for (unsigned int irq = 0; irq < lines; irq++) {
		/* A line that is removed concurrently is freed after a grace period. */
		rcu_read_lock();
		dump_interrupt(s, irq);
		rcu_read_unlock();
	}
}

static void dump_cpus(struct kl_session *s)
{
	int cpu;

	for_each_online_cpu(cpu) {
		const struct cpuinfo_x86 *c = &cpu_data(cpu);

		fire(kl_probe_lttng_statedump_cpu_topology, s, cpu, c->x86, c->x86_model,
		     topology_physical_package_id(cpu), topology_core_id(cpu), c->booted_cores,
		     c->x86_vendor_id, c->x86_model_id);
	}
}

/**
 * kl_dump_state - write the current state into a running session
 * @s: the session; events that are not in its maskset are omitted
 * @params: `what` is read, `records` is set
 * @why: set on failure
 *
 * Context: may sleep; waits a bounded time for a task that the session awaits, for readers if the
 * buffer is full, and for locks that tasks hold.
 */
int kl_dump_state(struct kl_session *s, struct kl_abi_dump *params, struct kl_error *why)
{
	struct dump d = { .session = s, .patience = PATIENCE, .lock_patience = LOCK_PATIENCE };
	u64 before;

	if (params->what & ~KNOWN_PARTS)
		return kl_fail(why, -EINVAL, "unknown state dump flags: %#x", params->what);
	if (!READ_ONCE(s->running))
		return kl_fail(why, -EINVAL, "the session is not running");
	d.path = (char *)__get_free_page(GFP_KERNEL_ACCOUNT);
	if (!d.path)
		return kl_fail(why, -ENOMEM, "no memory for a state dump");
	wait_for_exec(s);
	before = kl_buffer_written(s);
	fire(kl_probe_lttng_statedump_start, s);
	if (s->may & KL_MAY_SEE_ALL) {
		cpus_read_lock();
		dump_cpus(s);
		cpus_read_unlock();
		dump_interrupts(s);
	}
	if (params->what & KL_DUMP_PROCESSES)
		dump_tasks(&d, params->what);
	fire(kl_probe_lttng_statedump_end, s);
	params->records = kl_buffer_written(s) - before;
	free_page((unsigned long)d.path);
	return signal_pending(current) ? -EINTR : 0;
}
