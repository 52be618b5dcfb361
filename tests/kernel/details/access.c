// SPDX-License-Identifier: GPL-2.0
/*
 * Which user may see what of which process, and processes that change while they are inspected:
 * users, programs with other rights, what only a tracer may see, and races with exec and exit.
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "details.h"

#define SETUID_PROGRAM "/tmp/kl-details-suid"
#define SECRET "klsuidsecret"
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* In the memory of each sleeper, far below its arguments. */
static char planted[64];

/* A process of a user that sleeps, and is dumpable or not. */
static pid_t start_sleeper(u32 uid, bool dumpable)
{
	pid_t pid = fork_child();

	if (!pid) {
		strcpy(planted, SECRET);
		kl_become(uid);
		prctl(PR_SET_DUMPABLE, dumpable);
		for (;;)
			pause();
	}
	sleep_ms(50);
	if (!wait_asleep(pid, "S"))
		bail("sleeper");
	return pid;
}

static void remove_number(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text < '0' || *text > '9')
			*to++ = *text;
	*to = 0;
}

/* Reads any kind; pages have no list. */
static int read_kind(pid_t pid, u32 what, struct kl_details *list)
{
	struct kl_page_runs runs;
	int error;

	if (what != KL_DETAIL_PAGES && what != KL_DETAIL_FRAMES && what != KL_DETAIL_SHARED_PAGES)
		return kl_details_read(device, pid, what, list);
	memset(list, 0, sizeof(*list));
	error = kl_page_runs_read(device, pid, what, &runs);
	kl_page_runs_deinit(&runs);
	return error;
}

/* Counts the kinds that are answered exactly as for an unused pid. */
static u32 count_hidden(pid_t pid)
{
	char none[300], text[300];
	struct kl_details list;
	u32 hidden = 0;

	for (u32 what = 1; what < KL_DETAIL_KINDS; what++) {
		int error[2];

		error[0] = read_kind(4000000, what, &list);
		snprintf(none, sizeof(none), "%s", kl_error_text());
		error[1] = read_kind(pid, what, &list);
		snprintf(text, sizeof(text), "%s", kl_error_text());
		kl_details_deinit(&list);
		remove_number(none);
		remove_number(text);
		hidden += error[0] == -ESRCH && error[1] == -ESRCH && !strcmp(none, text);
	}
	return hidden;
}

static int error_of(pid_t pid, u32 what)
{
	struct kl_details list;
	int error = read_kind(pid, what, &list);

	kl_details_deinit(&list);
	return error;
}

static u32 wait_reason(pid_t pid)
{
	struct kl_details list;
	u32 reason = ~0u;

	if (!kl_details_read(device, pid, KL_DETAIL_WAIT, &list) && list.n)
		reason = list.entry[0].wait.reason;
	kl_details_deinit(&list);
	return reason;
}

/* The stack pointer with which a task is in a system call, read without an event; 0: withheld. */
static u64 stack_pointer(pid_t pid)
{
	struct {
		struct kl_abi_inspected head;
		u64 value;
	} row = {};
	u32 variable = VARIABLE_user_sp;
	struct kl_abi_inspect call = { .size = sizeof(call),
				       .n_variables = 1,
				       .variables = (uintptr_t)&variable,
				       .n_ids = 1,
				       .ids = (uintptr_t)&pid,
				       .rows = (uintptr_t)&row,
				       .room = sizeof(row) };
	int raw = kl_open();

	if (kl_call(raw, KL_IOC_INSPECT, &call) || row.head.status != KL_INSPECTED)
		bail("user_sp of %d: %s", pid, kl_why(raw));
	close(raw);
	return row.value;
}

struct who {
	pid_t own, hidden, other, root;
};

/* Where this program's arguments are, and those of its children that execute no other. */
static u64 arguments_start(void)
{
	char text[1024], *at;
	FILE *from = fopen("/proc/self/stat", "re");

	if (!from || !fgets(text, sizeof(text), from))
		bail("/proc/self/stat");
	fclose(from);
	/* The 48th field; the second one ends with the last parenthesis. */
	at = strrchr(text, ')');
	for (u32 i = 2; at && i < 48; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/*
 * Does a command line continued "before its start" give other memory of the process? Its position
 * comes from the caller, and may wrap around.
 */
static bool leaks_memory(pid_t pid)
{
	static char room[65536];
	struct kl_abi_detail call = { .size = sizeof(call),
				      .pid = pid,
				      .what = KL_DETAIL_COMMAND,
				      .buffer = (uintptr_t)room,
				      .bytes = sizeof(room),
				      .proof = -1,
				      .cursor = (uintptr_t)planted - arguments_start() };
	int raw = kl_open();

	memset(room, 0, sizeof(room));
	if (!arguments_start() || kl_call(raw, KL_IOC_DETAIL, &call))
		bail("the command line of %d: %s", pid, kl_why(raw));
	close(raw);
	return call.records || memmem(room, sizeof(room), SECRET, strlen(SECRET));
}

static void look_as_user(const struct who *w)
{
	u32 all = KL_DETAIL_KINDS - 1, refused = 0;

	tap_check(count_hidden(w->other) == all, "a user: another's process is not there");
	tap_check(count_hidden(w->root) == all, "a user: root's process is not there");
	tap_check(count_hidden(w->hidden) == all, "a user: own that is not dumpable is not there");
	tap_check(count_hidden(2) == all, "a user: a kernel thread is not there");
	tap_check(count_hidden(1) == all, "a user: init is not there");
	for (u32 what = 1; what < KL_DETAIL_KINDS; what++)
		refused += error_of(w->own, what) !=
			   (what == KL_DETAIL_STACK || what == KL_DETAIL_FRAMES ? -EPERM : 0);
	tap_result(!refused, "a user: own process, without kernel stack trace and frame numbers",
		   "%u wrong", refused);
	tap_check(wait_reason(w->own) == KL_WAIT_SIGNAL, "a user: what it waits for");
	tap_check(stack_pointer(w->own), "a user: registers of its own process");
}

/* The kernel's own rule decides, which its parameter changes. */
static void look_without_tracing(const struct who *w)
{
	tap_check(error_of(w->own, KL_DETAIL_SYSCALL) == -EACCES &&
			  wait_reason(w->own) == KL_WAIT_HIDDEN,
		  "yama: what only a tracer may see is refused");
	tap_check(!error_of(w->own, KL_DETAIL_FILES) && !error_of(w->own, KL_DETAIL_MAPS) &&
			  !error_of(w->own, KL_DETAIL_ENVIRONMENT),
		  "yama: what may be read is not");
	tap_check(!stack_pointer(w->own), "yama: nor are registers read without an event");
	tap_check(!leaks_memory(w->own), "yama: the command line gives no other memory");
	tap_check(!error_of(getpid(), KL_DETAIL_SYSCALL), "yama: the own process may be seen");
}

/* A descriptor proves access to its own process only. */
static void look_with_wrong_proof(const struct who *w)
{
	static char room[65536];
	char path[40];
	int raw = kl_open(), failed = 0;
	static const char *const files[] = { "mem", "environ", "maps", "cmdline" };

	for (u32 i = 0; i < 4; i++) {
		struct kl_abi_detail call = { .size = sizeof(call),
					      .pid = w->own,
					      .what = KL_DETAIL_SYSCALL,
					      .buffer = (uintptr_t)room,
					      .bytes = sizeof(room) };

		snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
		call.proof = open(path, O_RDONLY);
		failed += kl_call(raw, KL_IOC_DETAIL, &call) == -EACCES;
		close(call.proof);
		if (!i)
			continue;
		/* Of the right process, but not a proof of the right to trace it. */
		snprintf(path, sizeof(path), "/proc/%d/%s", w->own, files[i]);
		call.proof = open(path, O_RDONLY);
		call.bytes = sizeof(room);
		failed += kl_call(raw, KL_IOC_DETAIL, &call) == -EACCES;
		close(call.proof);
	}
	tap_result(failed == 7, "proofs: of another process or file are none", "%d of 7", failed);
	close(raw);
}

/* The right to see all processes is not the right to trace them. */
static void look_with_perfmon(const struct who *w)
{
	tap_check(!error_of(w->root, KL_DETAIL_FILES) && !error_of(w->other, KL_DETAIL_MAPS) &&
			  !error_of(w->hidden, KL_DETAIL_COMMAND),
		  "CAP_PERFMON: files and mappings of all");
	tap_check(!stack_pointer(w->other) && !stack_pointer(w->root),
		  "CAP_PERFMON: no registers without an event");
	tap_check(!leaks_memory(w->other) && !leaks_memory(w->root),
		  "CAP_PERFMON: the command line gives no other memory");
	tap_check(error_of(w->root, KL_DETAIL_SYSCALL) == -EACCES &&
			  error_of(w->other, KL_DETAIL_ENVIRONMENT) == -EACCES &&
			  wait_reason(w->other) == KL_WAIT_HIDDEN &&
			  error_of(w->other, KL_DETAIL_STACK) == -EPERM,
		  "CAP_PERFMON: not what a tracer may see, nor the kernel's trace");
}

static void run_as(void (*look)(const struct who *), const struct who *w, u32 uid, u32 tests,
		   int capability)
{
	pid_t pid = fork_child();
	int status;

	if (!pid) {
		if (capability >= 0)
			kl_become_with(uid, capability);
		else
			kl_become(uid);
		device = kl_device_open(NULL);
		if (!device)
			bail("%s", kl_error_text());
		look(w);
		_exit(tap.failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	tap.tests += tests;
	tap.failures += !WIFEXITED(status) || WEXITSTATUS(status);
}

void test_access(void)
{
	struct who w = {
		.own = start_sleeper(USER1, true),
		.hidden = start_sleeper(USER1, false),
		.other = start_sleeper(USER2, true),
		.root = start_sleeper(0, true),
	};
	bool yama = !access(YAMA, F_OK);

	if (yama)
		put_file(YAMA, "0");
	run_as(look_as_user, &w, USER1, 8, -1);
	run_as(look_with_wrong_proof, &w, USER1, 1, -1);
	run_as(look_with_perfmon, &w, USER3, 4, CAP_PERFMON);
	if (yama && put_file(YAMA, "1"))
		run_as(look_without_tracing, &w, USER1, 5, -1);
	else
		tap_skip("yama", "this kernel has none");
	if (yama)
		put_file(YAMA, "0");
}

/* -------------------------------------------------------------------- races */

/* The set-user-id program: the user that starts it must not see its secrets. */
int run_setuid_phase(void)
{
	static char secret[100] = "klsuidsecret in memory";
	int fd = open("/tmp/kl-details-" SECRET, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || write(fd, secret, sizeof(secret)) != sizeof(secret))
		return 1;
	usleep(2000);
	close(fd);
	return 0;
}

static void copy_program(void)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "cp /proc/%d/exe " SETUID_PROGRAM " && chmod 4755 " SETUID_PROGRAM, getpid());
	if (system(command))
		bail("copy");
	chmod("/tmp/kl-details", 0755);
}

/* Runs the set-user-id program, or others, as fast as it can. */
static void exec_for_ever(bool to_setuid)
{
	for (;;) {
		pid_t pid = fork();

		if (pid < 0)
			continue;
		if (!pid) {
			int fd = open("/dev/null", O_RDONLY);

			/* A file table that is about to be freed. */
			if (dup2(fd, 60) < 0)
				_exit(1);
			if (to_setuid)
				execl(SETUID_PROGRAM, "x", SECRET, NULL);
			else
				execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

struct race {
	u64 seen, gone, again, wrong, leaked;
	int error;
};

static void look_once(struct race *r, pid_t pid, u32 what)
{
	struct kl_details list;
	int error = read_kind(pid, what, &list);

	switch (error) {
	case 0:
		r->seen++;
		r->leaked +=
			!!memmem(list.records.data, list.records.length, SECRET, strlen(SECRET));
		break;
	case -ESRCH:
		r->gone++;
		break;
	case -EAGAIN:
		r->again++;
		break;
	case -EACCES:
	case -EPERM:
		break;
	default:
		r->wrong++;
		r->error = error;
	}
	kl_details_deinit(&list);
}

/* Pids are assigned in ascending order: those just below the last one are the newest. */
static void look_for(struct race *r, unsigned int seconds)
{
	double until = now_seconds() + seconds;

	while (now_seconds() < until) {
		char *text = read_proc(1, "../loadavg", NULL), *last = strrchr(text, ' ');
		pid_t newest = last ? atoi(last) : 1;

		for (int i = 0; i < 4; i++)
			for (u32 what = 1; what < KL_DETAIL_KINDS; what++)
				look_once(r, newest - i, what);
	}
}

static void look_at_races(const struct who *w)
{
	struct race r = {};

	look_for(&r, w->own);
	tap_result(!r.wrong && !r.leaked && r.seen > 100 && r.gone > 100,
		   "races: a user never sees a set-user-id program of its own",
		   "seen %llu gone %llu again %llu wrong %llu (%d) leaked %llu",
		   (unsigned long long)r.seen, (unsigned long long)r.gone,
		   (unsigned long long)r.again, (unsigned long long)r.wrong, r.error,
		   (unsigned long long)r.leaked);
}

void test_races(unsigned int seconds)
{
	struct who w = { .own = seconds };
	struct race r = {};
	pid_t pid;

	copy_program();
	for (int i = 0; i < 3; i++) {
		pid = fork_child();
		if (!pid) {
			if (i == 2)
				exec_for_ever(false);
			kl_become(USER1);
			exec_for_ever(true);
		}
	}
	look_for(&r, seconds);
	tap_result(!r.wrong && r.seen > 100 && r.gone && r.leaked,
		   "races: with exec and exit, as root",
		   "seen %llu gone %llu again %llu wrong %llu (%d) leaked %llu",
		   (unsigned long long)r.seen, (unsigned long long)r.gone,
		   (unsigned long long)r.again, (unsigned long long)r.wrong, r.error,
		   (unsigned long long)r.leaked);
	run_as(look_at_races, &w, USER1, 1, -1);
}
