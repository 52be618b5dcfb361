/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The contract between the kernlens module and user space: device calls, shared pages, and the
 * layout of a block. Both sides include this file and the tables next to it, and share nothing
 * else.
 *
 * Compatibility rules
 *   - A struct passed to the device starts with `size`, the caller's sizeof. A newer kernel treats
 *     the missing tail of an older caller's struct as zero. An older kernel accepts a longer struct
 *     if the tail that it does not know is zero, and otherwise returns -E2BIG. New members go at
 *     the end.
 *   - Reserved members must be zero; otherwise the call returns -EINVAL.
 *   - KL_ABI_VERSION changes when a call or struct changes its meaning. The schema hash is computed
 *     from the text of the .def tables when either side is built, so that it changes with every
 *     edit, also of a comment. The library checks both when it opens the device.
 *   - Ids (events, handlers, variables, masksets, errors) are append-only.
 *
 * All numbers are little endian, as on the CPU that the module runs on (x86-64).
 */
#ifndef KL_UAPI_KERNLENS_H
#define KL_UAPI_KERNLENS_H

#include "types.h"

#define KL_ABI_VERSION 1
#define KL_DEVICE_PATH "/dev/kernlens"

/*
 * Event ids. Rows of events.def have ids 1..1023. A system call has two events:
 * KL_EV_SYSCALL_ENTRY + number and KL_EV_SYSCALL_EXIT + number.
 */
#define KL_EV_SYSCALL_MAX 512
#define KL_EV_SYSCALL_ENTRY 1024
#define KL_EV_SYSCALL_EXIT (KL_EV_SYSCALL_ENTRY + KL_EV_SYSCALL_MAX)
#define KL_EV_MAX (KL_EV_SYSCALL_EXIT + KL_EV_SYSCALL_MAX)

/* Ids of events that a session has defined (KL_IOC_EVENTS). */
#define KL_EV_DYNAMIC KL_EV_MAX
#define KL_EV_DYNAMIC_MAX 49152 /* per session */
#define KL_EV_IDS (KL_EV_DYNAMIC + KL_EV_DYNAMIC_MAX)

#include "cpus.h"
#include "define.h"
#include "inspect.h"

/*
 * `when` of the events strace_memory and strace_list, which precede the entry or exit that they
 * belong to. LATE: what could not be read at the entry, read at the exit.
 */
enum kl_memory_when {
	KL_MEMORY_AT_ENTRY = 0,
	KL_MEMORY_AT_EXIT = 1,
	KL_MEMORY_LATE = 2,
};

#define KL_MEMORY_PIECES_MAX 40 /* of a call at its entry, and again at its exit */
#define KL_MEMORY_BYTES_MAX 2048 /* in these */
#define KL_MEMORY_LIST_MAX 2048 /* entries of a list that are counted */

enum kl_event_id {
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) KL_EV_##name = id,
#include "events.def"
#undef KL_EVENT
};

/* Predefined masksets, which cannot be written, and the ids of others. */
enum kl_maskset_id {
	KL_MASKSET_RNOTHING = 0,
	KL_MASKSET_RALL = 1,
	KL_MASKSET_RDEFAULT = 2,
	KL_MASKSET_FIRST_USER = 3,
	KL_MASKSET_MAX = 256,
};

/* When writing: the session's maskset of that name, or a free id. */
#define KL_MASKSET_ANY (~0u)

enum kl_handler_id {
#define KL_HANDLER(id, name, help) KL_HANDLER_##name = id,
#include "handlers.def"
#undef KL_HANDLER
};

/* -------------------------------------------------------------- the block */

/*
 * A block is a CTF 1.8 packet. It is written in place and copied unchanged.
 *
 *   0        24                             104                content  end
 *   +--------+-------------------------------+--------+--------+---...---+
 *   | packet | packet context                | record | record | unused  |
 *   | header | (counters, commit word)       |        |        |         |
 *   +--------+-------------------------------+--------+--------+---...---+
 *
 * While a block is being filled, `seq`, `timestamp_begin`, `record_first` and `cpu_id` are valid
 * and `content_bits` is 0. A reader may use the bytes [KL_BLOCK_HEADER_BYTES, committed) if
 * `committed`, loaded first, equals the offset in the ring's position word, loaded second, and
 * the seq bits of that word are those of the block (see struct kl_abi_ring). When the block is
 * complete, `content_bits` / 8 == `committed`.
 *
 * `seq` is the block's sequence number on its CPU, from 0. To reuse a block, the writer sets
 * `seq` to KL_SEQ_NONE before it touches any other byte. So a reader copies the block and then
 * checks that `seq` has not changed.
 */
#define KL_CTF_MAGIC 0xC1FC1FC1u
#define KL_BLOCK_HEADER_BYTES 104
#define KL_SEQ_NONE (~0ull)

struct kl_abi_block {
	/* packet header */
	__u32 magic; /* KL_CTF_MAGIC */
	__u8 uuid[16]; /* of the session, as in the trace's metadata */
	__u32 stream_id; /* 0 */
	/* packet context */
	__u64 timestamp_begin; /* clock cycles, of the first record */
	__u64 timestamp_end; /* clock cycles, of the next block's first record */
	__u64 content_bits; /* header and records; 0 while being filled */
	__u64 packet_bits; /* the block's size */
	__u64 seq; /* packet_seq_num */
	__u64 events_discarded; /* on this CPU since the session's start */
	__u64 record_first; /* records written on this CPU before this block */
	__u64 committed; /* bytes: header and finished records */
	__u32 record_count; /* records in this block; 0 while being filled */
	__u32 cpu_id;
	__u32 session_id;
	__u32 header_bytes; /* KL_BLOCK_HEADER_BYTES */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_block) == KL_BLOCK_HEADER_BYTES, "block header");
KL_ABI_ASSERT(offsetof(struct kl_abi_block, timestamp_begin) == 24, "packet context");
KL_ABI_ASSERT(offsetof(struct kl_abi_block, committed) == 80, "commit word");

/* ------------------------------------------------------------- the record */

/*
 * A record is packed, without alignment:
 *
 *   u64 header    id in bits 0..15, the low 48 bits of the time in 16..63
 *   u8  changed   which variables follow: bit 0: struct kl_abi_task; bits 1..7: the first seven
 *                 of the session's other variables
 *   ...           one bit for each further variable of the session, in KL_CHANGED_BYTES(n) - 1
 *                 bytes
 *   ...           those variables, in that order
 *   ...           the event's fields (struct kl_rec_NAME, or the arguments of a system call in
 *                 order), strings as bytes terminated by a NUL
 *
 * A variable is written only when it differs from the value in the last record of the same
 * session on the same CPU that carried it; the first record of each block carries all variables.
 * The writer starts a new block when KL_TIME_WRAP cycles or more pass between two records, so 48
 * bits of time are enough.
 */
#define KL_RECORD_ID_BITS 16
#define KL_RECORD_TIME_BITS 48
#define KL_TIME_WRAP (1ull << 47)
#define KL_RECORD_PREFIX_BYTES 9
#define KL_CHANGED_TASK 0x01
#define KL_CHANGED_BYTES(variables) ((8 + (variables)) / 8)

struct kl_abi_task {
	__s32 tid;
	__s32 pid; /* thread group id */
	char comm[KL_COMM_LEN];
} __attribute__((packed));

KL_ABI_ASSERT(sizeof(struct kl_abi_task) == 24, "task variables");

/* Maximum total size of a session's variables other than the task. */
#define KL_VARIABLES_BYTES_MAX 512

/* Maximum size of a record: prefix, variables, fields, three long strings. */
#define KL_RECORD_MAX 2048

/* ---------------------------------------------------------- shared memory */

/*
 * mmap offsets on a reader's descriptor. The kernel owns the first and third region, which can
 * only be mapped read-only; the reader owns the second.
 *
 *   KL_MMAP_RING(cpu)         struct kl_abi_ring and its map    kernel -> user
 *   KL_MMAP_POSITION          a __u64 for each CPU              user -> kernel
 *   KL_MMAP_BLOCK(cpu, index, block_bytes)   one block          kernel -> user
 *
 * A reader's position in a CPU's ring is the sequence number of the first block that it still
 * needs. In discard mode, a reader that was created with KL_READER_HOLD keeps that block and those
 * after it from being reused.
 *
 * Mapping a block that the writer has freed since its index was read fails with -ENXIO. read()
 * returns as many complete blocks as fit into the buffer. It waits for one while the session
 * runs, and returns 0 when the session is not running and everything has been read.
 */
#define KL_MMAP_REGION_SHIFT 60
#define KL_MMAP_CPU_SHIFT 44
#define KL_MMAP_RING(cpu) ((1ull << KL_MMAP_REGION_SHIFT) | ((__u64)(cpu) << KL_MMAP_CPU_SHIFT))
#define KL_MMAP_POSITION (2ull << KL_MMAP_REGION_SHIFT)
#define KL_MMAP_BLOCK(cpu, index, block_bytes)                                  \
	((3ull << KL_MMAP_REGION_SHIFT) | ((__u64)(cpu) << KL_MMAP_CPU_SHIFT) | \
	 ((__u64)(index) * (block_bytes)))

/*
 * mmap offset on the device: a page that can only be mapped PROT_NONE and MAP_SHARED. It pins the
 * module for as long as it is mapped.
 */
#define KL_MMAP_KEEP (4ull << KL_MMAP_REGION_SHIFT)

/*
 * The position word of a ring: where the next record goes. It is a single word, so that one
 * compare-and-exchange reserves space, counts the record, and can only succeed in the block that
 * it was computed for.
 *
 *   63            41 40                  21 20                   0
 *   +---------------+----------------------+---------------------+
 *   | seq, low bits | records in the block | offset in the block |
 *   +---------------+----------------------+---------------------+
 */
#define KL_POS_OFFSET_BITS 21
#define KL_POS_COUNT_BITS 20
#define KL_POS_COUNT_SHIFT KL_POS_OFFSET_BITS
#define KL_POS_SEQ_SHIFT (KL_POS_OFFSET_BITS + KL_POS_COUNT_BITS)
#define KL_POS_OFFSET(pos) ((pos) & ((1ull << KL_POS_OFFSET_BITS) - 1))
#define KL_POS_COUNT(pos) (((pos) >> KL_POS_COUNT_SHIFT) & ((1ull << KL_POS_COUNT_BITS) - 1))
#define KL_POS_SEQ(pos) ((pos) >> KL_POS_SEQ_SHIFT)

#define KL_BLOCK_BYTES_MIN 4096u
#define KL_BLOCK_BYTES_MAX (1u << 20)
#define KL_BLOCK_BYTES_DEFAULT 65536u
#define KL_BLOCKS_MIN 4u /* per CPU: one being filled, one prepared, two to read */
#define KL_BLOCKS_MAX 8192u

/*
 * What the writer of one CPU publishes to readers. `tail` and `head` are complete sequence
 * numbers: blocks tail..head-1 are complete or about to be, block `head` is being filled. map[seq
 * % map_size] is the index of the block that holds seq, valid for tail <= seq <= head; readers
 * verify it with the block's seq.
 */
struct kl_abi_ring {
	__u64 position; /* KL_POS_*; written by the CPU's own records */
	__u64 head; /* sequence number of the block being filled */
	__u64 tail; /* oldest block that still exists */
	__u64 lost; /* records that were dropped */
	__u64 records; /* records written in blocks before `head` */
	__u64 switches; /* blocks completed */
	__u32 blocks; /* currently owned by this ring */
	__u32 map_size; /* a power of two */
	__u64 reserved[9];
	__u32 map[];
};

KL_ABI_ASSERT(offsetof(struct kl_abi_ring, map) == 128, "ring map");

/* ------------------------------------------------------------ device calls */

enum kl_mode {
	KL_MODE_DISCARD = 0, /* new records are dropped while the buffer is full */
	KL_MODE_OVERWRITE = 1, /* the oldest block is overwritten */
};

enum kl_clock {
	KL_CLOCK_TSC = 0,
	KL_CLOCK_MONOTONIC = 1,
};

/* What the opener of the device is allowed to see and do. */
#define KL_MAY_SEE_ALL 0x1u /* every task, and system-wide events */
#define KL_MAY_SEE_ADDRESSES 0x2u /* kernel addresses in fields */
#define KL_MAY_HOOK_FUNCTIONS 0x4u /* events that hook functions */

struct kl_abi_info {
	__u32 size;
	__u32 abi_version;
	__u64 schema_hash;
	__u32 cpus; /* number of possible CPU ids */
	__u32 may; /* KL_MAY_* of the opener */
	__u32 clock; /* enum kl_clock */
	__u32 events; /* number of rows in events.def */
	__u64 clock_hz;
	__u32 sessions_max; /* per user */
	__u32 sessions; /* of all users, currently */
	/* per user: limit on memory of all kinds, which includes buffers */
	__u64 buffer_bytes_max;
};

/* One instant on all clocks, to convert the times of a trace. */
struct kl_abi_time {
	__u32 size;
	__u32 clock;
	__u64 cycles;
	__u64 monotonic_ns;
	__u64 realtime_ns;
	__u64 clock_hz;
};

enum kl_absent {
	KL_PRESENT = 0,
	KL_ABSENT_BUILD =
		1, /* this kernel's headers have no such tracepoint, or another prototype */
	KL_ABSENT_KERNEL = 2, /* the running kernel was built without it */
	KL_ABSENT_MODULE = 3, /* belongs to a module that is not loaded */
	KL_ABSENT_DENIED = 4, /* the opener may not use it */
};

struct kl_abi_event_info {
	__u32 size;
	__u32 id; /* in */
	__u32 absent; /* enum kl_absent */
	__u32 sessions; /* number of sessions that have it attached */
	char reason[KL_ERROR_TEXT_MAX]; /* empty when present */
};

/*
 * KL_SESSION_KEEP: the session is in the reserved memory (uapi/crash.h), and survives a reset of
 * the machine. Needs KL_MAY_SEE_ALL. With `blocks` 0, it gets what fits.
 */
#define KL_SESSION_KEEP 0x1u

struct kl_abi_session {
	__u32 size;
	__u32 mode; /* enum kl_mode */
	__u32 block_bytes; /* a power of two; 0: default */
	__u32 blocks; /* per CPU; 0: default */
	__u32 blocks_max; /* maximum for resizing, per CPU; 0: 4 * blocks */
	__u32 id; /* out */
	__u8 uuid[16]; /* out */
	char name[KL_NAME_MAX];
	__u32 flags; /* KL_SESSION_* */
	__u32 reserved;
};

struct kl_abi_attach {
	__u32 size;
	__u32 id; /* of a session that the caller may read: docs/design/access.md */
	__u32 mode; /* out: enum kl_mode */
	__u32 block_bytes; /* out */
	__u8 uuid[16]; /* out */
};

/*
 * A maskset has one byte per event: a handler's id, 0 (nothing) if unset, or KL_ACTION_RULE plus
 * the number of one of the session's rules.
 */
#define KL_ACTION_RULE 16
#define KL_RULES_MAX 48

struct kl_abi_maskset {
	__u32 size;
	__u32 id; /* KL_MASKSET_*; when writing: FIRST_USER.., or ANY: set to the id */
	char name[KL_NAME_MAX];
	__u8 handler[KL_EV_MAX];
	__u64 dynamic; /* __u8 *: the same for events from KL_EV_DYNAMIC on */
	__u32 n_dynamic;
	__u32 reserved;
};

struct kl_abi_use {
	__u32 size;
	__u32 maskset;
};

enum kl_filter_kind {
	KL_FILTER_NONE = 0, /* every task that the session's owner may see */
	KL_FILTER_TASKS = 1, /* the tasks added with KL_IOC_TASKS */
	KL_FILTER_UID = 2, /* tasks with the real uid `uid` */
	/*
	 * Tasks that are in a cgroup of the default hierarchy (cgroup v2), or below it, when the
	 * event fires. `fd` is a descriptor of its directory, which is not used after the call.
	 */
	KL_FILTER_CGROUP = 3,
};

struct kl_abi_filter {
	__u32 size;
	__u32 kind;
	__u32 uid; /* for KL_FILTER_UID; else ignored */
	__s32 fd; /* for KL_FILTER_CGROUP; else 0 */
};

#define KL_TASK_ADD 0x1u
#define KL_TASK_REMOVE 0x2u
#define KL_TASK_PROCESS 0x4u /* all threads of the process */
#define KL_TASK_TREE 0x8u /* and its existing descendants */
#define KL_TASK_INHERIT 0x10u /* and tasks that these create from now on */
/*
 * With ADD, for a single task: start when it executes a program. Its first events are that call
 * and what follows once the old program has been replaced; what it does before belongs to the
 * process that prepares it. A session waits for one task at a time, the last one that was added.
 */
#define KL_TASK_EXEC 0x20u

struct kl_abi_tasks {
	__u32 size;
	__s32 pid; /* in the caller's pid namespace */
	__u32 flags; /* KL_TASK_* */
	__u32 count; /* out: tasks added or removed; excludes those that the owner may not see */
};

struct kl_abi_resize {
	__u32 size;
	__u32 blocks; /* per CPU; takes effect as blocks turn over */
};

#define KL_READER_HOLD 0x1u
#define KL_READER_FROM_NOW 0x2u /* start at the block being filled, not at the oldest */

struct kl_abi_reader {
	__u32 size;
	__u32 flags; /* KL_READER_* */
	__s32 fd; /* out: the reader's descriptor, O_CLOEXEC */
	__u32 reserved;
};

/* How often the watchdog has suspended a session, and why it did so last. */
enum kl_suspended_reason {
	KL_SUSPENDED_SHARE = 1, /* its probes took more than their share of the total CPU time */
	KL_SUSPENDED_STOPPED = 2, /* its probes left a CPU no time with interrupts disabled */
};

struct kl_abi_suspended {
	__u32 times;
	__u32 reason; /* enum kl_suspended_reason */
	__u32 permille; /* share of the total CPU time that the user's probes took */
	__u32 limit; /* share that they may take */
	__s32 cpu; /* KL_SUSPENDED_STOPPED: the CPU; else -1 */
	__u32 reserved;
};

KL_ABI_ASSERT(sizeof(struct kl_abi_suspended) == 24, "suspended");

struct kl_abi_stats {
	__u32 size;
	__s32 cpu; /* in: CPU number, -1 for the sum over all */
	__u64 written;
	__u64 lost;
	__u64 switches;
	__u64 buffer_bytes;
	__u32 running;
	__u32 blocks;
	__u32 readers;
	__u32 maskset;
	__u32 frozen; /* frozen by the handler `freeze` or KL_IOC_FREEZE */
	__u32 unswitched; /* times that the handler `use` failed */
	__u64 alarms; /* raised by the handler `alarm` */
	__u64 snapshots; /* requested by the handler `snapshot` and KL_IOC_SNAPSHOT */
	__u64 begin_cycles; /* when recording of all events began; 0: never started */
	__u64 end_cycles; /* when recording of all events ended; 0: still recording */
	struct kl_abi_suspended suspended;
};

/* How often events with the handler `count` fired, summed over all CPUs. */
struct kl_abi_counts {
	__u32 size;
	__u32 n_dynamic; /* in: capacity of `dynamic`; out: number of defined events */
	__u64 count[KL_EV_MAX];
	__u64 dynamic; /* __u64 *: counts of the defined events */
};

#define KL_DUMP_PROCESSES 0x1u
#define KL_DUMP_FILES 0x2u
#define KL_DUMP_MAPPINGS 0x4u

struct kl_abi_dump {
	__u32 size;
	__u32 what; /* KL_DUMP_* */
	__u64 records; /* out */
};

struct kl_abi_error {
	__u32 size;
	__s32 error; /* of the last failed call on this descriptor, negative errno */
	char text[KL_ERROR_TEXT_MAX];
};

/* One session. `index` counts up until the call returns -ENOENT. */
struct kl_abi_status {
	__u32 size;
	__u32 index; /* in */
	__u32 id;
	__u32 uid;
	__s32 pid;
	__u32 mode;
	__u32 running;
	__u32 readers;
	__u32 block_bytes;
	__u32 blocks;
	__u32 maskset;
	__u32 events; /* number of attached events */
	__u64 written;
	__u64 lost;
	char name[KL_NAME_MAX];
	__u32 suspended; /* how often the watchdog has suspended it */
	__u32 reserved;
};

#include "detail.h"
#include "limits.h"
#include "set.h"
#include "unwind.h"

/* On any descriptor of the device. */
#define KL_IOC_INFO _IOWR(KL_IOC_TYPE, 0x00, struct kl_abi_info)
#define KL_IOC_TIME _IOWR(KL_IOC_TYPE, 0x01, struct kl_abi_time)
#define KL_IOC_EVENT_INFO _IOWR(KL_IOC_TYPE, 0x02, struct kl_abi_event_info)
#define KL_IOC_ERROR _IOWR(KL_IOC_TYPE, 0x03, struct kl_abi_error)
#define KL_IOC_STATUS _IOWR(KL_IOC_TYPE, 0x04, struct kl_abi_status)
#define KL_IOC_VARIABLE_INFO _IOWR(KL_IOC_TYPE, 0x05, struct kl_abi_variable_info)
#define KL_IOC_MARK _IOWR(KL_IOC_TYPE, 0x06, struct kl_abi_mark)
#define KL_IOC_LIMITS _IOWR(KL_IOC_TYPE, 0x08, struct kl_abi_limits)
#define KL_IOC_HANDLER_INFO _IOWR(KL_IOC_TYPE, 0x35, struct kl_abi_handler_info)
#define KL_IOC_INSPECT _IOWR(KL_IOC_TYPE, 0x50, struct kl_abi_inspect)
#define KL_IOC_CPUS _IOWR(KL_IOC_TYPE, 0x51, struct kl_abi_cpus)
#define KL_IOC_SET _IOWR(KL_IOC_TYPE, 0x53, struct kl_abi_set)
#define KL_IOC_DETAIL _IOWR(KL_IOC_TYPE, 0x58, struct kl_abi_detail)
/* Turn the descriptor into a session's. */
#define KL_IOC_SESSION _IOWR(KL_IOC_TYPE, 0x10, struct kl_abi_session)
#define KL_IOC_ATTACH _IOWR(KL_IOC_TYPE, 0x11, struct kl_abi_attach)
/*
 * On a session's descriptor. An attached descriptor can read; it can also use WRITE, USE, PROGRAM,
 * RULE, RESIZE, SNAPSHOT and FREEZE if its opener is allowed to change the session. All other
 * changes are reserved for the creator. poll() reports POLLPRI if, since the last STATS on the
 * descriptor, an alarm was raised, a snapshot was requested, the session froze, or a stack trace
 * led to a file without an unwind table.
 */
#define KL_IOC_MASKSET_WRITE _IOWR(KL_IOC_TYPE, 0x20, struct kl_abi_maskset)
#define KL_IOC_MASKSET_READ _IOWR(KL_IOC_TYPE, 0x21, struct kl_abi_maskset)
#define KL_IOC_MASKSET_USE _IOWR(KL_IOC_TYPE, 0x22, struct kl_abi_use)
#define KL_IOC_FILTER _IOWR(KL_IOC_TYPE, 0x23, struct kl_abi_filter)
#define KL_IOC_TASKS _IOWR(KL_IOC_TYPE, 0x24, struct kl_abi_tasks)
#define KL_IOC_START _IO(KL_IOC_TYPE, 0x25)
#define KL_IOC_STOP _IO(KL_IOC_TYPE, 0x26)
#define KL_IOC_RESIZE _IOWR(KL_IOC_TYPE, 0x27, struct kl_abi_resize)
#define KL_IOC_READER _IOWR(KL_IOC_TYPE, 0x28, struct kl_abi_reader)
#define KL_IOC_STATS _IOWR(KL_IOC_TYPE, 0x29, struct kl_abi_stats)
#define KL_IOC_COUNTS _IOWR(KL_IOC_TYPE, 0x2a, struct kl_abi_counts)
#define KL_IOC_DUMP _IOWR(KL_IOC_TYPE, 0x2b, struct kl_abi_dump)
#define KL_IOC_PROGRAM _IOWR(KL_IOC_TYPE, 0x2c, struct kl_abi_program)
#define KL_IOC_VARIABLES _IOWR(KL_IOC_TYPE, 0x2d, struct kl_abi_variables)
#define KL_IOC_EVENTS _IOWR(KL_IOC_TYPE, 0x2e, struct kl_abi_events)
#define KL_IOC_RULE _IOWR(KL_IOC_TYPE, 0x2f, struct kl_abi_rule)
#define KL_IOC_TABLE _IOWR(KL_IOC_TYPE, 0x30, struct kl_abi_table)
#define KL_IOC_METADATA_SET _IOWR(KL_IOC_TYPE, 0x31, struct kl_abi_metadata)
#define KL_IOC_METADATA_GET _IOWR(KL_IOC_TYPE, 0x32, struct kl_abi_metadata)
#define KL_IOC_STACKS _IOWR(KL_IOC_TYPE, 0x33, struct kl_abi_stacks)
#define KL_IOC_ALARMS _IOWR(KL_IOC_TYPE, 0x34, struct kl_abi_alarms)
#define KL_IOC_HANDLER_READ _IOWR(KL_IOC_TYPE, 0x36, struct kl_abi_handler_read)
/*
 * Like the handler `snapshot`: the session's recorder copies the buffers. The session must be
 * running.
 */
#define KL_IOC_SNAPSHOT _IO(KL_IOC_TYPE, 0x37)
#define KL_IOC_UNWIND _IOWR(KL_IOC_TYPE, 0x38, struct kl_abi_unwind)
/* 0x40..0x4f: latency.h; LATENCY is for the creator, LATENCY_READ for anyone who may read */

#include "latency.h"
/* 0x60..0x67: block.h; for the creator, with the rights needed to hook functions */
#include "block.h"

#define KL_IOC_SPLICE _IOWR(KL_IOC_TYPE, 0x60, struct kl_abi_splice)
#define KL_IOC_UNSPLICE _IOWR(KL_IOC_TYPE, 0x61, struct kl_abi_unsplice)
#define KL_IOC_SPLICE_COUNTS _IOWR(KL_IOC_TYPE, 0x62, struct kl_abi_splice_counts)
/*
 * Like the handler `freeze`, but immediate: recording has stopped when the call returns. Allowed
 * for anyone who may change the session.
 */
#define KL_IOC_FREEZE _IO(KL_IOC_TYPE, 0x52)

#endif /* KL_UAPI_KERNLENS_H */
