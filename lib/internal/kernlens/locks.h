/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The waits for locks in a trace: how many, how long, for which locks, in which functions, and who
 * held them. Those of the kernel from contention_begin and contention_end, those of programs from
 * the system call futex, both with stack traces.
 */
#ifndef KERNLENS_LOCKS_H
#define KERNLENS_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/event.h>
#include <kernlens/schema.h>

/* Buckets of a histogram of times: bucket i has those below 2^i ns, the last all others. */
#define KL_LOCK_BUCKETS 40

struct kl_locks;

/* What a lock is, and for what it is taken. */
enum kl_lock_type {
	KL_LOCK_SPIN,
	KL_LOCK_RWLOCK_READ,
	KL_LOCK_RWLOCK_WRITE,
	KL_LOCK_MUTEX,
	KL_LOCK_RWSEM_READ,
	KL_LOCK_RWSEM_WRITE,
	KL_LOCK_RTMUTEX,
	KL_LOCK_PERCPU_READ,
	KL_LOCK_PERCPU_WRITE,
	KL_LOCK_SEMAPHORE,
	KL_LOCK_FUTEX, /* from here on, of programs */
	KL_LOCK_LIBC,
	KL_LOCK_PTHREAD_MUTEX,
	KL_LOCK_PTHREAD_READ,
	KL_LOCK_PTHREAD_WRITE,
	KL_LOCK_RUST_MUTEX,
	KL_LOCK_RUST_READ,
	KL_LOCK_RUST_WRITE,
	KL_LOCK_POSIX_SEMAPHORE,
	KL_LOCK_CONDITION, /* from here on, not locks */
	KL_LOCK_BARRIER,
	KL_LOCK_THREAD,
};

/* What the waits are grouped by. */
enum kl_lock_key {
	KL_LOCKS_BY_LOCK,
	KL_LOCKS_BY_TYPE,
	KL_LOCKS_BY_FUNCTION, /* the one that takes the lock */
	KL_LOCKS_BY_PROCESS, /* the one that waits */
	KL_LOCKS_BY_OWNER, /* the thread that held the lock */
	KL_LOCKS_BY_STACK, /* of the task that waits */
	KL_LOCKS_BY_CLASS, /* the member of a struct, or where the lock was taken first */
	KL_LOCKS_KEYS,
};

/**
 * struct kl_lock_sum - times of waits
 * @waits: that have ended, and those that have not
 * @unfinished: waits that had not ended when the trace did; their time until then counts
 * @failed: waits that ended without the lock: interrupted, or timed out
 * @ns: sum
 * @worst_ns: the longest
 * @bucket: histogram of the times of waits
 */
struct kl_lock_sum {
	uint64_t waits;
	uint64_t unfinished;
	uint64_t failed;
	uint64_t ns;
	uint64_t worst_ns;
	uint64_t bucket[KL_LOCK_BUCKETS];
};

/**
 * struct kl_lock_row - waits that have the same key
 * @key: to be passed to kl_locks_rows(); the id of a stack trace, KL_LOCKS_BY_STACK
 * @name: of the lock, the function or the task; NULL if unknown. Valid as long as the locks
 * @member: KL_LOCKS_BY_LOCK: "STRUCT.MEMBER" that it is in allocated memory of the kernel; NULL:
 *          unknown
 * @address: of the lock, KL_LOCKS_BY_LOCK; 0 if unknown
 * @type: KL_LOCKS_BY_LOCK, KL_LOCKS_BY_CLASS (of the first wait) and KL_LOCKS_BY_TYPE
 * @id: pid or tid, KL_LOCKS_BY_PROCESS and KL_LOCKS_BY_OWNER; 0 if unknown. KL_LOCKS_BY_LOCK: the
 *      process in whose memory it is; 0: the kernel's, or memory that processes may share
 * @sum: their times
 */
struct kl_lock_row {
	uint64_t key;
	const char *name;
	const char *member;
	uint64_t address;
	enum kl_lock_type type;
	int32_t id;
	struct kl_lock_sum sum;
};

/**
 * struct kl_locks_counts - what the waits are made from
 * @first_ns: wall time of the first event of the trace
 * @last_ns: of the last
 * @waits: all waits
 * @ns: their time
 * @unpaired: ends whose beginning is not in the trace
 * @dropped: waits that were in progress where records are missing: they are not counted
 * @conditions: waits that are left out because they are not for locks
 * @conditions_ns: their time
 */
struct kl_locks_counts {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t waits;
	uint64_t ns;
	uint64_t unpaired;
	uint64_t dropped;
	uint64_t conditions;
	uint64_t conditions_ns;
};

/**
 * kl_locks_create - collect waits
 * @schema: of the trace; must outlive the result
 * @conditions: also collect the waits of programs that are not for locks: for conditions, barriers
 *              and the end of threads
 *
 * Returns NULL with errno ENOENT if the trace cannot have waits for locks, or ENOMEM.
 */
struct kl_locks *kl_locks_create(const struct kl_schema *schema, bool conditions);

/**
 * kl_locks_destroy - free the waits
 * @locks: or NULL
 */
void kl_locks_destroy(struct kl_locks *locks);

/**
 * kl_locks_add - add an event
 * @locks: waits
 * @event: the next event of the trace
 *
 * Returns 0 or -ENOMEM.
 */
int kl_locks_add(struct kl_locks *locks, const struct kl_event *event);

/**
 * kl_locks_add_loss - note that records are missing here
 * @locks: waits
 *
 * The end of a wait in progress may be among them.
 */
void kl_locks_add_loss(struct kl_locks *locks);

/**
 * kl_locks_use_memory - name locks in allocated memory by what the kernel has there now
 * @locks: waits, of a trace that has just been recorded
 *
 * Without the rights to read the kernel's memory, these locks have no names.
 */
void kl_locks_use_memory(struct kl_locks *locks);

/**
 * kl_locks_counts - what the waits are made from
 * @locks: waits, complete
 *
 * Valid until the next call of a function.
 */
const struct kl_locks_counts *kl_locks_counts(struct kl_locks *locks);

/**
 * kl_locks_rows - group the waits
 * @locks: waits, complete
 * @by: what to group by
 * @within: only the waits of the row with @key of another grouping; KL_LOCKS_KEYS: all
 * @key: that of the row
 * @n: out: number of rows
 *
 * Returns rows, longest time first, to be freed with free(); NULL with errno ENOMEM, or without
 * rows.
 */
struct kl_lock_row *kl_locks_rows(struct kl_locks *locks, enum kl_lock_key by,
				  enum kl_lock_key within, uint64_t key, size_t *n);

/**
 * kl_lock_type_name - a type in words
 * @type: type
 * @access: say also whether the lock was taken for reading or writing
 */
const char *kl_lock_type_name(enum kl_lock_type type, bool access);

/**
 * kl_lock_is_program - is a lock of a program, not of the kernel?
 * @type: of the lock
 */
bool kl_lock_is_program(enum kl_lock_type type);

/**
 * kl_lock_is_condition - is it something else than a lock: a condition, a barrier, a thread?
 * @type: of the lock
 */
bool kl_lock_is_condition(enum kl_lock_type type);

#endif /* KERNLENS_LOCKS_H */
