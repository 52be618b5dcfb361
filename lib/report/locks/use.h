/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of locks, and of those who hold them: use.c decodes the events, track.c follows them,
 * faults.c collects what is wrong.
 */
#ifndef KL_LIB_REPORT_LOCK_USE_H
#define KL_LIB_REPORT_LOCK_USE_H

#include <kernlens/lock_use.h>
#include "../../base/base.h"
#include "../../base/table.h"
#include "../../base/texts.h"
#include "calls.h"

/* More locks than a task can hold, as the kernel's own lock checker counts. */
#define KL_HELD_MAX 48
/* Bounds of what is kept. */
#define KL_LOCK_EDGES_MAX 1000000
#define KL_LOCK_FAULTS_MAX 1000

/**
 * struct kl_held - a lock that is held
 * @lock: its address
 * @call: how it was taken
 * @place: where
 * @exited: its task has
 */
struct kl_held {
	uint64_t lock;
	const struct kl_lock_call *call;
	struct kl_lock_place place;
	bool exited;
};

/**
 * struct kl_lock_event - an event of a call, decoded
 * @is_return: of its return
 * @returns: there is another event for the return
 * @lock: its address
 * @result: register rax
 * @flags: register rflags
 * @word: first word of the lock
 * @owner: the one where an rtmutex has its owner
 * @has_words: both are known
 */
struct kl_lock_event {
	const struct kl_lock_call *call;
	bool is_return, returns;
	uint64_t lock, result, flags, word, owner;
	bool has_words;
	struct kl_lock_place place;
	uint32_t preempt_count;
};

/**
 * struct kl_lock_context - a task, or one kind of interrupt on a CPU
 * @held: locks that it holds, in the order in which it took them
 * @call: a call that takes a lock and has not returned; NULL: none
 * @next: in the list of those whose task has exited
 */
struct kl_lock_context {
	struct kl_held held[KL_HELD_MAX];
	unsigned int n;
	const struct kl_lock_call *call;
	uint64_t lock;
	struct kl_lock_place place;
	struct kl_lock_context *next;
};

/* How a lock was used that can deadlock with interrupts. Index: for reading, for writing */
struct kl_lock_irq_use {
	struct kl_lock_place in[2];
	struct kl_lock_place enabled[2]; /* taken while these interrupts are enabled */
};

/* Indexes of edges. */
struct kl_lock_edges {
	uint32_t *edge;
	size_t n, room;
};

/**
 * struct kl_lock - a lock
 * @last: the context that took it last; NULL: unknown
 * @broken: it was released once too often, so its contents say nothing
 * @irq: index 0 softirqs, 1 interrupts
 * @out: edges to locks that were taken while it was held
 * @in: edges from locks that were held while it was taken
 * @seen: number of the search that has come here
 */
struct kl_lock {
	struct kl_lock_times times;
	struct kl_lock_context *last;
	bool broken;
	struct kl_lock_irq_use irq[2];
	struct kl_lock_edges out;
	struct kl_lock_edges in;
	uint32_t seen;
	uint32_t from_edge;
};

struct kl_lock_use {
	const struct kl_schema *schema;
	struct kl_lock_layout layout;
	uint64_t limit_ns;
	int kstack, in_irq, preempt_count; /* variables */
	const struct kl_class *sys_exit, *exit;
	struct kl_hash classes; /* struct call_class */
	struct kl_hash contexts; /* key and pointer */
	struct kl_lock_context *spare; /* of tasks that have exited; they hold nothing */
	struct kl_hash locks; /* key and pointer */
	struct kl_hash edge_of; /* key and index + 1 */
	struct kl_hash fault_of; /* key and index + 1 */
	struct kl_lock_step *edge;
	size_t n_edges, edges_room;
	struct kl_lock_edges unused; /* of these, the ones that can be used again */
	bool full; /* an edge could not be noted */
	struct kl_lock_fault *fault;
	size_t n_faults, faults_room;
	struct kl_held *kept; /* by tasks that have returned to user space, or exited */
	size_t n_kept, kept_room;
	uint32_t searches;
	struct kl_texts texts;
};

/* A fault without steps, or one more like it. Returns 0 or -ENOMEM. */
int kl_lock_add_fault(struct kl_lock_use *use, const struct kl_lock_fault *fault);

/* The lock of an address; NULL: -ENOMEM. */
struct kl_lock *kl_lock_get(struct kl_lock_use *use, uint64_t address);

/*
 * A context is about to wait for a lock while it holds another: note their order, and report it if
 * it closes a circle. Returns 0 or -ENOMEM.
 */
int kl_lock_note_order(struct kl_lock_use *use, const struct kl_held *held, uint64_t lock,
		       const struct kl_lock_place *place);

/*
 * The lock is another one from now on: forget its order, and its use in interrupts. Returns 0 or
 * -ENOMEM.
 */
int kl_lock_forget(struct kl_lock_use *use, struct kl_lock *lock);

/* track.c: each follows a call; they return 0 or -ENOMEM. */
int kl_lock_take(struct kl_lock_use *use, struct kl_lock_context *context,
		 const struct kl_lock_event *e);
int kl_lock_returned(struct kl_lock_use *use, struct kl_lock_context *context,
		     const struct kl_lock_event *e);
int kl_lock_release(struct kl_lock_use *use, struct kl_lock_context *context,
		    const struct kl_lock_event *e);
int kl_lock_downgrade(struct kl_lock_context *context, const struct kl_lock_event *e);
int kl_lock_initialize(struct kl_lock_use *use, const struct kl_lock_event *e);
int kl_lock_check_sleep(struct kl_lock_use *use, const struct kl_lock_context *context,
			const struct kl_lock_event *e);
/* The context goes on, and what it waited for was not recorded. */
int kl_lock_settle(struct kl_lock_use *use, struct kl_lock_context *context);

#endif /* KL_LIB_REPORT_LOCK_USE_H */
