/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The contract between the kernlens module and user space: device calls,
 * shared pages, and the layout of a block. Both sides include this file and
 * the tables next to it; nothing else is shared.
 *
 * Rules of growth
 *   - A struct passed to the device starts with `size`, the caller's sizeof.
 *     A newer kernel reads the missing tail of an older caller's struct as
 *     zero; an older kernel accepts a longer struct if the tail it does not
 *     know is zero and otherwise answers -E2BIG. New members go at the end.
 *   - Reserved members are zero; anything else is answered with -EINVAL.
 *   - KL_ABI_VERSION changes when a call or struct changes its meaning.
 *     The schema hash (computed from the .def tables when either side is
 *     built) changes when an event, field or record layout changes. Both are
 *     checked when the device is opened by the library.
 *   - Ids (events, handlers, variables, masksets, errors) are append-only.
 *
 * All numbers are little endian, as the CPU the module runs on (x86-64).
 */
#ifndef KL_UAPI_KERNLENS_H
#define KL_UAPI_KERNLENS_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stddef.h>
#include <sys/ioctl.h>
#include <linux/types.h>
#endif

#define KL_ABI_VERSION 1
#define KL_DEVICE_PATH "/dev/kernlens"

#define KL_NAME_MAX 32 /* of a session or a maskset, with its NUL */
#define KL_COMM_LEN 16 /* the kernel's TASK_COMM_LEN */
#define KL_STRING_MAX 256 /* of a string in a record, with its NUL */
#define KL_ERROR_TEXT_MAX 160

/*
 * Event ids. Rows of events.def have 1..1023. A system call has two events:
 * KL_EV_SYSCALL_ENTRY + number and KL_EV_SYSCALL_EXIT + number.
 */
#define KL_EV_SYSCALL_MAX 512
#define KL_EV_SYSCALL_ENTRY 1024
#define KL_EV_SYSCALL_EXIT (KL_EV_SYSCALL_ENTRY + KL_EV_SYSCALL_MAX)
#define KL_EV_MAX (KL_EV_SYSCALL_EXIT + KL_EV_SYSCALL_MAX)

/* Ids of the events that a session has defined itself (KL_IOC_EVENTS). */
#define KL_EV_DYNAMIC KL_EV_MAX
#define KL_EV_DYNAMIC_MAX 49152 /* in a session */
#define KL_EV_IDS (KL_EV_DYNAMIC + KL_EV_DYNAMIC_MAX)

enum kl_event_id {
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) KL_EV_##name = id,
#include "events.def"
#undef KL_EVENT
};

/* Masksets that always exist and cannot be written. */
enum kl_maskset_id {
	KL_MASKSET_RNOTHING = 0,
	KL_MASKSET_RALL = 1,
	KL_MASKSET_RDEFAULT = 2,
	KL_MASKSET_FIRST_USER = 3,
	KL_MASKSET_MAX = 256,
};

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
 * While a block is being filled, `seq` names it, `timestamp_begin`,
 * `record_first` and `cpu_id` are valid and `content_bits` is 0; a reader
 * takes bytes [KL_BLOCK_HEADER_BYTES, committed) when `committed`, loaded first,
 * equals the offset in the ring's position word, loaded second, and the word's
 * seq is the block's (see struct kl_abi_ring). When the block is complete
 * `content_bits` / 8 == `committed`.
 *
 * `seq` is the block's sequence number on its CPU, from 0. A writer that takes
 * a block back sets `seq` to KL_SEQ_NONE before it touches any other byte, so
 * a reader copies the block and then checks that `seq` is still what it was.
 */
#define KL_CTF_MAGIC 0xC1FC1FC1u
#define KL_BLOCK_HEADER_BYTES 104
#define KL_SEQ_NONE (~0ull)

struct kl_abi_block {
	/* packet header */
	__u32 magic; /* KL_CTF_MAGIC */
	__u8 uuid[16]; /* the session's, as in the trace's metadata */
	__u32 stream_id; /* 0 */
	/* packet context */
	__u64 timestamp_begin; /* clock cycles: of the first record */
	__u64 timestamp_end; /* of the next block's first record */
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

_Static_assert(sizeof(struct kl_abi_block) == KL_BLOCK_HEADER_BYTES, "block header");
_Static_assert(offsetof(struct kl_abi_block, timestamp_begin) == 24, "packet context");
_Static_assert(offsetof(struct kl_abi_block, committed) == 80, "commit word");

/* ------------------------------------------------------------- the record */

/*
 * A record is packed, aligned to nothing:
 *
 *   u64 header    id in bits 0..15, the low 48 bits of the time in 16..63
 *   u8  changed   which variables follow: bit 0: struct kl_abi_task; bits 1..7:
 *                 the first seven that the session has beside it
 *   ...           a bit for each further one that the session has, in
 *                 KL_CHANGED_BYTES(n) - 1 bytes
 *   ...           those variables, in that order
 *   ...           the event's fields (struct kl_rec_NAME, or the arguments of
 *                 a system call in order), strings as bytes ended by NUL
 *
 * A variable is written only when it differs from the value in the last record
 * of the same session on the same CPU that carried it; the first record of
 * each block carries all. The writer starts a new block when KL_TIME_WRAP
 * cycles or more pass between two records, so 48 bits are enough.
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

_Static_assert(sizeof(struct kl_abi_task) == 24, "task variables");

/* All that a session has beside the task, when all of it changed. */
#define KL_VARIABLES_BYTES_MAX 512

/* The longest record: prefix, variables, fields, three long strings. */
#define KL_RECORD_MAX 2048

/* ---------------------------------------------------------- shared memory */

/*
 * mmap offsets on a reader's descriptor. The kernel owns the first and third
 * region, which can only be mapped readable; the reader owns the second.
 *
 *   KL_MMAP_RING(cpu)         struct kl_abi_ring and its map    kernel -> user
 *   KL_MMAP_POSITION          struct kl_abi_position            user -> kernel
 *   KL_MMAP_BLOCK(cpu, index, block_bytes)   one block          kernel -> user
 *
 * Mapping a block that the writer has given back since its index was read is
 * answered with -ENXIO. read() gives whole complete blocks, as many as there is
 * room for; it waits for one while the session runs, and says 0 when the session
 * does not run and all has been read.
 */
#define KL_MMAP_REGION_SHIFT 60
#define KL_MMAP_CPU_SHIFT 44
#define KL_MMAP_RING(cpu) ((1ull << KL_MMAP_REGION_SHIFT) | ((__u64)(cpu) << KL_MMAP_CPU_SHIFT))
#define KL_MMAP_POSITION (2ull << KL_MMAP_REGION_SHIFT)
#define KL_MMAP_BLOCK(cpu, index, block_bytes)                                  \
	((3ull << KL_MMAP_REGION_SHIFT) | ((__u64)(cpu) << KL_MMAP_CPU_SHIFT) | \
	 ((__u64)(index) * (block_bytes)))

/*
 * The position word of a ring: where the next record goes. One word, so that
 * one compare-and-exchange reserves space, counts the record and can only
 * succeed in the block it was computed for.
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
#define KL_BLOCKS_MIN 4u /* per CPU: current, prepared, two to read */
#define KL_BLOCKS_MAX 8192u

/*
 * What the writer of one CPU shows to readers. `tail` and `head` are whole
 * sequence numbers: blocks tail..head-1 are complete or about to be, block
 * `head` is being filled. map[seq % map_size] is the index of the block that
 * holds seq, valid for tail <= seq <= head; it is checked by the block's seq.
 */
struct kl_abi_ring {
	__u64 position; /* KL_POS_*; written by the CPU's own records */
	__u64 head; /* sequence number of the block being filled */
	__u64 tail; /* oldest block that is still there */
	__u64 lost; /* records that could not be written */
	__u64 records; /* written in blocks before `head` */
	__u64 switches; /* blocks completed */
	__u32 blocks; /* owned by this ring now */
	__u32 map_size; /* a power of two */
	__u64 reserved[9];
	__u32 map[];
};

_Static_assert(offsetof(struct kl_abi_ring, map) == 128, "ring map");

/*
 * What a reader tells the kernel: next[cpu] is the sequence number of the
 * first block that it still needs. In discard mode a reader that was made
 * with KL_READER_HOLD keeps such blocks from being reused.
 */
struct kl_abi_position {
	__u64 next[0];
};

/* --------------------------------------------------------------- programs */

/*
 * A program computes numbers when an event fires: a filter's answer, what a
 * handler sums, a key, a variable, the fields of a defined event. It is a list
 * of operations on KL_PROGRAM_REGISTERS numbers of 64 bits, which are 0 at its
 * start. Jumps go forward only, so it ends. Loads never fault: what cannot be
 * read is 0, and the firing counts as one with a fault.
 *
 * Operations marked * can see what the kernel does not show to everybody: they
 * need KL_MAY_HOOK_FUNCTIONS. The others see what the record would show to the
 * session's owner.
 *
 * FIELD and FIELD_TEXT count strings in a record, which may have numbers before
 * and between them: imm64 >> 32 & 0xffff bytes before the first, imm64 >> 48
 * between it and the second, none between others. They are 0 where `a` does not
 * count that far. Members that an operation does not have are 0; the last
 * operation is END.
 *
 * Text is compared with bytes of the program's data: at imm64 & 0xffff, as many
 * as imm64 >> 16 & 0xffff; b is enum kl_text_relation.
 */
#define KL_PROGRAM_REGISTERS 8
#define KL_PROGRAM_OPS_MAX 256
#define KL_PROGRAM_DATA_MAX 4096
#define KL_PROGRAM_OUT_MAX 512 /* bytes that PUT may write */
#define KL_PROGRAMS_MAX 65536 /* in a session */

enum kl_op_code {
	KL_OP_END = 0, /* the result is r[a] */
	KL_OP_CONST = 1, /* r[dst] = imm64 */
	KL_OP_MOVE = 2, /* r[dst] = r[a] */
	KL_OP_FIELD =
		3, /* r[dst] = the number of type b, imm bytes behind the event's a-th string */
	KL_OP_ARG = 4, /* * r[dst] = argument imm of a function or tracepoint */
	KL_OP_VARIABLE = 5, /* r[dst] = variable imm of variables.def, a number; of text its 8 bytes b */
	KL_OP_CURRENT = 6, /* * r[dst] = address of the running task */
	KL_OP_PERCPU = 7, /* * r[dst] = r[a] + the offset of this CPU's variables */
	KL_OP_LOAD = 8, /* * r[dst] = the number of type b at kernel address r[a] + imm */
	KL_OP_LOAD_USER = 9, /* * the same in the running task's memory */
	KL_OP_BITS = 10, /* r[dst] = imm >> 8 bits of r[a] from bit imm & 255; b: signed */
	KL_OP_ALU = 11, /* r[dst] = r[dst] (enum kl_alu b) r[a] */
	KL_OP_JUMP = 12, /* leave out the next imm operations */
	KL_OP_JUMP_ZERO = 13, /* if r[a] is 0 */
	KL_OP_JUMP_NONZERO = 14,
	KL_OP_FIELD_TEXT =
		15, /* r[dst] = relation of the text that is where FIELD reads; imm >> 16: its bytes, 0: a string */
	KL_OP_TEXT = 16, /* * r[dst] = relation of the string at kernel address r[a] */
	KL_OP_VARIABLE_TEXT = 17, /* r[dst] = relation of variable imm, which is text */
	KL_OP_PUT = 18, /* the output goes on with r[a] as a number of type b */
	KL_OP_PUT_STRING =
		19, /* * with the string at kernel address r[a], at most imm bytes with its NUL */
	KL_OP_PUT_USER_STRING = 20, /* * the same in the running task's memory */
	KL_OP_PUT_BYTES = 21, /* * with imm bytes at kernel address r[a] */
	KL_OP_FLAG = 22, /* r[dst] = flag imm of the session: below 32 the task's, else the CPU's */
	KL_OP_COUNT
};

/* Types of numbers: 2 * log2(bytes), and 1 for unsigned. */
enum kl_number {
	KL_NUMBER_S8 = 0,
	KL_NUMBER_U8 = 1,
	KL_NUMBER_S16 = 2,
	KL_NUMBER_U16 = 3,
	KL_NUMBER_S32 = 4,
	KL_NUMBER_U32 = 5,
	KL_NUMBER_S64 = 6,
	KL_NUMBER_U64 = 7,
	KL_NUMBER_COUNT
};

enum kl_alu {
	KL_ALU_ADD = 0,
	KL_ALU_SUB = 1,
	KL_ALU_MUL = 2,
	KL_ALU_DIV = 3, /* signed; by 0: 0 and a fault */
	KL_ALU_MOD = 4,
	KL_ALU_UDIV = 5,
	KL_ALU_UMOD = 6,
	KL_ALU_AND = 7,
	KL_ALU_OR = 8,
	KL_ALU_XOR = 9,
	KL_ALU_SHL = 10, /* by r[a] & 63 */
	KL_ALU_SHR = 11,
	KL_ALU_SAR = 12,
	KL_ALU_EQ = 13, /* comparisons: 1 or 0 */
	KL_ALU_NE = 14,
	KL_ALU_LT = 15, /* signed */
	KL_ALU_LE = 16,
	KL_ALU_ULT = 17,
	KL_ALU_ULE = 18,
	KL_ALU_COUNT
};

enum kl_text_relation {
	KL_TEXT_EQUAL = 0,
	KL_TEXT_PREFIX = 1,
	KL_TEXT_RELATION_COUNT
};

struct kl_abi_op {
	__u8 code; /* enum kl_op_code */
	__u8 dst;
	__u8 a;
	__u8 b;
	__s32 imm;
	__u64 imm64;
};

_Static_assert(sizeof(struct kl_abi_op) == 16, "operation");

/* ------------------------------------------------------------ device calls */

enum kl_mode {
	KL_MODE_DISCARD = 0, /* new records are dropped while full */
	KL_MODE_OVERWRITE = 1, /* the oldest block goes */
};

enum kl_clock {
	KL_CLOCK_TSC = 0,
	KL_CLOCK_MONOTONIC = 1,
};

/* What the opener of the device may see. */
#define KL_MAY_SEE_ALL 0x1u /* every task, and events about the system */
#define KL_MAY_SEE_ADDRESSES 0x2u /* kernel addresses in fields */
#define KL_MAY_HOOK_FUNCTIONS 0x4u /* events that hook a function */

struct kl_abi_info {
	__u32 size;
	__u32 abi_version;
	__u64 schema_hash;
	__u32 cpus; /* number of possible CPU ids */
	__u32 may; /* KL_MAY_* of this opener */
	__u32 clock; /* enum kl_clock */
	__u32 events; /* number of rows in events.def */
	__u64 clock_hz;
	__u32 sessions_max; /* per user */
	__u32 sessions; /* of all users, now */
	__u64 buffer_bytes_max; /* per user */
};

/* One instant on all clocks, so that a trace's times can be mapped. */
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
	KL_ABSENT_MODULE = 3, /* it belongs to a module that is not loaded */
	KL_ABSENT_DENIED = 4, /* this opener may not use it */
};

struct kl_abi_event_info {
	__u32 size;
	__u32 id; /* in */
	__u32 absent; /* enum kl_absent */
	__u32 sessions; /* that have it attached now */
	char reason[KL_ERROR_TEXT_MAX]; /* empty when present */
};

struct kl_abi_session {
	__u32 size;
	__u32 mode; /* enum kl_mode */
	__u32 block_bytes; /* power of two; 0: default */
	__u32 blocks; /* per CPU; 0: default */
	__u32 blocks_max; /* the most it may be resized to, per CPU; 0: 4 * blocks */
	__u32 id; /* out */
	__u8 uuid[16]; /* out */
	char name[KL_NAME_MAX];
};

struct kl_abi_attach {
	__u32 size;
	__u32 id; /* of a session of the same user, or any with CAP_PERFMON */
	__u32 mode; /* out: enum kl_mode */
	__u32 block_bytes; /* out */
	__u8 uuid[16]; /* out */
};

/*
 * A maskset is a byte an event: a handler's id, 0 (nothing) where unset, or
 * KL_ACTION_RULE and the number of a rule that the session has.
 */
#define KL_ACTION_RULE 16
#define KL_RULES_MAX 48

struct kl_abi_maskset {
	__u32 size;
	__u32 id; /* in: KL_MASKSET_*, or for writing FIRST_USER.. */
	char name[KL_NAME_MAX];
	__u8 handler[KL_EV_MAX];
	__u64 dynamic; /* __u8 *: the same for the events KL_EV_DYNAMIC and up */
	__u32 n_dynamic;
	__u32 reserved;
};

struct kl_abi_use {
	__u32 size;
	__u32 maskset;
};

enum kl_filter_kind {
	KL_FILTER_NONE = 0, /* every task that the owner may see */
	KL_FILTER_TASKS = 1, /* the tasks added with KL_IOC_TASK */
	KL_FILTER_UID = 2, /* tasks whose real uid is `uid` */
};

struct kl_abi_filter {
	__u32 size;
	__u32 kind;
	__u32 uid;
	__u32 reserved;
};

#define KL_TASK_ADD 0x1u
#define KL_TASK_REMOVE 0x2u
#define KL_TASK_PROCESS 0x4u /* all threads of the process */
#define KL_TASK_TREE 0x8u /* and its descendants that live now */
#define KL_TASK_INHERIT 0x10u /* and tasks that those create from now on */

struct kl_abi_tasks {
	__u32 size;
	__s32 pid; /* in the caller's pid namespace */
	__u32 flags; /* KL_TASK_* */
	__u32 count; /* out: tasks added or removed */
};

struct kl_abi_resize {
	__u32 size;
	__u32 blocks; /* per CPU wanted; takes effect as blocks turn over */
};

#define KL_READER_HOLD 0x1u
#define KL_READER_FROM_NOW 0x2u /* start at the block being filled, not the oldest */

struct kl_abi_reader {
	__u32 size;
	__u32 flags; /* KL_READER_* */
	__s32 fd; /* out: the reader's descriptor, O_CLOEXEC */
	__u32 reserved;
};

struct kl_abi_stats {
	__u32 size;
	__s32 cpu; /* in: -1 for the sum of all */
	__u64 written;
	__u64 lost;
	__u64 switches;
	__u64 buffer_bytes;
	__u32 running;
	__u32 blocks;
	__u32 readers;
	__u32 maskset;
	__u32 frozen; /* by the handler `freeze` */
	__u32 reserved;
};

/* How often events fired with the handler `count`, on all CPUs. */
struct kl_abi_counts {
	__u32 size;
	__u32 n_dynamic; /* in: room; out: defined events */
	__u64 count[KL_EV_MAX];
	__u64 dynamic; /* __u64 *: of the defined events */
};

struct kl_abi_program {
	__u32 size;
	__u32 id; /* out: from 1 */
	__u64 ops; /* struct kl_abi_op * */
	__u64 data; /* __u8 * */
	__u32 n_ops;
	__u32 data_bytes;
};

/*
 * The session's variables beside the task: which, in the order in which records
 * have them. Can be set until the session is started for the first time.
 */
#define KL_VARIABLES_MAX 63
#define KL_VARIABLE_PROGRAM (~0u)

struct kl_abi_variable {
	__u32 variable; /* id of variables.def, or KL_VARIABLE_PROGRAM */
	__u32 program; /* then: its id */
	__u32 type; /* then: of its result, enum kl_number */
	__u32 reserved;
};

/* Records carry all variables, changed or not: to check the others against. */
#define KL_VARIABLES_FULL 0x1u

struct kl_abi_variables {
	__u32 size;
	__u32 n;
	struct kl_abi_variable variable[KL_VARIABLES_MAX];
	__u32 flags; /* KL_VARIABLES_* */
	__u32 reserved;
};

/* Whether a variable of variables.def can be had here. */
struct kl_abi_variable_info {
	__u32 size;
	__u32 id; /* in */
	__u32 absent; /* enum kl_absent */
	__u32 reserved;
	char reason[KL_ERROR_TEXT_MAX]; /* empty when present */
};

/* Events that a session defines: other places of the kernel and of programs. */
enum kl_source_kind {
	KL_SOURCE_KIND_TRACEPOINT = 1, /* `name`; arguments as in its prototype */
	KL_SOURCE_KIND_FUNCTION = 2, /* entry of the function at `address` */
	KL_SOURCE_KIND_RETURN = 3, /* its return; argument 0 is what it returns */
	KL_SOURCE_KIND_TICK = 4, /* `arg` times a second on each CPU */
	KL_SOURCE_KIND_UPROBE = 5, /* `arg` bytes into the file `name` */
	KL_SOURCE_KIND_URETPROBE = 6,
};

#define KL_TICK_HZ_MAX 10000

struct kl_abi_event {
	__u32 kind; /* enum kl_source_kind */
	__u32 program; /* its output is the record's fields; 0: none */
	__u64 address;
	__u64 arg;
	__u64 name; /* char *, at most KL_SOURCE_NAME_MAX with the NUL */
};

#define KL_SOURCE_NAME_MAX 4096

/* Defines all or none; until the session is started for the first time. */
struct kl_abi_events {
	__u32 size;
	__u32 n;
	__u64 event; /* struct kl_abi_event * */
	__u32 first; /* out: id of the first; the others follow */
	__u32 bad; /* out, also on failure: index of the one at fault */
};

/*
 * What happens at an event, where a handler alone does not say it. Masksets
 * name it as KL_ACTION_RULE + rule. A rule is for the session's life.
 */
#define KL_RULE_KEYS_MAX 4
#define KL_RULE_TEXT_MAX 128
#define KL_FLAGS_MAX 64 /* of a session; 0..31 of tasks, 32..63 of CPUs */

struct kl_abi_rule {
	__u32 size;
	__u32 rule; /* out */
	__u32 handler;
	__u32 filter; /* program: nothing happens where it says 0; 0: none */
	__u32 value; /* program: of sum and hist */
	__u32 n_keys;
	__u32 key[KL_RULE_KEYS_MAX]; /* programs, of handlers that have a table */
	__u32 entries; /* of its table, at most; 0: default */
	__u32 reserved;
	__u64 arg; /* hist: width of a bucket, 0: log2; freeze: records; set, clear: flag; use: maskset */
	__s64 low; /* hist with a width: where the first bucket begins */
	char text[KL_RULE_TEXT_MAX]; /* alarm's; name of another module's handler */
};

/* An entry of a rule's table, summed over CPUs by the reader of it. */
#define KL_HIST_BUCKETS 64

struct kl_abi_entry {
	__u64 key[KL_RULE_KEYS_MAX];
	__u64 count;
	__s64 sum;
	__s64 min;
	__s64 max;
};

/* One CPU's table: as many entries as fit, hist's buckets behind them. */
struct kl_abi_table {
	__u32 size;
	__u32 rule;
	__u32 cpu;
	__u32 n; /* in: room; out: entries that there are */
	__u64 entry; /* struct kl_abi_entry * */
	__u64 bucket; /* __u64 (*)[KL_HIST_BUCKETS], of hist; else 0 */
	__u64 overflow; /* out: firings that found no room in the table */
	__u64 faults; /* out: programs of this rule that could not read something */
};

/*
 * The metadata of what this session defines: given by its creator, got by who
 * attaches. Opaque to the kernel.
 */
#define KL_METADATA_MAX (16u << 20)

struct kl_abi_metadata {
	__u32 size;
	__u32 bytes; /* in: of `text`; out: that there are */
	__u64 text; /* char * */
};

/* What a program says on the trace's clock, for all sessions that want marks. */
#define KL_MARK_TEXT_MAX 240

struct kl_abi_mark {
	__u32 size;
	__u32 reserved;
	__u64 value;
	char text[KL_MARK_TEXT_MAX];
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

/* One line of `kernlens status`; `index` counts up until -ENOENT. */
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
	__u32 events; /* attached */
	__u64 written;
	__u64 lost;
	char name[KL_NAME_MAX];
};

#define KL_IOC_TYPE 0xB7
/* on any descriptor of the device */
#define KL_IOC_INFO _IOWR(KL_IOC_TYPE, 0x00, struct kl_abi_info)
#define KL_IOC_TIME _IOWR(KL_IOC_TYPE, 0x01, struct kl_abi_time)
#define KL_IOC_EVENT_INFO _IOWR(KL_IOC_TYPE, 0x02, struct kl_abi_event_info)
#define KL_IOC_ERROR _IOWR(KL_IOC_TYPE, 0x03, struct kl_abi_error)
#define KL_IOC_STATUS _IOWR(KL_IOC_TYPE, 0x04, struct kl_abi_status)
#define KL_IOC_VARIABLE_INFO _IOWR(KL_IOC_TYPE, 0x05, struct kl_abi_variable_info)
#define KL_IOC_MARK _IOWR(KL_IOC_TYPE, 0x06, struct kl_abi_mark)
/* makes the descriptor a session's */
#define KL_IOC_SESSION _IOWR(KL_IOC_TYPE, 0x10, struct kl_abi_session)
#define KL_IOC_ATTACH _IOWR(KL_IOC_TYPE, 0x11, struct kl_abi_attach)
/* on a session's descriptor */
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

#endif /* KL_UAPI_KERNLENS_H */
