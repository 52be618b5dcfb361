// SPDX-License-Identifier: GPL-2.0
/*
 * How long flags have been set: `since(FLAG)`.
 *
 * A slot belongs to the task whose number it contains. Only that task, and what interrupts it, sets
 * its time; others may only clear the time and take the slot, by exchanging the number. So a task
 * that has read a time and then finds its own number still there has read its own time, or 0. The
 * next owner of a number does not read what the previous one has left: flags are not passed on with
 * numbers (follow.c), and setting a flag writes the time.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../compat/clock.h"
#include "flag_time.h"
#include "program_values.h"
#include "session.h"

#define BUCKET_BITS 12
#define BUCKET_SLOTS 4 /* a cache line */

struct slot {
	u64 task; /* 0: free */
	u64 since; /* cycles; 0: not yet set */
};

struct kl_flag_times {
	struct slot slot[1 << BUCKET_BITS][BUCKET_SLOTS];
};

/* Create an empty table. It is charged to @payer until the payer ends. */
static struct kl_flag_times *create_times(struct kl_payer *payer, struct kl_error *why)
{
	u64 bytes = kl_memory_size(sizeof(struct kl_flag_times));
	int error = kl_memory_charge(payer, bytes, why);
	struct kl_flag_times *times;

	if (error)
		return ERR_PTR(error);
	times = kvzalloc(sizeof(*times), GFP_KERNEL_ACCOUNT);
	if (times)
		return times;
	kl_memory_uncharge(payer, bytes);
	return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for flag times"));
}

/**
 * kl_flag_times_destroy - free a table that no probe uses any more
 * @times: may be NULL
 */
void kl_flag_times_destroy(struct kl_flag_times *times)
{
	kvfree(times);
}

static int make_times(struct kl_session *s, u32 flag, struct kl_error *why)
{
	struct kl_flag_times **times, *made;

	lockdep_assert_held(&s->lock);
	if (flag < ARRAY_SIZE(s->defs.flag_times)) {
		times = &s->defs.flag_times[flag];
		made = *times ?: create_times(&s->payer, why);
		if (IS_ERR(made))
			return PTR_ERR(made);
		/*
		 * The zeroed table before the pointer, as rules may be running. Pairs with
		 * kl_flag_note and time_of.
		 */
		smp_store_release(times, made);
	}
	WRITE_ONCE(s->defs.since, s->defs.since | 1ull << flag);
	return 0;
}

/**
 * kl_flag_prepare - from now on record the times that a program uses
 * @s: the session; its lock is not held
 * @ops: the program's operations, checked
 * @n_ops: number of operations
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_flag_prepare(struct kl_session *s, const struct kl_abi_op *ops, u32 n_ops,
		    struct kl_error *why)
{
	int error = 0;

	for (u32 i = 0; i < n_ops && !error; i++) {
		if (ops[i].code != KL_OP_SINCE || ops[i].imm == KL_SINCE_SESSION)
			continue;
		mutex_lock(&s->lock);
		error = make_times(s, ops[i].imm, why);
		mutex_unlock(&s->lock);
	}
	return error;
}

/* Idle tasks share one thread id, so distinguish them by CPU. */
static u64 running_task(void)
{
	return current->pid ?: ~0ull - smp_processor_id();
}

static struct slot *bucket_of(struct kl_flag_times *times, u64 task)
{
	return times->slot[hash_64(task, BUCKET_BITS)];
}

static struct slot *find(struct slot *bucket, u64 task)
{
	for (int i = 0; i < BUCKET_SLOTS; i++)
		if (READ_ONCE(bucket[i].task) == task)
			return &bucket[i];
	return NULL;
}

/*
 * Find a slot for the running task: a free one, or that of the task that has had the flag longest.
 * NULL if another task took it first.
 */
static struct slot *claim(struct slot *bucket, u64 task)
{
	struct slot *oldest = &bucket[0];
	u64 owner;

	for (int i = 0; i < BUCKET_SLOTS; i++) {
		if (!READ_ONCE(bucket[i].task)) {
			oldest = &bucket[i];
			break;
		}
		if (READ_ONCE(bucket[i].since) < READ_ONCE(oldest->since))
			oldest = &bucket[i];
	}
	owner = READ_ONCE(oldest->task);
	/*
	 * Clear the time, so that what interrupts us after the exchange does not see another
	 * task's.
	 */
	WRITE_ONCE(oldest->since, 0);
	return cmpxchg(&oldest->task, owner, task) == owner ? oldest : NULL;
}

/**
 * kl_flag_note - record that a flag is set now
 * @s: the session
 * @flag: below KL_FLAGS_MAX; of the running task, or of this CPU
 *
 * Context: any, preemption off.
 */
void kl_flag_note(struct kl_session *s, u32 flag)
{
	struct kl_flag_times *times;
	struct slot *bucket, *mine;
	u64 task = running_task();

	if (flag >= KL_FLAGS_MAX / 2) {
		this_cpu_ptr(s->cpu)->flag_time[flag - KL_FLAGS_MAX / 2] = kl_clock();
		return;
	}
	/* The pointer before the table; pairs with make_times. */
	times = smp_load_acquire(&s->defs.flag_times[flag]);
	if (!times)
		return;
	bucket = bucket_of(times, task);
	mine = find(bucket, task) ?: claim(bucket, task);
	if (mine)
		WRITE_ONCE(mine->since, kl_clock());
}

/* When the running task's flag was set; 0: unknown. */
static u64 time_of(struct kl_session *s, u32 flag)
{
	u64 task = running_task(), since;
	struct kl_flag_times *times;
	struct slot *mine;

	/* The pointer before the table; pairs with make_times. */
	times = smp_load_acquire(&s->defs.flag_times[flag]);
	mine = times ? find(bucket_of(times, task), task) : NULL;
	if (!mine)
		return 0;
	since = READ_ONCE(mine->since);
	/* x86 keeps the order of loads, so a compiler barrier is enough. */
	barrier();
	return READ_ONCE(mine->task) == task ? since : 0;
}

/**
 * kl_flag_test - is a flag of a session set?
 * @s: the session
 * @flag: below KL_FLAGS_MAX; of the running task, or of this CPU
 *
 * A task that may not be shown to the owner has no flags. Context: any, preemption off.
 */
bool kl_flag_test(struct kl_session *s, u32 flag)
{
	const struct kl_taskset *set;

	if (flag >= KL_FLAGS_MAX / 2)
		return this_cpu_read(s->cpu->flags) >> flag & 1;
	/* The pointer before the set; pairs with make_flag. */
	set = smp_load_acquire(&s->defs.task_flag[flag]);
	return set && kl_taskset_has(set, current->pid) && kl_flags_are_shown(s);
}

/**
 * kl_flag_since - how long a flag has been set, in nanoseconds
 * @s: the session
 * @flag: of the running task, or of this CPU; KL_SINCE_SESSION: since the session was started
 * @fault: set if the flag is not set, or if its time has been forgotten; 0 is returned then
 *
 * Context: any, preemption off.
 */
u64 kl_flag_since(struct kl_session *s, u32 flag, bool *fault)
{
	u64 since = 0;

	if (flag == KL_SINCE_SESSION)
		since = READ_ONCE(s->defs.began);
	else if (kl_flag_test(s, flag))
		since = flag < KL_FLAGS_MAX / 2 ?
				time_of(s, flag) :
				this_cpu_ptr(s->cpu)->flag_time[flag - KL_FLAGS_MAX / 2];
	if (since)
		return kl_clock_ns(kl_clock() - since);
	*fault = true;
	return 0;
}
