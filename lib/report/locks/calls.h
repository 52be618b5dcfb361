/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's functions that take and release locks, as calls.def lists them. */
#ifndef KL_LIB_REPORT_LOCK_CALLS_H
#define KL_LIB_REPORT_LOCK_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/locks.h>

enum kl_lock_operation {
	KL_LOCK_TAKE,
	KL_LOCK_RELEASE,
	KL_LOCK_DOWNGRADE,
	KL_LOCK_INIT,
	KL_LOCK_SLEEP
};

enum kl_lock_disables {
	KL_LOCK_NOTHING,
	KL_LOCK_SOFTIRQS,
	KL_LOCK_IRQS,
	KL_LOCK_ASLEEP
};

enum kl_lock_result {
	KL_LOCK_ALWAYS,
	KL_LOCK_ZERO,
	KL_LOCK_NONZERO,
	KL_LOCK_TRY,
	KL_LOCK_TRY_ZERO
};

struct kl_lock_call {
	const char *name;
	enum kl_lock_operation operation;
	enum kl_lock_type type;
	enum kl_lock_disables disables;
	enum kl_lock_result result;
};

/* The call by index; NULL after the last. */
const struct kl_lock_call *kl_lock_call_at(size_t index);

/* The call of a function of that name; NULL: none. */
const struct kl_lock_call *kl_lock_call_find(const char *name, size_t length);

/* Does it wait until it has the lock? */
static inline bool kl_lock_call_waits(const struct kl_lock_call *call)
{
	return call->operation == KL_LOCK_TAKE && call->result != KL_LOCK_TRY &&
	       call->result != KL_LOCK_TRY_ZERO;
}

/* Has a call that returned @result the lock? */
bool kl_lock_call_has(const struct kl_lock_call *call, uint64_t result);

/* Must a task that holds such a lock not sleep? */
bool kl_lock_type_spins(enum kl_lock_type type);

/* Is it of a spinlock or rwlock of PREEMPT_RT, which threads may take that run softirqs? */
static inline bool kl_lock_call_is_asleep(const struct kl_lock_call *call)
{
	return call->disables == KL_LOCK_ASLEEP;
}

/* Does a task sleep until it has the lock? */
static inline bool kl_lock_call_sleeps(const struct kl_lock_call *call)
{
	return kl_lock_call_is_asleep(call) || !kl_lock_type_spins(call->type);
}

/* Do readers share it? */
bool kl_lock_type_reads(enum kl_lock_type type);

/* Are both the same kind of lock, for reading or for writing? */
bool kl_lock_types_fit(enum kl_lock_type a, enum kl_lock_type b);

/*
 * Is a lock that @call takes or releases free, given its first word and the word where an rtmutex
 * has its owner? Both as on x86-64, @realtime: with PREEMPT_RT. A semaphore is never free.
 */
bool kl_lock_is_free(const struct kl_lock_call *call, bool realtime, uint64_t word, uint64_t owner);

/* Does kl_lock_is_free() look at @owner? */
bool kl_lock_has_owner(const struct kl_lock_call *call, bool realtime);

#endif /* KL_LIB_REPORT_LOCK_CALLS_H */
