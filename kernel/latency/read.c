// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a profile: copies tasks, entries and sources as packed arrays while probes write them. A
 * task's numbers are consistent at one instant; an entry's may be one sleep apart.
 */
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "../base/task_iter.h"
#include "../core/record.h"
#include "latency_internal.h"

#define TRIES 1000

/* The state of a task that has had no event: it has not been switched since it was entered. */
static u8 state_now(const struct task_struct *task)
{
	unsigned int state = READ_ONCE(task->__state);

	if (!state)
		return READ_ONCE(task->on_cpu) ? KL_LATENCY_RUNNING : KL_LATENCY_PREEMPTED;
	return kl_latency_state_of(state, task);
}

static void refresh_task(struct kl_latency *l, struct task_struct *task)
{
	struct kl_latency_task *t;
	unsigned long flags;

	raw_spin_lock_irqsave(&l->lock, flags);
	t = kl_latency_find(l, task);
	if (t && !(l->flags & KL_LATENCY_ASKS && !kl_gate_task(l->session, task))) {
		kl_latency_name(t, task);
		t->seen = state_now(task);
	}
	raw_spin_unlock_irqrestore(&l->lock, flags);
}

/**
 * kl_latency_refresh - update the tasks' names, and the states of those without an event
 * @l: a profile that is running
 *
 * Context: may sleep.
 */
void kl_latency_refresh(struct kl_latency *l)
{
	struct task_struct *task;

	for (pid_t from = 1; (task = kl_task_next(&from, &init_pid_ns)); from++) {
		refresh_task(l, task);
		put_task_struct(task);
		cond_resched();
		if (fatal_signal_pending(current))
			return;
	}
}

/* The end of the profile, or the current time while it runs. */
static u64 until_of(const struct kl_latency *l)
{
	return min(READ_ONCE(l->until), kl_clock());
}

/* Copy everything that a switch of the task changes, consistent at one instant. */
static void copy_sums(const struct kl_latency_task *t, struct kl_abi_latency_task *to, u64 *since,
		      u32 *state, u64 *wake)
{
	for (u32 i = 0; i < TRIES; i++) {
		*since = READ_ONCE(t->since);
		/* Pairs with A of docs/design/latency.md: the writer's stores are in order. */
		smp_rmb();
		*state = READ_ONCE(t->state);
		*wake = READ_ONCE(t->wake.at);
		/* The copy may be torn: then `since` differs below. */
		data_race(memcpy(to->in, t->in, sizeof(to->in)));
		/* Likewise, so that the copy is complete before `since` is read again (A). */
		smp_rmb();
		if (*since && READ_ONCE(t->since) == *since)
			return;
		cpu_relax();
	}
}

static void add(struct kl_abi_latency_task *to, u32 state, u64 time)
{
	to->in[state].count++;
	to->in[state].sum += time;
	to->in[state].worst = max(to->in[state].worst, time);
}

/* Add the time in the current state, too. */
static void add_open(const struct kl_latency_task *t, struct kl_abi_latency_task *to, u64 since,
		     u32 state, u64 wake)
{
	u64 until = to->until;

	to->state = state;
	if (state == KL_LATENCY_UNSET && wake >= since && wake <= until) {
		state = t->wake.state;
		to->state = KL_LATENCY_RUNNABLE;
	} else if (state == KL_LATENCY_UNSET) {
		state = t->seen;
		to->state = state;
	} else if (kl_latency_is_asleep(state) && wake >= since && wake <= until) {
		to->state = KL_LATENCY_RUNNABLE;
	}
	if (to->state == KL_LATENCY_RUNNABLE && kl_latency_is_asleep(state)) {
		add(to, state, wake - since);
		add(to, KL_LATENCY_RUNNABLE, until - wake);
	} else {
		add(to, to->state, until - since);
	}
}

/**
 * kl_latency_copy_task - copy a task's numbers as of now
 * @l: profile
 * @index: below the profile's number of tasks
 * @to: filled in
 *
 * Returns false if there is no task at @index.
 */
bool kl_latency_copy_task(struct kl_latency *l, u32 index, struct kl_abi_latency_task *to)
{
	struct kl_latency_task *t = &l->task[index];
	u64 since = 0, wake = 0;
	unsigned long flags;
	u32 state = 0;

	memset(to, 0, sizeof(*to));
	raw_spin_lock_irqsave(&l->lock, flags);
	if (!t->serial) {
		raw_spin_unlock_irqrestore(&l->lock, flags);
		return false;
	}
	copy_sums(t, to, &since, &state, &wake);
	to->id = t->serial;
	to->tid = t->tid;
	to->pid = t->pid;
	to->uid = from_kuid_munged(current_user_ns(), t->uid);
	to->flags = t->flags;
	memcpy(to->comm, t->comm, sizeof(to->comm));
	to->since = t->first;
	to->until = t->until;
	if (!to->until) {
		/* A switch that was under way at the stop may have a later time than the stop. */
		to->until = max3(until_of(l), to->since, since);
		if (state != KL_LATENCY_OUTSIDE)
			add_open(t, to, since, state, wake);
	} else {
		to->state = state;
	}
	raw_spin_unlock_irqrestore(&l->lock, flags);
	if (to->state >= KL_LATENCY_STATES)
		to->state = KL_LATENCY_RUNNING;
	return true;
}

/**
 * kl_latency_copy_entry - copy an entry as of now
 * @l: profile
 * @index: up to the profile's mask of entries
 * @to: filled in
 *
 * Returns false if the entry is free or its task's record has been reused.
 */
bool kl_latency_copy_entry(struct kl_latency *l, u32 index, struct kl_abi_latency_entry *to)
{
	const struct kl_latency_entry *e = &l->entry[index];
	unsigned long flags;
	bool found;

	if (!READ_ONCE(e->is.task))
		return false;
	raw_spin_lock_irqsave(&l->lock, flags);
	/* Its task may be adding a sleep, which takes no lock. */
	data_race(memcpy(to, &e->is, sizeof(*to)));
	found = l->task[e->of].serial == to->task;
	raw_spin_unlock_irqrestore(&l->lock, flags);
	return found;
}

/**
 * kl_latency_totals - the totals that are returned along with the arrays
 * @l: profile
 * @to: `start` and all members after it are filled in
 */
void kl_latency_totals(struct kl_latency *l, struct kl_abi_latency_read *to)
{
	int cpu;

	to->start = l->start;
	to->until = until_of(l);
	to->evicted_tasks = READ_ONCE(l->evicted_tasks);
	to->evicted_entries = READ_ONCE(l->evicted_entries);
	to->no_entry = 0;
	to->missed = 0;
	to->unpaired = 0;
	for_each_possible_cpu(cpu) {
		const struct kl_latency_cpu *c = per_cpu_ptr(l->cpu, cpu);

		to->no_entry += READ_ONCE(c->no_entry);
		to->missed += READ_ONCE(c->missed);
		to->unpaired += READ_ONCE(c->unpaired);
	}
}

/* Copy the struct at @index. Returns its size, or 0 if there is none. */
static u32 copy_one(struct kl_latency *l, u32 what, u32 index, void *to)
{
	struct kl_abi_latency_source *source = to;

	switch (what) {
	case KL_LATENCY_READ_TASKS:
		return kl_latency_copy_task(l, index, to) ? sizeof(struct kl_abi_latency_task) : 0;
	case KL_LATENCY_READ_ENTRIES:
		return kl_latency_copy_entry(l, index, to) ? sizeof(struct kl_abi_latency_entry) :
							     0;
	case KL_LATENCY_READ_TIMES:
		kl_latency_times_copy(l, index, to);
		return sizeof(struct kl_abi_latency_times);
	default:
		*source = l->source[index].is;
		if (source->kind == KL_LATENCY_WAKER_TIMER && !l->session->see_addresses)
			source->number = 0;
		return sizeof(*source);
	}
}

static u32 number_of(struct kl_latency *l, u32 what)
{
	switch (what) {
	case KL_LATENCY_READ_TASKS:
		return l->n_tasks;
	case KL_LATENCY_READ_ENTRIES:
		return l->entry_mask + 1;
	case KL_LATENCY_READ_TIMES:
		return l->times ? KL_LATENCY_STATES : 0;
	default:
		return smp_load_acquire(&l->n_sources); /* pairs with make_source */
	}
}

/**
 * kl_latency_read - KL_IOC_LATENCY_READ
 * @s: the session
 * @call: as in the contract
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_latency_read(struct kl_session *s, struct kl_abi_latency_read *call, struct kl_error *why)
{
	/* Pairs with the release in add() of profile.c. */
	struct kl_latency *l = smp_load_acquire(&s->latency);
	u8 __user *to = u64_to_user_ptr(call->buffer);
	u32 room = call->n, number;
	union {
		struct kl_abi_latency_task task;
		struct kl_abi_latency_entry entry;
		struct kl_abi_latency_source source;
		struct kl_abi_latency_times times;
	} one;

	if (!l)
		return kl_fail(why, -ENODATA, "the session has no latency profile");
	if (call->what > KL_LATENCY_READ_TIMES || call->reserved)
		return kl_fail(why, -EINVAL, "unknown latency profile request %u", call->what);
	if (call->what == KL_LATENCY_READ_TASKS && !call->first && READ_ONCE(l->attached))
		kl_latency_refresh(l);
	call->n = 0;
	number = number_of(l, call->what);
	for (; call->first < number && call->n < room; call->first++) {
		u32 bytes = copy_one(l, call->what, array_index_nospec(call->first, number), &one);

		if (bytes && copy_to_user(to + (u64)call->n * bytes, &one, bytes))
			return kl_fail(why, -EFAULT,
				       "cannot write the latency profile to user memory");
		call->n += bytes != 0;
		cond_resched();
	}
	kl_latency_totals(l, call);
	return 0;
}
