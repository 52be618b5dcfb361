// SPDX-License-Identifier: GPL-2.0
/*
 * Details of a task, for detail.c: signals, credentials, CPU and memory affinity, limits, and I/O.
 */
#include <linux/audit.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/securebits.h>
#include <linux/user_namespace.h>

#include "../../base/task_iter.h"
#include "../../compat/task.h"
#include "detail.h"

/* ---------------------------------------------------------------- signals */

static u64 signal_bits(const sigset_t *set)
{
	return set->sig[0];
}

static void fill_signals(struct kl_abi_detail_signals *to, struct task_struct *t,
			 const struct sighand_struct *handlers)
{
	to->pending = signal_bits(&t->pending.signal);
	to->pending_process = signal_bits(&t->signal->shared_pending.signal);
	to->blocked = signal_bits(&t->blocked);
	for (u32 i = 0; i < _NSIG; i++) {
		__sighandler_t handler = handlers->action[i].sa.sa_handler;

		if (handler == SIG_IGN)
			to->ignored |= 1ull << i;
		else if (handler != SIG_DFL)
			to->caught |= 1ull << i;
	}
	to->queued = get_rlimit_value(task_ucounts(t), UCOUNT_RLIMIT_SIGPENDING);
	to->queued_max = task_rlimit(t, RLIMIT_SIGPENDING);
}

/**
 * kl_detail_signals - KL_DETAIL_SIGNALS
 * @d: the call
 *
 * The memory of signal handlers is reused only for other signal handlers, so their lock can be
 * taken before checking that they still belong to the task. A task that has ended has none.
 */
int kl_detail_signals(struct kl_detail *d)
{
	struct kl_abi_detail_signals *to = kl_detail_add(d, KL_DETAIL_SIGNALS, sizeof(*to), 0);
	struct task_struct *t = d->task;
	struct sighand_struct *handlers;
	bool is_its = false;
	unsigned long irqs;

	rcu_read_lock();
	while (!is_its && (handlers = rcu_dereference(t->sighand))) {
		spin_lock_irqsave(&handlers->siglock, irqs);
		is_its = handlers == rcu_access_pointer(t->sighand);
		if (is_its)
			fill_signals(to, t, handlers);
		spin_unlock_irqrestore(&handlers->siglock, irqs);
	}
	rcu_read_unlock();
	return 0;
}

/* ----------------------------------------------------------------- rights */

/* A struct of two words before v6.3, a single u64 since. */
static u64 capability_bits(const kernel_cap_t *set)
{
	u64 bits;

	BUILD_BUG_ON(sizeof(*set) != sizeof(bits));
	memcpy(&bits, set, sizeof(bits));
	return bits;
}

static u32 user_id(kuid_t id)
{
	return from_kuid_munged(current_user_ns(), id);
}

static u32 group_id(kgid_t id)
{
	return from_kgid_munged(current_user_ns(), id);
}

static void fill_rights(struct kl_abi_detail_rights *to, const struct cred *c)
{
	to->uid = user_id(c->uid);
	to->euid = user_id(c->euid);
	to->suid = user_id(c->suid);
	to->fsuid = user_id(c->fsuid);
	to->gid = group_id(c->gid);
	to->egid = group_id(c->egid);
	to->sgid = group_id(c->sgid);
	to->fsgid = group_id(c->fsgid);
	to->inheritable = capability_bits(&c->cap_inheritable);
	to->permitted = capability_bits(&c->cap_permitted);
	to->effective = capability_bits(&c->cap_effective);
	to->bounding = capability_bits(&c->cap_bset);
	to->ambient = capability_bits(&c->cap_ambient);
	to->securebits = c->securebits;
}

static u32 dumpable(struct task_struct *t)
{
	struct mm_struct *mm = kl_task_get_mm(t);
	u32 is = 0;

	if (mm) {
		is = kl_task_dumpable(t, mm);
		mmput(mm);
	}
	return is;
}

/**
 * kl_detail_rights - KL_DETAIL_RIGHTS
 * @d: the call
 */
int kl_detail_rights(struct kl_detail *d)
{
	const struct cred *c = get_task_cred(d->task);
	const struct group_info *groups = c->group_info;
	struct kl_abi_detail_rights *to;
	u32 room = (d->room - sizeof(*to)) / sizeof(u32) - 2;
	u32 n = min_t(u32, groups->ngroups, room), *group;

	to = kl_detail_add(d, KL_DETAIL_RIGHTS, sizeof(*to), n * sizeof(u32));
	fill_rights(to, c);
	group = (u32 *)(to + 1);
	for (u32 i = 0; i < n; i++) {
		group[i] = group_id(groups->gid[i]);
		if (i % 1024 == 1023)
			cond_resched();
	}
	to->text_bytes = n * sizeof(u32);
	to->record.flags = n < groups->ngroups ? KL_DETAIL_CUT : 0;
	put_cred(c);
	to->no_new_privs = task_no_new_privs(d->task);
#ifdef CONFIG_SECCOMP
	to->seccomp = d->task->seccomp.mode;
#endif
	to->dumpable = dumpable(d->task);
	to->login_uid =
		uid_valid(audit_get_loginuid(d->task)) ? user_id(audit_get_loginuid(d->task)) : ~0u;
	return 0;
}

/* --------------------------------------------------------------- affinity */

/**
 * kl_detail_affinity - KL_DETAIL_AFFINITY
 * @d: the call
 */
int kl_detail_affinity(struct kl_detail *d)
{
	u32 cpus = nr_cpu_ids, nodes = nr_node_ids;
	u32 cpu_bytes = BITS_TO_LONGS(cpus) * sizeof(long);
	u32 node_bytes = BITS_TO_LONGS(nodes) * sizeof(long);
	struct kl_abi_detail_affinity *to;

	to = kl_detail_add(d, KL_DETAIL_AFFINITY, sizeof(*to), cpu_bytes + node_bytes);
	to->cpus = cpus;
	to->nodes = nodes;
	to->cpu_bytes = cpu_bytes;
	to->node_bytes = node_bytes;
	bitmap_copy((unsigned long *)(to + 1), cpumask_bits(d->task->cpus_ptr), cpus);
#ifdef CONFIG_CPUSETS
	task_lock(d->task);
	bitmap_copy((unsigned long *)((u8 *)(to + 1) + cpu_bytes), d->task->mems_allowed.bits,
		    nodes);
	task_unlock(d->task);
#else
	bitmap_set((unsigned long *)((u8 *)(to + 1) + cpu_bytes), 0, nodes);
#endif
	return 0;
}

/* ------------------------------------------------------------ limits, I/O */

/**
 * kl_detail_limits - KL_DETAIL_LIMITS
 * @d: the call
 */
int kl_detail_limits(struct kl_detail *d)
{
	struct kl_abi_detail_limits *to = kl_detail_add(d, KL_DETAIL_LIMITS, sizeof(*to), 0);
	struct task_struct *leader = kl_task_get_leader(d->task);

	BUILD_BUG_ON(KL_DETAIL_LIMITS_NUMBER != RLIM_NLIMITS);
	task_lock(leader);
	for (u32 i = 0; i < RLIM_NLIMITS; i++) {
		to->soft[i] = d->task->signal->rlim[i].rlim_cur;
		to->hard[i] = d->task->signal->rlim[i].rlim_max;
	}
	task_unlock(leader);
	put_task_struct(leader);
	return 0;
}

static u64 add_io(struct kl_abi_detail_io *to, const struct task_io_accounting *from)
{
#ifdef CONFIG_TASK_XACCT
	to->read_chars += from->rchar;
	to->write_chars += from->wchar;
	to->reads += from->syscr;
	to->writes += from->syscw;
#endif
#ifdef CONFIG_TASK_IO_ACCOUNTING
	to->read_bytes += from->read_bytes;
	to->write_bytes += from->write_bytes;
	to->cancelled_write_bytes += from->cancelled_write_bytes;
#endif
	return to->read_chars;
}

static void note_ended_io(const struct signal_struct *signal, void *record)
{
	struct kl_abi_detail_io *to = record;

	*to = (struct kl_abi_detail_io){ .record = to->record };
	add_io(to, &signal->ioac);
}

/**
 * kl_detail_io - KL_DETAIL_IO
 * @d: the call
 */
int kl_detail_io(struct kl_detail *d)
{
	struct kl_abi_detail_io *to = kl_detail_add(d, KL_DETAIL_IO, sizeof(*to), 0);
	struct kl_task_list l;
	int error = kl_threads_list(&l, d->task, note_ended_io, to);

	if (error == -ENOMEM)
		return kl_fail(d->why, error, "no memory for a list of threads");
	if (error)
		return error;
	for (u32 i = 0; i < l.n; i++) {
		/* The thread keeps running: each number is of some instant of the call. */
		data_race(add_io(to, &l.task[i]->ioac));
		if (i % 128 == 127)
			cond_resched();
	}
	/* All threads have ended: only the task's own numbers are left. */
	if (!l.n)
		*to = (struct kl_abi_detail_io){ .record = to->record };
	if (!l.n)
		add_io(to, &d->task->ioac);
	kl_tasks_put(&l);
	return 0;
}
