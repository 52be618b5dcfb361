/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: one user's tracing. The members that probes read when an event is hit come first;
 * `lock` protects most of the others. Fed by kernel/source (probes) and kernel/device (calls); read
 * by kernel/device (readers).
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
#include "crash.h"
#include "deferred.h"
#include "meter.h"
#include "notify.h"
#include "rights.h"
#include "rule.h"
#include "taskset.h"
#include "variable.h"
#include "waiters.h"

struct kl_budget;
struct kl_latency;
struct kl_splice_set;

/* The conditions under which a session records an event; 0 allows everything. */
#define KL_GATE_OWN 0x1u /* only events of tasks that the owner may see */
#define KL_GATE_TASKS 0x2u /* only events of tasks in the set */
#define KL_GATE_UID 0x4u /* only events of one user's tasks */
#define KL_GATE_CGROUP 0x8u /* only events of tasks in one cgroup, or below it */

/*
 * What a session does with each event: enum kl_handler_id by event id, and what to check first. So
 * one comparison detects the common case: log the event, no checks. A byte is 0 if nothing is done,
 * whatever there would be to check.
 */
#define KL_ACTION_ASK 0x80 /* check the gate and what may be shown, or copy strings */
#define KL_ACTION_TASKS 0x40 /* only check whether the running task is in the set */
#define KL_ACTION_HANDLER 0x3f

struct kl_actions {
	u32 maskset;
	u32 n; /* KL_EV_MAX, plus one for each event that the session has defined */
	u32 memory; /* strace_memory or strace_list is handled */
	u8 action[];
};

/* What the handler `count` has counted on a CPU, by event. @next links counters to be freed. */
struct kl_counts {
	struct kl_counts *next;
	u32 n;
	u64 of[];
};

/*
 * Values of kl_cpu.state other than ids; no task has such ids. docs/design/session.md has the
 * transitions.
 */
#define KL_STATE_KNOWN (~0ull) /* readers know `task`, but each record needs checks */
#define KL_STATE_UNKNOWN (~0ull - 1) /* the next record carries all variables */
#define KL_STATE_BUSY (~0ull - 2) /* a writer is updating `task` */
#define KL_STATE_SPOILT (~0ull - 3) /* as BUSY, and another record interrupted the writer */
#define KL_STATE_VALUES (~0ull - 4) /* as KNOWN, on the fast path of a session with variables */
#define KL_STATE_IS_IDS(state) ((s64)(state) >= 0)

/**
 * struct kl_cpu - a session's state on one CPU
 * @task: the task as in the newest record that carried it
 * @state: whether @task is valid: its ids (pid, tgid), or one of KL_STATE_*
 * @base: the block being filled, while @state is ids or KL_STATE_VALUES
 * @ring: the ring buffer
 * @known: what readers know of the session's variables; NULL if it has none
 * @prefix: bytes of a record before the variables
 * @changing: some variable differed in the newest record; a hint
 * @rest: some variables are more than one pointer away from the task, or read by a function
 * @not_plain: @changing and @rest in one word
 * @flags: per-CPU flags of the handlers `set` and `clear`
 * @flag_time: when each of @flags was set, if a program uses it
 * @counts: what the handler `count` has counted; NULL until a rule uses it
 * @session: the session
 * @wake: wakes readers, from a context where that is allowed
 * @blocks: all blocks by index, for readers; protected by its own lock
 * @next_index: index of the next block to be added
 * @given: number of blocks that the ring has or is about to get
 * @was_online: the CPU has been online, so the ring needs blocks
 * @meter: CPU time that the session's probes take here
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

/* Not a thread id; idle tasks have 0. */
#define KL_NOBODY (-1)

/* Limits that a session sets for its stack traces; 0: default. */
struct kl_stack_limits {
	u32 traces;
	u32 kernel_frames;
	u32 user_frames;
};

/**
 * struct kl_session - one user's tracing
 *
 * Read by probes (RCU: preemption is off in them):
 * @actions: what to do, by event; replaced as a whole
 * @cpu: per-CPU state
 * @gate: KL_GATE_*; constant while running
 * @see_addresses: kernel addresses may be shown to the owner
 * @sealed: its creator was not dumpable; constant
 * @untraceable: a task was added that its owner, without privilege, may read but not trace
 * @uid: for KL_GATE_UID
 * @cgroup: for KL_GATE_CGROUP: its id
 * @cgroup_depth: for KL_GATE_CGROUP: its depth, at most KL_CGROUP_DEPTH_MAX
 * @gate_uid: all tasks that the gate allows run as this user, unless the gate is KL_GATE_TASKS
 *            or KL_GATE_CGROUP alone; constant while running
 * @watched: tasks of which a profile must see the next event even if the gate no longer allows it;
 *           NULL without a profile; constant while running
 * @tasks: for KL_GATE_TASKS
 * @heirs: for KL_GATE_TASKS: tasks whose children enter both sets
 * @awaited: for KL_GATE_TASKS: thread id of a task that enters the sets when it executes
 *           a program, or KL_NOBODY
 * @unread: tasks in a system call of which a string or memory could not be read yet; allocated once
 *          syscall_late_string, strace_memory or strace_list has been requested
 * @owner: credentials of the opener, for KL_GATE_OWN
 * @payer: charged for everything that the session uses
 * @memcg: the creator's memory cgroup, which is also charged for the session's memory
 * @defs: programs, rules and flags, which exist until the session ends
 * @deferred: requests of handlers, which a worker carries out
 * @notify: alarms and snapshot requests
 * @variables: what records carry besides the task, or NULL; constant once started
 * @stacks: its stack traces; NULL until something requests them
 * @counters: perf counters that it uses; NULL until something requests one
 * @latency: its latency profile, or NULL; constant once started
 * @on_admit: called when the awaited task has entered the sets, or NULL; constant once started
 * @meter: measures the CPU time of its probes
 * @single: slot for reading variables outside of a record
 *
 * Under @lock:
 * @running: probes are attached
 * @replaced: the previous actions, which a probe may still use until @replaced_at has passed; or
 *            NULL
 * @replaced_at: an RCU grace period
 * @idle: actions that do nothing; replace @actions while probes are attached and detached
 * @ended: time after which no event is recorded, in cycles; 0: not ended
 * @awaited_is_heir: tasks that @awaited creates enter the sets, too; under tids_lock of gate.c
 * @in_gate: it is in the list of gate.c, so its tasks pass the common gate
 * @following: forks update its sets of tasks
 * @frozen: a freeze request has stopped the recording
 * @closed: the creator has closed it; it cannot be started again
 * @uses_switch: the last context switch of each CPU is kept for it
 * @attached: events with a probe, by id
 * @syscalls_attached: probes of the entries, and of the exits, of system calls are attached
 * @budget: its share of its user's budget while it runs, or NULL
 * @masksets: masksets that the user has defined, by id
 * @defined: events that the session has defined; NULL: none
 * @reader_count: number of open readers
 * @stack_limits: limits with which @stacks is allocated
 * @splices: its splices of the kernel's text, or NULL; under kl_splice_lock
 * @mode, @block_bytes, @blocks, @blocks_max: as in struct kl_abi_session
 *
 * Other:
 * @size_lock: held while blocks are added and removed, which can wait long for memory; outside
 *             @blocks_lock
 * @fill: adds blocks for CPUs that have come online
 * @blocks_lock: held for reading while a block is read, for writing while blocks are added or freed
 * @crash: pages that lead to all of it after a crash
 * @reserved: these, and all that they lead to, are in the reserved memory (reserved.h)
 * @retired: blocks that were removed while they were mapped; under @blocks_lock
 * @list: entry in the list of all sessions, under that list's lock
 * @gated: entry in gate.c's list of running sessions with a gate
 * @waiters: readers that wait for blocks
 * @ref: references of descriptors and mappings
 * @release: frees the session
 */
struct kl_session {
	struct kl_actions __rcu *actions;
	struct kl_cpu __percpu *cpu;
	u32 gate;
	bool see_addresses;
	bool sealed;
	bool untraceable;
	kuid_t uid;
	kuid_t gate_uid;
	u64 cgroup;
	u32 cgroup_depth;
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
	bool uses_switch;
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

	struct mutex size_lock; /* serializes changes of the buffers' size */
	struct work_struct fill;
	struct rw_semaphore blocks_lock;
	struct kl_crash crash;
	bool reserved;
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

/**
 * struct kl_buffer_page - a page for a reader's mapping
 * @page: with a reference; NULL if it is reserved memory, which may have no struct page
 * @pfn: otherwise, its number; it stays as long as the session
 */
struct kl_buffer_page {
	struct page *page;
	unsigned long pfn;
};

/* buffer.c: the memory of a session's rings */
int kl_buffer_create(struct kl_session *s, struct kl_error *why);
void kl_buffer_destroy(struct kl_session *s);
int kl_buffer_fill(struct kl_session *s, struct kl_error *why);
int kl_buffer_resize(struct kl_session *s, u32 blocks, struct kl_error *why);
void kl_buffer_finish(struct kl_session *s, u64 time);
/* Number of records that a CPU has written, in full blocks and in the one being filled. */
static inline u64 kl_ring_written(const struct kl_abi_ring *ring)
{
	return READ_ONCE(ring->records) + KL_POS_COUNT(READ_ONCE(ring->position));
}

u64 kl_buffer_written(const struct kl_session *s);
u64 kl_buffer_lost(const struct kl_session *s);
bool kl_buffer_page(struct kl_session *s, u32 cpu, u32 index, unsigned long offset,
		    struct kl_buffer_page *to);
bool kl_buffer_ring_page(struct kl_session *s, u32 cpu, unsigned long offset,
			 struct kl_buffer_page *to);

/*
 * As get_cred(), which always stores the same value to a member of shared credentials, with a plain
 * store.
 */
static inline const struct cred *kl_cred_get(const struct cred *cred)
{
	return data_race(get_cred(cred));
}

/* access.c */
u32 kl_access_of_opener(const struct cred *cred);
bool kl_access_may_see(const struct cred *owner, struct task_struct *t);
bool kl_access_may_read_now(const struct cred *opener, struct task_struct *t);
bool kl_access_may_trace_now(const struct cred *opener, struct task_struct *t);
bool kl_access_sees(const struct cred *cred, u32 may, struct task_struct *t);
bool kl_access_may_read(const struct kl_session *s, const struct cred *cred, u32 may);
bool kl_access_may_change(const struct kl_session *s, const struct cred *cred, u32 may);
bool kl_access_is_sealed(void);
bool kl_access_shows_current(const struct kl_session *s);
bool kl_access_reads_memory(const struct kl_session *s);

#endif /* KL_CORE_SESSION_H */
