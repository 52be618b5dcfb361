/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the waits for locks consist of. contention.c and futex.c find them in the events; waits.c
 * sums them up and groups them.
 */
#ifndef KL_LIB_REPORT_LOCKS_COLLECT_H
#define KL_LIB_REPORT_LOCKS_COLLECT_H

#include <stdbool.h>
#include <kernlens/locks.h>
#include "../../base/table.h"
#include "../../base/texts.h"
#include "../../symbolize/slabs.h"
#include "../../symbolize/variables.h"
#include "../profile.h"

/*
 * Sort @n rows of @bytes, or free them and set *@n to 0 if there was an @error. Returns @rows, or
 * NULL with errno; 0: there are none.
 */
void *kl_locks_sort_rows(void *rows, size_t *n, size_t bytes, int error,
			 int (*compare)(const void *, const void *));

/**
 * struct kl_lock_wait - what waits have in common that are summed up
 * @address: of the lock
 * @function: that takes it; NULL if unknown
 * @stack: id of the stack trace
 * @space: process in whose memory the lock is; 0: the kernel's, or memory that processes may share
 * @owner: thread
 */
struct kl_lock_wait {
	uint64_t address;
	const char *function;
	uint32_t stack;
	int32_t space;
	int32_t tid;
	int32_t pid;
	int32_t owner;
	uint32_t type;
};

/*
 * A wait that may be in progress. Key: hash of the waiting task and what it can wait for once.
 * @word: address of the futex, which is a word of the lock
 */
struct kl_lock_pending {
	uint64_t key;
	uint64_t word;
	bool open;
	uint64_t since_ns;
	struct kl_lock_wait wait;
};

/**
 * struct kl_lock_name - a name that is looked up once
 * @key: thread ID + 1, id of a stack trace + 1, or hash of a lock
 * @type: of the locks that are taken with a stack trace of a program
 * @glibc: by a function of glibc
 */
struct kl_lock_name {
	uint64_t key;
	const char *name;
	bool known;
	bool glibc;
	uint32_t type;
};

/**
 * struct kl_lock_class - what a lock is one of
 * @key: hash of the lock
 * @label: its symbol, variable or member, or where it was taken first
 * @member: see struct kl_lock_row
 */
struct kl_lock_class {
	uint64_t key;
	bool known;
	const char *label;
	const char *member;
};

/* Where an event has the ID and command name of a task. @event: NULL: not in the trace */
struct kl_lock_naming {
	const struct kl_class *event;
	int tid;
	int comm;
};

/* Events and fields for the kernel's locks; @begin and @end: NULL: not in the trace. */
struct kl_contention {
	const struct kl_class *begin;
	const struct kl_class *end;
	int lock, flags, owner; /* fields of @begin */
	int end_lock, ret; /* and of @end */
};

/* The same for futexes. @released: who has released one last */
struct kl_futexes {
	const struct kl_class *entry;
	const struct kl_class *exit;
	int address, op, value, other; /* fields of @entry */
	int ret; /* and of @exit */
	struct kl_hash released;
};

struct kl_locks {
	const struct kl_schema *schema;
	struct kl_contention contention;
	struct kl_futexes futexes;
	int kstack, ustack;
	bool conditions;
	struct kl_lock_naming naming[2];
	struct kl_locks_counts counts;
	struct kl_hash pending; /* struct kl_lock_pending */
	struct kl_hash comms; /* struct kl_lock_name */
	struct kl_hash functions;
	struct kl_hash variables;
	struct kl_hash classes; /* struct kl_lock_class */
	struct kl_slabs *slabs; /* NULL: what is in the kernel's memory now is not known */
	struct kl_program_variables *programs; /* NULL: no variable has been looked up */
	struct kl_profile_list waits; /* struct kl_lock_wait */
	struct kl_lock_sum *sum; /* of each */
	size_t room;
	struct kl_texts texts;
};

/* Look up events and fields. Returns whether the trace can have such waits. */
bool kl_contention_init(struct kl_locks *locks);
bool kl_futexes_init(struct kl_locks *locks);

/* Add an event, which may be any. Returns 0 or -ENOMEM. */
int kl_contention_add(struct kl_locks *locks, const struct kl_event *event);
int kl_futexes_add(struct kl_locks *locks, const struct kl_event *event);

/*
 * The wait of an event's task that may be in progress; @what: a task has one for each at a time.
 * NULL: out of memory.
 */
struct kl_lock_pending *kl_locks_pending(struct kl_locks *locks, const struct kl_event *event,
					 uint64_t what);

/* Begin a wait; the caller fills in what is left zero in it. */
void kl_locks_begin(struct kl_lock_pending *pending, const struct kl_event *event, uint64_t lock);

/* Sum up a wait that is in progress. @ended: false: the trace has. Returns 0 or -ENOMEM. */
int kl_locks_finish(struct kl_locks *locks, struct kl_lock_pending *pending, uint64_t ns,
		    bool ended, bool failed);

/* Is a function part of taking a lock, not the one that takes it? May note what it says. */
typedef bool (*kl_locks_inner_fn)(const struct kl_frame *frame, struct kl_lock_name *note);

/*
 * The function that takes a lock: the innermost of a stack trace that is not part of taking it. Its
 * name is NULL if there is none. Looked up once for each stack trace. NULL: out of memory.
 */
const struct kl_lock_name *kl_locks_function(struct kl_locks *locks, uint32_t stack,
					     kl_locks_inner_fn is_inner);

/* Of functions that take locks of the kernel. */
bool kl_contention_is_inner(const struct kl_frame *frame, struct kl_lock_name *unused);

/* Note the names of tasks that an event has. Returns 0 or -ENOMEM. */
int kl_locks_learn_names(struct kl_locks *locks, const struct kl_event *event);

/* The bucket of a histogram for a time. */
unsigned int kl_locks_bucket(uint64_t ns);

/* What a wait has of a key, and what a row that consists of such waits stands for. */
uint64_t kl_locks_key_of(struct kl_locks *locks, const struct kl_lock_wait *wait,
			 enum kl_lock_key by);
void kl_locks_describe(struct kl_locks *locks, struct kl_lock_row *row,
		       const struct kl_lock_wait *wait, enum kl_lock_key by);

/* The command name of a thread, or NULL. */
const char *kl_locks_comm(struct kl_locks *locks, int32_t tid);

#endif /* KL_LIB_REPORT_LOCKS_COLLECT_H */
