// SPDX-License-Identifier: GPL-2.0
/*
 * What a user changes while calls inspect it: locks of files that are being closed, threads that
 * come and go, other users' processes, memory without struct pages; and calls that are killed.
 * Slightly more than 600 lines: each race has its own actors.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "hostile.h"

/* ---------------------------------------------------------------- files being closed */

#define CLOSED 20
#define ROUNDS 3
#define LINGER_S 2

/* Makes a socket on whose close the kernel lingers: its peer does not read what was sent. */
static int make_lingering(int listener)
{
	struct sockaddr_in address;
	socklen_t bytes = sizeof(address);
	struct linger linger = { 1, LINGER_S };
	static char data[65536];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	getsockname(listener, (struct sockaddr *)&address, &bytes);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno != EINPROGRESS)
		bail("connect");
	sleep_ms(50);
	while (send(fd, data, sizeof(data), 0) > 0)
		;
	if (fcntl(fd, F_SETFL, 0) || setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		bail("linger");
	return fd;
}

/*
 * Holds shared locks of many open files and closes all of the files at once. They are closed one
 * after the other, and the sockets among them delay the rest, which have their locks but no
 * reference.
 */
static void close_locked(int listener, int ready)
{
	int first = -1, last = -1;

	for (u32 i = 0; i < CLOSED; i++) {
		if (i % 8 == 4) {
			last = make_lingering(listener);
			continue;
		}
		last = open("locked", O_RDWR | O_CREAT, 0600);
		if (last < 0 || flock(last, LOCK_SH))
			bail("flock");
		if (first < 0)
			first = last;
	}
	if (write(ready, "", 1) != 1)
		bail("pipe");
	sleep_ms(300);
	syscall(SYS_close_range, first, last, 0);
	_exit(0);
}

static void wait_for_lock(void)
{
	int fd = open("locked", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	flock(fd, LOCK_EX);
	_exit(0);
}

static int make_listener(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 100))
		bail("listen");
	return fd;
}

/* Is the waiter reported to wait for a lock? */
static bool ask_for_owners(pid_t waiter, u32 *flags)
{
	struct kl_abi_detail call = detail_of(waiter, KL_DETAIL_WAIT);
	const struct kl_abi_detail_wait *wait = (const void *)room;
	int error = read_detail(&call);

	if (error && error != -ESRCH)
		bail("details of a wait: %d, %s", error, kl_why(device));
	*flags = call.flags;
	return !error && call.records && wait->reason == KL_WAIT_LOCK;
}

static void ask_while_closing(int listener)
{
	u32 asked = 0, told = 0, flags;
	int ready[2];
	pid_t closer, waiter;
	double until;
	char byte;

	if (pipe(ready))
		bail("pipe");
	closer = fork();
	if (!closer)
		close_locked(listener, ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		bail("pipe");
	waiter = fork();
	if (!waiter)
		wait_for_lock();
	sleep_ms(100);
	for (until = now_seconds() + LINGER_S + 1; now_seconds() < until; asked++)
		told += ask_for_owners(waiter, &flags);
	tap_result(told, "locks of files that are being closed: nobody gets such a file",
		   "asked %u times, told of the lock %u times", asked, told);
	end_child(waiter);
	end_child(closer);
	close(ready[0]);
	close(ready[1]);
}

/* ----------------------------------------------------------------------- many locks */

#define LOCKS 1500

static void hold_locks(int ready)
{
	int fd = open("ranges", O_RDWR | O_CREAT, 0600);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (u32 i = 0; i < LOCKS; i++) {
		struct flock one = { .l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1 };

		if (fcntl(fd, F_SETLK, &one))
			bail("lock %u", i);
	}
	if (write(ready, "", 1) != 1)
		bail("pipe");
	in_thread(NULL);
}

static void wait_for_range(u32 start)
{
	struct flock one = { .l_type = F_WRLCK, .l_start = start, .l_len = 1 };
	int fd = open("ranges", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(fd, F_SETLKW, &one);
	_exit(0);
}

/*
 * Does the report on a task that waits for the lock at @start name the lock's owner, or state that
 * it is truncated?
 */
static bool names_owner(u32 start, bool *cut)
{
	pid_t waiter = fork();
	u32 flags = 0;
	bool told;

	if (!waiter)
		wait_for_range(start);
	sleep_ms(100);
	told = ask_for_owners(waiter, &flags);
	*cut = flags & KL_DETAIL_CUT;
	for (u32 at = 0; told && at < ROOM;) {
		const struct kl_abi_detail_record *r = (const void *)(room + at);

		if (!r->bytes || r->kind == KL_DETAIL_RECORD_WAIT_OTHER) {
			told = r->bytes;
			break;
		}
		at += r->bytes;
	}
	end_child(waiter);
	return told;
}

static void ask_about_ranges(void)
{
	int ready[2];
	pid_t holder;
	char byte;
	bool cut, named;

	if (pipe(ready))
		bail("pipe");
	holder = fork();
	if (!holder)
		hold_locks(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		bail("pipe");
	memset(room, 0, ROOM);
	named = names_owner(20, &cut);
	tap_result(named, "one of the first locks of a file: its owner is named", "named %d cut %d",
		   named, cut);
	memset(room, 0, ROOM);
	named = names_owner(2 * LOCKS - 2, &cut);
	tap_result(!named && cut, "one of too many locks: the answer says that it is cut",
		   "named %d cut %d", named, cut);
	end_child(holder);
}

static void lock_files(void)
{
	char name[] = "/tmp/hostileXXXXXX";
	int listener = make_listener();

	if (!mkdtemp(name) || chdir(name))
		bail("mkdtemp");
	for (u32 i = 0; i < ROUNDS; i++)
		ask_while_closing(listener);
	ask_about_ranges();
}

void test_locks(void)
{
	finish_user(start_user(lock_files, 0));
}

/* ---------------------------------------------------------------- processes of others */

static pid_t others;

static int add(int fd, pid_t pid, u32 flags, u32 *count)
{
	struct kl_abi_tasks call = { .size = sizeof(call), .pid = pid, .flags = flags };
	int error = kl_call(fd, KL_IOC_TASKS, &call);

	*count = call.count;
	return error;
}

static void follow_others(void)
{
	u32 all = KL_TASK_ADD | KL_TASK_TREE | KL_TASK_INHERIT, count;
	int fd = make_session(false);
	char text[2][sizeof(((struct kl_abi_error *)0)->text)];
	pid_t hidden, shown;
	int error;

	tap_check(add(fd, 1, all, &count) == -ESRCH && !count,
		  "following the tree of process 1: it is not there for a user");
	tap_check(add(fd, others, KL_TASK_ADD, &count) == -ESRCH && !count,
		  "following another user's process: it is not there");
	snprintf(text[0], sizeof(text[0]), "%s", kl_why(fd));
	add(fd, 4000000, KL_TASK_ADD, &count);
	snprintf(text[1], sizeof(text[1]), "%s", kl_why(fd));
	/* Except for the number. */
	tap_result(strcspn(text[0], "0123456789") == strcspn(text[1], "0123456789") && text[0][0],
		   "the same is said of one that nobody has", "%s; %s", text[0], text[1]);
	shown = fork_sleeper();
	hidden = fork();
	if (!hidden) {
		prctl(PR_SET_DUMPABLE, 0);
		if (!fork())
			prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		in_thread(NULL);
	}
	sleep_ms(200);
	error = add(fd, getpid(), all, &count);
	tap_result(!error && count == 3, "a tree: all that may be seen, also below what may not",
		   "%d, %u tasks", error, count);
	error = add(fd, getpid(), KL_TASK_REMOVE | KL_TASK_TREE, &count);
	tap_result(!error && count == 3, "a tree is taken out as it was put in", "%d, %u tasks",
		   error, count);
	end_child(shown);
	end_child(hidden);
}

void test_visible(void)
{
	others = fork();
	if (!others) {
		become(USER2);
		in_thread(NULL);
	}
	sleep_ms(100);
	finish_user(start_user(follow_others, 0));
	end_child(others);
}

/* ------------------------------------------------------------------- killed calls */

#define KILL_IDS 65536
#define KILL_S 20

static pid_t big; /* has many threads */

static void start_big(u32 threads)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		bail("pipe");
	big = fork();
	if (!big) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		make_threads(threads);
		if (write(ready[1], "", 1) != 1)
			bail("pipe");
		in_thread(NULL);
	}
	if (read(ready[0], &byte, 1) != 1)
		bail("threads");
}

#define KL_VARIABLE(id, name, ...) V_##name = id,
enum {
#include "variables.def"
};
#undef KL_VARIABLE

static const u32 variables[] = {
	V_cpu_time,	 V_utime,	   V_stime,    V_run_delay,  V_runs,
	V_migrations,	 V_nvcsw,	   V_nivcsw,   V_min_faults, V_maj_faults,
	V_io_read_bytes, V_io_write_bytes, V_io_reads, V_io_writes,  V_io_read_chars,
};
#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* Requests as much as possible in one call, with no room for any row: that takes minutes. */
static void inspect_long(void)
{
	static pid_t ids[KILL_IDS];
	struct kl_abi_inspect call = inspect_of(ids, variables, VARIABLES);

	for (u32 i = 0; i < KILL_IDS; i++)
		ids[i] = big;
	call.n_ids = KILL_IDS;
	call.room = 0;
	kl_call(device, KL_IOC_INSPECT, &call);
	_exit(1);
}

/* Does it end soon after it was killed? */
static bool dies(pid_t pid, double *seconds)
{
	double begun = now_seconds();
	pid_t got = 0;

	kill(pid, SIGKILL);
	while (!got && now_seconds() < begun + KILL_S) {
		got = waitpid(pid, NULL, WNOHANG);
		sleep_ms(2);
	}
	*seconds = now_seconds() - begun;
	return got == pid;
}

static void kill_calls(void)
{
	double seconds = 0;
	int status = 0;
	bool over, dead;
	pid_t pid;

	start_big(1000);
	pid = fork();
	if (!pid)
		inspect_long();
	sleep_ms(500);
	over = waitpid(pid, &status, WNOHANG);
	dead = !over && dies(pid, &seconds);
	tap_result(dead, "a long call ends when its caller is killed",
		   over ? "it was over before" : "not in %d s", KILL_S);
	printf("# killed in %.3f s\n", seconds);
	end_child(big);
}

void test_kill(void)
{
	finish_user(start_user(kill_calls, 0));
}

/* ---------------------------------------------------------- threads that come and go */

#define MANY 1500
#define FEW 20
#define CALM_S 1
#define CHURN_S 3
/*
 * While threads come and go, the sums are computed three times, and the threads use the CPU, too.
 */
#define SLOWER 20
#define BURNERS 60
#define BURN_NS 30000000
#define BURSTS 3
#define BURST_S 0.5

static int ready[2], go[2];

static void *end_at_once(void *unused)
{
	return NULL;
}

/* Creates threads that exit at once, from the byte in the pipe on, until it is killed. */
static void *churn(void *unused)
{
	pthread_attr_t small;
	pthread_t thread;
	char byte;

	kl_pin(1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	if (read(go[0], &byte, 1) != 1)
		bail("pipe");
	for (;;)
		if (!pthread_create(&thread, &small, end_at_once, NULL))
			pthread_join(thread, NULL);
	return NULL;
}

/* Uses the CPU until the parent stops it. */
static void *burn(void *unused)
{
	struct timespec t = {};
	char byte = 0;

	kl_pin(1);
	while (t.tv_sec * 1000000000ll + t.tv_nsec < BURN_NS)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
		bail("pipe");
	return NULL;
}

/* Starts a process with many threads that sleep, and some that do @work. */
static void start_working(u32 threads, u32 workers, void *(*work)(void *))
{
	pthread_t thread;
	char byte = 0;

	if (pipe(ready) || pipe(go))
		bail("pipe");
	big = fork();
	if (!big) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (u32 i = 0; i < workers / 2; i++)
			if (pthread_create(&thread, NULL, work, NULL))
				bail("thread");
		make_threads(threads);
		for (u32 i = 0; i < workers - workers / 2; i++)
			if (pthread_create(&thread, NULL, work, NULL))
				bail("thread");
		if (write(ready[1], &byte, 1) != 1)
			bail("pipe");
		in_thread(NULL);
	}
	for (u32 i = 0; i < (work == burn ? workers : 0) + 1; i++)
		if (read(ready[0], &byte, 1) != 1)
			bail("threads");
}

static void release(u32 workers)
{
	char bytes[BURNERS] = {};

	if (write(go[1], bytes, workers) != (ssize_t)workers)
		bail("pipe");
}

static void end_working(void)
{
	end_child(big);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
}

static u64 cpu_clock(void)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(big, &clock) || clock_gettime(clock, &t))
		bail("CPU time of the process");
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * CPU time reported minus the kernel's value after the call; negative if less than the value before
 * it.
 */
static s64 inspect_working(u32 n)
{
	struct kl_abi_inspect call = inspect_of(&big, variables, n);
	u64 before = cpu_clock(), after, told;

	if (kl_call(device, KL_IOC_INSPECT, &call))
		bail("KL_IOC_INSPECT: %s", kl_why(device));
	after = cpu_clock();
	memcpy(&told, room + sizeof(struct kl_abi_inspected), sizeof(told));
	if (told > after)
		return told - after;
	return told < before ? -(s64)(before - told) : 0;
}

static double calls_per_second(u32 seconds, u32 *wrong)
{
	double begun = now_seconds();
	u32 calls = 0;

	do {
		*wrong += !!inspect_working(VARIABLES);
		calls++;
	} while (now_seconds() < begun + seconds);
	return calls / (now_seconds() - begun);
}

static void ask_churning(u32 threads)
{
	double calm, rate;
	u32 wrong = 0;

	start_working(threads, 2, churn);
	calm = calls_per_second(CALM_S, &wrong);
	tap_result(!wrong, "threads that sleep: their CPU time is the kernel's", "%u wrong", wrong);
	release(2);
	rate = calls_per_second(CHURN_S, &wrong);
	printf("# %u threads: %.0f calls a second, %.0f while others come and go\n", threads, calm,
	       rate);
	if (threads == FEW)
		tap_result(!wrong, "few threads, and some that come and go: each counts once",
			   "%u wrong", wrong);
	else
		tap_result(rate * SLOWER > calm,
			   "many threads, and some that come and go: calls end", "%.2f of %.0f",
			   rate, calm);
	end_working();
}

/*
 * Threads that have used much CPU time end one right after the other, so that some end during the
 * listing of all threads, which takes most of a call for one variable. What a thread runs while the
 * kernel tears it down is not accounted to any task, but may be visible for a moment.
 */
static s64 ask_ending(void)
{
	s64 most = 0, more;
	pid_t releaser;

	start_working(MANY, BURNERS, burn);
	inspect_working(1);
	releaser = fork();
	if (!releaser) {
		kl_pin(1);
		for (u32 i = 0; i < BURNERS; i++)
			release(1);
		_exit(0);
	}
	for (double until = now_seconds() + BURST_S; now_seconds() < until;) {
		more = inspect_working(1);
		most = more > most ? more : most;
	}
	end_child(releaser);
	end_working();
	return most;
}

static void ask_about_working(void)
{
	s64 most = 0, more;

	ask_churning(MANY);
	ask_churning(FEW);
	for (u32 i = 0; i < BURSTS; i++) {
		more = ask_ending();
		most = more > most ? more : most;
	}
	tap_result(most < BURN_NS / 2, "many threads that end one by one: none counts twice",
		   "%lld us too much", (long long)most / 1000);
	printf("# %lld us at most that the kernel does not count\n", (long long)most / 1000);
}

void test_churn(void)
{
	finish_user(start_user(ask_about_working, 0));
}

/* ---------------------------------------------------------------------- device memory */

#define MAP_BYTES (6u << 20)

static const struct kl_abi_detail_map *find_map(u64 start)
{
	struct kl_abi_detail call = detail_of(getpid(), KL_DETAIL_MAPS);

	if (read_detail(&call))
		bail("maps: %s", kl_why(device));
	for (u32 at = 0; at < call.bytes;) {
		const struct kl_abi_detail_map *map = (const void *)(room + at);

		if (map->start <= start && start < map->end)
			return map;
		at += map->record.bytes;
	}
	return NULL;
}

static void map_device(void)
{
	int fd = open("/dev/kl_pfnmap", O_RDWR);
	volatile u8 *memory = mmap(NULL, MAP_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	const struct kl_abi_detail_map *map;
	FILE *parameter = fopen("/sys/module/kl_pfnmap/parameters/huge", "r");
	char huge[20] = "?\n";

	if (fd < 0 || memory == MAP_FAILED)
		bail("/dev/kl_pfnmap");
	for (u32 at = 0; at < MAP_BYTES; at += 4096)
		(void)memory[at];
	if (!parameter || !fgets(huge, sizeof(huge), parameter))
		bail("kl_pfnmap's parameter");
	fclose(parameter);
	printf("# pieces of 2 MiB: %s", huge);
	map = find_map((uintptr_t)memory);
	tap_result(map && map->flags & KL_DETAIL_MAP_DEVICE && !map->rss && !map->huge,
		   "memory of a device, which has no pages, is not counted", "rss %llu huge %llu",
		   map ? (unsigned long long)map->rss : 0, map ? (unsigned long long)map->huge : 0);
}

void test_device_memory(void)
{
	finish_user(start_user(map_device, 0));
}
