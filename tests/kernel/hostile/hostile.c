// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile user, as root in the guest: hostile time | race [TEST]. With `time`, user 1 creates
 * large objects on one CPU and calls the device, and a real-time process measures how long it has
 * to wait for that CPU. This needs an exact clock: vm/run --icount. With `race`, user 1 changes
 * what calls inspect while they run.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "hostile.h"

#define PERIOD_NS 500000

struct watch *watch;
int device = -1;
u8 *room;

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void become(u32 uid)
{
	kl_become(uid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	device = kl_open();
}

/* Measures how late each wakeup is, including one that is still due. */
static void watch_cpu(void)
{
	struct sched_param param = { .sched_priority = 50 };
	struct timespec at;
	u64 next = now_ns(), late;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	kl_pin(0);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || sched_setscheduler(0, SCHED_FIFO, &param))
		bail("real-time process");
	for (;;) {
		next += PERIOD_NS;
		at = (struct timespec){ next / 1000000000, next % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		late = now_ns() - next;
		if (late > watch->worst_ns)
			watch->worst_ns = late;
		watch->wakes++;
		if (late > PERIOD_NS)
			next = now_ns();
	}
}

static pid_t start_watch(void)
{
	pid_t pid = fork();

	if (!pid)
		watch_cpu();
	while (pid > 0 && !watch->wakes)
		sleep_ms(1);
	return pid;
}

static void raise_limits(void)
{
	struct rlimit files = { 210000, 210000 }, processes = { 20000, 20000 };

	/* More than the kernel's default on a machine with so little memory. */
	put_file("/proc/sys/kernel/threads-max", "30000");
	if (setrlimit(RLIMIT_NOFILE, &files) || setrlimit(RLIMIT_NPROC, &processes))
		bail("setrlimit");
}

pid_t start_user(void (*work)(void), int cpu)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	kl_pin(cpu);
	become(USER1);
	if (chdir("/tmp"))
		bail("chdir");
	tap.failures = 0;
	work();
	fflush(stdout);
	/* Its threads and children end with it. */
	_exit(tap.failures > 100 ? 100 : tap.failures);
}

void finish_user(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		bail("waitpid");
	if (WIFEXITED(status))
		tap.failures += WEXITSTATUS(status);
	else
		tap_result(false, "the user's process ends by itself", "signal %d",
			   WTERMSIG(status));
}

pid_t fork_sleeper(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

struct kl_abi_detail detail_of(pid_t pid, u32 what)
{
	return (struct kl_abi_detail){ .size = sizeof(struct kl_abi_detail),
				       .pid = pid,
				       .what = what,
				       .buffer = (uintptr_t)room,
				       .bytes = ROOM,
				       .proof = -1 };
}

/* Reads details, with the proof of the right to trace if the kernel gives it. */
int read_detail(struct kl_abi_detail *call)
{
	char path[40];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/mem", call->pid);
	call->proof = open(path, O_RDONLY | O_CLOEXEC);
	error = kl_call(device, KL_IOC_DETAIL, call);
	close(call->proof);
	return error;
}

int read_all(pid_t pid, u32 what)
{
	struct kl_abi_detail call = detail_of(pid, what);
	int error;

	do {
		call.bytes = ROOM;
		error = read_detail(&call);
	} while (!error && call.flags & KL_DETAIL_MORE);
	return error;
}

struct kl_abi_inspect inspect_of(pid_t *pid, const u32 *variables, u32 n)
{
	return (struct kl_abi_inspect){ .size = sizeof(struct kl_abi_inspect),
					.flags = pid ? 0 : KL_INSPECT_ALL,
					.n_variables = n,
					.n_ids = !!pid,
					.variables = (uintptr_t)variables,
					.ids = (uintptr_t)pid,
					.rows = (uintptr_t)room,
					.room = ROOM };
}

int make_session(bool start)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 65536 };
	int fd = kl_open();

	if (kl_session(fd, &params) || kl_filter(fd, KL_FILTER_TASKS, 0) ||
	    kl_use(fd, KL_MASKSET_RALL) || (start && kl_start(fd)))
		bail("session: %s", kl_why(fd));
	return fd;
}

void *in_thread(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

void make_threads(u32 n)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (u32 i = 0; i < n; i++)
		if (pthread_create(&thread, &small, in_thread, NULL))
			bail("thread %u", i);
}

/* Stays in the folder that it has created. */
void make_deep_folder(u32 levels)
{
	char name[] = "/tmp/hostileXXXXXX";

	if (!mkdtemp(name) || chdir(name))
		bail("mkdtemp");
	for (u32 i = 0; i < levels; i++)
		if (mkdir("d", 0700) || chdir("d"))
			bail("folder %u", i);
}

static const struct {
	const char *name;
	void (*test)(void);
} races[] = {
	{ "locks", test_locks }, { "visible", test_visible },	   { "kill", test_kill },
	{ "churn", test_churn }, { "memory", test_device_memory },
};

static void run_races(const char *name)
{
	for (u32 i = 0; i < sizeof(races) / sizeof(*races); i++)
		if (!name || !strcmp(name, races[i].name))
			races[i].test();
}

static void run_time(void)
{
	pid_t watcher = start_watch();

	test_time();
	end_child(watcher);
}

int main(int argc, char **argv)
{
	bool time = argc == 2 && !strcmp(argv[1], "time");

	if (!time && (argc < 2 || argc > 3 || strcmp(argv[1], "race")))
		bail("usage: hostile time | race [TEST]");
	watch = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	room = malloc(ROOM);
	if (watch == MAP_FAILED || !room)
		bail("memory");
	memset(room, 0, ROOM);
	raise_limits();
	if (time)
		run_time();
	else
		run_races(argv[2]);
	return tap.failures ? 1 : 0;
}
