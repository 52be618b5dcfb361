// SPDX-License-Identifier: GPL-2.0
/*
 * Definitions of a session, valid except for a member here and there: events of all kinds,
 * variables, rules, masksets that name them, a latency profile; programs are in programs.c. Also a
 * whole session at once, in the right order, so that code that only a running one reaches is
 * reached often.
 */
#include <sys/syscall.h>

#include "fuzz.h"

/* Events that this program causes, or that the machine causes by itself. */
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
		/*
		 * One that does not exist, or not for this user, makes the module refuse the whole
		 * maskset.
		 */
		return one_in(6) ? 1 + below(450) : events[below(EVENTS)];
	default:
		return events[below(EVENTS)];
	}
}

/* ------------------------------------------------------------------- events */

static const char *const tracepoints[] = {
	"sched_switch",	      "sched_wakeup",
	"sched_process_fork", "task_rename",
	"kmem_cache_alloc",   "mm_page_alloc",
	"timer_start",	      "hrtimer_start",
	"sys_enter",	      "sys_exit",
	"signal_generate",    "softirq_entry",
	"contention_begin",   "task_newtask",
	"block_rq_issue",     "rcu_utilization",
	"kls_passed",	      "sched_process_exit",
	"rseq_update",	      "mm_lru_insertion",
	"no_such_point",      "",
};

#define TRACEPOINTS (sizeof(tracepoints) / sizeof(*tracepoints))
#define TRACEPOINTS_BAD 2 /* at the end */

__attribute__((noinline)) static void probed(void)
{
	asm volatile("");
}

/* Computed once. */
static u64 probed_offset(void)
{
	static u64 found;

	if (!found)
		found = kl_file_offset(probed);
	return found;
}

/* A single invalid event makes the module refuse the whole request, so few events are @odd. */
static struct kl_abi_event any_defined(u32 program, bool odd)
{
	static const u16 often[] = { 1, 10, 50, 100, 997 };
	struct kl_abi_event event = { .program = program };

	switch (me->uid && !one_in(10) ? below(3) : below(9)) {
	case 0:
		event.kind = KL_SOURCE_KIND_TRACEPOINT;
		event.name = (u64)(uintptr_t)
			tracepoints[below(TRACEPOINTS - (odd ? 0 : TRACEPOINTS_BAD))];
		break;
	case 1:
		event.kind = KL_SOURCE_KIND_TICK;
		event.arg = odd ? odd_number() : often[below(5)];
		break;
	case 2:
		event.kind = KL_SOURCE_KIND_TRAP;
		break;
	case 3 ... 4:
		event.kind = KL_SOURCE_KIND_FUNCTION + below(2);
		event.flags = one_in(2) ? KL_EVENT_OPTIONAL : 0;
		odd |= event.flags;
		event.address = common->symbol[below(odd ? FUZZ_SYMBOLS : FUZZ_SYMBOLS_GOOD)];
		break;
	case 5 ... 6:
		event.kind = KL_SOURCE_KIND_UPROBE + below(2);
		event.name = (u64)(uintptr_t)(odd ? "/etc/passwd" : "/proc/self/exe");
		event.arg = odd && one_in(2) ? odd_number() : probed_offset();
		break;
	case 7:
		event.kind = KL_SOURCE_KIND_USDT;
		event.name = (u64)(uintptr_t)(odd ? "/etc/passwd" : "/proc/self/exe");
		event.arg = probed_offset();
		event.address = odd ? odd_number() : 0;
		event.flags = odd && one_in(2) ? KL_EVENT_LOCATION : 0;
		break;
	default:
		event.kind = KL_SOURCE_KIND_BLOCK;
	}
	return event;
}

/* Returns the session's number of events; some of the new ones use @program. */
u32 make_events(int fd, u32 program)
{
	struct kl_abi_event *event = (void *)room;
	struct kl_abi_events params = { .size = sizeof(params), .n = 1 + below(6) };

	for (u32 i = 0; i < params.n; i++)
		event[i] = any_defined(one_in(3) ? program : 0, one_in(20));
	if (one_in(10))
		mutate(event, params.n * sizeof(*event));
	params.event = (u64)(uintptr_t)odd_or(event, params.n * sizeof(*event));
	return TRY(fd, KL_IOC_EVENTS, params) ? 0 : params.first - KL_EV_DYNAMIC + params.n;
}

void op_events(void)
{
	make_events(session_fd(), below(3));
}

/* ------------------------------------------------- variables, rules, masksets */

void make_variables(int fd, u32 program)
{
	struct kl_abi_variables params = { .size = sizeof(params),
					   .n = below(one_in(4) ? 30 : 10) };
	u32 first = below(1000);

	for (u32 i = 0; i < params.n; i++)
		params.variable[i].variable = variable_at(first + i);
	if (params.n && one_in(3))
		params.variable[below(params.n)].variable = one_in(2) ? VARIABLE_ustack :
									VARIABLE_kstack;
	if (params.n && program && one_in(3))
		params.variable[below(params.n)] = (struct kl_abi_variable){
			.variable = KL_VARIABLE_PROGRAM,
			.program = program,
			.type = below(KL_VARIABLE_TYPE_TEXT + 1),
		};
	params.flags = one_in(4) ? below(4) : 0;
	TRY(fd, KL_IOC_VARIABLES, params);
}

/* Variables at a known offset in the task, which seldom change. */
void make_plain_variables(int fd)
{
	static const u32 plain[] = { VARIABLE_uid, VARIABLE_nice, VARIABLE_start_time,
				     VARIABLE_ppid, VARIABLE_pgid };
	struct kl_abi_variables params = { .size = sizeof(params), .n = 1 + below(5) };

	for (u32 i = 0; i < params.n; i++)
		params.variable[i].variable = plain[i];
	TRY(fd, KL_IOC_VARIABLES, params);
}

/* A table of rows in order, most of them valid, for this program. */
static void make_unwind(int fd)
{
	static struct kl_unwind_row rows[512];
	u32 n = 1 + below(512), at = 0;
	struct kl_abi_unwind params = { .size = sizeof(params), .rows = (u64)(uintptr_t)rows };

	for (u32 i = 0; i < n; i++) {
		rows[i].offset = at;
		at += one_in(500) ? 0 : 1 + below(64);
		rows[i].rule = kl_unwind_rule(below(8), below(16), one_in(3) ? 0 : below(4));
		if (!kl_unwind_rule_is_valid(rows[i].rule) && !one_in(500))
			rows[i].rule = kl_unwind_rule(KL_UNWIND_SP, 1 + below(8), 0);
	}
	rows[n - 1].rule = one_in(20) ? rows[0].rule : KL_UNWIND_NONE;
	params.n = one_in(5) ? 0 : n;
	params.flags = one_in(4) ? KL_UNWIND_VDSO : 0;
	params.fd = params.flags ? -1 : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	TRY(fd, KL_IOC_UNWIND, params);
	if (params.fd >= 0)
		close(params.fd);
}

/* Stack traces with each record; at times the table is too small for many. */
void make_stacks(int fd)
{
	struct kl_abi_variables params = { .size = sizeof(params), .n = me->uid ? 2 : 3 };

	struct kl_abi_stacks few = { .what = KL_STACKS_LIMITS, .traces = 1 + below(10) };

	params.variable[0].variable = VARIABLE_tid;
	params.variable[1].variable = VARIABLE_ustack;
	params.variable[2].variable = me->uid ? 0 : VARIABLE_kstack;
	if (one_in(3))
		TRY(fd, KL_IOC_STACKS, few);
	TRY(fd, KL_IOC_VARIABLES, params);
	if (one_in(2))
		make_unwind(fd);
}

void op_variables(void)
{
	make_variables(session_fd(), below(3));
}

/* Only few flags, so that several rules and programs use the same: of tasks, and of CPUs. */
u32 any_flag(void)
{
	return (one_in(2) ? KL_FLAGS_MAX / 2 : 0) + below(2);
}

bool make_rule(int fd, u32 program)
{
	/* Handlers whose tables can be read are more frequent. */
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
		rule.arg = one_in(10) ? below(2 * KL_FLAGS_MAX) : any_flag();
		break;
	case KL_HANDLER_freeze:
		rule.arg = below(2000);
		break;
	case KL_HANDLER_stack:
		rule.arg = one_in(10) ? odd_number() : below(4);
		break;
	case KL_HANDLER_use:
		rule.arg = one_in(10) ? odd_number() : KL_MASKSET_FIRST_USER + below(4);
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
	if (one_in(30))
		memset(rule.text, 'a', sizeof(rule.text));
	return !TRY(fd, KL_IOC_RULE, rule);
}

void op_rule(void)
{
	make_rule(session_fd(), below(4));
}

/* Assigns all available handlers and rules to events of the table and to dynamic ones. */
void make_maskset(int fd, u32 id, u32 rules, u32 defined)
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

	/* The built-in ones take the emulator a second to attach. */
	use.maskset = one_in(30) ? below(3) : KL_MASKSET_FIRST_USER + below(one_in(4) ? 5 : 2);
	TRY(session_fd(), KL_IOC_MASKSET_USE, use);
}

/* --------------------------------------------------------- other operations */

void op_metadata(void)
{
	struct kl_abi_metadata metadata = { .size = sizeof(metadata) };
	int fd = session_fd();

	metadata.kind = one_in(20) ? below(5) : below(KL_METADATA_KINDS);
	metadata.bytes = below(20000);
	metadata.text = (u64)(uintptr_t)odd_or(room, metadata.bytes);
	TRY(fd, KL_IOC_METADATA_SET, metadata);
	if (!one_in(10))
		metadata.kind = KL_METADATA_DEFINED;
	metadata.bytes = FUZZ_BUFFER;
	TRY(fd, KL_IOC_METADATA_GET, metadata);
}

void limit_stacks(int fd)
{
	struct kl_abi_stacks params = { .size = sizeof(params), .what = KL_STACKS_LIMITS };

	params.traces = one_in(3) ? odd_number() : below(5000);
	params.kernel_frames = below(KL_STACK_FRAMES_MAX + 2);
	params.user_frames = below(KL_STACK_FRAMES_MAX + 2);
	TRY(fd, KL_IOC_STACKS, params);
}

void op_stack_limits(void)
{
	limit_stacks(session_fd());
}

void make_latency(int fd)
{
	struct kl_abi_latency params = { .size = sizeof(params) };

	params.flags = one_in(3) ? 0 : below(KL_LATENCY_FLAGS + 1);
	if (me->uid)
		params.flags &= ~KL_LATENCY_KERNEL_STACKS;
	params.tasks = one_in(2) ? 0 : KL_LATENCY_TASKS_MIN + below(100);
	params.entries = one_in(2) ? 0 : KL_LATENCY_ENTRIES_MIN + below(200);
	TRY(fd, KL_IOC_LATENCY, params);
}

void op_latency(void)
{
	make_latency(session_fd());
}

void set_filter(int fd)
{
	struct kl_abi_filter params = { .size = sizeof(params), .kind = below(4) };
	int group = -1;

	params.uid = one_in(2) ? me->uid : below(100);
	if (params.kind == KL_FILTER_CGROUP) {
		group = open("/sys/fs/cgroup", O_PATH | O_CLOEXEC);
		params.fd = one_in(3) ? (int)below(40) : group;
	}
	TRY(fd, KL_IOC_FILTER, params);
	if (group >= 0)
		close(group);
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

/* Some sessions are in the reserved memory, if there is any and the user may have it. */
int begin_session(int fd, struct kl_abi_session *params)
{
	struct kl_abi_session kept = *params;
	int error = -1;

	if (one_in(4)) {
		kept.flags = KL_SESSION_KEEP;
		if (one_in(4))
			kept.blocks = kept.blocks_max = 0;
		error = TRY(fd, KL_IOC_SESSION, kept);
	}
	if (error)
		error = TRY(fd, KL_IOC_SESSION, *params);
	else
		*params = kept;
	if (!error)
		common->session_newest = params->id;
	return error;
}

static u32 try_reserved(void)
{
	struct kl_abi_session params = { .size = sizeof(params),
					 .block_bytes = 4096,
					 .flags = KL_SESSION_KEEP };
	int fd = open_device(O_RDWR), error = fd < 0 ? -1 : ioctl(fd, KL_IOC_SESSION, &params);

	if (fd >= 0)
		close(fd);
	return error ? 0 : params.blocks;
}

u32 reserved_blocks(void)
{
	u32 before = 0, blocks = try_reserved();

	/* The first session leaves an anchor; the memory of each comes back when it is torn down. */
	while (blocks != before) {
		before = blocks;
		sleep_ms(500);
		blocks = try_reserved();
	}
	return blocks;
}

void check_reserved(u32 before)
{
	u32 left = reserved_blocks();

	if (before)
		tap_result(left == before, "and the reserved memory",
			   "%u blocks fit, %u did before", left, before);
}

int make_session(int fd)
{
	struct kl_abi_session params = { .size = sizeof(params) };

	params.mode = below(2);
	params.block_bytes = 4096u << below(4);
	params.blocks = 4 + below(12);
	params.blocks_max = one_in(2) ? 32 : 0;
	snprintf(params.name, sizeof(params.name), "fuzz %u", below(100));
	if (one_in(30))
		memset(params.name, 'a', sizeof(params.name));
	return begin_session(fd, &params);
}

void op_session(void)
{
	int fd = open_device(O_RDWR);

	if (fd < 0)
		return;
	keep_fd(fd, make_session(fd) ? ROLE_DEVICE : ROLE_SESSION);
}

/* A session as a recorder creates it, in order, followed by what fires its events. */
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
	/* The filter cannot change once the session has started. */
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
