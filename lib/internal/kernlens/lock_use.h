/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How functions take and release locks: how often, how long, and what is wrong. From the events of
 * their calls (`call:`), as kernlens locks --module records them.
 */
#ifndef KERNLENS_LOCK_USE_H
#define KERNLENS_LOCK_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/btf.h>
#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include <kernlens/locks.h>
#include <kernlens/schema.h>

struct kl_lock_use;

/* Variables that the events must have; docs/design/locks.md says what for. */
#define KL_LOCK_USE_VARIABLES "kstack,in_irq,preempt_count"

/* What is wrong. */
enum kl_lock_fault_kind {
	KL_LOCK_FREE_RELEASED,
	KL_LOCK_FOREIGN_RELEASED, /* by a task other than the one that took it */
	KL_LOCK_WRONG_MODE,
	KL_LOCK_KEPT, /* by a task that returned to user space */
	KL_LOCK_LEFT, /* by a task that has exited */
	KL_LOCK_TWICE,
	KL_LOCK_ORDER,
	KL_LOCK_SLEEP_SPIN, /* sleeps while holding a spinlock */
	KL_LOCK_SLEEP_IRQ, /* sleeps with interrupts disabled, or in an interrupt */
	KL_LOCK_IN_IRQ, /* taken in interrupts, and elsewhere with these enabled */
	KL_LOCK_INIT_HELD,
	KL_LOCK_LONG,
	KL_LOCK_FAULT_KINDS
};

/**
 * struct kl_lock_place - where something happened to a lock
 * @call: "FUNCTION+0xOFFSET:CALLED"; NULL: nowhere
 * @stack: id of the stack trace
 * @tid: thread
 * @comm: its command name
 * @ns: wall time
 * @context: 0 in a task, 1 in a softirq, 2 in an interrupt, 3 in an NMI
 */
struct kl_lock_place {
	const char *call;
	uint32_t stack;
	int32_t tid;
	const char *comm;
	uint64_t ns;
	unsigned int context;
};

/**
 * struct kl_lock_step - KL_LOCK_ORDER: a lock that was taken while another was held
 * @held: address of the one that was held
 * @taken: address of the other one
 * @hold: where the first was taken
 * @take: where the second was
 */
struct kl_lock_step {
	uint64_t held;
	uint64_t taken;
	struct kl_lock_place hold;
	struct kl_lock_place take;
};

/**
 * struct kl_lock_fault - something that is wrong
 * @kind: what
 * @lock: address of the lock
 * @other: address of the other lock, if there is one: the spinlock of KL_LOCK_SLEEP_SPIN
 * @here: where it was noticed; of a lock that is kept, where it was taken
 * @there: where the lock was taken before, or what else contradicts it; its `call` may be NULL
 * @step: KL_LOCK_ORDER: the locks, in a circle
 * @steps: number of them
 * @times: how often, at the same places
 * @held_ns: KL_LOCK_LONG: the longest time
 * @certain: false: the lock may have been released where this is not recorded
 */
struct kl_lock_fault {
	enum kl_lock_fault_kind kind;
	uint64_t lock;
	uint64_t other;
	struct kl_lock_place here;
	struct kl_lock_place there;
	struct kl_lock_step *step;
	size_t steps;
	uint64_t times;
	uint64_t held_ns;
	bool certain;
};

/**
 * struct kl_lock_times - how a lock was used
 * @lock: its address
 * @type: its type
 * @taken: how often it was taken
 * @failed: attempts that ended without it
 * @waited_ns: time in the functions that take it
 * @worst_wait_ns: the longest
 * @releases: holds that have ended
 * @held_ns: their time
 * @worst_held_ns: the longest
 */
struct kl_lock_times {
	uint64_t lock;
	enum kl_lock_type type;
	uint64_t taken;
	uint64_t failed;
	uint64_t waited_ns;
	uint64_t worst_wait_ns;
	uint64_t releases;
	uint64_t held_ns;
	uint64_t worst_held_ns;
};

/**
 * kl_lock_use_specs - the events to record
 * @buffer: the text for -e is appended
 * @module: module whose calls are recorded
 */
void kl_lock_use_specs(struct kl_buffer *buffer, const char *module);

/**
 * struct kl_lock_layout - how a kernel has locks in memory
 * @owner_at: offset of an rtmutex's owner, in bytes
 * @realtime: as with PREEMPT_RT, where all locks but raw spinlocks contain an rtmutex
 */
struct kl_lock_layout {
	uint32_t owner_at;
	bool realtime;
};

/**
 * kl_lock_layout_of - how a kernel has locks in memory
 * @btf: its types; NULL: as without lock debugging
 * @version: its version, as uname -v prints it
 */
struct kl_lock_layout kl_lock_layout_of(const struct kl_btf *btf, const char *version);

/**
 * kl_lock_use_fields - expressions that the events must have as fields
 * @buffer: the text for -v is appended
 * @layout: of the kernel that is recorded
 */
void kl_lock_use_fields(struct kl_buffer *buffer, const struct kl_lock_layout *layout);

/**
 * kl_lock_use_is_in - does a trace have events of calls that take or release locks?
 * @schema: of the trace
 */
bool kl_lock_use_is_in(const struct kl_schema *schema);

/**
 * kl_lock_use_create - start
 * @schema: of the trace; must outlive the result
 * @layout: of the kernel that was recorded; `owner_at` is only used to read its memory
 * @limit_ns: report locks that are held longer; 0: none
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_lock_use *kl_lock_use_create(const struct kl_schema *schema,
				       const struct kl_lock_layout *layout, uint64_t limit_ns);

/**
 * kl_lock_use_destroy - free
 * @use: or NULL
 */
void kl_lock_use_destroy(struct kl_lock_use *use);

/**
 * kl_lock_use_add - add an event
 * @use: use
 * @event: the next one of the trace
 *
 * Returns 0 or -ENOMEM.
 */
int kl_lock_use_add(struct kl_lock_use *use, const struct kl_event *event);

/**
 * kl_lock_use_add_loss - note that records are missing here
 * @use: use
 *
 * Nothing is known of which locks are held.
 */
void kl_lock_use_add_loss(struct kl_lock_use *use);

/* Reads eight bytes of the kernel's memory as they are now; false: not possible. */
typedef bool (*kl_lock_word_fn)(void *context, uint64_t address, uint64_t *word);

/**
 * kl_lock_use_finish - check the locks that are still held
 * @use: use
 * @read: tells whether they really are; NULL: this is unknown
 * @context: passed to it
 *
 * Returns 0 or -ENOMEM.
 */
int kl_lock_use_finish(struct kl_lock_use *use, kl_lock_word_fn read, void *context);

/**
 * kl_lock_use_fault - a fault
 * @use: use
 * @index: from 0 on
 *
 * Returns NULL if there are no more. Valid until the next event is added.
 */
const struct kl_lock_fault *kl_lock_use_fault(const struct kl_lock_use *use, size_t index);

/**
 * kl_lock_use_is_full - were there more orders of locks than can be kept?
 * @use: use
 */
bool kl_lock_use_is_full(const struct kl_lock_use *use);

/**
 * kl_lock_use_times - how the locks were used, those with the longest time first
 * @use: use
 * @n: out: number of them
 *
 * Returns an array to be freed with free(); NULL with errno ENOMEM, or without locks.
 */
struct kl_lock_times *kl_lock_use_times(const struct kl_lock_use *use, size_t *n);

/**
 * kl_lock_fault_name - a kind of fault in one word
 * @kind: kind
 */
const char *kl_lock_fault_name(enum kl_lock_fault_kind kind);

/**
 * kl_lock_fault_text - a kind of fault in a sentence
 * @kind: kind
 */
const char *kl_lock_fault_text(enum kl_lock_fault_kind kind);

#endif /* KERNLENS_LOCK_USE_H */
