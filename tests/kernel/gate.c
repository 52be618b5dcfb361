// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions that follow tasks or a user get every event of these, and none of any other task, while
 * other sessions come and go, tasks are added and removed, thread ids are reused and processes
 * change their user. Runs as root in the guest: workers of several classes make marked system calls
 * and count them; a session without a filter sees all of them; each other session must get exactly
 * what its classes have counted.
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "decode.h"
#include "memory.h"
#include "ticks.h"

#define UID_USER1 60001
#define UID_USER2 60002
#define PATH_SETUID "/tmp/kl-gate-suid"
/* The kernel reuses ids from 300 on: with so few ids, those of dead tasks soon belong to others. */
#define PID_MAX 380
#define PID_MIN 300
/* Runs until this much has happened, with a time limit. */
#define TURNS 40
#define OTHERS 20
#define SECONDS_MAX 60

#define STRING_(x) #x
#define STRING(x) STRING_(x)

/* The class of the process that makes a call, at that moment. In the order of `class_names`. */
enum class {
	TREE1, /* user 1's, in the tree that a session of user 1 follows */
	OTHER1, /* user 1's, not in it */
	CHANGED1, /* formerly root's, now user 1's */
	TREE2, /* user 2's, in the tree that a session of root follows */
	OTHER2, /* user 2's, not in it */
	SETUID2, /* a set-user-id program of user 2 that user 1 has started */
	ROOTS,
	CLASSES
};

static const char *const class_names[CLASSES] = {
	"klg-tree1",  "klg-other1",  "klg-changed1", "klg-tree2",
	"klg-other2", "klg-setuid2", "klg-root",
};

/* The calls are getpriority(MARK + class, ...), which fails at once. */
#define MARK 0x6b6c0000
#define CALL SYS_getpriority

struct shared {
	volatile int stop; /* rounds must end */
	u32 idle; /* processes that make no more events */
	volatile int quit; /* processes must exit */
	volatile int go;
	u64 calls[CLASSES];
	u64 exits[CLASSES];
	volatile u32 turns; /* times that the guest was added and removed */
	volatile u32 others; /* sessions that have come and gone */
	struct {
		volatile int command; /* enum class + 1: make calls as that class; 0: done */
		pid_t pid;
	} guest;
};

static struct shared *shared;

/* ------------------------------------------------------------------- workers */

static void make_calls(enum class class, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		syscall(CALL, MARK + class, i);
		__atomic_fetch_add(&shared->calls[class], 1, __ATOMIC_RELAXED);
	}
}

/* The exit is an event, too; its record contains the name. */
static void leave_as(enum class class)
{
	prctl(PR_SET_NAME, class_names[class]);
	__atomic_fetch_add(&shared->exits[class], 1, __ATOMIC_RELAXED);
	_exit(0);
}

/* Children and grandchildren exercise inheritance and use up ids. */
static void run_tree(enum class class)
{
	while (!shared->stop) {
		pid_t child = fork();

		if (!child) {
			make_calls(class, 3);
			child = fork();
			if (!child) {
				make_calls(class, 2);
				leave_as(class);
			}
			if (child > 0)
				waitpid(child, NULL, 0);
			leave_as(class);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		make_calls(class, 5);
		usleep(500);
	}
}

static void run_changing(void)
{
	while (!shared->stop) {
		pid_t child = fork();

		if (!child) {
			char *arguments[] = { PATH_SETUID, "suid", NULL };

			make_calls(ROOTS, 3);
			kl_become(UID_USER1);
			make_calls(CHANGED1, 3);
			fcntl(3, F_SETFD, 0);
			execv(PATH_SETUID, arguments);
			_exit(1);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		usleep(500);
	}
}

/* The set-user-id program that run_changing() starts; it has inherited the file with the counts. */
static int run_setuid(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (shared == MAP_FAILED || geteuid() != UID_USER2)
		return 1;
	make_calls(SETUID2, 3);
	leave_as(SETUID2);
	return 0;
}

/* Makes calls on command, as the class that its membership in the session's set gives it. */
static void run_guest(void)
{
	while (!shared->quit) {
		int command = shared->guest.command;

		if (command) {
			make_calls(command - 1, 4);
			shared->guest.command = 0;
		} else {
			usleep(200);
		}
	}
}

static u32 started; /* workers */

static pid_t start_worker(u32 uid, void (*run)(enum class), enum class class)
{
	pid_t child = fork();

	if (child) {
		started++;
		return child;
	}
	if (uid)
		kl_become(uid);
	while (!shared->go)
		usleep(1000);
	run(class);
	__atomic_fetch_add(&shared->idle, 1, __ATOMIC_RELEASE);
	while (!shared->quit)
		usleep(5000);
	_exit(0);
}

static void changing(enum class unused)
{
	run_changing();
}

static void guest(enum class unused)
{
	run_guest();
}

/* ------------------------------------------------------------------ sessions */

struct counted {
	u64 calls[CLASSES];
	u64 returns; /* of any class */
	u64 exits[CLASSES];
	u64 lost;
};

static int make_session(u32 uid, u32 filter, u32 of, u32 blocks)
{
	struct kl_abi_session params = { .mode = KL_MODE_DISCARD,
					 .blocks = blocks,
					 .blocks_max = blocks,
					 .block_bytes = 65536 };
	u32 events[] = { KL_EV_SYSCALL_ENTRY + CALL, KL_EV_SYSCALL_EXIT + CALL,
			 KL_EV_sched_process_exit, 0 };
	int fd = kl_open_as(uid);

	if (kl_session(fd, &params) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) ||
	    kl_filter(fd, filter, of))
		bail("session: %s", kl_why(fd));
	return fd;
}

static void count_record(void *data, const struct record *r)
{
	struct counted *c = data;
	u32 class = r->values ? r->value[0].number - MARK : CLASSES;

	if (r->id == KL_EV_SYSCALL_EXIT + CALL)
		c->returns++;
	else if (r->id == KL_EV_SYSCALL_ENTRY + CALL && class < CLASSES)
		c->calls[class]++;
	for (u32 i = 0; r->id < KL_EV_SYSCALL_ENTRY && i < CLASSES; i++)
		c->exits[i] += !strncmp((const char *)r->value[0].at, class_names[i], KL_COMM_LEN);
}

static void read_session(int fd, struct counted *c)
{
	memset(c, 0, sizeof(*c));
	decode_session(fd, count_record, c);
	c->lost = kl_stats(fd, -1).lost;
}

static const struct {
	const char *name;
	u32 uid; /* owner of the session */
	u32 filter;
	u32 of; /* for KL_FILTER_UID: whose tasks */
	u32 classes; /* that it must get, one bit each */
} plans[] = {
	{ "all of a user's own", UID_USER1, KL_FILTER_NONE, 0,
	  1 << TREE1 | 1 << OTHER1 | 1 << CHANGED1 },
	{ "a tree of a user's own", UID_USER1, KL_FILTER_TASKS, 0, 1 << TREE1 },
	{ "root's, a user's tasks", 0, KL_FILTER_UID, UID_USER2, 1 << TREE2 | 1 << OTHER2 },
	{ "root's, a tree of a user's", 0, KL_FILTER_TASKS, 0, 1 << TREE2 },
	{ "a user's, another's tasks", UID_USER1, KL_FILTER_UID, UID_USER2, 0 },
	{ "root's, everything", 0, KL_FILTER_NONE, 0, (1 << CLASSES) - 1 },
};

#define SESSIONS (sizeof(plans) / sizeof(*plans))

/* ----------------------------------------------------- sessions that come and go */

/* Defines a session's own events at the same tracepoint, which only count. */
static void define_events(int fd, u32 n)
{
	static struct kl_abi_event event[8];
	static u8 handler[8];
	static struct kl_abi_maskset m;
	struct kl_abi_events events = { .size = sizeof(events),
					.n = n,
					.event = (u64)(uintptr_t)event };

	for (u32 i = 0; i < n; i++) {
		event[i] = (struct kl_abi_event){ .kind = KL_SOURCE_KIND_TRACEPOINT,
						  .name = (u64)(uintptr_t) "sys_enter" };
		handler[i] = KL_HANDLER_count;
	}
	if (kl_call(fd, KL_IOC_EVENTS, &events))
		bail("events: %s", kl_why(fd));
	memset(&m, 0, sizeof(m));
	m.size = sizeof(m);
	m.id = KL_MASKSET_FIRST_USER;
	m.handler[KL_EV_SYSCALL_ENTRY + CALL] = KL_HANDLER_log;
	m.handler[KL_EV_sched_switch] = KL_HANDLER_count;
	m.dynamic = (u64)(uintptr_t)handler;
	m.n_dynamic = n;
	if (kl_call(fd, KL_IOC_MASKSET_WRITE, &m) || kl_use(fd, KL_MASKSET_FIRST_USER))
		bail("maskset: %s", kl_why(fd));
}

/*
 * A session of any user that follows the tasks that have an id now, which soon do not exist any
 * more.
 */
static void run_other(u32 uid, u32 round)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open_as(uid);

	if (kl_session(fd, &params))
		bail("session: %s", kl_why(fd));
	define_events(fd, 1 + round % 8);
	if (round % 3 && kl_filter(fd, KL_FILTER_TASKS, 0))
		bail("filter: %s", kl_why(fd));
	for (u32 pid = PID_MIN; round % 3 && pid < PID_MAX; pid += 1 + round % 7)
		kl_tasks(fd, pid, KL_TASK_ADD | KL_TASK_INHERIT);
	if (kl_start(fd))
		bail("start: %s", kl_why(fd));
	for (u32 pid = PID_MIN; round % 3 && pid < PID_MAX; pid += 1 + round % 5)
		kl_tasks(fd, pid, (round & 4 ? KL_TASK_REMOVE : KL_TASK_ADD | KL_TASK_INHERIT));
	sleep_ms(5);
	if (round & 1)
		kl_stop(fd);
	close(fd);
	shared->others++;
}

static void others(enum class unused)
{
	static const u32 uids[] = { UID_USER1, UID_USER2, 0 };

	for (u32 round = 0; !shared->stop; round++)
		run_other(uids[round % 3], round);
}

/* The guest makes calls outside the set, then in it. */
static void take_turn(int fd, enum class in, enum class out)
{
	static const u32 flags[] = { KL_TASK_REMOVE, KL_TASK_ADD | KL_TASK_INHERIT };

	for (int add = 0; add < 2; add++) {
		if (kl_tasks(fd, shared->guest.pid, flags[add]))
			bail("tasks: %s", kl_why(fd));
		shared->guest.command = 1 + (add ? in : out);
		while (shared->guest.command)
			usleep(200);
	}
	shared->turns++;
}

/* ------------------------------------------------------- added to a running session */

#define ADDED_CALLS 5
#define ADDED_ROUNDS 3

/*
 * No other session follows this task, so only its session's set lets its events through. A second
 * session exists because a sole session is called without a lookup.
 */
static void check_added(void)
{
	struct counted c[2];
	pid_t idle = fork();
	int fd[2];

	if (!idle) {
		pause();
		_exit(0);
	}
	for (u32 i = 0; i < 2; i++) {
		fd[i] = make_session(0, KL_FILTER_TASKS, 0, 4);
		if ((!i && kl_tasks(fd[i], idle, KL_TASK_ADD)) || kl_start(fd[i]))
			bail("session: %s", kl_why(fd[i]));
	}
	for (u32 round = 0; round < ADDED_ROUNDS; round++) {
		if (kl_tasks(fd[1], getpid(), KL_TASK_ADD))
			bail("tasks: %s", kl_why(fd[1]));
		make_calls(ROOTS, ADDED_CALLS);
		if (kl_tasks(fd[1], getpid(), KL_TASK_REMOVE))
			bail("tasks: %s", kl_why(fd[1]));
		make_calls(ROOTS, ADDED_CALLS);
		/* Wait until everything has forgotten the task. */
		sleep_ms(200);
	}
	for (u32 i = 0; i < 2; i++) {
		kl_stop(fd[i]);
		read_session(fd[i], &c[i]);
		close(fd[i]);
	}
	kill(idle, SIGKILL);
	waitpid(idle, NULL, 0);
	tap_result(c[1].calls[ROOTS] == ADDED_ROUNDS * ADDED_CALLS && !c[0].calls[ROOTS],
		   "a task that is added to a running session, and that nobody else wants",
		   "%llu and %llu calls", (unsigned long long)c[1].calls[ROOTS],
		   (unsigned long long)c[0].calls[ROOTS]);
}

/* --------------------------------------------------------------------- ticks */

static int start_ticks(u32 uid, u32 hz, int *fd)
{
	*fd = kl_open_as(uid);
	return ticks_start(*fd, hz);
}

/* Ticks interrupt every task: the rate is limited per user and for all users together. */
static void check_ticks(void)
{
	int fd[8], error;

	tap_check(!start_ticks(UID_USER1, 600, &fd[0]), "a user has 600 ticks a second");
	error = start_ticks(UID_USER1, 500, &fd[1]);
	tap_result(error == -EDQUOT && strstr(kl_why(fd[1]), "1000") &&
			   strstr(kl_why(fd[1]), "600") && strstr(kl_why(fd[1]), "ticks_per_user"),
		   "500 more in another session are refused, and why", "error %d: %s", error,
		   kl_why(fd[1]));
	close(fd[1]);
	tap_check(!start_ticks(UID_USER1, 400, &fd[1]), "400 more are not");
	for (u32 i = 2; i < 5; i++)
		if (start_ticks(UID_USER2 + i, 1000, &fd[i]))
			bail("ticks: %s", kl_why(fd[i]));
	error = start_ticks(UID_USER2, 1, &fd[5]);
	tap_result(error == -ENOSPC && strstr(kl_why(fd[5]), "4000") &&
			   strstr(kl_why(fd[5]), "ticks_all_users"),
		   "more than 4000 of all users are refused, and why", "error %d: %s", error,
		   kl_why(fd[5]));
	tap_check(!start_ticks(0, 2000, &fd[6]), "root has as many as before");
	kl_stop(fd[1]);
	tap_check(!kl_start(fd[5]), "what a session that has stopped had is free again");
	for (u32 i = 0; i < 7; i++)
		close(fd[i]);
}

/* ---------------------------------------------------------------------- hubs */

#define HUBS 1000

/* Objects of the slab caches that hubs are allocated from, charged or not. */
static long objects_of_512(void)
{
	return slab_objects("kmalloc-512") + slab_objects("kmalloc-cg-512");
}

/* Finds tracepoints that no session uses. */
static u32 find_unused(int fd, u32 *events, u32 room)
{
	u32 n = 0;

	for (u32 id = 1; id < KL_EV_SYSCALL_ENTRY && n < room; id++) {
		struct kl_abi_event_info info = { .size = sizeof(info), .id = id };

		if (!kl_call(fd, KL_IOC_EVENT_INFO, &info) && !info.absent && !info.sessions)
			events[n++] = id;
	}
	events[n] = 0;
	return n;
}

/*
 * A session that switches back and forth without ever stopping keeps unused hubs no longer than
 * needed.
 */
static void check_hubs(void)
{
	static u32 events[41];
	int fd = make_session(0, KL_FILTER_TASKS, 0, 4);
	u32 n = find_unused(fd, events, 40), made = 0;
	const char *name = "who switches between masksets does not use up memory";
	double begun = now_seconds();
	long before, after;

	if (kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_count, events) ||
	    kl_use(fd, KL_MASKSET_RNOTHING) || kl_start(fd))
		bail("start: %s", kl_why(fd));
	before = objects_of_512();
	for (; n && made < HUBS; made += n)
		if (kl_use(fd, KL_MASKSET_FIRST_USER) || kl_use(fd, KL_MASKSET_RNOTHING))
			bail("use: %s", kl_why(fd));
	after = objects_of_512();
	if (is_freed_memory_kept())
		tap_skip(name, "KASAN keeps freed memory");
	else
		tap_result(n && before && after - before < HUBS / 2, name,
			   "%ld objects, then %ld; %u hubs", before, after, made);
	printf("# %u hubs in %.1f s: %ld more objects\n", made, now_seconds() - begun,
	       after - before);
	close(fd);
}

/* ------------------------------------------------------------------- results */

static void check_session(u32 i, int fd)
{
	u64 wanted = 0, got = 0, exits_wanted = 0, exits = 0, foreign = 0;
	struct counted c;
	char name[100];

	read_session(fd, &c);
	for (u32 class = 0; class < CLASSES; class ++) {
		if (plans[i].classes >> class & 1) {
			wanted += shared->calls[class];
			got += c.calls[class];
			exits_wanted += shared->exits[class];
			exits += c.exits[class];
		} else {
			foreign += c.calls[class] + c.exits[class];
		}
		if (c.calls[class] || plans[i].classes >> class & 1)
			printf("# %s: %s: %llu of %llu calls, %llu of %llu ends\n", plans[i].name,
			       class_names[class], (unsigned long long)c.calls[class],
			       (unsigned long long)shared->calls[class],
			       (unsigned long long)c.exits[class],
			       (unsigned long long)shared->exits[class]);
	}
	snprintf(name, sizeof(name), "%s: nothing of strangers", plans[i].name);
	tap_result(!foreign, name, "%llu records", (unsigned long long)foreign);
	snprintf(name, sizeof(name), "%s: every call and every end", plans[i].name);
	tap_result(got == wanted && c.returns >= got && exits == exits_wanted && !c.lost, name,
		   "calls %llu of %llu, returns %llu, ends %llu of %llu, lost %llu",
		   (unsigned long long)got, (unsigned long long)wanted,
		   (unsigned long long)c.returns, (unsigned long long)exits,
		   (unsigned long long)exits_wanted, (unsigned long long)c.lost);
}

static void prepare(void)
{
	char command[300], self[200];

	shared = kl_share("/tmp/kl-gate-shared", sizeof(*shared));
	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	snprintf(command, sizeof(command),
		 "cp %s " PATH_SETUID " && chown %u " PATH_SETUID " && chmod 4755 " PATH_SETUID,
		 self, UID_USER2);
	/* These users may lack access to it: that is not what is tested here. */
	if (chmod(KL_DEVICE_PATH, 0666) || system(command) ||
	    !put_file("/proc/sys/kernel/pid_max", STRING(PID_MAX)))
		bail("%s", command);
}

int main(int argc, char **argv)
{
	int fds[SESSIONS];
	pid_t tree1, tree2;
	double until;

	if (argc > 1 && !strcmp(argv[1], "suid"))
		return run_setuid();
	prepare();
	tree1 = start_worker(UID_USER1, run_tree, TREE1);
	start_worker(UID_USER1, run_tree, OTHER1);
	tree2 = start_worker(UID_USER2, run_tree, TREE2);
	start_worker(UID_USER2, run_tree, OTHER2);
	start_worker(0, run_tree, ROOTS);
	start_worker(0, changing, ROOTS);
	shared->guest.pid = start_worker(UID_USER1, guest, OTHER1);
	sleep_ms(200);
	for (u32 i = 0; i < SESSIONS; i++) {
		fds[i] = make_session(plans[i].uid, plans[i].filter, plans[i].of, 64);
		if (plans[i].filter == KL_FILTER_TASKS &&
		    kl_tasks(fds[i], plans[i].classes >> TREE1 & 1 ? tree1 : tree2,
			     KL_TASK_ADD | KL_TASK_INHERIT))
			bail("tasks: %s", kl_why(fds[i]));
		if (kl_start(fds[i]))
			bail("start: %s", kl_why(fds[i]));
	}
	shared->go = 1;
	start_worker(0, others, ROOTS);
	until = now_seconds() + SECONDS_MAX;
	while ((shared->turns < TURNS || shared->others < OTHERS) && now_seconds() < until)
		take_turn(fds[1], TREE1, OTHER1);
	shared->stop = 1;
	/* All but the guest, who waits for commands. */
	for (until = now_seconds() + SECONDS_MAX; now_seconds() < until; sleep_ms(20))
		if (__atomic_load_n(&shared->idle, __ATOMIC_ACQUIRE) >= started - 1)
			break;
	for (u32 i = 0; i < SESSIONS; i++)
		if (kl_stop(fds[i]))
			bail("stop: %s", kl_why(fds[i]));
	shared->quit = 1;
	while (wait(NULL) > 0)
		;
	for (u32 i = 0; i < SESSIONS; i++) {
		check_session(i, fds[i]);
		close(fds[i]);
	}
	tap_result(shared->turns >= 10 && shared->others >= 10 && shared->calls[TREE1] > 100 &&
			   shared->calls[TREE2] > 100 && shared->exits[SETUID2] > 3,
		   "there was something to see", "turns %u, sessions %u", shared->turns,
		   shared->others);
	check_added();
	check_ticks();
	check_hubs();
	printf("# %u tasks added and removed, %u sessions came and went\n", shared->turns,
	       shared->others);
	return tap_end();
}
