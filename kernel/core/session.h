/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: one user's tracing. What a probe reads when an event fires comes
 * first; the rest belongs to `lock`. Fed by kernel/source (probes) and
 * kernel/device (calls); read by kernel/device (readers).
 */
#ifndef KL_CORE_SESSION_H
#define KL_CORE_SESSION_H

#include <linux/cred.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rwsem.h>
#include <linux/xarray.h>

#include "../base/error.h"
#include "../ring/ring.h"
#include "account.h"
#include "deferred.h"
#include "notify.h"
#include "rights.h"
#include "rule.h"
#include "taskset.h"
#include "variable.h"
#include "waiters.h"
#include "meter.h"

struct kl_budget;
struct kl_latency;
struct kl_splice_set;

/* Why an event may not be for this session; 0 lets everything through. */
#define KL_GATE_OWN 0x1u /* only tasks that the owner may see */
#define KL_GATE_TASKS 0x2u /* only tasks in the set */
#define KL_GATE_UID 0x4u /* only tasks of one user */

/*
 * What a session does with each event: enum kl_handler_id by event id, and what
 * is to be asked first. So one comparison finds the usual case: log it. A byte
 * is 0 if nothing is done, whatever there would be to ask.
 */
#define KL_ACTION_ASK 0x80 /* the gate, what may be shown, strings: not usual */
#define KL_ACTION_TASKS 0x40 /* only whether the running task is in the set */
#define KL_ACTION_HANDLER 0x3f

struct kl_actions {
	u32 maskset;
	u32 n; /* KL_EV_MAX, and an action for each event that the session has defined */
	u8 action[];
};

/* What the handler `count` has counted on a CPU, by event. @next: of those to be freed. */
struct kl_counts {
	struct kl_counts *next;
	u32 n;
	u64 of[];
};

/*
 * Instead of ids in kl_cpu.state; no task has such ids. docs/design/session.md
 * has the moves between them.
 */
#define KL_STATE_KNOWN (~0ull) /* readers know `task`; to be asked each time */
#define KL_STATE_UNKNOWN (~0ull - 1) /* the next record carries all variables */
#define KL_STATE_BUSY (~0ull - 2) /* a writer is at work on it */
#define KL_STATE_SPOILT (~0ull - 3) /* and was interrupted by another record */
#define KL_STATE_VALUES (~0ull - 4) /* as KNOWN, but usual: a session with more variables */
#define KL_STATE_IS_IDS(state) ((s64)(state) >= 0)

/**
 * struct kl_cpu - a session's state on one CPU
 * @task: variables as in the newest record that carried them
 * @state: may @task be relied on: its ids (pid, tgid), or one of KL_STATE_*
 * @base: the block being filled, while @state is ids
 * @ring: the buffer
 * @known: of the session's further variables; NULL if it has none
 * @prefix: bytes of a record before the variables
 * @changing: some variable was another in the newest record; a hint
 * @rest: some are more than one pointer away from the task
 * @not_plain: @changing or @rest
 * @flags: of the handlers `set` and `clear`, those that belong to a CPU
 * @flag_time: since when each of these is set, where some program asks
 * @counts: of the handler `count`; NULL until one is used
 * @session: whose this is
 * @wake: wakes readers, from a context where that is allowed
 * @blocks: all blocks by index, for readers; locked by its own lock
 * @next_index: for the next block to be added
 * @given: blocks that the ring has or will have
 * @was_online: the CPU has been online, so the ring is to have blocks
 * @meter: what its probes take here
 */
struct kl_cpu {
	struct kl_abi_task task __aligned(8);
	u64 state;
	u8 *base;
	struct kl_ring ring;
	struct kl_known *known;
	u32 prefix;
	union {
		struct {
			bool changing;
			bool rest;
		};
		u16 not_plain;
	};
	u64 flags;
	u64 flag_time[KL_FLAGS_MAX / 2];
	struct kl_counts __rcu *counts;
	struct kl_session *session;
	struct irq_work wake;
	struct xarray blocks;
	u32 next_index;
	u32 given;
	bool was_online;
	struct kl_meter_cpu meter;
};

/* No thread id: 0 is that of idle tasks. */
#define KL_NOBODY (-1)

/* What a session wants of its call traces; 0: default. */
struct kl_stack_limits {
	u32 traces;
	u32 kernel_frames;
	u32 user_frames;
};

/**
 * struct kl_session - one user's tracing
 *
 * Read by probes (RCU: preemption is off in them):
 * @actions: what happens, by event; replaced whole
 * @cpu: per-CPU state
 * @gate: KL_GATE_*; constant while running
 * @see_addresses: kernel addresses may be shown to the owner
 * @sealed: its creator was not dumpable; constant
 * @uid: for KL_GATE_UID
 * @gate_uid: all that its gate lets in runs as this user, unless it is KL_GATE_TASKS
 *            alone; constant while running
 * @watched: tasks that a profile has to see once more though the gate may let them in
 *           no longer; NULL without a profile; constant while running
 * @tasks: for KL_GATE_TASKS
 * @heirs: for KL_GATE_TASKS: whose new tasks will be in both sets, too
 * @awaited: for KL_GATE_TASKS: thread id of a task that enters the sets when it executes
 *           a program, or KL_NOBODY
 * @unread: tasks in a system call a string of which could not be read yet; there
 *          if the event syscall_late_string ever was wanted
 * @owner: credentials of the opener, for KL_GATE_OWN
 * @payer: charged for all that the session has
 * @memcg: the creator's, charged for its memory, too
 * @defs: programs, rules and flags, which stay until the session ends
 * @deferred: what handlers have requested
 * @notify: alarms and snapshot requests
 * @variables: what records carry beside the task, or NULL; constant once started
 * @stacks: its call traces; NULL until something asks for them
 * @counters: those that it wants counted; NULL until something asks for one
 * @latency: its latency profile, or NULL; constant once started
 * @on_admit: called when the task that it awaits has entered the sets, or NULL; constant once
 *            started
 * @meter: measures it
 * @single: with which variables are read that belong to no record
 *
 * Under @lock:
 * @running: probes are attached
 * @replaced: the actions before these, which a probe may still have until @replaced_at has
 *            passed; or NULL
 * @replaced_at: an RCU grace period
 * @idle: does nothing; stands in for @actions while probes are attached and detached
 * @ended: when the last event could be recorded, in cycles; 0: it still can
 * @awaited_is_heir: the tasks that @awaited creates will be in the sets, too; under the
 *                   gate's lock of thread ids
 * @in_gate: its tasks are known to be wanted
 * @following: its sets of tasks follow forks
 * @frozen: a handler has stopped the recording
 * @closed: the creator is gone; nothing can be started again
 * @attached: events with a probe, by id
 * @syscalls_attached: the probes of all system calls' entries, and exits
 * @budget: what it has claimed of its user's, while it runs, or NULL
 * @masksets: user's own, by id
 * @defined: events that the session has defined; NULL: none
 * @reader_count: of open readers
 * @stack_limits: for @stacks, when it is made
 * @splices: of the kernel's text, or NULL; under kl_splice_lock
 * @mode, @block_bytes, @blocks, @blocks_max: as in struct kl_abi_session
 *
 * Other:
 * @size_lock: held while blocks are added and given back, for as long as memory takes; outside
 *             @blocks_lock
 * @fill: gives CPUs that have come online their blocks
 * @blocks_lock: held for reading while a block is looked at, for writing while
 *               blocks are freed
 * @retired: blocks that were taken away while they were mapped; under @blocks_lock
 * @list: in the list of all sessions, under its lock
 * @gated: in the list of sessions with a gate that run, of gate.c
 * @waiters: readers
 * @ref: descriptors and mappings that use the session
 * @release: frees it
 */
struct kl_session {
	struct kl_actions __rcu *actions;
	struct kl_cpu __percpu *cpu;
	u32 gate;
	bool see_addresses;
	bool sealed;
	kuid_t uid;
	kuid_t gate_uid;
	struct kl_taskset *watched;
	struct kl_taskset *tasks;
	struct kl_taskset *heirs;
	pid_t awaited;
	struct kl_taskset *unread;
	const struct cred *owner;
	struct kl_payer payer;
	struct mem_cgroup *memcg;
	struct kl_session_defs defs;
	struct kl_deferred deferred;
	struct kl_notify notify;
	struct kl_variables *variables;
	struct kl_stacks *stacks;
	struct kl_session_counters *counters;
	struct kl_latency *latency;
	void (*on_admit)(struct kl_session *s, struct task_struct *task);
	struct kl_meter meter;
	struct kl_variable_slot single;

	struct mutex lock ____cacheline_aligned;
	struct kl_actions *replaced;
	unsigned long replaced_at;
	struct kl_actions *idle;
	u64 ended;
	bool running;
	bool awaited_is_heir;
	bool in_gate;
	bool following;
	bool frozen;
	bool closed;
	bool syscalls_attached[2];
	DECLARE_BITMAP(attached, KL_EV_MAX);
	struct kl_budget *budget;
	struct xarray masksets;
	struct kl_dynevent_table *defined;
	struct kl_splice_set *splices;
	u32 reader_count;
	struct kl_stack_limits stack_limits;
	u32 mode;
	u32 block_bytes;
	u32 blocks;
	u32 blocks_max;

	struct mutex size_lock; /* around changes of the buffers' size */
	struct work_struct fill;
	struct rw_semaphore blocks_lock;
	struct kl_ring_block *retired;
	struct list_head list;
	struct list_head gated;
	struct kl_waiters waiters;
	struct kref ref;
	void (*release)(struct kref *ref);
	u32 id;
	u32 may;
	pid_t creator;
	u8 uuid[16];
	char name[KL_NAME_MAX];
};

void kl_session_get(struct kl_session *s);
void kl_session_put(struct kl_session *s);

static inline enum kl_meter_kind kl_meter_kind(const struct kl_session *s)
{
	return s->may & KL_MAY_SEE_ALL ? KL_METER_PRIVILEGED : KL_METER_UNPRIVILEGED;
}

/* buffer.c: the memory of a session's rings */
int kl_buffer_create(struct kl_session *s, struct kl_error *why);
void kl_buffer_destroy(struct kl_session *s);
int kl_buffer_fill(struct kl_session *s, struct kl_error *why);
int kl_buffer_resize(struct kl_session *s, u32 blocks, struct kl_error *why);
void kl_buffer_finish(struct kl_session *s, u64 time);
/* Records that a CPU has written: of blocks that are full, and of the one being filled. */
static inline u64 kl_ring_written(const struct kl_abi_ring *ring)
{
	return READ_ONCE(ring->records) + KL_POS_COUNT(READ_ONCE(ring->position));
}

u64 kl_buffer_written(const struct kl_session *s);
u64 kl_buffer_lost(const struct kl_session *s);
struct page *kl_buffer_page(struct kl_session *s, u32 cpu, u32 index, unsigned long offset);
struct page *kl_buffer_ring_page(struct kl_session *s, u32 cpu, unsigned long offset);

/* As get_cred, which writes the same value to a member of shared credentials, without a mark. */
static inline const struct cred *kl_cred_get(const struct cred *cred)
{
	return data_race(get_cred(cred));
}

/* access.c */
u32 kl_access_of_opener(const struct cred *cred);
bool kl_access_may_see(const struct cred *owner, struct task_struct *t);
bool kl_access_may_read_now(const struct cred *opener, struct task_struct *t);
bool kl_access_sees(const struct cred *cred, u32 may, struct task_struct *t);
bool kl_access_may_read(const struct kl_session *s, const struct cred *cred, u32 may);
bool kl_access_may_change(const struct kl_session *s, const struct cred *cred, u32 may);
bool kl_access_is_sealed(void);
bool kl_access_shows_current(const struct kl_session *s);

#endif /* KL_CORE_SESSION_H */
