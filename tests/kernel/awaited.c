// SPDX-License-Identifier: GPL-2.0
/*
 * A session that awaits a task's exec (KL_TASK_EXEC) records the call that executes the program and
 * everything after it, and nothing that the task does before. As root in the guest: a process of
 * user 1 makes marked calls, fails to execute one program and executes another; several sessions
 * await it in different ways.
 */
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "decode.h"

#define UID_USER1 60001
#define UID_USER2 60002
#define PATH_SELF "/tmp/kl-awaited" /* users may not be able to enter the project's folder */
#define PATH_SETUID "/tmp/kl-awaited-suid"
#define PATH_NONE "/tmp/kl-awaited-none"

/* When a call is made, and by which process. */
enum phase {
	BEFORE, /* by the process, before it executes a program */
	CHILD_BEFORE, /* by a child that it has created before */
	AFTER, /* in the program */
	CHILD_AFTER, /* by a child of the program's */
	SETUID, /* in a set-user-id program of user 2 */
	PHASES
};

static const u32 made[PHASES] = { 3, 2, 4, 2, 5 };

/* The calls are getpriority(MARK + phase, ...), which fails at once. */
#define MARK 0x6b6c0000
#define CALL SYS_getpriority

struct shared {
	volatile int go;
};

static struct shared *shared;

/* ------------------------------------------------------------------- tasks */

static void make_calls(enum phase phase)
{
	for (u32 i = 0; i < made[phase]; i++)
		syscall(CALL, MARK + phase, i);
}

static void make_calls_in_child(enum phase phase)
{
	pid_t child = fork();

	if (!child) {
		make_calls(phase);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		_exit(1);
}

static void run_task(const char *path, char *word)
{
	char *arguments[] = { "awaited", word, NULL };

	kl_become(UID_USER1);
	shared->go = 0;
	while (!shared->go)
		sched_yield();
	make_calls(BEFORE);
	make_calls_in_child(CHILD_BEFORE);
	execv(PATH_NONE, arguments);
	execv(path, arguments);
	_exit(1);
}

/* Starts a task that executes @path with @word. It waits until it is released. */
static pid_t start_task(const char *path, char *word)
{
	pid_t child;

	shared->go = -1;
	child = fork();
	if (!child)
		run_task(path, word);
	while (shared->go)
		sched_yield();
	return child;
}

static bool finish_task(pid_t child)
{
	int status;

	shared->go = 1;
	return waitpid(child, &status, 0) == child && !status;
}

/* The programs that the task executes. */
static int run_program(const char *word)
{
	if (!strcmp(word, "suid")) {
		make_calls(SETUID);
		return geteuid() != UID_USER2;
	}
	make_calls(AFTER);
	make_calls_in_child(CHILD_AFTER);
	return 0;
}

/* ------------------------------------------------------------------ sessions */

/**
 * struct found - what a session has recorded
 * @first: id of its first record
 * @failed: calls that could not execute a program
 * @executed: successful ones whose new program the session may see
 */
struct found {
	u32 first;
	u64 records;
	u64 calls[PHASES];
	u64 entries;
	u64 failed;
	u64 executed;
	u64 programs;
};

static int make_session(u32 uid)
{
	struct kl_abi_session params = {
		.mode = KL_MODE_DISCARD, .blocks = 4, .blocks_max = 4, .block_bytes = 65536
	};
	u32 events[] = { KL_EV_SYSCALL_ENTRY + CALL, KL_EV_SYSCALL_ENTRY + SYS_execve,
			 KL_EV_SYSCALL_EXIT + SYS_execve, KL_EV_sched_process_exec, 0 };
	int fd = kl_open_as(uid);

	if (kl_session(fd, &params) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    kl_filter(fd, KL_FILTER_TASKS, 0) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	return fd;
}

static void await(int fd, pid_t pid, u32 flags)
{
	if (kl_tasks(fd, pid, KL_TASK_ADD | KL_TASK_EXEC | flags))
		bail("tasks: %s", kl_why(fd));
}

static void take_record(void *data, const struct record *r)
{
	struct found *f = data;
	u32 phase = r->id == KL_EV_SYSCALL_ENTRY + CALL ? r->value[0].number - MARK : PHASES;

	if (!f->records++)
		f->first = r->id;
	if (phase < PHASES)
		f->calls[phase]++;
	f->entries += r->id == KL_EV_SYSCALL_ENTRY + SYS_execve;
	f->programs += r->id < KL_EV_SYSCALL_ENTRY;
	if (r->id != KL_EV_SYSCALL_EXIT + SYS_execve)
		return;
	f->failed += r->value[0].number == (u64)-ENOENT;
	f->executed += !r->value[0].number;
}

static struct found read_session(int fd)
{
	struct found f = {};

	if (kl_stop(fd))
		bail("stop: %s", kl_why(fd));
	decode_session(fd, take_record, &f);
	close(fd);
	return f;
}

/* --------------------------------------------------------------------- tests */

static const struct {
	const char *name;
	u32 uid;
	u32 flags;
	bool sees_setuid;
} plans[] = {
	{ "root's first session", 0, KL_TASK_INHERIT, true },
	{ "root's second session", 0, KL_TASK_INHERIT, true },
	{ "a user's session", UID_USER1, KL_TASK_INHERIT, false },
	{ "a session that inherits nothing", 0, 0, true },
};

#define SESSIONS (sizeof(plans) / sizeof(*plans))

static void check_session(u32 i, const struct found *f)
{
	u64 heirs = plans[i].flags & KL_TASK_INHERIT ? made[CHILD_AFTER] : 0;
	u64 programs = 1 + plans[i].sees_setuid;
	char name[120];

	snprintf(name, sizeof(name), "%s: begins with the call that executes", plans[i].name);
	tap_result(f->first == KL_EV_SYSCALL_ENTRY + SYS_execve, name, "begins with %s, %u",
		   f->records ? event_name(f->first) : "nothing", f->first);
	snprintf(name, sizeof(name), "%s: nothing from before", plans[i].name);
	tap_result(!f->calls[BEFORE] && !f->calls[CHILD_BEFORE], name, "%llu and %llu calls",
		   (unsigned long long)f->calls[BEFORE],
		   (unsigned long long)f->calls[CHILD_BEFORE]);
	snprintf(name, sizeof(name), "%s: each try and its end", plans[i].name);
	tap_result(f->entries == 4 && f->failed == 2 && f->executed == programs &&
			   f->programs == programs,
		   name, "%llu calls, %llu failed, %llu did not, %llu programs",
		   (unsigned long long)f->entries, (unsigned long long)f->failed,
		   (unsigned long long)f->executed, (unsigned long long)f->programs);
	snprintf(name, sizeof(name), "%s: all calls of the program", plans[i].name);
	tap_result(f->calls[AFTER] == made[AFTER] && f->calls[CHILD_AFTER] == heirs, name,
		   "%llu and %llu of its children", (unsigned long long)f->calls[AFTER],
		   (unsigned long long)f->calls[CHILD_AFTER]);
	snprintf(name, sizeof(name), "%s: %s of a set-user-id program", plans[i].name,
		 plans[i].sees_setuid ? "the calls" : "nothing");
	tap_result(f->calls[SETUID] == (plans[i].sees_setuid ? made[SETUID] : 0), name, "%llu",
		   (unsigned long long)f->calls[SETUID]);
}

static void check_programs(const char *self)
{
	struct {
		const char *path;
		char *word;
	} programs[] = { { self, "ran" }, { PATH_SETUID, "suid" } };
	int fds[SESSIONS];
	bool ran = true;

	for (u32 i = 0; i < SESSIONS; i++)
		fds[i] = make_session(plans[i].uid);
	for (u32 n = 0; n < 2; n++) {
		pid_t task = start_task(programs[n].path, programs[n].word);

		for (u32 i = 0; i < SESSIONS; i++)
			await(fds[i], task, plans[i].flags);
		ran &= finish_task(task);
	}
	tap_check(ran, "the programs run");
	for (u32 i = 0; i < SESSIONS; i++) {
		struct found f = read_session(fds[i]);

		check_session(i, &f);
	}
}

/* Tasks that the session no longer awaits. */
static void check_forgotten(const char *self)
{
	int removed = make_session(0), replaced = make_session(0), added = make_session(0);
	pid_t task = start_task(self, "ran");
	struct found f;

	await(removed, task, KL_TASK_INHERIT);
	await(replaced, task, KL_TASK_INHERIT);
	await(added, task, KL_TASK_INHERIT);
	if (kl_tasks(removed, task, KL_TASK_REMOVE) || kl_tasks(added, task, KL_TASK_ADD))
		bail("tasks");
	await(replaced, getpid(), 0);
	tap_check(finish_task(task), "the program runs");
	f = read_session(removed);
	tap_check(!f.records, "nothing of a task that has been removed again");
	f = read_session(replaced);
	tap_check(!f.records, "nothing if another is awaited instead");
	f = read_session(added);
	tap_check(f.calls[BEFORE] == made[BEFORE] && f.calls[AFTER] == made[AFTER],
		  "everything of one that has been added meanwhile");
}

/* The awaited task's pid is reused by another task. */
static void check_reused(const char *self)
{
	int fd = make_session(0);
	pid_t task = start_task(self, "ran"), next = -1;
	struct found f;
	char last[20];

	await(fd, task, KL_TASK_INHERIT);
	kill(task, SIGKILL);
	waitpid(task, NULL, 0);
	snprintf(last, sizeof(last), "%d", task - 1);
	if (put_file("/proc/sys/kernel/ns_last_pid", last))
		next = start_task(self, "ran");
	if (next > 0)
		finish_task(next);
	f = read_session(fd);
	if (next == task)
		tap_check(!f.records, "nothing of a task that has a dead one's number");
	else
		tap_skip("nothing of a task that has a dead one's number", "it has another");
}

static void check_refusals(void)
{
	static const u32 wrong[] = { KL_TASK_REMOVE | KL_TASK_EXEC, KL_TASK_EXEC,
				     KL_TASK_ADD | KL_TASK_EXEC | KL_TASK_PROCESS,
				     KL_TASK_ADD | KL_TASK_EXEC | KL_TASK_TREE };
	int fd = make_session(0), user = make_session(UID_USER1);
	u32 taken = 0;

	for (u32 i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		taken += kl_tasks(fd, getpid(), wrong[i]) != -EINVAL;
	tap_result(!taken, "only one task can be awaited", "%u calls are not refused", taken);
	tap_check(kl_tasks(user, getpid(), KL_TASK_ADD | KL_TASK_EXEC) == -ESRCH,
		  "nor one that its owner may not see");
	close(fd);
	close(user);
}

static void prepare(const char *self)
{
	char command[600];
	int fd = memfd_create("awaited", 0);

	/* One CPU, so that the records are in order. */
	kl_pin(0);
	if (fd < 0 || ftruncate(fd, sizeof(*shared)))
		bail("shared memory");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		bail("mmap");
	close(fd);
	snprintf(command, sizeof(command),
		 "cp %s " PATH_SELF " && cp %s " PATH_SETUID " && chown %u " PATH_SETUID
		 " && chmod 4755 " PATH_SETUID,
		 self, self, UID_USER2);
	/* These users may lack access to it: that is not what is tested here. */
	if (chmod(KL_DEVICE_PATH, 0666) || system(command))
		bail("%s", command);
	unlink(PATH_NONE);
}

int main(int argc, char **argv)
{
	char self[200];

	if (argc > 1)
		return run_program(argv[1]);
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	prepare(self);
	check_programs(PATH_SELF);
	check_forgotten(PATH_SELF);
	check_reused(PATH_SELF);
	check_refusals();
	return tap_end();
}
