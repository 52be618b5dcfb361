// SPDX-License-Identifier: GPL-2.0
/*
 * The profile's tables. Tasks are found by address without a lock; the tables are only changed
 * under the profile's lock, a leaf lock that is taken with interrupts off. Only the CPU that
 * switches an entry's task in adds to the entry.
 */
#include <linux/cred.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "../core/gate.h"
#include "latency_internal.h"

static struct kl_latency_task **head_of(struct kl_latency *l, const struct task_struct *task)
{
	return &l->head[(u32)((u64)task * GOLDEN_RATIO_64 >> 32) & l->mask];
}

/* Clearing megabytes takes milliseconds, so reschedule in between. */
static void clear_slowly(void *at, size_t bytes)
{
	while (bytes) {
		size_t now = min_t(size_t, bytes, SZ_64K);

		memset(at, 0, now);
		cond_resched();
		at += now;
		bytes -= now;
	}
}

/**
 * kl_latency_clear - reset all tables
 * @l: not running
 *
 * Context: may sleep.
 */
void kl_latency_clear(struct kl_latency *l)
{
	for (u32 i = 0; i <= l->mask; i++)
		l->head[i] = &l->none;
	clear_slowly(l->entry, (l->entry_mask + 1ul) * sizeof(*l->entry));
	clear_slowly(l->task, l->n_tasks * sizeof(*l->task));
	memset(l->source, 0, sizeof(l->source));
	l->n_sources = 0;
	l->evicted_tasks = 0;
	l->evicted_entries = 0;
	l->ended = NULL;
	l->ended_last = NULL;
	l->free = l->task;
	for (u32 i = 0; i + 1 < l->n_tasks; i++)
		l->task[i].follower = &l->task[i + 1];
}

/* A record for a new task: a free one, or that of the task that ended first. */
static struct kl_latency_task *take_task(struct kl_latency *l)
{
	struct kl_latency_task *t = l->free;

	lockdep_assert_held(&l->lock);
	if (t) {
		l->free = t->follower;
		return t;
	}
	t = l->ended;
	if (!t)
		return NULL;
	l->ended = t->follower;
	if (!l->ended)
		l->ended_last = NULL;
	WRITE_ONCE(l->evicted_tasks, l->evicted_tasks + 1);
	return t;
}

static void link_task(struct kl_latency *l, struct kl_latency_task *t, struct task_struct *task)
{
	struct kl_latency_task **head = head_of(l, task);

	/* A reader that still walks the ended task's chain may read both of these. */
	WRITE_ONCE(t->task, task);
	WRITE_ONCE(t->next, *head);
	/*
	 * Initialize the record before publishing it. Pairs with the acquire in kl_latency_first.
	 */
	smp_store_release(head, t);
}

static void unlink_task(struct kl_latency *l, struct kl_latency_task *t)
{
	struct kl_latency_task **at = head_of(l, t->task);

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		WRITE_ONCE(*at, t->next);
	/* `next` stays valid for readers of the chain until the record is reused. */
	WRITE_ONCE(t->task, NULL);
}

/**
 * kl_latency_name - store a task's current name, ids and user
 * @t: the task's record; the profile's lock is held
 * @task: an existing task
 */
void kl_latency_name(struct kl_latency_task *t, const struct task_struct *task)
{
	/* Another task may be renaming it, and executing a program may change its thread id. */
	t->tid = data_race(task->pid);
	t->pid = task->tgid;
	rcu_read_lock();
	t->uid = __task_cred(task)->uid;
	rcu_read_unlock();
	data_race(memcpy(t->comm, task->comm, sizeof(t->comm)));
}

static bool has_name(const struct kl_latency_task *t, const struct task_struct *task)
{
	bool same;

	rcu_read_lock();
	same = uid_eq(t->uid, __task_cred(task)->uid);
	rcu_read_unlock();
	return same && t->tid == task->pid && !memcmp(t->comm, task->comm, sizeof(t->comm));
}

/**
 * kl_latency_rename - update the stored name if it has changed
 * @l: profile
 * @t: the task's record
 * @task: the running task
 *
 * Context: any but NMI.
 */
void kl_latency_rename(struct kl_latency *l, struct kl_latency_task *t, struct task_struct *task)
{
	unsigned long flags;

	/*
	 * All CPUs share the lock, and names seldom change, so compare first. A change that is
	 * missed here is stored at the next switch.
	 */
	if (data_race(has_name(t, task)))
		return;
	raw_spin_lock_irqsave(&l->lock, flags);
	if (t->task == task)
		kl_latency_name(t, task);
	raw_spin_unlock_irqrestore(&l->lock, flags);
}

/**
 * kl_latency_enter - find or create a task's record
 * @l: profile
 * @task: any
 * @state: the task's state, if it has no record yet
 * @now: start of @state
 *
 * Returns the record, or NULL if the table is full. Context: any but NMI.
 */
struct kl_latency_task *kl_latency_enter(struct kl_latency *l, struct task_struct *task, u32 state,
					 u64 now)
{
	unsigned int asked = READ_ONCE(task->__state);
	struct kl_latency_task *t;
	unsigned long flags;

	raw_spin_lock_irqsave(&l->lock, flags);
	t = kl_latency_find(l, task);
	if (t)
		goto unlock;
	t = take_task(l);
	if (!t) {
		this_cpu_inc(l->cpu->missed);
		goto unlock;
	}
	/* A reader that still walks the ended task's chain reaches its end here. */
	data_race(memset(t, 0, sizeof(*t)));
	t->serial = ++l->serial;
	t->state = state;
	t->since = now;
	t->first = now;
	t->flags = (data_race(task->flags) & PF_KTHREAD ? KL_LATENCY_TASK_KERNEL : 0) |
		   (state == KL_LATENCY_OUTSIDE ? KL_LATENCY_TASK_OUTSIDE : 0);
	/* If the task is asleep, it stays in this state until its first event. */
	t->wake.state = state == KL_LATENCY_UNSET && asked ? kl_latency_state_of(asked, task) :
							     KL_LATENCY_UNINTERRUPTIBLE;
	kl_latency_name(t, task);
	link_task(l, t, task);
	/* The watch makes its end visible even if the gate no longer allows the task. */
	kl_gate_watch(l->session, task->pid);
unlock:
	raw_spin_unlock_irqrestore(&l->lock, flags);
	return t;
}

/**
 * kl_latency_end - stop measuring a task
 * @l: profile
 * @t: its record, up to date; kept until the slot is needed
 * @task: the task; NULL if it has exited or must not be read
 * @now: time of its end
 * @flags: KL_LATENCY_TASK_ENDED or KL_LATENCY_TASK_HIDDEN
 *
 * Context: any but NMI.
 */
void kl_latency_end(struct kl_latency *l, struct kl_latency_task *t, struct task_struct *task,
		    u64 now, u8 flags)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&l->lock, irq);
	if (t->task) {
		if (task && !(l->flags & KL_LATENCY_ASKS))
			kl_latency_name(t, task);
		unlink_task(l, t);
		t->flags |= flags;
		t->until = now;
		t->follower = NULL;
		if (l->ended_last)
			l->ended_last->follower = t;
		else
			l->ended = t;
		l->ended_last = t;
	}
	raw_spin_unlock_irqrestore(&l->lock, irq);
}

/* ---------------------------------------------------------------- entries */

#define KEY_WORDS (offsetof(struct kl_abi_latency_entry, asleep) / sizeof(u64))

static_assert(KEY_WORDS == 8 &&
	      KEY_WORDS * sizeof(u64) == offsetof(struct kl_abi_latency_entry, asleep));

/* The word with the task's id comes first, so an entry being replaced never matches our key. */
static __always_inline bool is_key(const struct kl_abi_latency_entry *a,
				   const struct kl_abi_latency_entry *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	for (u32 i = 0; i < KEY_WORDS; i++)
		if (READ_ONCE(x[i]) != y[i])
			return false;
	return true;
}

static __always_inline u32 hash_key(const struct kl_abi_latency_entry *key)
{
	const u64 *word = (const u64 *)key;
	u64 hash = 0;

	for (u32 i = 0; i < KEY_WORDS; i++) {
		hash = (hash ^ word[i]) * GOLDEN_RATIO_64;
		hash ^= hash >> 32;
	}
	return hash;
}

/* May the entry be evicted: has its task ended, or is it the requesting task's own? */
static bool may_evict(const struct kl_latency *l, const struct kl_latency_entry *e, u32 serial)
{
	const struct kl_latency_task *of = &l->task[e->of];

	return e->is.task == serial || of->serial != e->is.task || !of->task;
}

/* Find a slot for a new key; NULL if all of them belong to tasks that live. */
static noinline struct kl_latency_entry *
make_entry(struct kl_latency *l, const struct kl_abi_latency_entry *key, u32 hash, u32 of)
{
	struct kl_latency_entry *e, *best = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&l->lock, flags);
	for (u32 i = 0; i < KL_LATENCY_SLOTS; i++) {
		e = &l->entry[(hash + i) & l->entry_mask];
		if (!e->is.task) {
			best = e;
			break;
		}
		/* A task that has just been switched in may be adding to its own entry. */
		if (may_evict(l, e, key->task) &&
		    (!best || data_race(e->is.asleep.sum) < data_race(best->is.asleep.sum)))
			best = e;
	}
	if (best) {
		WRITE_ONCE(l->evicted_entries, l->evicted_entries + (best->is.task != 0));
		/* Safe for readers without the lock: see is_key. */
		data_race(memcpy(&best->is, key, sizeof(*key)));
		best->of = of;
	} else {
		this_cpu_inc(l->cpu->no_entry);
	}
	raw_spin_unlock_irqrestore(&l->lock, flags);
	return best;
}

/**
 * kl_latency_account - add a sleep that has ended to its entry
 * @l: profile
 * @t: the task, which is being switched to
 * @state: the state that it slept in
 * @time: duration, in cycles of kl_clock()
 *
 * Context: the tracepoint sched_switch.
 */
void kl_latency_account(struct kl_latency *l, struct kl_latency_task *t, u32 state, u64 time)
{
	struct kl_abi_latency_entry key = {
		.task = t->serial,
		.state = state,
		.syscall = t->syscall,
		.kstack = t->kstack,
		.ustack = t->ustack,
		.waker_kstack = t->last.wake.kstack,
		.waker_ustack = t->last.wake.ustack,
		.owner = t->owner,
	};
	struct kl_latency_entry *e;
	u32 hash;

	memcpy(key.hop, t->last.wake.hop, sizeof(key.hop));
	hash = hash_key(&key);
	for (u32 i = 0; i < KL_LATENCY_SLOTS; i++) {
		e = &l->entry[(hash + i) & l->entry_mask];
		if (is_key(&e->is, &key))
			goto found;
		if (!READ_ONCE(e->is.task))
			break;
	}
	e = make_entry(l, &key, hash, t - l->task);
	if (!e)
		return;
found:
	e->is.asleep.count++;
	e->is.asleep.sum += time;
	if (time > e->is.asleep.worst)
		e->is.asleep.worst = time;
}
