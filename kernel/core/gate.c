// SPDX-License-Identifier: GPL-2.0
/*
 * The tasks that any session with a gate wants: users that some session records, cgroups and thread
 * ids that some session follows. A bit is set at once, before its session relies on it. It is
 * cleared when its thread id is given to a new task, or later by a work item, since a stale bit
 * costs a task little. docs/design/gate.md has the rules.
 *
 * Locks: `gate_lock` protects the list of sessions, the users and the cgroups. Inside it,
 * `tids_lock`, a leaf lock, serializes changes of a session's sets with changes of the common bits.
 */
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "../compat/work.h"
#include "gate.h"

#define WORDS BITS_TO_LONGS(PID_MAX_LIMIT)
#define WORDS_AT_A_TIME 256

struct kl_gate kl_gate;
DEFINE_STATIC_KEY_FALSE(kl_gate_has_cgroups);

static DEFINE_MUTEX(gate_lock);
static DEFINE_RAW_SPINLOCK(tids_lock);
static LIST_HEAD(gated);

/* ------------------------------------------------------------------- users */

/* Other sessions are found by thread id, or by cgroup. */
static bool goes_by_user(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_TASKS) && !kl_gate_goes_by_cgroup(s);
}

static void add_user(const struct kl_session *s)
{
	lockdep_assert_held(&gate_lock);
	if (goes_by_user(s))
		set_bit(kl_gate_hash(s->gate_uid), kl_gate.uids);
}

/* Clear the user's bit, unless another session has a user with the same hash. */
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

/* ----------------------------------------------------------------- cgroups */

static u32 hash_of_cgroup(u64 id)
{
	return (u32)id * kl_gate.factor >> (32 - KL_GATE_CGROUP_BITS);
}

/* One test for each depth at which the cgroup of a privileged session is. */
static __always_inline bool wants_cgroup(const struct task_struct *t)
{
#ifdef CONFIG_CGROUPS
	struct cgroup *of = kl_cgroup_of(t);
	u64 depths = READ_ONCE(kl_gate.depths);

	for (; depths; depths &= depths - 1) {
		struct cgroup *cgroup = cgroup_ancestor(of, __ffs64(depths));

		if (!cgroup)
			break;
		if (test_bit(hash_of_cgroup(cgroup_id(cgroup)), kl_gate.cgroups))
			return true;
	}
#endif
	return false;
}

/**
 * kl_gate_wants_surely - kl_gate_wants, while a session follows a cgroup
 * @t: a task that exists while the caller's probe runs
 *
 * Context: any, preemption off.
 */
bool kl_gate_wants_surely(const struct task_struct *t)
{
	return kl_gate_wants_ids(t) || wants_cgroup(t);
}

static void add_cgroup(const struct kl_session *s)
{
	lockdep_assert_held(&gate_lock);
	if (!kl_gate_goes_by_cgroup(s))
		return;
	set_bit(hash_of_cgroup(s->cgroup), kl_gate.cgroups);
	WRITE_ONCE(kl_gate.depths, kl_gate.depths | BIT_ULL(s->cgroup_depth));
	static_branch_inc(&kl_gate_has_cgroups);
}

/* Clear the cgroup's bits, unless another session has one with the same hash, or as deep. */
static void remove_cgroup(const struct kl_session *s)
{
	u32 hash = hash_of_cgroup(s->cgroup);
	const struct kl_session *other;
	bool same = false;
	u64 depths = 0;

	lockdep_assert_held(&gate_lock);
	if (!kl_gate_goes_by_cgroup(s))
		return;
	list_for_each_entry(other, &gated, gated) {
		if (!kl_gate_goes_by_cgroup(other))
			continue;
		same |= hash_of_cgroup(other->cgroup) == hash;
		depths |= BIT_ULL(other->cgroup_depth);
	}
	if (!same)
		clear_bit(hash, kl_gate.cgroups);
	WRITE_ONCE(kl_gate.depths, depths);
	static_branch_dec(&kl_gate_has_cgroups);
}

/* -------------------------------------------------------------- thread ids */

static unsigned long awaited_word(const struct kl_session *s, u32 at)
{
	pid_t tid = READ_ONCE(s->awaited);

	return tid != KL_NOBODY && BIT_WORD(tid) == at ? BIT_MASK(tid) : 0;
}

/* One word of all thread ids that a session keeps. */
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

/* Add the thread ids that a session has kept since before it started. */
static void add_tids(const struct kl_session *s)
{
	for (u32 at = 0; at < WORDS; at++) {
		set_bits(at, word_of(s, at));
		cond_resched();
	}
}

/*
 * Clear bits that no session has any more. Probes set bits without a lock, the session's own bit
 * first (kl_gate_watch, kl_gate_flag). So the sessions are read again after the change: this either
 * finds a probe's own bit, or it precedes that bit, and then the probe sets the common bit after
 * the change.
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

/* Set a session's own bit and then the common bit; clear_word relies on this order. */
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
 * @in: put it in, else take it out
 * @heir: also put in the tasks that it will create
 *
 * Context: any that may take a spinlock.
 */
void kl_gate_follow(struct kl_session *s, pid_t tid, bool in, bool heir)
{
	unsigned long flags;

	lockdep_assert_held(&s->lock);
	/* Keeps clear_word from clearing the bit in between. */
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
 * @tid: the task; replaces the one awaited before
 * @heir: also put in the tasks that it creates from then on
 *
 * Context: any that may take a spinlock.
 */
void kl_gate_await(struct kl_session *s, pid_t tid, bool heir)
{
	unsigned long flags;

	lockdep_assert_held(&s->lock);
	/* Excludes clear_word and kl_gate_exec. */
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
 * A work item clears their common bits some time later; until then they cost more than other tasks.
 */
void kl_gate_forget(const struct kl_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->in_gate)
		queue_work(kl_unbound_wq, &stale_work);
}

/**
 * kl_gate_watch - have a session see a task's events, whatever its gate allows
 * @s: the session
 * @tid: the task
 *
 * This lasts until the thread id is given to another task. Does nothing if the session watches no
 * tasks. Context: any, preemption off.
 */
void kl_gate_watch(struct kl_session *s, pid_t tid)
{
	if (s->watched)
		set_both(s->watched, tid);
}

/**
 * kl_gate_flag - note that a task has a flag, which a new task with its id must not have
 * @s: the session in which the flag is set
 * @tid: the task
 *
 * Context: any, preemption off.
 */
void kl_gate_flag(struct kl_session *s, pid_t tid)
{
	if (!s->gate)
		return;
	/* The flag before the common bit; pairs with clear_word. */
	smp_mb();
	if (!kl_taskset_has(kl_gate.tasks, tid))
		set_bit(tid, kl_gate.tasks->bit);
}

/* --------------------------------------------------------- forks and programs */

/* Change a bit only if it differs, because other CPUs have the word in their caches. */
static bool put(struct kl_taskset *set, pid_t tid, bool in)
{
	if (kl_taskset_has(set, tid) != in)
		kl_taskset_set(set, tid, in);
	return in;
}

/**
 * kl_gate_fork_session - update a session's sets for a new task
 * @s: the session
 * @parent: thread id of the parent
 * @child: thread id of the new task; what the sets have of it belongs to a dead task
 *
 * Returns whether the session follows the new task. Context: a probe of the fork.
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
 * kl_gate_fork - update the sets of all sessions with a gate for a new task
 * @parent: thread id of the parent
 * @child: thread id of the new task, which has not run yet
 *
 * Context: the fork probe that all sessions with a gate share; preemption off.
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

/* Put an awaited task into the sets. Returns whether the task was awaited. */
static bool admit(struct kl_session *s, pid_t tid)
{
	bool awaited;

	raw_spin_lock(&tids_lock);
	/* Check again, because the session's owner may have changed this. */
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
 * @t: the running task, which already has the new program's memory, name and credentials
 *
 * The task enters the sets of the sessions that await it; its common bit is already set. Context:
 * the exec probe that all sessions with a gate share; preemption off.
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
 * When it returns, the common gate allows the session's tasks. Context: may sleep.
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
		/* All sessions share it, so no user is charged. */
		kl_gate.tasks = vzalloc(sizeof(*kl_gate.tasks));
	if (!kl_gate.tasks) {
		mutex_unlock(&gate_lock);
		return kl_fail(why, -ENOMEM, "no memory for the set of all followed tasks");
	}
	s->gate_uid = s->gate & KL_GATE_OWN ? s->owner->fsuid : s->uid;
	/*
	 * Let forks update the session first: a bit that a fork clears must not be set again from
	 * stale sets.
	 */
	list_add_tail_rcu(&s->gated, &gated);
	s->in_gate = true;
	add_user(s);
	add_cgroup(s);
	mutex_unlock(&gate_lock);
	add_tids(s);
	return 0;
}

/**
 * kl_gate_leave - undo kl_gate_enter(); does nothing if that was not called
 * @s: the session; its lock is held, and its probes are detached
 *
 * Fork probes may still use the session until kl_source_synchronize() returns. Context: may sleep.
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
	remove_cgroup(s);
	mutex_unlock(&gate_lock);
	queue_work(kl_unbound_wq, &stale_work);
}

/**
 * kl_gate_init - initialize, before the first session
 */
void kl_gate_init(void)
{
	kl_gate.factor = get_random_u32() | 1;
}

/**
 * kl_gate_deinit - clean up, after the last session
 */
void kl_gate_deinit(void)
{
	cancel_work_sync(&stale_work);
	kl_taskset_destroy(kl_gate.tasks);
}
