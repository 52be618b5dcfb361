// SPDX-License-Identifier: GPL-2.0
/*
 * A profile's lifetime: created by KL_IOC_LATENCY before its session's first start, started and
 * stopped with the session, freed when it ends. All of it runs under the session's lock, except
 * kl_latency_exec.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../base/task_iter.h"
#include "../core/record.h"
#include "../core/rights.h"
#include "../core/stack.h"
#include "../source/source.h"
#include "latency_internal.h"

static int check_params(const struct kl_session *s, struct kl_abi_latency *params,
			struct kl_error *why)
{
	bool all = s->may & KL_MAY_SEE_ALL;
	u32 tasks = all ? KL_LATENCY_TASKS_MAX : KL_LATENCY_TASKS_UNPRIVILEGED;
	u32 entries = all ? KL_LATENCY_ENTRIES_MAX : KL_LATENCY_ENTRIES_UNPRIVILEGED;

	params->tasks = params->tasks ?: min(KL_LATENCY_TASKS_DEFAULT, tasks);
	params->entries = params->entries ?: min(KL_LATENCY_ENTRIES_DEFAULT, entries);
	if (params->flags & ~KL_LATENCY_FLAGS)
		return kl_fail(why, -EINVAL, "unknown latency profile flags: 0x%x",
			       params->flags & ~KL_LATENCY_FLAGS);
	if (params->flags & KL_LATENCY_WAKER_STACKS && !(params->flags & KL_LATENCY_WAKERS))
		return kl_fail(why, -EINVAL, "wakers' stack traces require recording the wakers");
	if (params->tasks < KL_LATENCY_TASKS_MIN || params->tasks > tasks)
		return kl_fail(why, -EINVAL, "%u tasks requested, the range is %u to %u",
			       params->tasks, KL_LATENCY_TASKS_MIN, tasks);
	if (params->entries < KL_LATENCY_ENTRIES_MIN || params->entries > entries)
		return kl_fail(why, -EINVAL, "%u entries requested, the range is %u to %u",
			       params->entries, KL_LATENCY_ENTRIES_MIN, entries);
	if (kl_rights_lack(s->may, kl_latency_needs(params->flags)))
		return kl_fail(why, -EPERM, "kernel stack traces need CAP_SYS_ADMIN");
	return 0;
}

/**
 * kl_latency_destroy - free a profile
 * @l: a profile that nothing uses any more, or NULL
 */
void kl_latency_destroy(struct kl_latency *l)
{
	if (!l)
		return;
	free_percpu(l->cpu);
	free_percpu(l->times);
	kvfree(l->head);
	kvfree(l->entry);
	kvfree(l->task);
	kfree(l);
}

static u32 mask_of(const struct kl_abi_latency *params)
{
	return 2 * roundup_pow_of_two(params->tasks) - 1;
}

static u64 bytes_of(const struct kl_abi_latency *params)
{
	const struct kl_latency *l = NULL;

	return kl_memory_size(sizeof(*l)) +
	       kl_memory_size((mask_of(params) + 1ull) * sizeof(*l->head)) +
	       kl_memory_size((u64)params->tasks * sizeof(*l->task)) +
	       kl_memory_size((u64)roundup_pow_of_two(params->entries) * sizeof(*l->entry)) +
	       kl_memory_percpu(sizeof(struct kl_latency_cpu)) +
	       (params->flags & KL_LATENCY_TIMES ?
			kl_memory_percpu(sizeof(struct kl_latency_times)) :
			0);
}

static struct kl_latency *create(struct kl_session *s, const struct kl_abi_latency *params)
{
	struct kl_latency *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	raw_spin_lock_init(&l->lock);
	l->session = s;
	l->flags = params->flags | KL_LATENCY_OFF;
	/* Each of these is reported through entries. */
	if (params->flags & ~KL_LATENCY_TIMES)
		l->flags |= KL_LATENCY_ENTRIES;
	l->n_tasks = params->tasks;
	l->mask = mask_of(params);
	l->entry_mask = roundup_pow_of_two(params->entries) - 1;
	l->head = kvcalloc(l->mask + 1ul, sizeof(*l->head), GFP_KERNEL_ACCOUNT);
	l->task = kvcalloc(l->n_tasks, sizeof(*l->task), GFP_KERNEL_ACCOUNT);
	l->entry = kvcalloc(l->entry_mask + 1ul, sizeof(*l->entry), GFP_KERNEL_ACCOUNT);
	l->cpu = alloc_percpu_gfp(struct kl_latency_cpu, GFP_KERNEL_ACCOUNT);
	if (l->head && l->task && l->entry && l->cpu &&
	    (!(l->flags & KL_LATENCY_TIMES) || !kl_latency_times_init(l)))
		return l;
	kl_latency_destroy(l);
	return NULL;
}

static int add(struct kl_session *s, const struct kl_abi_latency *params, struct kl_error *why)
{
	u32 stacks = KL_LATENCY_KERNEL_STACKS | KL_LATENCY_USER_STACKS;
	int error = kl_memory_charge(&s->payer, bytes_of(params), why);
	struct kl_latency *l;

	if (error)
		return error;
	l = create(s, params);
	if (!l)
		error = kl_fail(why, -ENOMEM, "no memory for a latency profile");
	else if (params->flags & stacks)
		error = kl_stacks_prepare(s, why);
	if (!error) {
		/*
		 * Initialize the profile before publishing it. Pairs with the acquire in
		 * kl_latency_read.
		 */
		smp_store_release(&s->latency, l);
		s->on_admit = kl_latency_exec;
		return 0;
	}
	kl_latency_destroy(l);
	kl_memory_uncharge(&s->payer, bytes_of(params));
	return error;
}

/**
 * kl_latency_set - KL_IOC_LATENCY
 * @s: the session
 * @params: as in the contract
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_latency_set(struct kl_session *s, struct kl_abi_latency *params, struct kl_error *why)
{
	int error = 0;

	mutex_lock(&s->lock);
	if (s->latency)
		error = kl_fail(why, -EBUSY, "the session already has a latency profile");
	else if (s->defs.began)
		error = kl_fail(why, -EBUSY, "the session has already been started");
	if (!error)
		error = check_params(s, params, why);
	if (!error)
		error = add(s, params, why);
	mutex_unlock(&s->lock);
	return error;
}

/**
 * kl_latency_cost - maximum cost of a switch or a wakeup, in addition to the sums
 * @l: profile
 */
struct kl_cost kl_latency_cost(const struct kl_latency *l)
{
	return (struct kl_cost){
		.operations = l->flags & KL_LATENCY_ENTRIES ? 100 : 0,
		.kernel_walks = !!(l->flags & KL_LATENCY_KERNEL_STACKS),
		.user_walks = !!(l->flags & KL_LATENCY_USER_STACKS),
	};
}

/*
 * Enter the existing tasks. A task that is exiting has its last switch either before or after it
 * is entered: with preemption off the switch cannot come in between on this CPU. There may be any
 * number of tasks, so reschedule after each.
 */
static void enter_tasks(struct kl_latency *l)
{
	struct task_struct *task;

	for (pid_t from = 1; (task = kl_task_next(&from, &init_pid_ns)); from++) {
		preempt_disable();
		if (!kl_task_exit_state(task) && kl_gate_task(l->session, task))
			kl_latency_enter(l, task, KL_LATENCY_UNSET, l->start);
		preempt_enable();
		put_task_struct(task);
		cond_resched();
		if (fatal_signal_pending(current))
			break;
	}
}

static void clear_cpus(struct kl_latency *l)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(l->cpu, cpu), 0, sizeof(*l->cpu));
}

/**
 * kl_latency_prepare - attach the profile's probes, which are inactive until the start
 * @s: the session; its lock is held
 * @why: set on failure; nothing is attached then
 *
 * Context: may sleep.
 */
int kl_latency_prepare(struct kl_session *s, struct kl_error *why)
{
	struct kl_latency *l = s->latency;
	int error;

	lockdep_assert_held(&s->lock);
	if (!l)
		return 0;
	WRITE_ONCE(l->until, 0);
	kl_latency_clear(l);
	clear_cpus(l);
	kl_latency_times_clear(l);
	l->flags = (l->flags & ~KL_LATENCY_ASKS) | KL_LATENCY_OFF;
	if (s->gate & (KL_GATE_OWN | KL_GATE_UID | KL_GATE_CGROUP))
		l->flags |= KL_LATENCY_ASKS;
	if (l->flags & KL_LATENCY_WAKERS) {
		error = kl_latency_attach_wakers(why);
		if (error)
			return error;
	}
	error = kl_latency_attach(l, why);
	if (error) {
		if (l->flags & KL_LATENCY_WAKERS)
			kl_latency_detach_wakers();
		return error;
	}
	WRITE_ONCE(l->attached, true);
	return 0;
}

/**
 * kl_latency_start - start measuring
 * @s: the session; its lock is held
 * @now: the session's start
 */
void kl_latency_start(struct kl_session *s, u64 now)
{
	struct kl_latency *l = s->latency;

	lockdep_assert_held(&s->lock);
	if (!l)
		return;
	l->start = now;
	/* Store `start` before probes count. No partner: probes do not read it. */
	smp_store_release(&l->until, U64_MAX);
	WRITE_ONCE(l->flags, l->flags & ~KL_LATENCY_OFF);
	enter_tasks(l);
}

/**
 * kl_latency_stop - stop measuring
 * @s: the session; its lock is held
 * @now: the session's end
 *
 * Probes may still be running: kl_source_synchronize waits for them.
 */
void kl_latency_stop(struct kl_session *s, u64 now)
{
	struct kl_latency *l = s->latency;

	lockdep_assert_held(&s->lock);
	if (!l || !l->attached)
		return;
	WRITE_ONCE(l->flags, l->flags | KL_LATENCY_OFF);
	WRITE_ONCE(l->until, now);
	kl_latency_refresh(l);
	kl_latency_detach(l);
	if (l->flags & KL_LATENCY_WAKERS)
		kl_latency_detach_wakers();
	WRITE_ONCE(l->attached, false);
}

static void enter_task(struct kl_latency *l, struct task_struct *task, u64 now)
{
	struct kl_latency_task *t = kl_latency_enter(l, task, KL_LATENCY_UNSET, now);
	unsigned long flags;

	if (!t)
		return;
	raw_spin_lock_irqsave(&l->lock, flags);
	/* Until now only its name was stored, as a waker's. Probes do not touch such a record. */
	if (t->task == task && t->state == KL_LATENCY_OUTSIDE) {
		t->first = now;
		WRITE_ONCE(t->since, now);
		t->flags &= ~KL_LATENCY_TASK_OUTSIDE;
		smp_store_release(&t->state, KL_LATENCY_UNSET); /* after `since` */
	}
	raw_spin_unlock_irqrestore(&l->lock, flags);
}

/**
 * kl_latency_add - enter a task that has been added to the session's set
 * @s: the session; its lock is held
 * @task: an existing task
 */
void kl_latency_add(struct kl_session *s, struct task_struct *task)
{
	struct kl_latency *l = s->latency;

	lockdep_assert_held(&s->lock);
	if (l && l->attached && !kl_task_exit_state(task) && kl_gate_task(s, task))
		enter_task(l, task, kl_clock());
}

/**
 * kl_latency_exec - enter the running task, which has joined the session's set
 * @s: the session
 * @task: the running task
 *
 * Context: a probe of a running session; preemption off.
 */
void kl_latency_exec(struct kl_session *s, struct task_struct *task)
{
	struct kl_latency *l = s->latency;
	u64 now = kl_clock();

	if (l && now < READ_ONCE(l->until) && kl_gate_task(s, task))
		enter_task(l, task, now);
}
