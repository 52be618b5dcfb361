// SPDX-License-Identifier: GPL-2.0
/*
 * What a session is made of, valid but for a member here and there: programs by a small grammar,
 * events of all kinds, variables, rules, masksets that name them, a latency profile. Also a whole
 * session at once, in the right order, so that what only a running one does is reached often.
 */
#include <sys/syscall.h>

#include "fuzz.h"

enum {
#define KL_VARIABLE(id, name, ...) VARIABLE_##name = id,
#include "variables.def"
#undef KL_VARIABLE
};

/* 1 for the type `text`, 0 for numbers. */
#define SECOND(first, second, ...) second
#define IS_SECOND(...) SECOND(__VA_ARGS__)
#define TYPE_text ~, 1
#define IS_TEXT(type) IS_SECOND(TYPE_##type, 0)

static const struct variable {
	u16 id;
	bool text;
} variables[] = {
#define KL_VARIABLE(id, name, scope, type, ...) { id, IS_TEXT(type) },
#include "variables.def"
#undef KL_VARIABLE
};

#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* Events that this program makes happen, or the machine by itself. */
static const u16 events[] = {
	KL_EV_sched_switch,
	KL_EV_sched_wakeup,
	KL_EV_sched_process_fork,
	KL_EV_sched_process_exec,
	KL_EV_sched_process_exit,
	KL_EV_signal_generate,
	KL_EV_SYSCALL_ENTRY + SYS_getppid,
	KL_EV_SYSCALL_EXIT + SYS_getppid,
	KL_EV_SYSCALL_ENTRY + SYS_openat,
	KL_EV_SYSCALL_EXIT + SYS_openat,
	KL_EV_SYSCALL_EXIT + SYS_read,
	KL_EV_SYSCALL_ENTRY + SYS_write,
};

#define EVENTS (sizeof(events) / sizeof(*events))

static u32 any_event(void)
{
	switch (below(4)) {
	case 0:
		return KL_EV_SYSCALL_ENTRY + below(2 * KL_EV_SYSCALL_MAX);
	case 1:
		return 1 + below(450);
	default:
		return events[below(EVENTS)];
	}
}

/* ----------------------------------------------------------------- programs */

/* Positions in the data where texts of one to eight bytes lie. */
static const char data[64] = "fuzzkernel/tmpbash\0kworker0123456789abcdef";

static u64 text_place(void)
{
	return (u64)(1 + below(8)) << 16 | below(40);
}

static u64 number(void)
{
	return one_in(3) ? odd_number() : below(100);
}

/*
 * Operations that everybody may use; @left follow, the end with them. More than 60 lines: a case for
 * each operation.
 */
static struct kl_abi_op plain_op(u32 left)
{
	struct kl_abi_op op = { .dst = below(KL_PROGRAM_REGISTERS) };
	u32 a = below(KL_PROGRAM_REGISTERS);

	switch (below(14)) {
	case 0:
		op.code = KL_OP_CONST;
		op.imm64 = number();
		break;
	case 1:
		op.code = KL_OP_MOVE;
		op.a = a;
		break;
	case 2 ... 4:
		op.code = KL_OP_FIELD;
		op.b = below(KL_NUMBER_COUNT);
		op.imm = below(40);
		if (one_in(4)) {
			op.a = below(3);
			op.imm64 = (u64)below(16) << 32 | (u64)below(8) << 48;
		}
		break;
	case 5:
		op.code = KL_OP_VARIABLE;
		op.imm = variables[1 + below(VARIABLES - 1)].id;
		op.b = one_in(6);
		break;
	case 6:
		op.code = KL_OP_BITS;
		op.a = a;
		op.imm = (1 + below(32)) << 8 | below(32);
		op.b = below(2);
		break;
	case 7 ... 8:
		op.code = KL_OP_ALU;
		op.a = a;
		op.b = below(KL_ALU_COUNT);
		break;
	case 9 ... 10:
		op = (struct kl_abi_op){ .code = KL_OP_JUMP_ZERO + below(2), .a = a };
		if (one_in(6))
			op = (struct kl_abi_op){ .code = KL_OP_JUMP };
		op.imm = left > 1 ? below(left) : 0;
		break;
	case 11:
		op.code = KL_OP_FIELD_TEXT;
		op.b = below(KL_TEXT_RELATION_COUNT);
		op.a = below(2);
		op.imm = below(24) | (one_in(2) ? 16 << 16 : 0);
		op.imm64 = text_place();
		break;
	case 12:
		op.code = KL_OP_VARIABLE_TEXT;
		op.imm = one_in(2) ? VARIABLE_comm : VARIABLE_parent_comm;
		op.b = below(KL_TEXT_RELATION_COUNT);
		op.imm64 = text_place();
		break;
	default:
		op.code = KL_OP_FLAG + below(2);
		op.imm = below(KL_FLAGS_MAX + (op.code == KL_OP_SINCE));
	}
	return op;
}

/* Those that look at memory; refused without the right. */
static struct kl_abi_op mighty_op(void)
{
	struct kl_abi_op op = { .dst = below(KL_PROGRAM_REGISTERS) };
	u32 a = below(KL_PROGRAM_REGISTERS);

	switch (below(10)) {
	case 0:
		op.code = KL_OP_ARG;
		op.imm = below(6);
		break;
	case 1 ... 2:
		op.code = KL_OP_CURRENT;
		break;
	case 3:
		op.code = KL_OP_PERCPU;
		op.a = a;
		break;
	case 4 ... 5:
		op.code = KL_OP_LOAD + below(2);
		op.a = a;
		op.b = below(KL_NUMBER_COUNT);
		op.imm = below(3000);
		break;
	case 6:
		op.code = KL_OP_TEXT;
		op.a = a;
		op.b = below(KL_TEXT_RELATION_COUNT);
		op.imm64 = text_place();
		break;
	default:
		op = (struct kl_abi_op){ .code = KL_OP_PUT_STRING + below(3), .a = a };
		op.imm = 1 + below(64);
	}
	return op;
}

/* Its number if it was taken, else 0. */
static u32 make_program(int fd, bool puts)
{
	struct kl_abi_op *op = (void *)room;
	struct kl_abi_program program = { .size = sizeof(program), .n_ops = 2 + below(14) };
	bool mighty = me->uid ? one_in(12) : one_in(2);

	if (one_in(40))
		program.n_ops = 2 + below(KL_PROGRAM_OPS_MAX);
	for (u32 i = 0; i < program.n_ops; i++) {
		op[i] = mighty && one_in(3) ? mighty_op() : plain_op(program.n_ops - i - 1);
		if (puts && one_in(3))
			op[i] = (struct kl_abi_op){ .code = KL_OP_PUT,
						    .a = below(KL_PROGRAM_REGISTERS),
						    .b = below(KL_NUMBER_COUNT) };
	}
	op[program.n_ops - 1] = (struct kl_abi_op){ .code = KL_OP_END, .a = below(8) };
	if (one_in(10))
		mutate(op, program.n_ops * sizeof(*op));
	memcpy(room + 8192, data, sizeof(data));
	program.ops = (u64)(uintptr_t)odd_or(op, program.n_ops * sizeof(*op));
	program.data = (u64)(uintptr_t)(room + 8192);
	program.data_bytes = sizeof(data);
	return TRY(fd, KL_IOC_PROGRAM, program) ? 0 : program.id;
}

void op_program(void)
{
	make_program(session_fd(), one_in(3));
}

/* ------------------------------------------------------------------- events */

static const char *const tracepoints[] = {
	"sched_switch",	    "sched_wakeup",  "sched_process_fork", "task_rename",
	"kmem_cache_alloc", "mm_page_alloc", "timer_start",	   "hrtimer_start",
	"sys_enter",	    "sys_exit",	     "signal_generate",	   "softirq_entry",
	"contention_begin", "task_newtask",  "block_rq_issue",	   "rcu_utilization",
	"no_such_point",    "kls_called",    "sched_process_exit", "",
};

__attribute__((noinline)) static void probed(void)
{
	asm volatile("");
}

/* Where probed() is in the file that is running; found once. */
static u64 probed_offset(void)
{
	unsigned long begin, end, offset, at = (unsigned long)probed;
	static u64 found;
	char line[500];
	FILE *maps = found ? NULL : fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 && at >= begin &&
		    at < end)
			found = at - begin + offset;
	if (maps)
		fclose(maps);
	return found;
}

static struct kl_abi_event any_defined(u32 program)
{
	static const u16 often[] = { 1, 10, 50, 100, 997 };
	struct kl_abi_event event = { .program = program };

	switch (me->uid && !one_in(10) ? below(3) : below(8)) {
	case 0:
		event.kind = KL_SOURCE_KIND_TRACEPOINT;
		event.name = (u64)(uintptr_t)
			tracepoints[below(sizeof(tracepoints) / sizeof(*tracepoints))];
		break;
	case 1:
		event.kind = KL_SOURCE_KIND_TICK;
		event.arg = one_in(8) ? odd_number() : often[below(5)];
		break;
	case 2:
		event.kind = KL_SOURCE_KIND_TRAP;
		break;
	case 3 ... 4:
		event.kind = KL_SOURCE_KIND_FUNCTION + below(2);
		event.address = common->symbol[below(FUZZ_SYMBOLS)];
		break;
	case 5 ... 6:
		event.kind = KL_SOURCE_KIND_UPROBE + below(2);
		event.name = (u64)(uintptr_t)(one_in(8) ? "/etc/passwd" : "/proc/self/exe");
		event.arg = one_in(8) ? odd_number() : probed_offset();
		break;
	default:
		event.kind = KL_SOURCE_KIND_BLOCK;
	}
	return event;
}

/* How many the session has then; @program is used by some of them. */
static u32 make_events(int fd, u32 program)
{
	struct kl_abi_event *event = (void *)room;
	struct kl_abi_events wish = { .size = sizeof(wish), .n = 1 + below(6) };

	for (u32 i = 0; i < wish.n; i++)
		event[i] = any_defined(one_in(3) ? program : 0);
	if (one_in(10))
		mutate(event, wish.n * sizeof(*event));
	wish.event = (u64)(uintptr_t)odd_or(event, wish.n * sizeof(*event));
	return TRY(fd, KL_IOC_EVENTS, wish) ? 0 : wish.first - KL_EV_DYNAMIC + wish.n;
}

void op_events(void)
{
	make_events(session_fd(), below(3));
}

/* ------------------------------------------------- variables, rules, masksets */

static void make_variables(int fd, u32 program)
{
	struct kl_abi_variables wish = { .size = sizeof(wish), .n = below(10) };

	for (u32 i = 0; i < wish.n; i++)
		wish.variable[i].variable =
			variables[1 +
				  (i * (VARIABLES / 10) + below(VARIABLES / 10)) % (VARIABLES - 1)]
				.id;
	if (wish.n && one_in(3))
		wish.variable[below(wish.n)].variable = one_in(2) ? VARIABLE_ustack :
								    VARIABLE_kstack;
	if (wish.n && program && one_in(3))
		wish.variable[below(wish.n)] = (struct kl_abi_variable){
			.variable = KL_VARIABLE_PROGRAM,
			.program = program,
			.type = below(KL_VARIABLE_TYPE_TEXT + 1),
		};
	wish.flags = one_in(4) ? below(4) : 0;
	TRY(fd, KL_IOC_VARIABLES, wish);
}

void op_variables(void)
{
	make_variables(session_fd(), below(3));
}

static bool make_rule(int fd, u32 program)
{
	/* More often those whose tables can be read. */
	static const u8 tables[] = { KL_HANDLER_count, KL_HANDLER_sum, KL_HANDLER_hist,
				     KL_HANDLER_external };
	struct kl_abi_rule rule = { .size = sizeof(rule),
				    .handler = one_in(2) ? tables[below(4)] : 1 + below(12) };

	if (one_in(3))
		rule.filter = program;
	switch (rule.handler) {
	case KL_HANDLER_sum:
	case KL_HANDLER_hist:
		rule.value = program;
		rule.arg = one_in(2) ? 0 : below(1000);
		rule.low = one_in(2) ? 0 : (s64)odd_number();
		/* fall through */
	case KL_HANDLER_count:
		rule.n_keys = below(KL_RULE_KEYS_MAX + 1);
		rule.entries = one_in(4) ? odd_number() : below(200);
		break;
	case KL_HANDLER_set:
	case KL_HANDLER_clear:
		rule.arg = below(KL_FLAGS_MAX);
		break;
	case KL_HANDLER_freeze:
		rule.arg = below(2000);
		break;
	case KL_HANDLER_use:
		rule.arg = KL_MASKSET_FIRST_USER + below(4);
		break;
	case KL_HANDLER_alarm:
		strcpy(rule.text, "an alarm");
		break;
	case KL_HANDLER_external:
		strcpy(rule.text, one_in(3) ? "t_sum and more" : one_in(2) ? "t_much" : "t_bare");
		rule.n_keys = below(2);
		break;
	}
	for (u32 i = 0; i < rule.n_keys; i++)
		rule.key[i] = program;
	return !TRY(fd, KL_IOC_RULE, rule);
}

void op_rule(void)
{
	make_rule(session_fd(), below(4));
}

/* Each handler and rule that the session may have, at events of the table and defined ones. */
static void make_maskset(int fd, u32 id, u32 rules, u32 defined)
{
	struct kl_abi_maskset *m = (void *)memory;
	u8 *action = room;

	memset(m, 0, sizeof(*m));
	m->size = sizeof(*m);
	m->id = id;
	snprintf(m->name, sizeof(m->name), "set %u", below(5));
	for (u32 n = 1 + below(one_in(6) ? 80 : 10); n; n--)
		m->handler[any_event()] = rules && one_in(2) ? KL_ACTION_RULE + below(rules) :
							       1 + below(2);
	for (u32 i = 0; i < defined; i++)
		action[i] = rules && one_in(2) ? KL_ACTION_RULE + below(rules) : 1 + below(2);
	m->dynamic = (u64)(uintptr_t)odd_or(action, defined);
	m->n_dynamic = defined;
	if (one_in(12))
		mutate(m, sizeof(*m));
	me->calls++;
	if (!ioctl(fd, KL_IOC_MASKSET_WRITE, m))
		me->successes++;
}

void op_maskset(void)
{
	struct kl_abi_maskset *m = (void *)memory;
	int fd = session_fd();

	make_maskset(fd, one_in(4) ? KL_MASKSET_ANY : KL_MASKSET_FIRST_USER + below(5), below(5),
		     below(8));
	memset(m, 0, sizeof(*m));
	m->size = sizeof(*m);
	m->id = below(9);
	m->dynamic = (u64)(uintptr_t)room;
	m->n_dynamic = below(9);
	ioctl(fd, KL_IOC_MASKSET_READ, m);
}

void op_use(void)
{
	struct kl_abi_use use = { .size = sizeof(use) };

	/* The built-in ones take a second to attach in the emulator. */
	use.maskset = one_in(30) ? below(3) : KL_MASKSET_FIRST_USER + below(one_in(4) ? 5 : 2);
	TRY(session_fd(), KL_IOC_MASKSET_USE, use);
}

/* --------------------------------------------------------------- the others */

void op_metadata(void)
{
	struct kl_abi_metadata metadata = { .size = sizeof(metadata) };
	int fd = session_fd();

	metadata.bytes = below(20000);
	metadata.text = (u64)(uintptr_t)odd_or(room, metadata.bytes);
	TRY(fd, KL_IOC_METADATA_SET, metadata);
	metadata.bytes = FUZZ_BUFFER;
	TRY(fd, KL_IOC_METADATA_GET, metadata);
}

static void limit_stacks(int fd)
{
	struct kl_abi_stacks wish = { .size = sizeof(wish), .what = KL_STACKS_LIMITS };

	wish.traces = one_in(3) ? odd_number() : below(5000);
	wish.kernel_frames = below(KL_STACK_FRAMES_MAX + 2);
	wish.user_frames = below(KL_STACK_FRAMES_MAX + 2);
	TRY(fd, KL_IOC_STACKS, wish);
}

void op_stack_limits(void)
{
	limit_stacks(session_fd());
}

static void make_latency(int fd)
{
	struct kl_abi_latency wish = { .size = sizeof(wish) };

	wish.flags = below(KL_LATENCY_FLAGS + 1);
	if (me->uid)
		wish.flags &= ~KL_LATENCY_KERNEL_STACKS;
	wish.tasks = one_in(2) ? 0 : KL_LATENCY_TASKS_MIN + below(100);
	wish.entries = one_in(2) ? 0 : KL_LATENCY_ENTRIES_MIN + below(200);
	TRY(fd, KL_IOC_LATENCY, wish);
}

void op_latency(void)
{
	make_latency(session_fd());
}

static void set_filter(int fd)
{
	struct kl_abi_filter wish = { .size = sizeof(wish), .kind = below(3) };

	wish.uid = one_in(2) ? me->uid : below(100);
	TRY(fd, KL_IOC_FILTER, wish);
}

void op_filter(void)
{
	set_filter(session_fd());
}

void op_start_stop(void)
{
	static const u32 commands[] = { KL_IOC_START, KL_IOC_START, KL_IOC_STOP, KL_IOC_SNAPSHOT,
					KL_IOC_FREEZE };
	struct kl_abi_resize resize = { .size = sizeof(resize), .blocks = 4 + below(16) };
	int fd = session_fd();

	TRY(fd, KL_IOC_RESIZE, resize);
	me->calls++;
	me->successes += !ioctl(fd, commands[below(5)], 0);
}

static int make_session(int fd)
{
	struct kl_abi_session wish = { .size = sizeof(wish) };
	int error;

	wish.mode = below(2);
	wish.block_bytes = 4096u << below(4);
	wish.blocks = 4 + below(12);
	wish.blocks_max = one_in(2) ? 32 : 0;
	snprintf(wish.name, sizeof(wish.name), "fuzz %u", below(100));
	error = TRY(fd, KL_IOC_SESSION, wish);
	if (!error)
		common->session_newest = wish.id;
	return error;
}

void op_session(void)
{
	int fd = open_device(O_RDWR);

	if (fd < 0)
		return;
	keep_fd(fd, make_session(fd) ? ROLE_DEVICE : ROLE_SESSION);
}

/* A session as a recorder makes it, in order, and what fires its events. */
void op_whole_session(void)
{
	u32 program = 0, rules = 0, defined = 0;
	int fd = open_device(O_RDWR);

	if (fd < 0)
		return;
	if (make_session(fd)) {
		close(fd);
		return;
	}
	if (one_in(4))
		limit_stacks(fd);
	for (u32 n = below(4); n; n--) {
		u32 made = make_program(fd, one_in(3));

		program = made ? made : program;
	}
	if (one_in(2))
		make_variables(fd, program);
	if (one_in(2))
		defined = make_events(fd, program);
	for (u32 n = below(6); n; n--)
		rules += make_rule(fd, one_in(4) ? 0 : program);
	if (one_in(3))
		make_latency(fd);
	/* The filter is fixed once the session has started. */
	if (one_in(4)) {
		set_filter(fd);
	} else if (one_in(3)) {
		kl_filter(fd, KL_FILTER_TASKS, 0);
		kl_tasks(fd, getpid(), KL_TASK_ADD | below(8) << 2);
	}
	make_maskset(fd, KL_MASKSET_FIRST_USER, rules, defined);
	kl_use(fd, KL_MASKSET_FIRST_USER);
	if (one_in(3))
		make_maskset(fd, KL_MASKSET_FIRST_USER + 1, rules, defined);
	me->successes += !kl_start(fd);
	keep_fd(fd, ROLE_SESSION);
	if (one_in(2))
		keep_fd(kl_reader(fd, below(4)), ROLE_READER);
	probed();
	op_work();
}
