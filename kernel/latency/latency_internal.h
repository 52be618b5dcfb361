/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the latency profile: its tasks and entries, and what a CPU is doing.
 * docs/design/latency.md defines who writes which word.
 */
#ifndef KL_LATENCY_LATENCY_INTERNAL_H
#define KL_LATENCY_LATENCY_INTERNAL_H

#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../compat/clock.h"
#include "../compat/preempt.h"
#include "../core/session.h"
#include "latency.h"

/* States of a task in addition to enum kl_latency_state. */
#define KL_LATENCY_UNSET KL_LATENCY_STATES /* there has been no event since @since */
#define KL_LATENCY_OUTSIDE (KL_LATENCY_STATES + 1) /* not measured */

static __always_inline bool kl_latency_is_asleep(u32 state)
{
	return state - KL_LATENCY_INTERRUPTIBLE <= KL_LATENCY_STOPPED - KL_LATENCY_INTERRUPTIBLE;
}

/* In kl_latency.flags, besides KL_LATENCY_*: check the gate at each switch from a task. */
#define KL_LATENCY_ASKS 0x80000000u
/* In kl_latency.flags: the profile is not running. */
#define KL_LATENCY_OFF 0x40000000u

#define KL_LATENCY_SOURCES 128u
#define KL_LATENCY_OLD 4 /* a sleep is old this many times its length after its end */
#define KL_LATENCY_SLOTS 16u /* entries that a lookup checks */

/**
 * struct kl_latency_wake - how a sleep ended
 * @at: time of the wakeup; 0 if there has been none yet
 * @state: the state that the task slept in; used if it is not known otherwise
 * @hops: used elements of @hop
 * @hop: the waker, and those that the waker itself had waited for
 * @hop_at: time of each hop
 */
struct kl_latency_wake {
	u64 at;
	u32 kstack;
	u32 ustack;
	u32 state;
	u32 hops;
	struct kl_abi_latency_hop hop[KL_LATENCY_HOPS];
	u64 hop_at[KL_LATENCY_HOPS];
};

/* A sleep that has ended. */
struct kl_latency_sleep {
	u64 since;
	struct kl_latency_wake wake;
};

/**
 * struct kl_latency_task - the record of a task, which outlives it for a while
 * @task: only compared, never dereferenced; NULL if the task has ended
 * @next: next record with the same hash
 * @since: start of @state; 0 while that changes
 * @ran_since: start of the task's last run on a CPU before that
 * @state: enum kl_latency_state, or one of the two above
 * @serial: the task's id in the profile; 0 if the record is free
 * @in: sums by state
 * @kstack, @ustack, @syscall: where the task went to sleep
 * @owner: id of the task that holds the lock that this one waits for
 * @wake: written by the waker
 * @last: the sleep that ended last, for tasks that this one wakes
 * @longest: the longest sleep that ended recently
 * @first, @until: time when it was first seen, and of its end; 0 if it lives
 * @follower: next record in the list of ended tasks or of free records
 */
struct kl_latency_task {
	struct task_struct *task;
	struct kl_latency_task *next;
	u64 since;
	u64 ran_since;
	u32 state;
	u32 serial;
	struct kl_abi_latency_sum in[KL_LATENCY_STATES];
	struct kl_latency_wake wake;
	u32 kstack;
	u32 ustack;
	u32 owner;
	s16 syscall;
	u8 flags;
	u8 seen; /* enum kl_latency_state of a task without an event, when it is read */
	struct kl_latency_sleep last;
	struct kl_latency_sleep longest;
	u64 first;
	u64 until;
	s32 tid;
	s32 pid;
	kuid_t uid;
	char comm[KL_COMM_LEN];
	struct kl_latency_task *follower;
};

/* The key consists of @is up to `asleep`. The entry is free if its task's id is 0. */
struct kl_latency_entry {
	struct kl_abi_latency_entry is;
	u32 of; /* index of the task */
	u32 reserved;
};

/* Per-CPU numbers of what a profile could not record. */
struct kl_latency_cpu {
	u64 missed;
	u64 unpaired;
	u64 no_entry;
};

/* How long times in each state were; written by the CPU that switches the task, interrupts off. */
struct kl_latency_times {
	u64 sum[KL_LATENCY_STATES];
	u64 count[KL_LATENCY_STATES][KL_LATENCY_BUCKETS];
};

struct kl_latency_source {
	u64 key;
	struct kl_abi_latency_source is;
};

/**
 * struct kl_latency - a session's profile
 * @until: events before this time count: 0 before the start, all ones while it runs
 * @flags: KL_LATENCY_*
 * @mask: of @head
 * @times: NULL without KL_LATENCY_TIMES
 * @bound: the longest time of each bucket but the last
 * @bound_bits: number of the highest bit of the first bound
 * @lock: a leaf lock, taken with interrupts off to change the tables
 * @free, @ended, @ended_last: lists of tasks, linked by @follower
 * @none: sentinel at the end of each hash chain; belongs to no task
 */
struct kl_latency {
	u64 until;
	u32 flags;
	u32 mask;
	struct kl_latency_task **head;
	struct kl_latency_entry *entry;
	u32 entry_mask;
	u32 n_tasks;
	struct kl_latency_task *task;
	struct kl_latency_cpu __percpu *cpu;
	struct kl_latency_times __percpu *times;
	u64 bound[KL_LATENCY_BUCKETS - 1];
	u32 bound_bits;
	struct kl_session *session;
	raw_spinlock_t lock;
	u64 start;
	bool attached;
	u32 serial;
	struct kl_latency_task *free;
	struct kl_latency_task *ended;
	struct kl_latency_task *ended_last;
	struct kl_latency_task none;
	u64 evicted_tasks;
	u64 evicted_entries;
	u32 n_sources;
	struct kl_latency_source source[KL_LATENCY_SOURCES];
};

/* The first record in the task's hash chain; never NULL. */
static __always_inline struct kl_latency_task *kl_latency_first(const struct kl_latency *l,
								const struct task_struct *task)
{
	u32 at = (u32)((u64)task * GOLDEN_RATIO_64 >> 32) & l->mask;

	kl_probe_check();
	/* Read a record only after the pointer to it. Pairs with the release in link_task. */
	return smp_load_acquire(&l->head[at]);
}

/* Only KL_LATENCY_OFF changes while probes are attached, and each decision reads the flags once. */
static __always_inline u32 kl_latency_flags(const struct kl_latency *l)
{
	return data_race(l->flags);
}

/* Is this the task's record? Another task's may be reused at any time, but not one of @task. */
static __always_inline bool kl_latency_is_of(const struct kl_latency_task *t,
					     const struct task_struct *task)
{
	return data_race(t->task) == task;
}

/* The task's record, or NULL. May miss one that is just being created. */
static __always_inline struct kl_latency_task *kl_latency_find(const struct kl_latency *l,
							       const struct task_struct *task)
{
	struct kl_latency_task *t = kl_latency_first(l, task);

	while (t && !kl_latency_is_of(t, task))
		t = READ_ONCE(t->next);
	return t;
}

static __always_inline void kl_latency_sum(struct kl_latency_task *t, u32 state, u64 time)
{
	struct kl_abi_latency_sum *in = &t->in[state];

	in->count++;
	in->sum += time;
	if (unlikely(time > in->worst))
		in->worst = time;
}

/* times.c */
int kl_latency_times_init(struct kl_latency *l);
void kl_latency_times_clear(struct kl_latency *l);
void kl_latency_times_add(struct kl_latency *l, u32 state, u64 time);
void kl_latency_times_copy(const struct kl_latency *l, u32 state, struct kl_abi_latency_times *to);

/* Everything but the common case, whose profile has no flags, counts its times here, too. */
static __always_inline void kl_latency_time(struct kl_latency *l, u32 state, u64 time)
{
	if (kl_latency_flags(l) & KL_LATENCY_TIMES)
		kl_latency_times_add(l, state, time);
}

/* table.c */
void kl_latency_clear(struct kl_latency *l);
struct kl_latency_task *kl_latency_enter(struct kl_latency *l, struct task_struct *task, u32 state,
					 u64 now);
void kl_latency_end(struct kl_latency *l, struct kl_latency_task *t, struct task_struct *task,
		    u64 now, u8 flags);
void kl_latency_name(struct kl_latency_task *t, const struct task_struct *task);
void kl_latency_rename(struct kl_latency *l, struct kl_latency_task *t, struct task_struct *task);
void kl_latency_account(struct kl_latency *l, struct kl_latency_task *t, u32 state, u64 time);

/* probe.c */
u32 kl_latency_state_of(unsigned int state, const struct task_struct *task);
int kl_latency_attach(struct kl_latency *l, struct kl_error *why);
void kl_latency_detach(struct kl_latency *l);

/* waker.c */
void kl_latency_take_waker(struct kl_latency *l, struct kl_latency_task *t, u64 now);
int kl_latency_attach_wakers(struct kl_error *why);
void kl_latency_detach_wakers(void);

/* read.c */
void kl_latency_refresh(struct kl_latency *l);
bool kl_latency_copy_task(struct kl_latency *l, u32 index, struct kl_abi_latency_task *to);
bool kl_latency_copy_entry(struct kl_latency *l, u32 index, struct kl_abi_latency_entry *to);
void kl_latency_totals(struct kl_latency *l, struct kl_abi_latency_read *to);

#endif /* KL_LATENCY_LATENCY_INTERNAL_H */
