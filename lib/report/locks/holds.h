/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which locks are taken, waited for and held: holds.c decodes the events, hold_track.c follows the
 * locks, hold_rows.c groups what has ended.
 */
#ifndef KL_LIB_REPORT_LOCKS_HOLDS_H
#define KL_LIB_REPORT_LOCKS_HOLDS_H

#include <kernlens/lock_holds.h>
#include "calls.h"
#include "collect.h"

/* Spinlocks and rwlocks belong to a CPU: contexts from here on. */
#define KL_HOLD_CPUS (1ll << 40)

/**
 * struct kl_hold - a lock that is held, or that a task or CPU tries to take
 * @next: the one that began before it, of the same lock
 * @who: thread ID, or KL_HOLD_CPUS + CPU
 * @what: lock, place and task
 * @releaser: thread that will release it, if it is a CPU's
 * @since_ns: when its function was called
 * @got_ns: when a wait ended with the lock; 0: it did not wait, or this is not known
 * @passed: the CPU has switched to @releaser meanwhile
 * @tries: it does not wait, so it may not have the lock
 * @begun: it had to wait
 * @has: it has the lock, as far as is known
 * @hidden: not to be counted
 * @owner_stack: where the one who had the lock before has taken it; 0: unknown
 * @owner: that thread; 0: unknown
 */
struct kl_hold {
	struct kl_hold *next;
	int64_t who;
	struct kl_lock_wait what;
	int32_t releaser;
	uint64_t since_ns;
	uint64_t got_ns;
	bool passed;
	bool tries;
	bool begun;
	bool has;
	bool hidden;
	uint32_t owner_stack;
	int32_t owner;
};

/**
 * struct kl_held_lock - a lock that somebody holds or tries to take
 * @key: its address
 * @open: the newest
 * @released_ns: when it was released last, by a writer and by anyone
 */
struct kl_held_lock {
	uint64_t key;
	struct kl_hold *open;
	uint64_t write_released_ns;
	uint64_t released_ns;
};

/* Waits for a lock that was held by another, which have this in common. */
struct kl_hold_pair {
	uint64_t address;
	uint32_t type;
	uint32_t stack;
	uint32_t owner_stack;
	int32_t owner;
};

struct kl_hold_pair_sum {
	uint64_t waits;
	uint64_t ns;
	uint64_t worst_ns;
};

struct kl_lock_holds {
	const struct kl_schema *schema;
	struct kl_locks *locks; /* names, and fields of the tracepoints */
	int kstack;
	const struct kl_class *task_switch; /* NULL: not in the trace */
	int next_tid; /* its field */
	struct kl_hash classes;
	struct kl_hash held; /* struct kl_held_lock */
	struct kl_hold *spare;
	struct kl_profile_list places; /* struct kl_lock_wait */
	struct kl_lock_hold_sum *sum; /* of each */
	size_t room;
	struct kl_profile_list pairs; /* struct kl_hold_pair */
	struct kl_hold_pair_sum *pair_sum; /* of each */
	size_t pair_room;
	struct kl_lock_holds_counts counts;
};

/**
 * struct kl_hold_event - a call of a locking function
 * @call: the function
 * @what: lock, place and task
 * @who: as in struct kl_hold
 * @ns: wall time
 * @hidden: not to be counted
 */
struct kl_hold_event {
	const struct kl_lock_call *call;
	struct kl_lock_wait what;
	int64_t who;
	uint64_t ns;
	bool hidden;
};

/* Follow a call. Return 0 or -ENOMEM. */
int kl_hold_take(struct kl_lock_holds *holds, const struct kl_hold_event *e);
int kl_hold_release(struct kl_lock_holds *holds, const struct kl_hold_event *e);

/* A CPU switches to another task, which will release the scheduler's lock. Returns 0 or -ENOMEM. */
int kl_hold_pass(struct kl_lock_holds *holds, uint32_t cpu, int32_t next_tid);

/*
 * A wait of a thread on a CPU for a lock has begun, held by @owner (0: unknown), or has ended with
 * or without the lock. kl_hold_waited() returns 0 or -ENOMEM.
 */
void kl_hold_wait(struct kl_lock_holds *holds, uint64_t lock, const struct kl_event *event,
		  int32_t owner);
int kl_hold_waited(struct kl_lock_holds *holds, uint64_t lock, const struct kl_event *event,
		   bool failed);

/*
 * Nobody holds anything from now on. @count: what was held counts as unknown; else it is dropped.
 * Returns 0 or -ENOMEM.
 */
int kl_hold_forget(struct kl_lock_holds *holds, bool count);

/* hold_rows.c: count an acquisition; the caller fills in one. Return 0 or -ENOMEM. */
int kl_hold_count(struct kl_lock_holds *holds, const struct kl_lock_wait *what,
		  const struct kl_lock_hold_sum *one);
int kl_hold_count_pair(struct kl_lock_holds *holds, const struct kl_hold_pair *pair, uint64_t ns);

#endif /* KL_LIB_REPORT_LOCKS_HOLDS_H */
