// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions with a gate want together: the users that some of them record, and
 * the thread ids that some of them follow. A bit is set before its session relies on
 * it, at once; it is cleared when its id is given to a new task, or later by a work
 * item, as a bit too many costs a task little. docs/design/gate.md has the rules.
 *
 * Locks: `gate_lock` for the list of sessions and for users; inside it `tids_lock`, a
 * leaf, for what makes a bit of a thread id outlive or lose its reason.
 */
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "gate.h"

#define WORDS BITS_TO_LONGS(PID_MAX_LIMIT)
#define WORDS_AT_A_TIME 256

struct kl_gate kl_gate;

static DEFINE_MUTEX(gate_lock);
static DEFINE_RAW_SPINLOCK(tids_lock);
static LIST_HEAD(gated);

/* ------------------------------------------------------------------- users */

/* A session that names its tasks is found by them. */
static bool goes_by_user(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_TASKS);
}

static void add_user(const struct kl_session *s)
{
	lockdep_assert_held(&gate_lock);
	if (goes_by_user(s))
		set_bit(kl_gate_hash(s->gate_uid), kl_gate.uids);
}

/* Unless another session has a user with the same hash. */
static void remove_user(const struct kl_session *s)
{
	u32 hash = kl_gate_hash(s->gate_uid);
	const struct kl_session *other;

	lockdep_assert_held(&gate_lock);
	if (!goes_by_user(s))
		return;
	list_for_each_entry(other, &gated, gated)
		if (goes_by_user(other) && kl_gate_hash(other->gate_uid) == hash)
			return;
	clear_bit(hash, kl_gate.uids);
}

/* -------------------------------------------------------------- thread ids */

static unsigned long awaited_word(const struct kl_session *s, u32 at)
{
	pid_t tid = READ_ONCE(s->awaited);

	return tid != KL_NOBODY && BIT_WORD(tid) == at ? BIT_MASK(tid) : 0;
}

/* A word of all that a session keeps by thread id. */
static unsigned long word_of(const struct kl_session *s, u32 at)
{
	unsigned long word = 0;

	if (s->gate & KL_GATE_TASKS)
		word |= READ_ONCE(s->tasks->bit[at]) | READ_ONCE(s->heirs->bit[at]) |
			awaited_word(s, at);
	if (s->watched)
		word |= READ_ONCE(s->watched->bit[at]);
	for (u32 i = 0; i < ARRAY_SIZE(s->defs.task_flag); i++) {
		/* Pairs with make_flag. */
		const struct kl_taskset *flag = smp_load_acquire(&s->defs.task_flag[i]);

		if (flag)
			word |= READ_ONCE(flag->bit[at]);
	}
	return word;
}

static unsigned long wanted_word(u32 at)
{
	const struct kl_session *s;
	unsigned long word = 0;

	lockdep_assert_held(&gate_lock);
	list_for_each_entry(s, &gated, gated)
		word |= word_of(s, at);
	return word;
}

static void set_bits(u32 at, unsigned long word)
{
	u32 bit;

	for_each_set_bit(bit, &word, BITS_PER_LONG)
		set_bit(at * BITS_PER_LONG + bit, kl_gate.tasks->bit);
}

/* What a session has kept since before it started. */
static void add_tids(const struct kl_session *s)
{
	for (u32 at = 0; at < WORDS; at++) {
		set_bits(at, word_of(s, at));
		cond_resched();
	}
}

/*
 * Clear what nobody has any more. Probes set bits without a lock, their own first
 * (kl_gate_watch, kl_gate_flag): so each word is looked at again behind the change,
 * which either finds theirs, or comes before it, and so before they set this one.
 */
static void clear_word(u32 at)
{
	unsigned long stale = READ_ONCE(kl_gate.tasks->bit[at]), flags;
	u32 bit;

	if (likely(!stale || !(stale & ~wanted_word(at))))
		return;
	raw_spin_lock_irqsave(&tids_lock, flags);
	stale &= ~wanted_word(at);
	for_each_set_bit(bit, &stale, BITS_PER_LONG)
		clear_bit(at * BITS_PER_LONG + bit, kl_gate.tasks->bit);
	/* Pairs with set_both and kl_gate_flag. */
	smp_mb();
	set_bits(at, wanted_word(at) & stale);
	raw_spin_unlock_irqrestore(&tids_lock, flags);
}

static void clear_stale(struct work_struct *work)
{
	for (u32 at = 0; at < WORDS; at += WORDS_AT_A_TIME) {
		mutex_lock(&gate_lock);
		for (u32 i = 0; i < WORDS_AT_A_TIME; i++) {
			clear_word(at + i);
			cond_resched();
		}
		mutex_unlock(&gate_lock);
	}
}

static DECLARE_WORK(stale_work, clear_stale);

/* A session's own bit and then the one for all; in this order, for clear_word. */
static void set_both(struct kl_taskset *own, pid_t tid)
{
	set_bit(tid, own->bit);
	/* Pairs with clear_word. */
	smp_mb__after_atomic();
	if (!kl_taskset_has(kl_gate.tasks, tid))
		set_bit(tid, kl_gate.tasks->bit);
}

static void stop_awaiting(struct kl_session *s, pid_t tid)
{
	lockdep_assert_held(&tids_lock);
	if (s->awaited == tid)
		WRITE_ONCE(s->awaited, KL_NOBODY);
}

/**
 * kl_gate_follow - put a task in a session's sets, or take it out
 * @s: the session, with KL_GATE_TASKS; its lock is held
 * @tid: the task
 * @in: put it in
 * @heir: and what it will create
 *
 * Context: any that may take a spinlock.
 */
void kl_gate_follow(struct kl_session *s, pid_t tid, bool in, bool heir)
{
	unsigned long flags;

	lockdep_assert_held(&s->lock);
	/* Against clear_word, which must not clear it in between. */
	raw_spin_lock_irqsave(&tids_lock, flags);
	stop_awaiting(s, tid);
	kl_taskset_set(s->heirs, tid, in && heir);
	kl_taskset_set(s->tasks, tid, in);
	if (in && s->in_gate)
		set_bit(tid, kl_gate.tasks->bit);
	raw_spin_unlock_irqrestore(&tids_lock, flags);
}

/**
 * kl_gate_await - have a task enter a session's sets when it executes a program
 * @s: the session, with KL_GATE_TASKS; its lock is held
 * @tid: the task; who was awaited before is not any more
 * @heir: and what it will create from then on
 *
 * Context: any that may take a spinlock.
 */
void kl_gate_await(struct kl_session *s, pid_t tid, bool heir)
{
	unsigned long flags;

	lockdep_assert_held(&s->lock);
	/* Against clear_word and kl_gate_exec. */
	raw_spin_lock_irqsave(&tids_lock, flags);
	s->awaited_is_heir = heir;
	WRITE_ONCE(s->awaited, tid);
	if (s->in_gate)
		set_bit(tid, kl_gate.tasks->bit);
	raw_spin_unlock_irqrestore(&tids_lock, flags);
}

/**
 * kl_gate_forget - tasks have been taken out of a session's sets
 * @s: the session; its lock is held
 *
 * They cost more than others until this has been done, some time later.
 */
void kl_gate_forget(const struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->in_gate)
		queue_work(system_unbound_wq, &stale_work);
}

/**
 * kl_gate_watch - have a session asked about a task, whatever its gate says
 * @s: the session
 * @tid: the task
 *
 * Until the id is another task's. Nothing happens if the session watches nobody.
 * Context: any, preemption off.
 */
void kl_gate_watch(struct kl_session *s, pid_t tid)
{
	if (s->watched)
		set_both(s->watched, tid);
}

/**
 * kl_gate_flag - a task has a flag of a session's, which a new task is not to have
 * @s: the session, in which the flag is set
 * @tid: the task
 *
 * Context: any, preemption off.
 */
void kl_gate_flag(struct kl_session *s, pid_t tid)
{
	if (!s->gate)
		return;
	/* The flag before it; pairs with clear_word. */
	smp_mb();
	if (!kl_taskset_has(kl_gate.tasks, tid))
		set_bit(tid, kl_gate.tasks->bit);
}

/* --------------------------------------------------------- forks and programs */

/* Change a bit only if it is another: the others' caches have the word. */
static bool put(struct kl_taskset *set, pid_t tid, bool in)
{
	if (kl_taskset_has(set, tid) != in)
		kl_taskset_set(set, tid, in);
	return in;
}

/**
 * kl_gate_fork_session - what a session keeps of a task that has just been made
 * @s: the session
 * @parent: thread id
 * @child: thread id; what is kept of it is a dead task's
 *
 * Returns whether the session follows it. Context: a probe of the fork.
 */
bool kl_gate_fork_session(struct kl_session *s, pid_t parent, pid_t child)
{
	bool in = false;

	if (s->gate & KL_GATE_TASKS) {
		in = kl_taskset_has(s->heirs, parent);
		put(s->heirs, child, in);
		put(s->tasks, child, in);
		if (unlikely(s->awaited == child))
			WRITE_ONCE(s->awaited, KL_NOBODY);
	}
	if (s->watched)
		put(s->watched, child, false);
	for (u32 i = 0; i < ARRAY_SIZE(s->defs.task_flag); i++) {
		/* Pairs with make_flag. */
		struct kl_taskset *flag = smp_load_acquire(&s->defs.task_flag[i]);

		if (flag)
			put(flag, child, false);
	}
	return in;
}

/**
 * kl_gate_fork - a task that some session wants may have made another
 * @parent: thread id
 * @child: thread id; it has not run yet
 *
 * Context: the only probe of forks for all sessions with a gate; preemption off.
 */
void kl_gate_fork(pid_t parent, pid_t child)
{
	struct kl_session *s;
	bool in = false;

	raw_spin_lock(&tids_lock);
	clear_bit(child, kl_gate.tasks->bit);
	list_for_each_entry_rcu(s, &gated, gated, true)
		in |= kl_gate_fork_session(s, parent, child);
	if (in)
		set_bit(child, kl_gate.tasks->bit);
	raw_spin_unlock(&tids_lock);
}

/* Returns whether it has been awaited. */
static bool admit(struct kl_session *s, pid_t tid)
{
	bool awaited;

	raw_spin_lock(&tids_lock);
	/* Again: the session's owner may have changed their mind. */
	awaited = s->awaited == tid;
	if (awaited) {
		WRITE_ONCE(s->awaited, KL_NOBODY);
		kl_taskset_set(s->heirs, tid, s->awaited_is_heir);
		kl_taskset_set(s->tasks, tid, true);
	}
	raw_spin_unlock(&tids_lock);
	return awaited;
}

/**
 * kl_gate_exec - a task that some session wants has executed a program
 * @t: the running task, with the new program's memory, name and rights
 *
 * It enters the sets of the sessions that await it; its bit for all is set already.
 * Context: the only probe of this for all sessions with a gate; preemption off.
 */
void kl_gate_exec(struct task_struct *t)
{
	struct kl_session *s;

	list_for_each_entry_rcu(s, &gated, gated, true)
		if (kl_gate_awaits(s, t) && admit(s, t->pid) && s->on_admit)
			s->on_admit(s, t);
}

/* ---------------------------------------------------------------- sessions */

/**
 * kl_gate_enter - a session with a gate is about to start
 * @s: the session; its lock is held
 * @why: set on failure
 *
 * Once it returns its tasks are wanted. Context: may sleep.
 */
int kl_gate_enter(struct kl_session *s, struct kl_error *why)
{
	lockdep_assert_held(&s->lock);
	if (!s->gate)
		return 0;
	if (s->latency && !s->watched) {
		struct kl_taskset *watched = kl_taskset_create(&s->payer, why);

		if (IS_ERR(watched))
			return PTR_ERR(watched);
		s->watched = watched;
	}
	mutex_lock(&gate_lock);
	if (!kl_gate.tasks)
		/* It is everybody's: charged to nobody. */
		kl_gate.tasks = vzalloc(sizeof(*kl_gate.tasks));
	if (!kl_gate.tasks) {
		mutex_unlock(&gate_lock);
		return kl_fail(why, -ENOMEM, "no memory for the set of all followed tasks");
	}
	s->gate_uid = s->gate & KL_GATE_OWN ? s->owner->fsuid : s->uid;
	/* Forks first: a bit that one clears must not be set again from what was before. */
	list_add_tail_rcu(&s->gated, &gated);
	s->in_gate = true;
	add_user(s);
	mutex_unlock(&gate_lock);
	add_tids(s);
	return 0;
}

/**
 * kl_gate_leave - undo kl_gate_enter; nothing happens if it was not called
 * @s: the session; its lock is held, and its probes are detached
 *
 * Forks may still look at it: kl_source_synchronize waits for them. Context: may sleep.
 */
void kl_gate_leave(struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	if (!s->in_gate)
		return;
	mutex_lock(&gate_lock);
	list_del_rcu(&s->gated);
	s->in_gate = false;
	remove_user(s);
	mutex_unlock(&gate_lock);
	queue_work(system_unbound_wq, &stale_work);
}

/**
 * kl_gate_init - before the first session
 */
void kl_gate_init(void)
{
	kl_gate.factor = get_random_u32() | 1;
}

/**
 * kl_gate_deinit - after the last session
 */
void kl_gate_deinit(void)
{
	cancel_work_sync(&stale_work);
	kl_taskset_destroy(kl_gate.tasks);
}
