/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How often the kernel's locks are taken, how long tasks wait for them and hold them, and who holds
 * them meanwhile. From the entries of the kernel's locking functions (`fn:`) and the tracepoints of
 * contention, as kernlens locks --holds records them.
 */
#ifndef KERNLENS_LOCK_HOLDS_H
#define KERNLENS_LOCK_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include <kernlens/locks.h>
#include <kernlens/schema.h>
#include <kernlens/symbols.h>

struct kl_lock_holds;

/*
 * Variables that the events must have. A user stack trace is not among them: kernlens would take
 * locks of the process for it.
 */
#define KL_LOCK_HOLDS_VARIABLES "kstack"

/* Types of locks, as a set. */
enum kl_lock_kinds {
	KL_LOCK_MUTEXES = 1,
	KL_LOCK_RWSEMS = 2,
	KL_LOCK_RTMUTEXES = 4,
	KL_LOCK_SPINLOCKS = 8,
	KL_LOCK_RWLOCKS = 16,
	KL_LOCK_SLEEPING = 7,
	KL_LOCK_ALL_KINDS = 31,
};

/**
 * struct kl_lock_hold_sum - how locks were used
 * @taken: how often they were taken
 * @failed: attempts that ended without the lock, and those by which nobody released it
 * @contended: acquisitions for which a task had to wait
 * @unknown: acquisitions whose end was not seen; they are in @taken, not in the times
 * @waited_ns: sum of the waits
 * @worst_wait_ns: the longest
 * @held_ns: sum of the times for which locks were held
 * @worst_held_ns: the longest
 * @wait, @held: histograms of both, as in struct kl_lock_sum
 */
struct kl_lock_hold_sum {
	uint64_t taken;
	uint64_t failed;
	uint64_t contended;
	uint64_t unknown;
	uint64_t waited_ns;
	uint64_t worst_wait_ns;
	uint64_t held_ns;
	uint64_t worst_held_ns;
	uint64_t wait[KL_LOCK_BUCKETS];
	uint64_t held[KL_LOCK_BUCKETS];
};

/**
 * struct kl_lock_hold_row - acquisitions that have the same key
 * @row: the key and its name; its sum is empty
 * @sum: their times
 */
struct kl_lock_hold_row {
	struct kl_lock_row row;
	struct kl_lock_hold_sum sum;
};

/**
 * struct kl_lock_clash - waits of one place for a lock that was held by another
 * @address: of the lock
 * @type: its type
 * @stack: id of the stack trace of the task that waited
 * @owner_stack: of the task that held it, when it took it; 0: unknown
 * @owner_tid: that task; 0: unknown
 * @owner: its command name, or NULL
 * @waits: number of waits
 * @ns: their time
 * @worst_ns: the longest
 */
struct kl_lock_clash {
	uint64_t address;
	enum kl_lock_type type;
	uint32_t stack;
	uint32_t owner_stack;
	int32_t owner_tid;
	const char *owner;
	uint64_t waits;
	uint64_t ns;
	uint64_t worst_ns;
};

/**
 * struct kl_lock_holds_counts - what the acquisitions are made from
 * @first_ns: wall time of the first event of the trace
 * @last_ns: of the last
 * @unpaired: releases of locks that had been taken before the trace, or in a way that is not seen
 * @dropped: locks that were held or waited for where records are missing: they are not counted
 */
struct kl_lock_holds_counts {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t unpaired;
	uint64_t dropped;
};

/**
 * kl_lock_holds_specs - the events to record
 * @buffer: the text for -e is appended
 * @kinds: of locks
 * @symbols: those of the kernel, which say which of the functions it has
 *
 * Returns the number of functions.
 */
size_t kl_lock_holds_specs(struct kl_buffer *buffer, unsigned int kinds,
			   const struct kl_symbols *symbols);

/**
 * kl_lock_holds_is_in - does a trace have entries of locking functions?
 * @schema: of the trace
 */
bool kl_lock_holds_is_in(const struct kl_schema *schema);

/**
 * kl_lock_holds_create - start
 * @schema: of the trace; must outlive the result
 *
 * Returns NULL with errno ENOMEM, or ENOENT without the tracepoints of contention.
 */
struct kl_lock_holds *kl_lock_holds_create(const struct kl_schema *schema);

/**
 * kl_lock_holds_destroy - free
 * @holds: or NULL
 */
void kl_lock_holds_destroy(struct kl_lock_holds *holds);

/**
 * kl_lock_holds_add - add an event
 * @holds: holds
 * @event: the next one of the trace
 * @hidden: follow it, but do not count its acquisitions
 *
 * Returns 0 or -ENOMEM.
 */
int kl_lock_holds_add(struct kl_lock_holds *holds, const struct kl_event *event, bool hidden);

/**
 * kl_lock_holds_add_loss - note that records are missing here
 * @holds: holds
 *
 * Nothing is known of which locks are held.
 */
void kl_lock_holds_add_loss(struct kl_lock_holds *holds);

/**
 * kl_lock_holds_use_memory - name locks in allocated memory, as kl_locks_use_memory()
 * @holds: holds, of a trace that has just been recorded
 */
void kl_lock_holds_use_memory(struct kl_lock_holds *holds);

/**
 * kl_lock_holds_counts - what the acquisitions are made from
 * @holds: holds, complete
 *
 * Locks that are still held count as unknown from now on. Valid until the next call of a function.
 */
const struct kl_lock_holds_counts *kl_lock_holds_counts(struct kl_lock_holds *holds);

/**
 * kl_lock_holds_rows - group the acquisitions
 * @holds: holds, complete
 * @by: what to group by; not KL_LOCKS_BY_OWNER
 * @within: only those of the row with @key of another grouping; KL_LOCKS_KEYS: all
 * @key: that of the row
 * @n: out: number of rows
 *
 * Returns rows, those with the longest waits and holds first, to be freed with free(); NULL with
 * errno ENOMEM, or without rows.
 */
struct kl_lock_hold_row *kl_lock_holds_rows(struct kl_lock_holds *holds, enum kl_lock_key by,
					    enum kl_lock_key within, uint64_t key, size_t *n);

/**
 * kl_lock_holds_clashes - who waited for whom
 * @holds: holds, complete
 * @by: only those of the row with @key of this grouping; KL_LOCKS_KEYS: all. Not
 *      KL_LOCKS_BY_PROCESS or KL_LOCKS_BY_OWNER
 * @key: that of the row
 * @n: out: number of them
 *
 * Returns an array, longest time first, to be freed with free(); NULL with errno ENOMEM.
 */
struct kl_lock_clash *kl_lock_holds_clashes(struct kl_lock_holds *holds, enum kl_lock_key by,
					    uint64_t key, size_t *n);

#endif /* KERNLENS_LOCK_HOLDS_H */
