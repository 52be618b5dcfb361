// SPDX-License-Identifier: GPL-2.0
/*
 * The permitted cost of an event. As root in the guest: user 60001 requests more work at one probe
 * point than an unprivileged user is allowed, in one session and in several, and then the maximum
 * that is allowed; another user's sleeps must not suffer. Then sessions that use too much time are
 * suspended.
 *
 * More than 600 lines: each attack has its session.
 *
 *	budget          refusals, the largest session that is not refused, suspension
 *	budget costs    operations and instructions, in a guest started with --icount
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fire.h"

#define USER 60001
#define OTHER 60002
#define MASKSET KL_MASKSET_FIRST_USER
#define LIMIT 16384
#define SLEEPS 60

static void put_parameter(const char *name, const char *value)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "/sys/module/kernlens/parameters/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		bail("%s", path);
	close(fd);
}

static void become(u32 uid)
{
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		bail("user %u", uid);
	/*
	 * A process that has changed its ids is not dumpable, so other processes cannot inspect it.
	 */
	if (prctl(PR_SET_DUMPABLE, 1))
		bail("dumpable");
}

/* A program that reads variable @id @n times. */
static u32 reading_program(int fd, u32 id, u32 n)
{
	struct kl_abi_op op[KL_PROGRAM_OPS_MAX] = {};
	struct kl_abi_program program = {
		.size = sizeof(program),
		.ops = (u64)(uintptr_t)op,
		.n_ops = n + 1,
	};

	for (u32 i = 0; i < n; i++)
		op[i] = (struct kl_abi_op){ .code = KL_OP_VARIABLE, .imm = id };
	op[n].code = KL_OP_END;
	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	return program.id;
}

/* Sets @n variables that all are this program. */
static int set_variables(int fd, u32 program, u32 n)
{
	struct kl_abi_variables params = { .size = sizeof(params), .n = n };

	for (u32 i = 0; i < n; i++)
		params.variable[i] = (struct kl_abi_variable){
			.variable = KL_VARIABLE_PROGRAM,
			.program = program,
			.type = KL_NUMBER_U64,
		};
	return kl_call(fd, KL_IOC_VARIABLES, &params);
}

static int open_session(void)
{
	struct kl_abi_session params = { .mode = KL_MODE_OVERWRITE,
					 .block_bytes = 65536,
					 .blocks = 4 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	return fd;
}

/* Defines and logs @n events of the session's own at a tracepoint. */
static int log_defined(int fd, const char *tracepoint, u32 n)
{
	static struct kl_abi_event event[KL_EV_DYNAMIC_MAX];
	static u8 handler[KL_EV_DYNAMIC_MAX];
	static struct kl_abi_maskset m;
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)event };
	int error;

	for (u32 i = 0; i < n; i++)
		event[i] = (struct kl_abi_event){ .kind = KL_SOURCE_KIND_TRACEPOINT,
						  .name = (u64)(uintptr_t)tracepoint };
	if (kl_call(fd, KL_IOC_EVENTS, &events))
		bail("events: %s", kl_why(fd));
	memset(&m, 0, sizeof(m));
	memset(handler, KL_HANDLER_log, n);
	m.size = sizeof(m);
	m.id = MASKSET;
	m.dynamic = (u64)(uintptr_t)handler;
	m.n_dynamic = n;
	error = kl_call(fd, KL_IOC_MASKSET_WRITE, &m);
	return error ?: kl_use(fd, MASKSET);
}

/* ------------------------------------------------------- refusals */

/* Parses a refusal's text; returns false if it is not the expected one. */
static bool read_refusal(int fd, const char *place, const char *part, u64 *sum)
{
	unsigned long long limit = 0, most = 0, is = 0;
	const char *why = kl_why(fd), *at = strstr(why, " would cost ");

	*sum = 0;
	if (!at || strncmp(why, place, strlen(place)) ||
	    sscanf(at, " would cost %llu operations each time it fires, the limit is %llu; %llu",
		   &is, &limit, &most) != 3)
		return false;
	*sum = is;
	return is > limit && limit == LIMIT && most <= is && strstr(at, part);
}

static void check_refusal(int fd, int error, const char *place, const char *part, const char *what)
{
	char name[120];
	u64 sum;
	bool told = read_refusal(fd, place, part, &sum);

	snprintf(name, sizeof(name), "refused with the sum: %s", what);
	tap_result(error == -EDQUOT && told, name, "error %d, %s", error, kl_why(fd));
	if (told)
		printf("# %s\n", kl_why(fd));
}

static void test_variables(void)
{
	int fd = open_session();

	if (set_variables(fd, reading_program(fd, VARIABLE_ustack, KL_PROGRAM_OPS_MAX - 1), 63))
		bail("variables: %s", kl_why(fd));
	check_refusal(fd, log_defined(fd, "sched_switch", 64), "sched_switch", "variables",
		      "63 variables of 255 call traces each at 64 events");
	close(fd);
}

/* The variables are set after the maskset, so the start must detect them. */
static void test_late_variables(void)
{
	u32 events[] = { KL_EV_sched_switch, 0 };
	int fd = open_session();

	if (kl_use_events(fd, MASKSET, KL_HANDLER_log, events))
		bail("maskset: %s", kl_why(fd));
	if (set_variables(fd, reading_program(fd, VARIABLE_ustack, KL_PROGRAM_OPS_MAX - 1), 1))
		bail("variables: %s", kl_why(fd));
	check_refusal(fd, kl_start(fd), "sched_switch", "variables",
		      "variables that were set last");
	close(fd);
}

/* A program each of whose operations searches for a string of its event. */
static u32 searching_program(int fd)
{
	struct kl_abi_op op[KL_PROGRAM_OPS_MAX] = {};
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)op,
					  .n_ops = KL_PROGRAM_OPS_MAX };

	for (u32 i = 0; i < KL_PROGRAM_OPS_MAX - 1; i++)
		op[i] = (struct kl_abi_op){ .code = KL_OP_FIELD, .a = 2, .b = KL_NUMBER_U8 };
	op[KL_PROGRAM_OPS_MAX - 1].code = KL_OP_END;
	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	return program.id;
}

static u32 make_rule(int fd, u32 handler, u32 filter)
{
	struct kl_abi_rule rule = {
		.size = sizeof(rule), .handler = handler, .filter = filter, .text = "here"
	};

	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
	return KL_ACTION_RULE + rule.rule;
}

/* The program looks for the second string of openat, which has only one. */
static void test_filter(void)
{
	u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_openat, 0 };
	int fd = open_session();
	u32 action = make_rule(fd, KL_HANDLER_count, searching_program(fd));

	check_refusal(fd, kl_use_events(fd, MASKSET, action, events), "sys_enter", "filters",
		      "a filter that searches a string 255 times");
	close(fd);
}

/*
 * @event raises @fired, whose rule costs too much: the refusal must name @place, the one of @event.
 */
static void check_fired(u32 handler, u32 event, u32 fired, const char *place, const char *what)
{
	static struct kl_abi_maskset m;
	int fd = open_session(), error;

	memset(&m, 0, sizeof(m));
	m.size = sizeof(m);
	m.id = MASKSET;
	m.handler[event] = handler == KL_HANDLER_log ? handler : make_rule(fd, handler, 0);
	m.handler[fired] = make_rule(fd, KL_HANDLER_count, searching_program(fd));
	error = kl_call(fd, KL_IOC_MASKSET_WRITE, &m) ?: kl_use(fd, MASKSET);
	check_refusal(fd, error, place, "filters", what);
	close(fd);
}

/* The probe point of @fired itself would be cheaper, so the refusal must name that of @event. */
static void test_fired(void)
{
	check_fired(KL_HANDLER_alarm, KL_EV_sched_switch, KL_EV_alarm, "sched_switch",
		    "an alarm that is expensive itself");
	check_fired(KL_HANDLER_snapshot, KL_EV_sched_switch, KL_EV_alarm, "sched_switch",
		    "a snapshot, whose event is");
	check_fired(KL_HANDLER_log, KL_EV_SYSCALL_ENTRY + SYS_openat, KL_EV_syscall_late_string,
		    "sys_exit", "strings that come late");
}

/* Each is allowed; together they are not. */
static void test_sum(void)
{
	u32 events[] = { KL_EV_sched_switch, 0 };
	int fds[8], n, error = 0;
	u64 sum;

	for (n = 0; n < 8; n++) {
		fds[n] = open_session();
		if (set_variables(fds[n], reading_program(fds[n], VARIABLE_ustack, 2), 1) ||
		    kl_use_events(fds[n], MASKSET, KL_HANDLER_log, events))
			bail("session %d: %s", n, kl_why(fds[n]));
		error = kl_start(fds[n]);
		if (error)
			break;
	}
	tap_result(n > 1 && n < 8 && error == -EDQUOT &&
			   read_refusal(fds[n], "sched_switch", "other sessions", &sum),
		   "refused with the sum: sessions that are too much together only",
		   "%d sessions, error %d, %s", n, error, kl_why(fds[n < 8 ? n : 7]));
	if (n < 8) {
		close(fds[--n]);
		error = kl_start(fds[n + 1]);
		tap_result(!error, "another fits once one has ended", "%s", kl_why(fds[n + 1]));
		close(fds[n + 1]);
	}
	while (n--)
		close(fds[n]);
}

/* What the commands of an ordinary user request. */
static void test_usual(void)
{
	static const u32 ids[] = { VARIABLE_tid,       VARIABLE_comm,	 VARIABLE_ppid,
				   VARIABLE_uid,       VARIABLE_cgroup,	 VARIABLE_priority,
				   VARIABLE_cpu,       VARIABLE_utime,	 VARIABLE_stime,
				   VARIABLE_run_delay, VARIABLE_nvcsw,	 VARIABLE_min_faults,
				   VARIABLE_rss,       VARIABLE_vm_size, VARIABLE_open_files,
				   VARIABLE_user_ip,   VARIABLE_syscall, VARIABLE_ustack };
	struct kl_abi_variables params = { .size = sizeof(params) };
	int fd = open_session(), error;

	for (u32 i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		params.variable[params.n++].variable = ids[i];
	if (kl_call(fd, KL_IOC_VARIABLES, &params))
		bail("variables: %s", kl_why(fd));
	error = kl_use(fd, KL_MASKSET_RALL) ?: kl_start(fd);
	tap_result(!error, "not refused: all events with 18 variables, one of them a call trace",
		   "error %d, %s", error, kl_why(fd));
	close(fd);
}

/* ------------------------------------------------------- the largest session */

/* Starts a session whose records have as many stack traces as allowed, at several places. */
static int start_largest(u32 *traces)
{
	u32 events[] = { KL_EV_sched_switch, KL_EV_sched_waking, KL_EV_sched_wakeup, 0 };
	int fd;

	for (*traces = 32; *traces; --*traces) {
		fd = open_session();
		if (set_variables(fd, reading_program(fd, VARIABLE_ustack, *traces), 1))
			bail("variables: %s", kl_why(fd));
		if (!kl_use_events(fd, MASKSET, KL_HANDLER_log, events) && !kl_start(fd))
			return fd;
		close(fd);
	}
	bail("no call trace is allowed");
}

/* Frames that a stack trace follows up to its limit. */
#define FRAMES __attribute__((noinline, noclone, optimize("O0")))

static FRAMES int deeply(u32 depth, int (*run)(int), int argument)
{
	int result = depth ? deeply(depth - 1, run, argument) : run(argument);

	/* Prevents a tail call. */
	__asm__ volatile("" ::: "memory");
	return result;
}

static FRAMES int give_way(int end)
{
	char byte = 0;

	/* Two processes pass a byte back and forth: a switch each time. */
	while (syscall(SYS_read, end, &byte, 1) == 1 && write(end + 1, &byte, 1) == 1)
		;
	return 0;
}

/* Starts processes of the user that switch all the time, on the first CPU. */
static void start_switching(pid_t pid[2])
{
	int pair[2][2];

	if (pipe(pair[0]) || pipe(pair[1]))
		bail("pipe");
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		kl_pin(0);
		/* Adjacent descriptors: read from the first, write to the second. */
		if (dup2(pair[i][0], 100) < 0 || dup2(pair[!i][1], 101) < 0)
			bail("dup2");
		if (!i && write(101, "", 1) != 1)
			bail("write");
		deeply(40, give_way, 100);
		_exit(0);
	}
}

/* As another user, on that CPU: how long a sleep of 1 ms takes. */
static double mean_sleep(void)
{
	double begun, sum = 0;

	sleep_ms(100);
	for (int i = 0; i < SLEEPS; i++) {
		begun = now_seconds();
		sleep_ms(1);
		sum += now_seconds() - begun;
	}
	return sum / SLEEPS * 1e3;
}

static double measure_as_other(void)
{
	int result[2];
	double mean = 0;
	pid_t pid;

	if (pipe(result))
		bail("pipe");
	pid = fork();
	if (!pid) {
		become(OTHER);
		kl_pin(0);
		mean = mean_sleep();
		if (write(result[1], &mean, sizeof(mean)) != sizeof(mean))
			bail("write");
		_exit(0);
	}
	if (read(result[0], &mean, sizeof(mean)) != sizeof(mean))
		bail("read");
	waitpid(pid, NULL, 0);
	close(result[0]);
	close(result[1]);
	return mean;
}

static int as_user(void (*run)(int), int argument)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		become(USER);
		run(argument);
		fflush(stdout);
		_exit(tap.failures);
	}
	waitpid(pid, &status, 0);
	return status;
}

static bool wait_for_suspension(int fd, double seconds)
{
	struct pollfd news = { .fd = fd, .events = POLLPRI };
	double until = now_seconds() + seconds * kl_slowness();

	kl_stats(fd, -1);
	while (!kl_stats(fd, -1).suspended.times && now_seconds() < until)
		poll(&news, 1, 200);
	return kl_stats(fd, -1).suspended.times;
}

static void print_suspension(const struct kl_abi_suspended *is)
{
	printf("# suspended for reason %u: %u of 1000, limit %u, CPU %d\n", is->reason,
	       is->permille, is->limit, is->cpu);
}

/* A session that uses too much, but pauses before it has done so for long. */
static void check_pauses(int fd)
{
	const char *name = "one that stops and starts again meanwhile is suspended, too";
	double until = now_seconds() + 60, begun, took = 0;

	if (kl_slowness() > 1) {
		tap_skip(name, "to stop and start takes most of the time");
		return;
	}
	while (kl_stats(fd, -1).suspended.times < 2 && now_seconds() < until) {
		/* It must run for most of the time, however long stopping and starting take. */
		sleep_ms(400 + (int)(4000 * took));
		begun = now_seconds();
		if (kl_stats(fd, -1).running && kl_stop(fd) == 0 && kl_start(fd))
			printf("# start: %s\n", kl_why(fd));
		took = now_seconds() - begun;
	}
	tap_check(kl_stats(fd, -1).suspended.times == 2, name);
}

static void switch_and_trace(int to)
{
	struct kl_abi_stats stats;
	u32 traces = 0;
	pid_t pid[2];
	char go;
	int fd;

	start_switching(pid);
	if (write(to, &traces, sizeof(traces)) != sizeof(traces) || read(to - 1, &go, 1) < 0)
		bail("pipe");
	fd = start_largest(&traces);
	if (write(to, &traces, sizeof(traces)) != sizeof(traces))
		bail("pipe");
	/* More than a tenth of all CPU time with interrupts off. */
	wait_for_suspension(fd, 20);
	stats = kl_stats(fd, -1);
	print_suspension(&stats.suspended);
	tap_result(stats.suspended.times == 1 && !stats.running &&
			   stats.suspended.permille > stats.suspended.limit,
		   "a user's session that takes too much is suspended", "times %u, running %u",
		   stats.suspended.times, stats.running);
	tap_result(!kl_start(fd), "its creator can start it again", "%s", kl_why(fd));
	tap_check(kl_stats(fd, -1).running, "then it runs");
	check_pauses(fd);
	close(fd);
	for (int i = 0; i < 2; i++)
		kill(pid[i], SIGKILL);
	_exit(tap.failures);
}

static void test_largest(void)
{
	int told[2], go[2];
	double without, with;
	u32 traces = 0;
	int status;
	pid_t pid;

	if (pipe(told) || pipe(go) || dup2(go[0], 110) < 0 || dup2(told[1], 111) < 0)
		bail("pipe");
	pid = fork();
	if (!pid) {
		become(USER);
		switch_and_trace(111);
		_exit(0);
	}
	if (read(told[0], &traces, sizeof(traces)) != sizeof(traces))
		bail("read");
	without = measure_as_other();
	if (write(go[1], "", 1) != 1 || read(told[0], &traces, sizeof(traces)) != sizeof(traces))
		bail("read");
	with = measure_as_other();
	waitpid(pid, &status, 0);
	tap.failures += !!status;
	printf("# a sleep of 1 ms: %.2f ms, with %u call traces at each switch %.2f ms\n", without,
	       traces, with);
	tap_result(traces > 1, "a record may have some call traces", "%u", traces);
	tap_result(with < 10 * without, "what is allowed costs another user's sleep little",
		   "%.2f ms, without %.2f ms", with, without);
}

/* ------------------------------------------------------- the watchdog */

/* An address that is never mapped: each load faults. */
#define UNMAPPED 0xffffc88000000000ull

/* A rule that logs what its filter allows; the filter takes long to decide. */
static u8 slow_rule(int fd)
{
	struct kl_abi_op op[KL_PROGRAM_OPS_MAX] = {
		{ .code = KL_OP_CONST, .dst = 1, .imm64 = UNMAPPED },
	};
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)op,
					  .n_ops = KL_PROGRAM_OPS_MAX };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_log };

	for (u32 i = 1; i < KL_PROGRAM_OPS_MAX - 1; i++)
		op[i] = (struct kl_abi_op){ .code = KL_OP_LOAD, .a = 1, .b = KL_NUMBER_U64 };
	op[KL_PROGRAM_OPS_MAX - 1] = (struct kl_abi_op){ .code = KL_OP_END, .a = 1 };
	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	rule.filter = program.id;
	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
	return KL_ACTION_RULE + rule.rule;
}

/* Starts root's session with that rule at an event. */
static int start_slow(u32 event)
{
	u32 events[] = { event, 0 };
	int fd = open_session();

	if (kl_use_events(fd, MASKSET, slow_rule(fd), events) || kl_start(fd))
		bail("start: %s", kl_why(fd));
	return fd;
}

static u64 sum_fired(const struct kls_counts *counts)
{
	u64 sum = 0;

	for (u32 source = 0; source < KLS_SOURCES; source++)
		for (u32 context = 0; context < KLS_CONTEXTS; context++)
			sum += counts->fired[source][context];
	return sum;
}

/*
 * A short storm in interrupts: the module stops running probes there in time, and accounts for all
 * hits.
 */
static void test_storm(int stimulus)
{
	const struct kls_plan plan = { .records = 1, .cpus = 1, .nested = 400, .irq_every = 1 };
	int fd = start_slow(KL_EV_power_cpu_frequency);
	struct kls_counts counts = fire_all(stimulus, &plan);
	struct kl_abi_stats stats;

	if (kl_stop(fd))
		bail("stop");
	stats = kl_stats(fd, -1);
	printf("# storm: fired %llu, written %llu, lost %llu\n",
	       (unsigned long long)sum_fired(&counts), (unsigned long long)stats.written,
	       (unsigned long long)stats.lost);
	tap_result(stats.lost && stats.written, "hits with interrupts off are refused in time",
		   "written %llu", (unsigned long long)stats.written);
	tap_result(stats.written + stats.lost == sum_fired(&counts),
		   "what is refused is counted as lost", "fired %llu",
		   (unsigned long long)sum_fired(&counts));
	close(fd);
}

/* Do the buffers contain an event of the suspension among plain records? */
static bool has_event(int fd, const struct kl_abi_suspended *is)
{
	static u8 block[65536];
	int reader = kl_reader(fd, 0);
	bool found = false;

	if (reader < 0)
		bail("reader: %s", kl_why(fd));
	while (read(reader, block, sizeof(block)) == sizeof(block)) {
		const struct kl_abi_block *b = (const void *)block;
		const u8 *at = block + KL_BLOCK_HEADER_BYTES, *end = block + b->content_bits / 8;

		while (at < end) {
			u32 id = *(const u16 *)at;

			at += KL_RECORD_PREFIX_BYTES + (at[8] & KL_CHANGED_TASK ? 24 : 0);
			if (id == KL_EV_session_suspended)
				found |= !memcmp(at, &is->reason, 4 * sizeof(u32));
			at += id == KL_EV_session_suspended ? 16 : 56;
		}
	}
	close(reader);
	return found;
}

/*
 * The machine runs nothing but probes until the session is suspended. On a kernel with checkers, most
 * of the time is theirs.
 */
static void test_suspended(void)
{
	u32 percent = kl_slowness() > 1 ? 10 : 50;
	struct pollfd news = { .events = POLLPRI };
	double without = measure_as_other(), after;
	struct kl_abi_status status = { .size = sizeof(status) };
	struct kl_abi_stats stats;
	pid_t pid[2];
	bool told;
	int fd;

	kl_set_parameter("cpu_percent_privileged", percent);
	start_switching(pid);
	fd = start_slow(KL_EV_sched_switch);
	news.fd = fd;
	told = poll(&news, 1, 30000 * kl_slowness()) == 1 && news.revents & POLLPRI;
	stats = kl_stats(fd, -1);
	print_suspension(&stats.suspended);
	tap_check(told && stats.suspended.times == 1,
		  "a session that leaves others no time is suspended, and its owner is notified");
	tap_result(!stats.running && stats.suspended.limit == 10 * percent &&
			   (stats.suspended.reason == KL_SUSPENDED_SHARE ||
			    stats.suspended.reason == KL_SUSPENDED_STOPPED),
		   "the reason is reported", "reason %u", stats.suspended.reason);
	for (int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	kl_set_parameter("cpu_percent_privileged", 50);
	if (!told)
		return;
	after = measure_as_other();
	tap_result(after < 5 * without, "the machine is as before", "%.2f ms, before %.2f ms",
		   after, without);
	tap_check(has_event(fd, &stats.suspended), "the buffers have the event");
	while (!kl_call(fd, KL_IOC_STATUS, &status) && !status.suspended)
		status.index++;
	tap_check(status.suspended == 1, "the list of sessions has it");
	close(fd);
}

static void test_unsuspended(void)
{
	u32 events[] = { KL_EV_sched_switch, KL_EV_sched_waking, 0 };
	int fd = open_session();
	pid_t pid[2];

	start_switching(pid);
	if (kl_use_events(fd, MASKSET, KL_HANDLER_log, events) || kl_start(fd))
		bail("start: %s", kl_why(fd));
	tap_check(!wait_for_suspension(fd, 2.5) && kl_stats(fd, -1).running,
		  "a usual session is not suspended, whatever it records");
	close(fd);
	for (int i = 0; i < 2; i++)
		kill(pid[i], SIGKILL);
}

/* ------------------------------------------------------- the model */

#define OPENAT 257
#define ROUNDS 200

/* Programs that are expensive in different ways; each is the filter of a rule that counts. */
enum dear {
	DEAR_NOTHING,
	DEAR_NUMBERS,
	DEAR_TEXTS,
	DEAR_FILES,
	DEAR_DIVISIONS,
	DEAR_STRINGS,
	DEAR_TRACES,
	DEAR_FLAGS,
	DEAR_TIMES,
	DEAR_PROGRAMS
};

static const struct {
	const char *name;
	struct kl_abi_op op;
	u32 n;
} dear_programs[DEAR_PROGRAMS] = {
	[DEAR_NOTHING] = { "an empty program", {}, 0 },
	[DEAR_NUMBERS] = { "variables", { .code = KL_OP_VARIABLE, .imm = VARIABLE_ppid }, 250 },
	[DEAR_TEXTS] = { "texts", { .code = KL_OP_VARIABLE_TEXT, .imm = VARIABLE_comm }, 250 },
	[DEAR_FILES] = { "open files", { .code = KL_OP_VARIABLE, .imm = VARIABLE_open_files }, 100 },
	[DEAR_DIVISIONS] = { "divisions", { .code = KL_OP_ALU, .a = 1, .b = KL_ALU_MOD }, 250 },
	[DEAR_STRINGS] = { "searches of strings",
			   { .code = KL_OP_FIELD_TEXT, .a = 1, .imm64 = 4ull << 32 },
			   200 },
	[DEAR_TRACES] = { "call traces", { .code = KL_OP_VARIABLE, .imm = VARIABLE_ustack }, 50 },
	[DEAR_FLAGS] = { "flags", { .code = KL_OP_FLAG }, 250 },
	[DEAR_TIMES] = { "times since flags", { .code = KL_OP_SINCE }, 250 },
};

/* Runs this program at each openat in the user's session; returns an error if it is refused. */
static int use_dear(int fd, enum dear which)
{
	struct kl_abi_op op[KL_PROGRAM_OPS_MAX] = { { .code = KL_OP_CONST, .dst = 1, .imm64 = 7 } };
	u32 n = dear_programs[which].n, events[] = { KL_EV_SYSCALL_ENTRY + OPENAT, 0 };
	struct kl_abi_program program = { .size = sizeof(program),
					  .ops = (u64)(uintptr_t)op,
					  .n_ops = n + 2 };
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_count };

	for (u32 i = 0; i < n; i++)
		op[i + 1] = dear_programs[which].op;
	op[n + 1].code = KL_OP_END;
	if (kl_call(fd, KL_IOC_PROGRAM, &program))
		bail("program: %s", kl_why(fd));
	rule.filter = program.id;
	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
	return kl_use_events(fd, MASKSET, KL_ACTION_RULE + rule.rule, events);
}

/* The shortest time of one call: no interrupt is included. */
static double least_seconds;

static FRAMES int open_nothing(int rounds)
{
	static char path[240];
	double begun, took;

	memset(path, 'x', sizeof(path) - 1);
	least_seconds = 1;
	for (int i = 0; i < rounds; i++) {
		begun = now_seconds();
		if (syscall(OPENAT, AT_FDCWD, path, O_RDONLY) >= 0)
			bail("%s is there", path);
		took = now_seconds() - begun;
		if (took < least_seconds)
			least_seconds = took;
	}
	return 0;
}

static double call_seconds(void)
{
	deeply(100, open_nothing, ROUNDS);
	return least_seconds;
}

/* Sets the flag that programs test on the running task; starts the session. */
static void set_flag(int fd)
{
	struct kl_abi_rule rule = { .size = sizeof(rule), .handler = KL_HANDLER_set };
	u32 events[] = { KL_EV_SYSCALL_ENTRY + OPENAT, 0 };

	if (kl_call(fd, KL_IOC_RULE, &rule) ||
	    kl_use_events(fd, MASKSET + 1, KL_ACTION_RULE + rule.rule, events) || kl_start(fd))
		bail("flag: %s", kl_why(fd));
}

/* Operations, from the refusal, or instructions, by the clock, of the program. */
static void measure_dear(int to, enum dear which, bool refused)
{
	double result = 0, without;
	int fd = open_session();
	u64 sum;

	if (refused) {
		if (use_dear(fd, which) != -EDQUOT || !strstr(kl_why(fd), " would cost "))
			bail("not refused: %s", kl_why(fd));
		sum = strtoull(strstr(kl_why(fd), " would cost ") + 12, NULL, 10);
		result = sum;
	} else {
		without = call_seconds();
		/* A program that has been added notes times, so add it before the flag is set. */
		if (use_dear(fd, which))
			bail("use: %s", kl_why(fd));
		set_flag(fd);
		call_seconds();
		if (kl_use(fd, MASKSET))
			bail("use: %s", kl_why(fd));
		call_seconds();
		result = (call_seconds() - without) / kl_instruction_seconds();
	}
	if (write(to, &result, sizeof(result)) != sizeof(result))
		bail("write");
	close(fd);
}

static double measured(enum dear which, bool refused)
{
	double result;
	int pair[2], status;
	pid_t pid;

	put_parameter("event_operations_per_user", refused ? "1" : "0");
	if (pipe(pair))
		bail("pipe");
	pid = fork();
	if (!pid) {
		/* The highest descriptor that the count of open files covers. */
		if (dup2(0, 1000) < 0)
			bail("dup2");
		become(USER);
		measure_dear(pair[1], which, refused);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status || read(pair[0], &result, sizeof(result)) != sizeof(result))
		bail("the user's process ends with %d", status);
	close(pair[0]);
	close(pair[1]);
	return result;
}

/* An operation takes about 5 instructions, and never more than 8. */
static void test_model(void)
{
	for (u32 i = 0; i < DEAR_PROGRAMS; i++) {
		double operations = measured(i, true), instructions = measured(i, false);
		char name[100];

		printf("# %s: %.0f operations, %.0f instructions, %.1f each\n",
		       dear_programs[i].name, operations, instructions, instructions / operations);
		snprintf(name, sizeof(name), "the model bounds the cost of %s",
			 dear_programs[i].name);
		tap_result(instructions > 0 && instructions < 8 * operations, name,
			   "%.0f operations, %.0f instructions", operations, instructions);
	}
}

/* ------------------------------------------------------------ main */

static void run_refusals(int unused)
{
	test_variables();
	test_late_variables();
	test_filter();
	test_fired();
	test_sum();
	test_usual();
}

int main(int argc, char **argv)
{
	int stimulus;

	if (argc > 1) {
		test_model();
		return tap_end();
	}
	tap.failures += !!as_user(run_refusals, 0);
	test_largest();
	stimulus = open(KLS_DEVICE, O_RDWR);
	if (stimulus < 0)
		bail(KLS_DEVICE);
	test_storm(stimulus);
	test_suspended();
	test_unsuspended();
	return tap_end();
}
