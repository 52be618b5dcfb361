// SPDX-License-Identifier: GPL-2.0
/*
 * What an ordinary user learns besides records: tables of counts by task, from each kind of source,
 * and variables; marks are in users.c. Also with /proc hiding other users' processes, and from and
 * into a user namespace. What CAP_SYS_ADMIN without other capabilities gives of files. Runs as root
 * in the guest.
 */
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "decode.h"
#include "workload.h"

#define NAME_INNER "klinner1" /* a process of user 1 in a user namespace of its own */
#define ENTRIES 1024
#define KEYS 4 /* both halves of comm, tid, and a field that is a tid, too */

/* Offset of the next task's id in sched_switch. */
#define NEXT_TID_AT 48

static const struct source {
	const char *name;
	u32 event; /* from the tables; 0: a dynamic event of @kind */
	u32 kind;
	const char *tracepoint;
	u32 hz;
} sources[] = {
	{ "sched_switch", KL_EV_sched_switch, 0, NULL, 0 },
	{ "a system call", KL_EV_SYSCALL_EXIT + SYS_openat, 0, NULL, 0 },
	{ "tp:sched_switch", 0, KL_SOURCE_KIND_TRACEPOINT, "sched_switch", 0 },
	{ "tp:sched_wakeup", 0, KL_SOURCE_KIND_TRACEPOINT, "sched_wakeup", 0 },
	{ "tick:500", 0, KL_SOURCE_KIND_TICK, NULL, 500 },
};

#define SOURCES (sizeof(sources) / sizeof(*sources))
#define HIDDEN_SOURCES 2 /* the first ones, used with hidepid */

/* ---------------------------------------------------------------- session */

/* Counts by comm and tid of the running task, and by the next task's tid. */
static void add_rule(int fd, bool has_next)
{
	struct kl_abi_rule rule = {
		.size = sizeof(rule),
		.handler = KL_HANDLER_count,
		.n_keys = has_next ? KEYS : KEYS - 1,
		.entries = ENTRIES,
	};
	struct kl_abi_op comm = { .code = KL_OP_VARIABLE, .imm = VARIABLE_comm };
	struct kl_abi_op tid = { .code = KL_OP_VARIABLE, .imm = VARIABLE_tid };
	struct kl_abi_op next = {
		.code = KL_OP_FIELD,
		.b = KL_NUMBER_S32,
		.imm = NEXT_TID_AT,
	};

	rule.key[0] = kl_program(fd, comm);
	comm.b = 1;
	rule.key[1] = kl_program(fd, comm);
	rule.key[2] = kl_program(fd, tid);
	rule.key[3] = has_next ? kl_program(fd, next) : 0;
	if (kl_call(fd, KL_IOC_RULE, &rule))
		bail("rule: %s", kl_why(fd));
}

static int define(int fd, u32 kind, const char *name, u64 address, u64 arg)
{
	struct kl_abi_event event = {
		.kind = kind,
		.name = (u64)(uintptr_t)name,
		.address = address,
		.arg = arg,
	};
	struct kl_abi_events events = {
		.size = sizeof(events),
		.n = 1,
		.event = (u64)(uintptr_t)&event,
	};

	return kl_call(fd, KL_IOC_EVENTS, &events);
}

static int open_session(const struct source *from)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	static struct kl_abi_maskset m;
	u8 action = KL_ACTION_RULE;
	int fd = kl_open();

	memset(&m, 0, sizeof(m));
	m.size = sizeof(m);
	m.id = KL_MASKSET_FIRST_USER;
	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	add_rule(fd, from->event == KL_EV_sched_switch);
	if (from->event) {
		m.handler[from->event] = action;
	} else {
		if (define(fd, from->kind, from->tracepoint, 0, from->hz))
			bail("%s: %s", from->name, kl_why(fd));
		m.dynamic = (u64)(uintptr_t)&action;
		m.n_dynamic = 1;
	}
	if (kl_call(fd, KL_IOC_MASKSET_WRITE, &m) || kl_use(fd, m.id) || kl_start(fd))
		bail("%s: %s", from->name, kl_why(fd));
	return fd;
}

/* ----------------------------------------------------------------- tables */

/**
 * struct counts - the tasks that a table's keys name
 * @own, @inner: hits by the user's own tasks, and by those in the namespace
 * @leak: the first key that should not be there
 */
struct counts {
	u64 own;
	u64 inner;
	u64 all;
	char leak[100];
};

static void look_at(struct counts *c, const struct kl_abi_entry *e)
{
	static const char *const hidden[] = { "klsecret", NAME_SETUID, NAME_HIDDEN };
	char comm[KL_COMM_LEN + 1] = "";

	memcpy(comm, e->key, KL_COMM_LEN);
	c->all += e->count;
	c->own += strstr(comm, "klown1") ? e->count : 0;
	c->inner += strstr(comm, NAME_INNER) ? e->count : 0;
	for (u32 i = 0; i < 3; i++)
		if (strstr(comm, hidden[i]))
			snprintf(c->leak, sizeof(c->leak), "%s", comm);
	for (u32 i = 2; i < KEYS; i++)
		if (is_others_tid(e->key[i]))
			snprintf(c->leak, sizeof(c->leak), "%s, key %u: thread id %llu", comm, i,
				 (unsigned long long)e->key[i]);
}

static struct counts read_tables(int fd)
{
	static struct kl_abi_entry entries[ENTRIES];
	struct counts c = {};

	for (u32 cpu = 0; cpu < kl_info(fd).cpus; cpu++) {
		struct kl_abi_table table = {
			.size = sizeof(table),
			.cpu = cpu,
			.n = ENTRIES,
			.entry = (u64)(uintptr_t)entries,
		};

		if (kl_call(fd, KL_IOC_TABLE, &table))
			continue;
		for (u32 i = 0; i < table.n && i < ENTRIES; i++)
			look_at(&c, &entries[i]);
	}
	return c;
}

static void wait_for_rounds(void)
{
	u32 before = shared->rounds[OWN], others = shared->rounds[OTHER];
	double until = now_seconds() + 20;

	while ((shared->rounds[OWN] - before < 3 || shared->rounds[OTHER] - others < 3) &&
	       now_seconds() < until)
		sleep_ms(5);
}

static struct counts count(const struct source *from)
{
	int fd = open_session(from);
	struct counts c;

	wait_for_rounds();
	if (kl_stop(fd))
		bail("stop");
	c = read_tables(fd);
	close(fd);
	return c;
}

static void test_tables(const char *how, u32 n)
{
	char name[100];

	for (u32 i = 0; i < n; i++) {
		struct counts c = count(&sources[i]);
		bool own = c.own > 3;

		snprintf(name, sizeof(name), "%s%s counted by tasks: own ones, nobody else",
			 sources[i].name, how);
		tap_result(own && !c.leak[0] && !c.inner, name, "own %llu inner %llu all %llu, %s",
			   (unsigned long long)c.own, (unsigned long long)c.inner,
			   (unsigned long long)c.all, c.leak);
	}
}

/* ------------------------------------------------------------- refusals */

enum {
	ROW_own,
	ROW_parent,
	ROW_any,
	ROW_all,
	ROW_address
};

#define KL_VARIABLE(id, name, scope, type, unit, format, access, ...) [id] = ROW_##access,
static const u8 variables[] = {
#include "variables.def"
};

static void test_variables(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	u32 wrong = 0, refused = 0, had = 0;
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	for (u32 id = 1; id < sizeof(variables); id++) {
		struct kl_abi_variable_info info = { .size = sizeof(info), .id = id };
		struct kl_abi_variables set = { .size = sizeof(set), .n = 1 };
		bool denied = variables[id] >= ROW_all;
		int error;

		if (kl_call(fd, KL_IOC_VARIABLE_INFO, &info))
			bail("variable");
		if (info.absent && info.absent != KL_ABSENT_DENIED)
			continue;
		set.variable[0].variable = id;
		error = kl_call(fd, KL_IOC_VARIABLES, &set);
		wrong += error != (denied ? -EPERM : 0) ||
			 denied != (info.absent == KL_ABSENT_DENIED);
		refused += denied;
		had += !denied;
	}
	tap_result(!wrong && refused && had > 80, "variables of the machine are refused",
		   "%u wrong, %u refused, %u had", wrong, refused, had);
	close(fd);
}

static void test_places(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	tap_check(define(fd, KL_SOURCE_KIND_FUNCTION, NULL, 0xffffffff81000000, 0) == -EPERM &&
			  define(fd, KL_SOURCE_KIND_RETURN, NULL, 0xffffffff81000000, 0) == -EPERM,
		  "functions of the kernel are refused");
	tap_check(define(fd, KL_SOURCE_KIND_UPROBE, "/bin/true", 0, 0x1000) == -EPERM &&
			  define(fd, KL_SOURCE_KIND_URETPROBE, "/bin/true", 0, 0x1000) == -EPERM,
		  "and of programs");
	tap_check(define(fd, KL_SOURCE_KIND_TICK, NULL, 0, 1001) == -EPERM,
		  "and more ticks than there may be");
	close(fd);
}

/* -------------------------------------------------------- user namespaces */

/* Moves user 1 into a namespace where it has all capabilities, under its old id. */
static void enter_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		bail("user namespace");
	if (!put_file("/proc/self/uid_map", STRING(UID_USER1) " " STRING(UID_USER1) " 1") ||
	    !put_file("/proc/self/setgroups", "deny") ||
	    !put_file("/proc/self/gid_map", STRING(UID_USER1) " " STRING(UID_USER1) " 1"))
		bail("map");
	prctl(PR_SET_NAME, NAME_INNER);
	prctl(PR_SET_DUMPABLE, 1);
}

static void work_inside(void)
{
	enter_namespace();
	while (!shared->stop) {
		use_files(NAME_INNER);
		sleep_ms(1);
	}
}

/* Sees tasks in the namespace, but not its user's tasks outside. */
static void look_from_inside(void)
{
	struct counts c;
	pid_t child;
	int fd;

	enter_namespace();
	fd = kl_open();
	tap_check(!kl_info(fd).may, "capabilities of a user namespace are no rights");
	close(fd);
	child = fork();
	if (!child)
		for (;;) {
			use_files(NAME_INNER);
			sleep_ms(1);
		}
	c = count(&sources[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	tap_result(c.inner > 3 && !c.own && !c.leak[0],
		   "in a user namespace: own processes in it, and nobody else",
		   "inner %llu own %llu, %s", (unsigned long long)c.inner,
		   (unsigned long long)c.own, c.leak);
}

/* ---------------------------------------------------------------- processes */

static void look(void)
{
	test_tables("", SOURCES);
	test_variables();
	test_places();
}

static void look_hidden(void)
{
	test_tables(", /proc with hidepid,", HIDDEN_SOURCES);
}

/* Each process continues the numbering of the one before. */
static void run_as_user(void (*run)(void), u32 tests)
{
	int status;

	waitpid(start(run, UID_USER1), &status, 0);
	tap.tests += tests;
	tap.failures += !WIFEXITED(status) || WEXITSTATUS(status);
}

/* ------------------------------------------------------- files of frames */

#define FILES "/tmp/kl-stacks"

/* The copies of this program that run make calls from their own text. */
static void run_calls(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		KL_CALL_HERE();
		sleep_ms(1);
	}
}

/* Starts, as root, a copy of this program that has the permissions @mode. */
static pid_t start_copy(const char *path, mode_t mode)
{
	char command[200];
	pid_t pid;

	snprintf(command, sizeof(command), "mkdir -p " FILES " && cp /proc/%d/exe %s", getpid(),
		 path);
	if (system(command) || chmod(FILES, 0755) || chmod(path, mode))
		bail("cannot copy the program to %s", path);
	pid = fork();
	if (!pid) {
		execl(path, path, "calls", NULL);
		_exit(1);
	}
	return pid;
}

/* Is the object a file at @path, and which descriptor comes with it? -2: there is no such file. */
static int descriptor_of(int fd, const char *path)
{
	for (u32 number = 1; number <= KL_STACK_OBJECTS_MAX; number++) {
		static u8 room[8192];
		const struct kl_abi_object *about = (const struct kl_abi_object *)room;
		struct kl_abi_stacks call = { .size = sizeof(call),
					      .what = KL_STACKS_OBJECT,
					      .first = number,
					      .buffer = (u64)(uintptr_t)room,
					      .bytes = sizeof(room) };

		if (kl_call(fd, KL_IOC_STACKS, &call))
			return -2;
		if (!strcmp((const char *)room + sizeof(*about), path))
			return about->fd;
		if (about->fd >= 0)
			close(about->fd);
	}
	return -2;
}

/* Records with CAP_SYS_ADMIN and no other capability, or as root. */
static void record_files(bool as_root, int *hidden, int *shown)
{
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, 0 };
	struct kl_abi_variables list = { .size = sizeof(list), .n = 1 };
	struct kl_abi_session params = { .mode = KL_MODE_DISCARD,
					 .block_bytes = 65536,
					 .blocks = 16 };
	int fd;

	if (!as_root)
		kl_become_with(UID_USER1, CAP_SYS_ADMIN);
	fd = kl_open();
	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	list.variable[0].variable = VARIABLE_ustack;
	if (kl_call(fd, KL_IOC_VARIABLES, &list) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) || kl_start(fd))
		bail("events: %s", kl_why(fd));
	/* Until both programs have made calls. */
	for (u32 tries = 0; tries < 100; tries++) {
		sleep_ms(200);
		*hidden = descriptor_of(fd, FILES "/hidden");
		*shown = descriptor_of(fd, FILES "/shown");
		if (*hidden != -2 && *shown != -2)
			break;
	}
	close(fd);
}

/* The right to see addresses does not include the right to read files. */
static void test_files(void)
{
	int *got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t copy[2], pid;

	if (got == MAP_FAILED)
		bail("mmap");
	copy[0] = start_copy(FILES "/hidden", 0700);
	copy[1] = start_copy(FILES "/shown", 0755);
	sleep_ms(200);
	for (int as_root = 0; as_root < 2; as_root++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			record_files(as_root, &got[2 * as_root], &got[2 * as_root + 1]);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		kill(copy[i], SIGKILL);
		waitpid(copy[i], NULL, 0);
	}
	tap_result(got[1] >= 0, "a file with frames that the caller may read is passed to it",
		   "descriptor %d", got[1]);
	tap_result(got[0] == -1, "one that it may not read is named, but not passed",
		   "descriptor %d", got[0]);
	tap_result(got[2] >= 0 && got[3] >= 0, "root gets both", "descriptors %d and %d", got[2],
		   got[3]);
	munmap(got, 4096);
}

int main(int argc, char **argv)
{
	pid_t workers[WORKERS + 1];

	if (argc > 1 && !strcmp(argv[1], "suid"))
		return run_setuid();
	if (argc > 1 && !strcmp(argv[1], "suid2"))
		return run_setuid2();
	if (argc > 1 && !strcmp(argv[1], "calls"))
		run_calls();
	prepare_workload();
	start_workers(workers);
	workers[WORKERS] = start(work_inside, UID_USER1);
	while (!shared->rounds[OWN] || !shared->rounds[OTHER] || !shared->rounds[ROOT])
		sleep_ms(10);
	run_as_user(look, SOURCES + 4);
	run_as_user(look_from_inside, 2);
	if (mount("proc", "/proc", "proc", MS_REMOUNT, "hidepid=2"))
		bail("hidepid");
	run_as_user(look_hidden, HIDDEN_SOURCES);
	if (mount("proc", "/proc", "proc", MS_REMOUNT, "hidepid=0"))
		bail("hidepid");
	test_files();
	shared->stop = 1;
	for (u32 i = 0; i < WORKERS + 1; i++) {
		int status;

		waitpid(workers[i], &status, 0);
		if (status)
			tap_result(false, "a worker ends as it should", "worker %u: %#x", i,
				   status);
	}
	return tap_end();
}
