// SPDX-License-Identifier: GPL-2.0
/*
 * One mistake at a time: each call has valid arguments except for one member, which a row of the
 * table gives. Random changes would find most of these errors, too, but each of them rarely.
 */
#include "fuzz.h"

enum call {
	SESSION,
	PROGRAM,
	OPERATION, /* of a program, in `room` */
	RULE,
	VARIABLES,
	VARIABLE, /* the first */
	EVENTS,
	EVENT, /* the first, in `room` */
	MASKSET,
	FILTER,
	LATENCY, /* calls up to this one define a session */
	TASKS,
	RESIZE,
	READER,
	STACKS,
	INSPECT,
	DETAIL,
	SET,
	TABLE,
	USE,
	METADATA,
};

struct mistake {
	u8 call;
	u8 bytes;
	u16 at;
	u64 value;
};

#define MISTAKE(call, type, member, value)                                                     \
	{                                                                                      \
		call, sizeof(((struct type *)0)->member), offsetof(struct type, member), value \
	}
#define OP(code, dst, a, b, imm, imm64)     \
	{                                   \
		code, dst, a, b, imm, imm64 \
	}

static const struct kl_abi_op operations[] = {
	OP(KL_OP_COUNT, 0, 0, 0, 0, 0),
	OP(KL_OP_JUMP, 1, 0, 0, 0, 0),
	OP(KL_OP_CONST, 8, 0, 0, 0, 5),
	OP(KL_OP_CONST, 0, 1, 0, 0, 5),
	OP(KL_OP_MOVE, 0, 8, 0, 0, 0),
	OP(KL_OP_FIELD, 0, 0, 8, 0, 0),
	OP(KL_OP_FIELD, 0, 0, 0, -1, 0),
	OP(KL_OP_FIELD, 0, 0, 0, 0, 1),
	OP(KL_OP_FIELD, 0, 0, 0, 0, 1ull << 32),
	OP(KL_OP_FIELD, 0, 1, 0, 0, 1ull << 48),
	OP(KL_OP_FIELD_TEXT, 0, 0, 0, 0, 60ull << 16 | 60),
	OP(KL_OP_VARIABLE, 0, 0, 0, 9999, 0),
	OP(KL_OP_VARIABLE, 0, 0, 0, 0, 0),
	OP(KL_OP_VARIABLE, 0, 0, 1, VARIABLE_tid, 0),
	OP(KL_OP_VARIABLE, 0, 0, 0, VARIABLE_kstack, 0),
	OP(KL_OP_VARIABLE, 0, 0, 0, VARIABLE_ustack, 0),
	OP(KL_OP_VARIABLE, 0, 0, 0, VARIABLE_cpu_clock, 0),
	OP(KL_OP_VARIABLE_TEXT, 0, 0, 0, VARIABLE_tid, 1ull << 16),
	OP(KL_OP_CURRENT, 0, 0, 0, 0, 0),
	OP(KL_OP_ARG, 0, 0, 0, 4, 0),
	OP(KL_OP_JUMP, 0, 0, 0, 40, 0),
	OP(KL_OP_BITS, 0, 0, 0, 40 << 8 | 40, 0),
	OP(KL_OP_PUT, 0, 0, 8, 0, 0),
	OP(KL_OP_FLAG, 0, 0, 0, KL_FLAGS_MAX, 0),
	OP(KL_OP_SINCE, 0, 0, 0, KL_SINCE_SESSION, 0),
};

static const struct mistake mistakes[] = {
	MISTAKE(SESSION, kl_abi_session, mode, 2),
	MISTAKE(SESSION, kl_abi_session, block_bytes, 4097),
	MISTAKE(SESSION, kl_abi_session, block_bytes, 2048),
	MISTAKE(SESSION, kl_abi_session, block_bytes, 2 * KL_BLOCK_BYTES_MAX),
	MISTAKE(SESSION, kl_abi_session, blocks, 3),
	MISTAKE(SESSION, kl_abi_session, blocks, KL_BLOCKS_MAX + 1),
	MISTAKE(SESSION, kl_abi_session, blocks, KL_BLOCKS_MAX),
	MISTAKE(SESSION, kl_abi_session, blocks_max, 1),
	MISTAKE(SESSION, kl_abi_session, size, 4),
	MISTAKE(SESSION, kl_abi_session, size, 9000),
	MISTAKE(PROGRAM, kl_abi_program, n_ops, 0),
	MISTAKE(PROGRAM, kl_abi_program, n_ops, KL_PROGRAM_OPS_MAX + 1),
	MISTAKE(PROGRAM, kl_abi_program, data_bytes, KL_PROGRAM_DATA_MAX + 1),
	MISTAKE(PROGRAM, kl_abi_program, data, 8),
	MISTAKE(PROGRAM, kl_abi_program, ops, 8),
	MISTAKE(RULE, kl_abi_rule, handler, 99),
	MISTAKE(RULE, kl_abi_rule, reserved, 1),
	MISTAKE(RULE, kl_abi_rule, filter, 999),
	MISTAKE(RULE, kl_abi_rule, filter, 2), /* outputs fields */
	MISTAKE(RULE, kl_abi_rule, value, 999),
	MISTAKE(RULE, kl_abi_rule, value, 1), /* count takes no value */
	MISTAKE(RULE, kl_abi_rule, handler, KL_HANDLER_sum), /* but sum requires one */
	MISTAKE(RULE, kl_abi_rule, handler, KL_HANDLER_alarm), /* takes no keys */
	MISTAKE(RULE, kl_abi_rule, n_keys, KL_RULE_KEYS_MAX + 1),
	MISTAKE(RULE, kl_abi_rule, n_keys, 2),
	MISTAKE(RULE, kl_abi_rule, n_keys, 0),
	MISTAKE(RULE, kl_abi_rule, key[0], 999),
	MISTAKE(RULE, kl_abi_rule, entries, ~0u),
	MISTAKE(RULE, kl_abi_rule, entries, 1u << 15),
	MISTAKE(RULE, kl_abi_rule, handler, KL_HANDLER_external),
	MISTAKE(VARIABLES, kl_abi_variables, n, KL_VARIABLES_MAX + 1),
	MISTAKE(VARIABLES, kl_abi_variables, flags, 8),
	MISTAKE(VARIABLES, kl_abi_variables, reserved, 1),
	MISTAKE(VARIABLE, kl_abi_variable, reserved, 1),
	MISTAKE(VARIABLE, kl_abi_variable, variable, 9999),
	MISTAKE(VARIABLE, kl_abi_variable, variable, VARIABLE_task),
	MISTAKE(VARIABLE, kl_abi_variable, variable, VARIABLE_kstack),
	MISTAKE(VARIABLE, kl_abi_variable, variable, VARIABLE_cpu_clock),
	MISTAKE(VARIABLE, kl_abi_variable, variable, KL_VARIABLE_PROGRAM),
	MISTAKE(VARIABLE, kl_abi_variable, program, 1),
	MISTAKE(VARIABLE, kl_abi_variable, type, 1),
	MISTAKE(EVENTS, kl_abi_events, n, 0),
	MISTAKE(EVENTS, kl_abi_events, n, 300),
	MISTAKE(EVENTS, kl_abi_events, n, KL_EV_DYNAMIC_MAX + 1),
	MISTAKE(EVENTS, kl_abi_events, event, 8),
	MISTAKE(EVENT, kl_abi_event, kind, 0),
	MISTAKE(EVENT, kl_abi_event, kind, 99),
	MISTAKE(EVENT, kl_abi_event, kind, KL_SOURCE_KIND_TICK), /* has a name */
	MISTAKE(EVENT, kl_abi_event, kind, KL_SOURCE_KIND_FUNCTION),
	MISTAKE(EVENT, kl_abi_event, kind, KL_SOURCE_KIND_UPROBE),
	MISTAKE(EVENT, kl_abi_event, kind, KL_SOURCE_KIND_BLOCK),
	MISTAKE(EVENT, kl_abi_event, kind, KL_SOURCE_KIND_TRAP),
	MISTAKE(EVENT, kl_abi_event, program, 999),
	MISTAKE(EVENT, kl_abi_event, address, 8),
	MISTAKE(EVENT, kl_abi_event, arg, 8),
	MISTAKE(EVENT, kl_abi_event, name, 8),
	MISTAKE(EVENT, kl_abi_event, name, 0),
	MISTAKE(MASKSET, kl_abi_maskset, id, 1),
	MISTAKE(MASKSET, kl_abi_maskset, id, KL_MASKSET_MAX),
	MISTAKE(MASKSET, kl_abi_maskset, id, KL_MASKSET_ANY),
	MISTAKE(MASKSET, kl_abi_maskset, name[0], 0),
	MISTAKE(MASKSET, kl_abi_maskset, reserved, 1),
	MISTAKE(MASKSET, kl_abi_maskset, handler[5], 14),
	MISTAKE(MASKSET, kl_abi_maskset, handler[5], KL_ACTION_RULE + 40),
	MISTAKE(MASKSET, kl_abi_maskset, handler[1000], 1),
	MISTAKE(MASKSET, kl_abi_maskset, n_dynamic, 5),
	MISTAKE(FILTER, kl_abi_filter, kind, KL_FILTER_CGROUP), /* standard input is none */
	MISTAKE(FILTER, kl_abi_filter, kind, 4),
	MISTAKE(FILTER, kl_abi_filter, fd, 1),
	MISTAKE(FILTER, kl_abi_filter, uid, ~0u),
	MISTAKE(TASKS, kl_abi_tasks, flags, 0),
	MISTAKE(TASKS, kl_abi_tasks, flags, 3),
	MISTAKE(TASKS, kl_abi_tasks, flags, 0x40),
	MISTAKE(TASKS, kl_abi_tasks, pid, 0x7fffffff),
	MISTAKE(TASKS, kl_abi_tasks, pid, 1),
	MISTAKE(RESIZE, kl_abi_resize, blocks, 3),
	MISTAKE(RESIZE, kl_abi_resize, blocks, KL_BLOCKS_MAX),
	MISTAKE(READER, kl_abi_reader, flags, 8),
	MISTAKE(READER, kl_abi_reader, reserved, 1),
	MISTAKE(LATENCY, kl_abi_latency, flags, 0x80),
	MISTAKE(LATENCY, kl_abi_latency, flags, KL_LATENCY_WAKER_STACKS),
	MISTAKE(LATENCY, kl_abi_latency, flags, KL_LATENCY_KERNEL_STACKS),
	MISTAKE(LATENCY, kl_abi_latency, tasks, 1),
	MISTAKE(LATENCY, kl_abi_latency, tasks, KL_LATENCY_TASKS_MAX + 1),
	MISTAKE(LATENCY, kl_abi_latency, entries, 1),
	MISTAKE(LATENCY, kl_abi_latency, entries, KL_LATENCY_ENTRIES_MAX + 1),
	MISTAKE(STACKS, kl_abi_stacks, what, 3),
	MISTAKE(STACKS, kl_abi_stacks, traces, KL_STACK_TRACES_MAX + 1),
	MISTAKE(STACKS, kl_abi_stacks, user_frames, KL_STACK_FRAMES_MAX + 1),
	MISTAKE(INSPECT, kl_abi_inspect, flags, 8),
	MISTAKE(INSPECT, kl_abi_inspect, flags, KL_INSPECT_ALL),
	MISTAKE(INSPECT, kl_abi_inspect, reserved, 1),
	MISTAKE(INSPECT, kl_abi_inspect, n_variables, 0),
	MISTAKE(INSPECT, kl_abi_inspect, n_variables, KL_INSPECT_VARIABLES_MAX + 1),
	MISTAKE(INSPECT, kl_abi_inspect, n_variables, 3), /* one of them twice */
	MISTAKE(INSPECT, kl_abi_inspect, n_variables, 4), /* available only where an event fires */
	MISTAKE(INSPECT, kl_abi_inspect, n_ids, KL_INSPECT_IDS_MAX + 1),
	MISTAKE(INSPECT, kl_abi_inspect, ids, 8),
	MISTAKE(INSPECT, kl_abi_inspect, rows, 8),
	MISTAKE(INSPECT, kl_abi_inspect, variables, 8),
	MISTAKE(INSPECT, kl_abi_inspect, room, 0),
	MISTAKE(DETAIL, kl_abi_detail, what, 0),
	MISTAKE(DETAIL, kl_abi_detail, what, KL_DETAIL_KINDS),
	MISTAKE(DETAIL, kl_abi_detail, what, KL_DETAIL_STACK),
	MISTAKE(DETAIL, kl_abi_detail, what, KL_DETAIL_ENVIRONMENT), /* without a proof */
	MISTAKE(DETAIL, kl_abi_detail, proof, 0),
	MISTAKE(DETAIL, kl_abi_detail, bytes, 100),
	MISTAKE(DETAIL, kl_abi_detail, bytes, KL_DETAIL_BYTES_MAX + 1),
	MISTAKE(DETAIL, kl_abi_detail, buffer, 8),
	MISTAKE(DETAIL, kl_abi_detail, reserved, 1),
	MISTAKE(DETAIL, kl_abi_detail, pid, 0x7fffffff),
	MISTAKE(DETAIL, kl_abi_detail, cursor, ~0ull),
	MISTAKE(SET, kl_abi_set, step, 3),
	MISTAKE(SET, kl_abi_set, step, KL_SET_END),
	MISTAKE(SET, kl_abi_set, what, 99),
	MISTAKE(SET, kl_abi_set, id, 0x7fffffff),
	MISTAKE(SET, kl_abi_set, start_ns, 1),
	MISTAKE(TABLE, kl_abi_table, rule, 99),
	MISTAKE(TABLE, kl_abi_table, cpu, 99),
	MISTAKE(TABLE, kl_abi_table, bucket, 8),
	MISTAKE(TABLE, kl_abi_table, entry, 8),
	MISTAKE(USE, kl_abi_use, maskset, 200),
	MISTAKE(USE, kl_abi_use, maskset, KL_MASKSET_MAX),
	MISTAKE(METADATA, kl_abi_metadata, bytes, KL_METADATA_MAX + 1),
	MISTAKE(METADATA, kl_abi_metadata, text, 8),
};

#define MISTAKES (sizeof(mistakes) / sizeof(*mistakes))
#define OPERATIONS_WRONG (sizeof(operations) / sizeof(*operations))

union argument {
	struct kl_abi_session session;
	struct kl_abi_program program;
	struct kl_abi_rule rule;
	struct kl_abi_variables variables;
	struct kl_abi_events events;
	struct kl_abi_filter filter;
	struct kl_abi_tasks tasks;
	struct kl_abi_resize resize;
	struct kl_abi_reader reader;
	struct kl_abi_latency latency;
	struct kl_abi_stacks stacks;
	struct kl_abi_inspect inspect;
	struct kl_abi_detail detail;
	struct kl_abi_set set;
	struct kl_abi_table table;
	struct kl_abi_use use;
	struct kl_abi_metadata metadata;
	struct kl_abi_maskset maskset;
};

struct built {
	union argument *to;
	unsigned long command;
	u32 bytes;
};

#define BUILD(what, number, ...)                                                                \
	do {                                                                                    \
		b.to->what = (typeof(b.to->what)){ .size = sizeof(b.to->what), ##__VA_ARGS__ }; \
		b.command = number;                                                             \
		b.bytes = sizeof(b.to->what);                                                   \
	} while (0)

static u64 in_room(u32 at)
{
	return (u64)(uintptr_t)(room + at);
}

/* Builds the arguments of a call that defines a part of a session. */
static struct built build_definition(enum call call)
{
	struct built b = { .to = (union argument *)memory };
	static const char name[] = "sched_switch";
	struct kl_abi_op *op = (void *)room;
	struct kl_abi_event *event = (void *)room;

	switch (call) {
	case SESSION:
		BUILD(session, KL_IOC_SESSION, .block_bytes = 4096, .blocks = 4);
		break;
	case PROGRAM:
	case OPERATION:
		memset(op, 0, 4096);
		BUILD(program, KL_IOC_PROGRAM, .n_ops = 2, .ops = in_room(0), .data = in_room(8192),
		      .data_bytes = 64);
		break;
	case RULE:
		BUILD(rule, KL_IOC_RULE, .handler = KL_HANDLER_count, .n_keys = 1, .key = { 1 });
		break;
	case VARIABLES:
	case VARIABLE:
		BUILD(variables, KL_IOC_VARIABLES, .n = 2);
		b.to->variables.variable[0].variable = VARIABLE_tid;
		b.to->variables.variable[1].variable = VARIABLE_comm;
		break;
	case EVENTS:
	case EVENT:
		memset(event, 0, 300 * sizeof(*event));
		for (u32 i = 0; i < 300; i++) {
			event[i].kind = KL_SOURCE_KIND_TRACEPOINT;
			event[i].name = (u64)(uintptr_t)name;
		}
		BUILD(events, KL_IOC_EVENTS, .n = 1, .event = in_room(0));
		break;
	case LATENCY:
		BUILD(latency, KL_IOC_LATENCY, .tasks = 100, .entries = 100);
		break;
	case FILTER:
		BUILD(filter, KL_IOC_FILTER, .kind = KL_FILTER_UID, .uid = me->uid);
		break;
	default:
		BUILD(maskset, KL_IOC_MASKSET_WRITE, .id = KL_MASKSET_FIRST_USER, .name = "set");
		b.to->maskset.handler[KL_EV_sched_switch] = KL_HANDLER_log;
	}
	return b;
}

/* Builds the arguments of any other call on a session or on the device. */
static struct built build_call(enum call call)
{
	struct built b = { .to = (union argument *)memory };
	u32 *ids = (u32 *)room;

	switch (call) {
	case TASKS:
		BUILD(tasks, KL_IOC_TASKS, .pid = getpid(), .flags = KL_TASK_ADD);
		break;
	case RESIZE:
		BUILD(resize, KL_IOC_RESIZE, .blocks = 4);
		break;
	case READER:
		BUILD(reader, KL_IOC_READER);
		break;
	case STACKS:
		BUILD(stacks, KL_IOC_STACKS, .what = KL_STACKS_LIMITS, .traces = 100);
		break;
	case INSPECT:
		ids[0] = VARIABLE_tid;
		ids[1] = VARIABLE_comm;
		ids[2] = VARIABLE_tid;
		ids[3] = VARIABLE_kstack;
		((s32 *)room)[1024] = getpid();
		BUILD(inspect, KL_IOC_INSPECT, .n_variables = 2, .variables = in_room(0),
		      .n_ids = 1, .ids = in_room(4096), .rows = in_room(8192), .room = 65536);
		break;
	case DETAIL:
		BUILD(detail, KL_IOC_DETAIL, .pid = getpid(), .what = 1 + below(15), .proof = -1,
		      .buffer = in_room(0), .bytes = 65536);
		break;
	case SET:
		BUILD(set, KL_IOC_SET, .step = KL_SET_BEGIN, .id = getpid(), .what = KL_SET_NICE,
		      .asked = "1");
		break;
	case TABLE:
		BUILD(table, KL_IOC_TABLE, .n = 10, .entry = in_room(0));
		break;
	case USE:
		BUILD(use, KL_IOC_MASKSET_USE, .maskset = KL_MASKSET_FIRST_USER);
		break;
	default:
		BUILD(metadata, KL_IOC_METADATA_SET, .bytes = 100, .text = in_room(0));
	}
	return b;
}

/* A session with two programs, the second of which outputs fields, and one rule. */
static int small_session(void)
{
	struct kl_abi_session params = { .size = sizeof(params), .block_bytes = 4096, .blocks = 4 };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_count };
	struct kl_abi_op ops[2] = { { .code = KL_OP_VARIABLE, .imm = VARIABLE_tid } };
	struct kl_abi_program program = { .size = sizeof(program),
					  .n_ops = 2,
					  .ops = (u64)(uintptr_t)ops };
	int fd = open_device(O_RDWR);

	if (ioctl(fd, KL_IOC_SESSION, &params))
		return fd;
	ioctl(fd, KL_IOC_PROGRAM, &program);
	ops[0] = (struct kl_abi_op){ .code = KL_OP_PUT };
	ioctl(fd, KL_IOC_PROGRAM, &program);
	rule.n_keys = 1;
	rule.key[0] = 1;
	ioctl(fd, KL_IOC_RULE, &rule);
	return fd;
}

void op_wrong(void)
{
	u32 n = below(MISTAKES + OPERATIONS_WRONG);
	struct mistake of_operation = { OPERATION, 0, 0, 0 };
	const struct mistake *m = n < MISTAKES ? &mistakes[n] : &of_operation;
	struct built b;
	int fd = m->call == SESSION ? open_device(O_RDWR) : small_session();
	u8 *at;

	b = m->call <= LATENCY ? build_definition(m->call) : build_call(m->call);
	at = m->call == EVENT ? room : (u8 *)b.to;
	if (m->call == VARIABLE)
		at += offsetof(struct kl_abi_variables, variable);
	if (m->call == OPERATION)
		memcpy(room, &operations[n - MISTAKES], sizeof(*operations));
	else
		memcpy(at + m->at, &m->value, m->bytes);
	if (m->call == TASKS)
		kl_filter(fd, KL_FILTER_TASKS, 0);
	/* Twice, at times with a start in between: some calls are valid only once or before it. */
	for (u32 i = 0; i < 2; i++) {
		me->calls++;
		me->successes += !ioctl(fd, b.command, memory);
		if (one_in(2))
			kl_start(fd);
	}
	keep_fd(fd, m->call == SESSION ? ROLE_DEVICE : ROLE_SESSION);
}
