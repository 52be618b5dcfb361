// SPDX-License-Identifier: GPL-2.0
/*
 * The profile's probes in the scheduler: they track each task's state and since when it has been
 * in it, and add up the sums. A wakeup only stores its time; the CPU that switches the task in
 * does the rest, so each word has one writer at a time (docs/design/latency.md).
 */
#include <linux/sched.h>
#include <linux/syscalls.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "../compat/lock.h"
#include "../compat/pi.h"
#include "../compat/preempt.h"
#include "../core/record.h"
#include "../core/stack.h"
#include "../source/hub.h"
#include "../source/source.h"
#include "latency_internal.h"

/**
 * kl_latency_state_of - the profile's state of a sleeping task
 * @state: the task's kernel state, not 0
 * @task: the task
 */
u32 kl_latency_state_of(unsigned int state, const struct task_struct *task)
{
	/* One bit of a word that may change concurrently. */
	if (data_race(task->in_iowait != 0))
		return KL_LATENCY_IO;
	if (state & TASK_NOLOAD)
		return KL_LATENCY_IDLE;
	if (state & TASK_INTERRUPTIBLE)
		return KL_LATENCY_INTERRUPTIBLE;
	if (state & TASK_UNINTERRUPTIBLE)
		return KL_LATENCY_UNINTERRUPTIBLE;
	return KL_LATENCY_STOPPED;
}

/* ---------------------------------------------------------- switch from */

static s16 syscall_of(struct task_struct *task)
{
	long number;

	if (task->flags & PF_KTHREAD || task_thread_info(task)->status & TS_COMPAT)
		return -1;
	number = task_pt_regs(task)->orig_ax;
	return number >= 0 && number < KL_EV_SYSCALL_MAX ? number : -1;
}

/*
 * A futex with priority inheritance has no contention tracepoint. The waiter on the task's own
 * stack names the lock; it is safe to read, as the task is the running one.
 */
static noinline void take_pi_owner(struct kl_latency *l, struct kl_latency_task *t,
				   struct task_struct *prev)
{
	unsigned long waiter = (unsigned long)READ_ONCE(prev->pi_blocked_on), word;
	struct kl_latency_task *owner = NULL;

	if (!kl_pi_is_on_stack(waiter, (unsigned long)task_stack_page(prev)))
		return;
	word = kl_pi_owner((const unsigned long *)waiter, prev);
	if (word)
		owner = kl_latency_find(l, (const struct task_struct *)word);
	t->owner = owner ? owner->serial : 0;
}

/* Record where the task goes to sleep. It is still the running task. */
static __always_inline void take_place(struct kl_latency *l, struct kl_latency_task *t,
				       struct task_struct *prev)
{
	u32 flags = kl_latency_flags(l);

	t->kstack = flags & KL_LATENCY_KERNEL_STACKS ? kl_stack_kernel(l->session) : 0;
	t->ustack = flags & KL_LATENCY_USER_STACKS ? kl_stack_user(l->session, false) : 0;
	t->syscall = syscall_of(prev);
	if (flags & KL_LATENCY_OWNERS && unlikely(prev->pi_blocked_on))
		take_pi_owner(l, t, prev);
}

static __always_inline void leave_for(struct kl_latency_task *t, u32 state, u64 now)
{
	u64 since = t->since;

	t->ran_since = since;
	/* Readers read `since` before and after the rest (A). */
	WRITE_ONCE(t->since, 0);
	barrier();
	kl_latency_sum(t, KL_LATENCY_RUNNING, now - since);
	/* Wakers read it in asleep_since. */
	WRITE_ONCE(t->state, state);
	barrier();
	WRITE_ONCE(t->since, now);
}

/* Everything beyond the sums, and the rare cases. */
static noinline void leave_more(struct kl_latency *l, struct kl_latency_task *t,
				struct task_struct *prev, u32 state, bool dead, u64 now)
{
	if (dead)
		return kl_latency_end(l, t, prev, now, KL_LATENCY_TASK_ENDED);
	if (kl_latency_flags(l) & KL_LATENCY_ASKS) {
		if (!kl_gate_task(l->session, prev))
			return kl_latency_end(l, t, NULL, now, KL_LATENCY_TASK_HIDDEN);
		/*
		 * Once the task has ended, it is unknown whether the owner was allowed to see its
		 * last name.
		 */
		kl_latency_rename(l, t, prev);
	}
	if (kl_latency_flags(l) & KL_LATENCY_ENTRIES && kl_latency_is_asleep(state))
		take_place(l, t, prev);
}

/* A function of its own, called last, so that profiles without buckets save no registers for it. */
static noinline void leave_timed(struct kl_latency *l, struct kl_latency_task *t,
				 struct task_struct *prev, u32 state, bool dead, u64 now)
{
	kl_latency_times_add(l, KL_LATENCY_RUNNING, now - t->ran_since);
	leave_more(l, t, prev, state, dead, now);
}

/* A task without a record, or in a state that it cannot be switched from. */
static noinline void leave_unknown(struct kl_latency *l, struct kl_latency_task *t,
				   struct task_struct *prev, u32 state, bool dead, u64 now)
{
	if (!t) {
		if (dead || !kl_gate_task(l->session, prev))
			return;
		t = kl_latency_enter(l, prev, state, now);
		if (t)
			leave_more(l, t, prev, state, false, now);
		return;
	}
	/*
	 * Another CPU may just have added it to the session's tasks: it counts from the next event
	 * on.
	 */
	if (READ_ONCE(t->state) == KL_LATENCY_OUTSIDE) {
		if (dead)
			kl_latency_end(l, t, prev, now, KL_LATENCY_TASK_ENDED);
		return;
	}
	/* It has run since it was entered, which may have been at this very moment. */
	now = max(now, t->since);
	leave_for(t, state, now);
	if (kl_latency_flags(l) & KL_LATENCY_TIMES)
		return leave_timed(l, t, prev, state, dead, now);
	leave_more(l, t, prev, state, dead, now);
}

static void leave(struct kl_latency *l, struct task_struct *prev, bool preempt,
		  unsigned int prev_state, u64 now)
{
	struct kl_latency_task *t = kl_latency_find(l, prev);
	u32 state = KL_LATENCY_PREEMPTED;
	bool dead = false;

	/* A pending signal makes the task runnable again. */
	if (prev_state && !preempt && READ_ONCE(prev->__state)) {
		state = kl_latency_state_of(prev_state, prev);
		dead = prev_state & TASK_DEAD;
	}
	if (unlikely(!t || READ_ONCE(t->state) != KL_LATENCY_RUNNING))
		return leave_unknown(l, t, prev, state, dead, now);
	leave_for(t, state, now);
	if (unlikely(kl_latency_flags(l) & KL_LATENCY_TIMES))
		return leave_timed(l, t, prev, state, dead, now);
	if (kl_latency_flags(l) || dead)
		leave_more(l, t, prev, state, dead, now);
}

/* ------------------------------------------------------------ switch to */

static u64 length_of(const struct kl_latency_sleep *sleep)
{
	return sleep->wake.at - sleep->since;
}

/* A sleep has ended: store it for the tasks that this task wakes. */
static void keep_sleep(struct kl_latency_task *t, u64 since, u64 at)
{
	struct kl_latency_sleep *last = &t->last, *longest = &t->longest;

	last->since = since;
	last->wake = t->wake;
	last->wake.at = at;
	if (at == since)
		last->wake.hops = min(last->wake.hops, 1u);
	for (u32 i = last->wake.hops; i < KL_LATENCY_HOPS; i++)
		last->wake.hop[i] = (struct kl_abi_latency_hop){};
	/* A task that waited for this one all through an old sleep has been woken long ago. */
	if (length_of(last) >= length_of(longest) ||
	    at - longest->wake.at > KL_LATENCY_OLD * length_of(longest))
		*longest = *last;
}

static noinline void enter_more(struct kl_latency *l, struct kl_latency_task *t, u32 state,
				u64 since, u64 wake, bool seen)
{
	if (seen && kl_latency_flags(l) & KL_LATENCY_WAKERS)
		keep_sleep(t, since, wake);
	else
		memset(&t->last, 0, sizeof(t->last));
	if (kl_latency_flags(l) & KL_LATENCY_ENTRIES)
		kl_latency_account(l, t, state, wake - since);
	t->owner = 0;
}

/* The task has just begun to run. */
static noinline void enter_timed(struct kl_latency *l, struct kl_latency_task *t, u32 state,
				 u64 since, u64 wake, bool seen)
{
	kl_latency_times_add(l, state, wake - since);
	kl_latency_times_add(l, KL_LATENCY_RUNNABLE, t->since - wake);
	enter_more(l, t, state, since, wake, seen);
}

/* When did the wakeup come that ended the sleep which began at @since? */
static __always_inline u64 wake_time(struct kl_latency *l, const struct kl_latency_task *t,
				     u64 since, u64 now, bool *seen)
{
	u64 wake = t->wake.at;

	*seen = true;
	if (likely(wake >= since))
		return min(wake, now);
	/* The wakeup came before the switch, while the task last ran: the sleep ended at once. */
	if (wake > t->ran_since)
		return since;
	this_cpu_inc(l->cpu->unpaired);
	*seen = false;
	return now;
}

/* The first event since the task was entered. */
static noinline void enter_unset(struct kl_latency *l, struct kl_latency_task *t, u64 now)
{
	u64 since = t->since, wake = t->wake.at;
	bool slept = wake >= since;

	now = max3(now, since, wake);
	WRITE_ONCE(t->since, 0);
	barrier();
	if (slept) {
		kl_latency_sum(t, t->wake.state, wake - since);
		kl_latency_sum(t, KL_LATENCY_RUNNABLE, now - wake);
	} else {
		kl_latency_sum(t, KL_LATENCY_PREEMPTED, now - since);
		kl_latency_time(l, KL_LATENCY_PREEMPTED, now - since);
	}
	WRITE_ONCE(t->state, KL_LATENCY_RUNNING);
	barrier();
	WRITE_ONCE(t->since, now);
	t->syscall = -1;
	if (!slept || !kl_latency_flags(l))
		return;
	if (kl_latency_flags(l) & KL_LATENCY_TIMES)
		return enter_timed(l, t, t->wake.state, since, wake, true);
	enter_more(l, t, t->wake.state, since, wake, true);
}

/* A task without a record, not measured, or in a state that it cannot be switched to. */
static noinline void enter_unknown(struct kl_latency *l, struct kl_latency_task *t,
				   struct task_struct *next, u64 now)
{
	if (!t) {
		if (kl_gate_task(l->session, next))
			kl_latency_enter(l, next, KL_LATENCY_RUNNING, now);
	} else if (READ_ONCE(t->state) == KL_LATENCY_UNSET) {
		enter_unset(l, t, now);
	}
}

static void enter(struct kl_latency *l, struct task_struct *next, u64 now)
{
	struct kl_latency_task *t = kl_latency_find(l, next);
	u64 since, wake;
	bool seen;
	u32 state;

	state = t ? READ_ONCE(t->state) : 0;
	if (unlikely(!t || state - KL_LATENCY_RUNNABLE >= KL_LATENCY_STATES - 1))
		return enter_unknown(l, t, next, now);
	since = t->since;
	WRITE_ONCE(t->since, 0);
	barrier();
	if (unlikely(!kl_latency_is_asleep(state))) {
		kl_latency_sum(t, state, now - since);
		kl_latency_time(l, state, now - since);
		WRITE_ONCE(t->state, KL_LATENCY_RUNNING);
		barrier();
		WRITE_ONCE(t->since, now);
		return;
	}
	wake = wake_time(l, t, since, now, &seen);
	kl_latency_sum(t, state, wake - since);
	kl_latency_sum(t, KL_LATENCY_RUNNABLE, now - wake);
	WRITE_ONCE(t->state, KL_LATENCY_RUNNING);
	barrier();
	WRITE_ONCE(t->since, now);
	if (unlikely(kl_latency_flags(l) & KL_LATENCY_TIMES))
		return enter_timed(l, t, state, since, wake, seen);
	if (unlikely(kl_latency_flags(l)))
		enter_more(l, t, state, since, wake, seen);
}

/* ----------------------------------------------------------- tracepoints */

static noinline void switch_any(void *data, bool preempt, struct task_struct *prev,
				struct task_struct *next, unsigned int prev_state)
{
	struct kl_latency *l = data;
	u64 now = kl_clock();

	if (now >= READ_ONCE(l->until))
		return;
	if (prev->pid)
		leave(l, prev, preempt, prev_state, now);
	if (next->pid)
		enter(l, next, now);
}

/*
 * Interrupts are off, the run queue is locked, and @prev is still the running task. The common
 * case of a profile of sums is handled here, without a call: a task goes to sleep or is preempted,
 * and the next one was asleep or preempted. Nothing is written before this is certain; everything
 * else is a tail call that starts again.
 */
static __always_inline void switch_usual(void *data, bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int prev_state)
{
	struct kl_latency *l = data;
	struct kl_latency_task *t = kl_latency_first(l, prev), *n = kl_latency_first(l, next);
	u32 from = READ_ONCE(n->state), to = KL_LATENCY_PREEMPTED;
	u64 now, since, wake;

	if (!static_branch_likely(&kl_clock_is_tsc))
		return switch_any(data, preempt, prev, next, prev_state);
	if (unlikely(READ_ONCE(l->flags) || READ_ONCE(t->task) != prev ||
		     READ_ONCE(n->task) != next || READ_ONCE(t->state) ||
		     from - KL_LATENCY_PREEMPTED >
			     KL_LATENCY_UNINTERRUPTIBLE - KL_LATENCY_PREEMPTED))
		return switch_any(data, preempt, prev, next, prev_state);
	if (prev_state) {
		to = (prev_state & ~TASK_FREEZABLE) + KL_LATENCY_INTERRUPTIBLE - TASK_INTERRUPTIBLE;
		if (unlikely(preempt || to > KL_LATENCY_UNINTERRUPTIBLE ||
			     !READ_ONCE(prev->__state) || prev->in_iowait))
			return switch_any(data, preempt, prev, next, prev_state);
	}
	since = READ_ONCE(n->since);
	wake = READ_ONCE(n->wake.at);
	if (unlikely(from != KL_LATENCY_PREEMPTED && wake < since))
		return switch_any(data, preempt, prev, next, prev_state);
	/*
	 * Read the clock after all tail calls, so that their arguments are still in their
	 * registers.
	 */
	now = rdtsc();
	leave_for(t, to, now);
	WRITE_ONCE(n->since, 0);
	barrier();
	if (from != KL_LATENCY_PREEMPTED) {
		wake = min(wake, now);
		kl_latency_sum(n, from, wake - since);
		since = wake;
		from = KL_LATENCY_RUNNABLE;
	}
	kl_latency_sum(n, from, now - since);
	WRITE_ONCE(n->state, KL_LATENCY_RUNNING);
	barrier();
	WRITE_ONCE(n->since, now);
}

static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	kl_probe_begin();
	switch_usual(data, preempt, prev, next, prev_state);
	kl_probe_end();
}

static noinline void waking_any(void *data, struct task_struct *task)
{
	struct kl_latency *l = data;
	struct kl_latency_task *t = kl_latency_find(l, task);
	u64 now = kl_clock();

	if (!t && now < READ_ONCE(l->until) && kl_gate_task(l->session, task))
		t = kl_latency_enter(l, task, KL_LATENCY_UNSET, now);
	if (!t)
		return;
	if (kl_latency_flags(l) & KL_LATENCY_WAKERS)
		kl_latency_take_waker(l, t, now);
	/* Read by readers, and by the CPU that the task is just leaving. */
	WRITE_ONCE(t->wake.at, now);
}

/* The common case, handled without a call as in switch_usual. */
static __always_inline void waking_usual(void *data, struct task_struct *task)
{
	struct kl_latency *l = data;
	struct kl_latency_task *t = kl_latency_first(l, task);

	if (unlikely(!kl_latency_is_of(t, task) || kl_latency_flags(l) & KL_LATENCY_WAKERS))
		return waking_any(data, task);
	WRITE_ONCE(t->wake.at, kl_clock());
}

/* Runs in the waker's context, under the task's pi_lock. */
static void on_waking(void *data, struct task_struct *task)
{
	kl_probe_begin();
	waking_usual(data, task);
	kl_probe_end();
}

static __always_inline void take_new(void *data, struct task_struct *task)
{
	struct kl_latency *l = data;
	struct kl_latency_task *t = kl_latency_find(l, task);
	u64 now = kl_clock();

	if (now >= READ_ONCE(l->until))
		return;
	/* It belonged to another task, whose end was missed. */
	if (t)
		kl_latency_end(l, t, NULL, t->since, KL_LATENCY_TASK_ENDED);
	if (kl_gate_task(l->session, task))
		kl_latency_enter(l, task, KL_LATENCY_RUNNABLE, now);
}

/* A new task is about to run for the first time. */
static void on_new(void *data, struct task_struct *task)
{
	kl_probe_begin();
	take_new(data, task);
	kl_probe_end();
}

/* ------------------------------------------------------------- lock owners */

static __always_inline void take_owner(struct kl_latency *l, const void *lock, unsigned int flags)
{
	struct kl_latency_task *t, *owner;
	unsigned long word;

	if (!in_task() || !current->pid)
		return;
	t = kl_latency_find(l, current);
	word = kl_lock_owner_word(lock, flags);
	if (!t || !word)
		return;
	owner = kl_latency_find(l, (const struct task_struct *)word);
	t->owner = owner ? owner->serial : 0;
}

/* The running task begins to wait for a lock. */
static void on_contention(void *data, void *lock, unsigned int flags)
{
	kl_probe_begin();
	take_owner(data, lock, flags);
	kl_probe_end();
}

static void on_contended(void *data, void *lock, int error)
{
	struct kl_latency_task *t;

	kl_probe_begin();
	t = in_task() && current->pid ? kl_latency_find(data, current) : NULL;
	if (t)
		t->owner = 0;
	kl_probe_end();
}

/* -------------------------------------------------------------- attaching */

struct point {
	const char *name;
	void *probe;
	u32 flag; /* attach only with this flag; 0: always */
};

/* The switch comes last: the tasks that it finds have been entered by the other probes. */
static const struct point points[] = {
	{ "contention_begin", on_contention, KL_LATENCY_OWNERS },
	{ "contention_end", on_contended, KL_LATENCY_OWNERS },
	{ "sched_wakeup_new", on_new, 0 },
	{ "sched_waking", on_waking, 0 },
	{ "sched_switch", on_switch, 0 },
};

static void __maybe_unused check_prototypes(void)
{
	check_trace_callback_type_contention_begin(on_contention);
	check_trace_callback_type_contention_end(on_contended);
	check_trace_callback_type_sched_wakeup_new(on_new);
	check_trace_callback_type_sched_waking(on_waking);
	check_trace_callback_type_sched_switch(on_switch);
}

static void detach_points(struct kl_latency *l, u32 n)
{
	while (n--)
		if (!points[n].flag || l->flags & points[n].flag)
			kl_hub_detach(l->session, kl_tracepoint_find(points[n].name),
				      points[n].probe, l);
}

/**
 * kl_latency_attach - attach the probes
 * @l: a profile that is not running yet
 * @why: set on failure; nothing is attached then
 *
 * Context: may sleep.
 */
int kl_latency_attach(struct kl_latency *l, struct kl_error *why)
{
	for (u32 i = 0; i < ARRAY_SIZE(points); i++) {
		struct tracepoint *point = kl_tracepoint_find(points[i].name);
		int error = -ENOENT;

		if (points[i].flag && !(l->flags & points[i].flag))
			continue;
		if (point)
			error = kl_hub_attach(l->session, point, points[i].probe, l);
		if (error) {
			detach_points(l, i);
			return kl_fail(why, error, "cannot attach to tracepoint %s",
				       points[i].name);
		}
	}
	return 0;
}

/**
 * kl_latency_detach - undo kl_latency_attach
 * @l: profile
 *
 * A probe may still be running: kl_source_synchronize waits for it.
 */
void kl_latency_detach(struct kl_latency *l)
{
	detach_points(l, ARRAY_SIZE(points));
}
