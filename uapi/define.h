/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What a session can define: programs, variables, events, rules. Included by kernlens.h, whose
 * compatibility rules apply here, too.
 */
#ifndef KL_UAPI_DEFINE_H
#define KL_UAPI_DEFINE_H

#include "types.h"

/* --------------------------------------------------------------- programs */

/*
 * A program computes numbers when an event fires: the result of a filter, the value that a
 * handler sums, a key, a variable, the fields of a defined event. It is a list of operations on
 * KL_PROGRAM_REGISTERS 64-bit numbers, which are initially 0. Jumps only go forward, so every
 * program ends. Loads never fault: a value that cannot be read is 0, and the hit is counted as
 * one with a fault.
 *
 * Operations marked * can read what the kernel does not show to every user: they require
 * KL_MAY_HOOK_FUNCTIONS. The others only read what the record would show to the session's owner.
 *
 * FIELD and FIELD_TEXT count strings in a record, which may have numbers before and between them:
 * imm64 >> 32 & 0xffff bytes before the first string, imm64 >> 48 bytes between the first and the
 * second, none between others. Each is 0 where `a` does not count that far. Members that an
 * operation does not use are 0. The last operation is END.
 *
 * Text is compared with bytes of the program's data, which begin at imm64 & 0xffff and number
 * imm64 >> 16 & 0xffff; b is enum kl_text_relation.
 */
#define KL_PROGRAM_REGISTERS 8
#define KL_PROGRAM_OPS_MAX 256
#define KL_PROGRAM_DATA_MAX 4096
#define KL_PROGRAM_OUT_MAX 512 /* bytes that PUT operations may output */
#define KL_PROGRAMS_MAX 65536 /* per session */

enum kl_op_code {
	KL_OP_END = 0, /* the result is r[a] */
	KL_OP_CONST = 1, /* r[dst] = imm64 */
	KL_OP_MOVE = 2, /* r[dst] = r[a] */
	/* r[dst] = the number of type b, imm bytes after the event's a-th string */
	KL_OP_FIELD = 3,
	KL_OP_ARG = 4, /* * r[dst] = argument imm of a function or tracepoint */
	/* r[dst] = variable imm of variables.def: a number, or the b-th 8 bytes of a text */
	KL_OP_VARIABLE = 5,
	KL_OP_CURRENT = 6, /* * r[dst] = address of the running task */
	KL_OP_PERCPU = 7, /* * r[dst] = r[a] + offset of this CPU's per-CPU area */
	KL_OP_LOAD = 8, /* * r[dst] = the number of type b at kernel address r[a] + imm */
	KL_OP_LOAD_USER = 9, /* * the same, in the running task's memory */
	KL_OP_BITS = 10, /* r[dst] = imm >> 8 bits of r[a], from bit imm & 255; b: signed */
	KL_OP_ALU = 11, /* r[dst] = r[dst] (enum kl_alu b) r[a] */
	KL_OP_JUMP = 12, /* skip the next imm operations */
	KL_OP_JUMP_ZERO = 13, /* the same, if r[a] is 0 */
	KL_OP_JUMP_NONZERO = 14,
	/* r[dst] = relation of the text that FIELD would read; imm >> 16: its size, 0: a string */
	KL_OP_FIELD_TEXT = 15,
	KL_OP_TEXT = 16, /* * r[dst] = relation of the string at kernel address r[a] */
	KL_OP_VARIABLE_TEXT = 17, /* r[dst] = relation of variable imm, a text */
	KL_OP_PUT = 18, /* append r[a] to the output as a number of type b */
	/* * append the string at kernel address r[a], at most imm bytes with its NUL */
	KL_OP_PUT_STRING = 19,
	KL_OP_PUT_USER_STRING = 20, /* * the same, in the running task's memory */
	KL_OP_PUT_BYTES = 21, /* * append imm bytes at kernel address r[a] */
	KL_OP_FLAG = 22, /* r[dst] = flag imm of the session: below 32 the task's, else the CPU's */
	/*
	 * r[dst] = nanoseconds since flag imm was set or, with KL_SINCE_SESSION, since the
	 * session was started; 0 and a fault if the flag is not set
	 */
	KL_OP_SINCE = 23,
	KL_OP_COUNT
};

/* Types of numbers: 2 * log2(bytes), plus 1 if unsigned. */
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
	KL_ALU_DIV = 3, /* signed; division by 0: 0 and a fault */
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

KL_ABI_ASSERT(sizeof(struct kl_abi_op) == 16, "operation");

/* ------------------------------------------------------------ definitions */

struct kl_abi_program {
	__u32 size;
	__u32 id; /* out: from 1 */
	__u64 ops; /* struct kl_abi_op * */
	__u64 data; /* __u8 * */
	__u32 n_ops;
	__u32 data_bytes;
};

/*
 * The session's variables other than the task, in the order in which records carry them. They can
 * be set until the session is started for the first time.
 */
#define KL_VARIABLES_MAX 63
#define KL_VARIABLE_PROGRAM (~0u)
/* Type of a program that outputs text: KL_COMM_LEN bytes in a record. */
#define KL_VARIABLE_TYPE_TEXT 8

struct kl_abi_variable {
	__u32 variable; /* id of variables.def, or KL_VARIABLE_PROGRAM */
	__u32 program; /* for KL_VARIABLE_PROGRAM: id of the program */
	/* for KL_VARIABLE_PROGRAM: type of its result, enum kl_number, or KL_VARIABLE_TYPE_TEXT */
	__u32 type;
	__u32 reserved;
};

/* Records carry all variables, changed or not: for checking records without this flag. */
#define KL_VARIABLES_FULL 0x1u
/* `kstack` and `ustack` are 0 except in records of the handler `stack`. */
#define KL_VARIABLES_STACKS_ASKED 0x2u

struct kl_abi_variables {
	__u32 size;
	__u32 n;
	struct kl_abi_variable variable[KL_VARIABLES_MAX];
	__u32 flags; /* KL_VARIABLES_* */
	__u32 reserved;
};

/* Whether a variable of variables.def is available. */
struct kl_abi_variable_info {
	__u32 size;
	__u32 id; /* in */
	__u32 absent; /* enum kl_absent */
	__u32 reserved;
	char reason[KL_ERROR_TEXT_MAX]; /* empty when present */
};

/* Sources of events that a session defines, in the kernel and in programs. */
enum kl_source_kind {
	KL_SOURCE_KIND_TRACEPOINT = 1, /* tracepoint `name`; arguments as in its prototype */
	KL_SOURCE_KIND_FUNCTION = 2, /* entry of the function at `address` */
	KL_SOURCE_KIND_RETURN = 3, /* its return; argument 0 is the return value */
	KL_SOURCE_KIND_TICK = 4, /* `arg` times a second on each CPU */
	KL_SOURCE_KIND_UPROBE = 5, /* at offset `arg` in the file `name` */
	KL_SOURCE_KIND_URETPROBE = 6,
	/*
	 * A point of KL_IOC_SPLICE with KL_INSTRUMENT_FIRE. Arguments: the general registers by
	 * number, KL_BLOCK_FLAGS, KL_BLOCK_IP
	 */
	KL_SOURCE_KIND_BLOCK = 7,
	/*
	 * A struct kl_abi_trap executed by a process of the owner. No arguments: the program's
	 * registers are available as variables
	 */
	KL_SOURCE_KIND_TRAP = 8,
	/*
	 * A USDT marker: like UPROBE, but with the arguments of BLOCK. If `address` is not 0, it is
	 * the offset in the file of a 16-bit semaphore, which the kernel increments in each process
	 * that maps the file while some event is attached to the location
	 */
	KL_SOURCE_KIND_USDT = 9,
};

/*
 * How a process fires an event itself: it executes a breakpoint that is followed by these bytes,
 * in 64-bit code. Execution continues after the struct, with all registers unchanged. Nothing
 * happens if there is no such event, if the event is not in use, or if the session's owner could
 * not trace the process without privileges.
 *
 * The struct must lie within one page, because it can only be recognized if it can be read at
 * once. A process that runs such code keeps KL_MMAP_KEEP mapped: without the module, the
 * breakpoint would kill the process.
 */
#define KL_TRAP_OPCODE 0xcc
#define KL_TRAP_MAGIC 0x7472617073736c6bull

struct kl_abi_trap {
	__u8 opcode;
	__u64 magic;
	__u32 session;
	__u32 event;
	__s32 from; /* this offset from the breakpoint gives the reported position of the program */
	/* first bytes of the original text there, for stack traces; 0: as in memory */
	__u32 text;
} __attribute__((packed));

#define KL_BLOCK_FLAGS 16
#define KL_BLOCK_IP 17
#define KL_BLOCK_ARGUMENTS 18

#define KL_TICK_HZ_MAX 10000

/*
 * A function, or its return, is left out if it cannot be hooked: the event has an id and never
 * happens.
 */
#define KL_EVENT_OPTIONAL 0x1u
/*
 * Another location of the marker that precedes it in the call: fires that event, and has an id
 * that never happens.
 */
#define KL_EVENT_LOCATION 0x2u

struct kl_abi_event {
	__u16 kind; /* enum kl_source_kind */
	__u16 flags; /* KL_EVENT_* */
	__u32 program; /* its output becomes the record's fields; 0: none */
	__u64 address;
	__u64 arg;
	__u64 name; /* char *, at most KL_SOURCE_NAME_MAX bytes with the NUL */
};

#define KL_SOURCE_NAME_MAX 4096

/* Defines all events or none. Possible until the session is started for the first time. */
struct kl_abi_events {
	__u32 size;
	__u32 n;
	__u64 event; /* struct kl_abi_event * */
	__u32 first; /* out: id of the first; the others follow */
	__u32 bad; /* out, also on failure: index of the invalid event */
	__u32 omitted; /* out: functions left out: KL_EVENT_OPTIONAL */
	__u32 reserved;
};

/*
 * What happens at an event, if a handler alone is not enough. Masksets refer to a rule as
 * KL_ACTION_RULE + rule. A rule exists until its session ends.
 */
#define KL_RULE_KEYS_MAX 4
#define KL_RULE_TEXT_MAX 128
#define KL_FLAGS_MAX 64 /* per session; 0..31 are a task's, 32..63 a CPU's */
#define KL_SINCE_SESSION KL_FLAGS_MAX

/* Stack traces that the handler `stack` takes. */
#define KL_STACKS_KERNEL 0x1u
#define KL_STACKS_USER 0x2u

struct kl_abi_rule {
	__u32 size;
	__u32 rule; /* out */
	__u32 handler;
	__u32 filter; /* program: the event is ignored if the result is 0; 0: none */
	__u32 value; /* program: value of sum and hist */
	__u32 n_keys;
	__u32 key[KL_RULE_KEYS_MAX]; /* programs, for handlers that have a table */
	__u32 entries; /* maximum number of entries in its table; 0: default */
	__u32 reserved;
	/*
	 * hist: width of a bucket, 0: log2; freeze: number of records; set, clear: flag; use:
	 * maskset; stack: KL_STACKS_*, 0: all
	 */
	__u64 arg;
	__s64 low; /* hist with a width: lower bound of the first bucket */
	char text[KL_RULE_TEXT_MAX]; /* of an alarm; external: NAME or NAME ARGUMENTS */
};

/*
 * A handler of another module (docs/handlers.md): a rule with KL_HANDLER_external whose `text` is
 * the name of the handler, followed by a blank and its arguments. Its capabilities:
 */
#define KL_HANDLER_NAME_MAX 32 /* including the NUL */
#define KL_HANDLER_READ_MAX (1u << 20)

#define KL_HANDLER_ANY_CONTEXT 0x1u /* can be called in NMIs */
#define KL_HANDLER_FOR_ALL 0x2u /* can be used by unprivileged owners */
#define KL_HANDLER_VALUE 0x4u /* takes a value: the rule's `value` */
#define KL_HANDLER_KEYS 0x8u /* takes keys */
#define KL_HANDLER_FLAGS 0xfu

struct kl_abi_handler_info {
	__u32 size;
	__u32 index; /* in: counts up until -ENOENT */
	__u32 id; /* id of its registration */
	__u32 flags; /* KL_HANDLER_* */
	__u32 absent; /* KL_ABSENT_DENIED: the opener may not use it */
	__u32 rules; /* rules that use it now; 0 without KL_MAY_SEE_ALL */
	char name[KL_HANDLER_NAME_MAX];
	char module[64];
	char help[KL_ERROR_TEXT_MAX];
};

/* The handler's report about one rule. */
struct kl_abi_handler_read {
	__u32 size;
	__u32 rule;
	__u64 text; /* char *; not terminated by a NUL */
	/* in: capacity; out: size of the report; if it does not fit, nothing is copied */
	__u32 bytes;
	__u32 reserved;
	__u64 fired; /* out: number of calls */
	__u64 missed; /* out: hits in NMIs, in which it cannot run */
};

/*
 * The session's last alarms, stored independently of their records. The task is the one that was
 * running, or zero if the owner may not see it.
 */
#define KL_ALARMS_KEPT 64

struct kl_abi_alarm {
	__u64 number; /* sequence number in the session, from 1 */
	__u64 time; /* clock cycles */
	__u32 event; /* event at which the rule raised it */
	__s32 tid;
	__s32 pid;
	__u32 reserved;
	char comm[KL_COMM_LEN];
	char text[KL_RULE_TEXT_MAX]; /* text of the rule */
};

struct kl_abi_alarms {
	__u32 size;
	__u32 n; /* in: capacity; out: alarms copied */
	__u64 first; /* in: number of the first; out: number to continue with */
	__u64 alarm; /* struct kl_abi_alarm * */
	__u64 missed; /* out: alarms skipped because they are no longer stored */
};

/* An entry of a rule's table. Readers sum the entries of all CPUs. */
#define KL_HIST_BUCKETS 64

struct kl_abi_entry {
	__u64 key[KL_RULE_KEYS_MAX];
	__u64 count;
	__s64 sum;
	__s64 min;
	__s64 max;
};

/* One CPU's table: as many entries as fit, and the buckets of hist. */
struct kl_abi_table {
	__u32 size;
	__u32 rule;
	__u32 cpu;
	__u32 n; /* in: capacity; out: number of entries */
	__u64 entry; /* struct kl_abi_entry * */
	__u64 bucket; /* __u64 (*)[KL_HIST_BUCKETS], for hist; else 0 */
	__u64 overflow; /* out: hits dropped because the table was full */
	__u64 faults; /* out: hits in which a program of this rule could not read something */
};

/*
 * What readers need to understand a session's records: set by its creator, and found by
 * kernlens-extract(1) after a crash. Processes that attach can read the first kind only, as names
 * contain addresses. Opaque to the kernel.
 */
#define KL_METADATA_MAX (16u << 20)

enum kl_metadata_kind {
	KL_METADATA_DEFINED = 0, /* describes what the session defines */
	KL_METADATA_NAMES = 1, /* what the IDs in its records stand for */
	KL_METADATA_KINDS
};

struct kl_abi_metadata {
	__u32 size;
	__u32 kind; /* enum kl_metadata_kind */
	__u32 bytes; /* in: size of `text`; out: size of the metadata */
	__u32 reserved; /* 0 */
	__u64 text; /* char * */
};

/* ----------------------------------------------------------- stack traces */

/*
 * A session stores each distinct stack trace once. The variables `kstack` and `ustack` and the
 * handler `stack` refer to it by its id, from 1 in the order of arrival; 0: none. The table is
 * allocated as soon as something uses stack traces.
 */
#define KL_STACK_NO_ROOM 0xffffffffu /* instead of an id: the table was full */
#define KL_STACK_FRAMES_MAX 127u
#define KL_STACK_FRAMES_DEFAULT 32u
#define KL_STACK_TRACES_DEFAULT 16384u /* also the maximum without KL_MAY_SEE_ALL */
#define KL_STACK_TRACES_MAX (1u << 20)

enum kl_stacks_what {
	KL_STACKS_TRACES = 0, /* copy traces, starting with id `first` */
	KL_STACKS_OBJECT = 1, /* describe the file with number `first` */
	/* set number and depth of traces; for the creator, before anything uses stack traces */
	KL_STACKS_LIMITS = 2,
	/* copy the numbers of files with code that have no unwind table, from `first` on */
	KL_STACKS_WANTED = 3,
};

struct kl_abi_stacks {
	__u32 size;
	__u32 what; /* enum kl_stacks_what */
	__u32 first; /* in: id or number, from 1; out: to continue with */
	__u32 n; /* out: number copied */
	__u64 buffer; /* struct kl_abi_stack, kl_abi_object, or __u32, one after another */
	__u32 bytes; /* in: size of `buffer`; out: bytes copied */
	/* LIMITS: capacity, 0: default; out: TRACES: number of traces, WANTED: capacity */
	__u32 traces;
	__u32 kernel_frames; /* LIMITS: maximum per trace, 0: default */
	__u32 user_frames;
	__u64 no_room; /* TRACES, out: traces dropped because the table was full */
};

enum kl_stack_kind {
	KL_STACK_KERNEL = 0,
	KL_STACK_USER = 1,
};

#define KL_STACK_CUT 0x1u /* the trace was truncated */
#define KL_STACK_EXACT 0x2u /* the first frame is the current instruction, not a return address */
#define KL_STACK_COPY 0x4u /* a copy of the stack follows: struct kl_abi_stack_copy */
#define KL_STACK_DOUBT_SHIFT 4 /* the flags from here on: enum kl_stack_doubt */

/*
 * Why the frames of a user trace after the first `certain` ones are uncertain, or why it ends
 * before the outermost frame. Uncertain frames follow frame pointers.
 */
enum kl_stack_doubt {
	KL_STACK_SURE = 0, /* all are certain, up to the outermost or to where it is truncated */
	KL_STACK_NO_TABLES = 1, /* the session has no unwind tables */
	KL_STACK_NO_TABLE = 2, /* it has none for the file */
	KL_STACK_NO_FILE = 3, /* the code is not in a file */
	KL_STACK_NO_RULE = 4, /* the table does not know the code */
	KL_STACK_NOT_READABLE = 5, /* the stack was not in memory */
	KL_STACK_BUSY = 6, /* the process was changing its mappings, or an unusual context */
	KL_STACK_INCONSISTENT = 7, /* the stack is not as the table says */
	KL_STACK_COMPAT = 8, /* a 32-bit program */
};

/*
 * Followed by `frames` addresses, innermost first; for a user trace, also by as many file
 * positions: number of a file << 48 | offset in the file, 0 if unknown.
 */
struct kl_abi_stack {
	__u32 id;
	__u8 frames;
	__u8 certain; /* the first so many frames are certain */
	__u8 kind; /* enum kl_stack_kind */
	__u8 flags; /* KL_STACK_* */
	__s32 pid; /* user: process */
	__u32 exec; /* user: distinguishes the programs that it has executed */
	__u64 start_ns; /* user: start time of the process, since boot */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_stack) == 24, "trace");

/*
 * A copy of the stack of a user trace, from its last certain frame on, whose file had no unwind
 * table yet. Follows the file positions, and is followed by the ranges of code that words of the
 * stack point into, and by the words. User space finds the callers in it (unwind_walk.h).
 */
struct kl_abi_stack_copy {
	__u64 sp; /* address of the first word */
	__u64 bp;
	__u32 words; /* at most KL_STACK_COPY_WORDS_MAX */
	__u16 ranges; /* at most KL_STACK_COPY_RANGES_MAX */
	__u8 bp_known; /* bp is that of the frame */
	__u8 frames; /* most that the trace may have */
};

/* A mapping of code. */
struct kl_abi_stack_range {
	__u64 start;
	__u64 bytes;
	__u64 place; /* file position of the start, as of frames */
};

#define KL_STACK_COPY_WORDS_MAX 4096u
#define KL_STACK_COPY_RANGES_MAX 16u

KL_ABI_ASSERT(sizeof(struct kl_abi_stack_copy) == 24, "copy of a stack");

#define KL_STACK_PLACE_SHIFT 48
#define KL_STACK_OBJECTS_MAX 1024u

/* A file that contains frames. Followed by its path, terminated by a NUL. */
struct kl_abi_object {
	__u64 inode; /* this and `dev` as fstat() of the path returns them */
	__u32 dev; /* as in fields of format dev */
	/*
	 * descriptor to read the file, if the caller may see addresses; the caller closes it; or
	 * -1
	 */
	__s32 fd;
};

/* A mark written by a program, for all sessions that record marks. */
#define KL_MARK_TEXT_MAX 240

struct kl_abi_mark {
	__u32 size;
	__u32 reserved;
	__u64 value;
	char text[KL_MARK_TEXT_MAX];
};

#endif /* KL_UAPI_DEFINE_H */
