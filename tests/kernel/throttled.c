// SPDX-License-Identifier: GPL-2.0
/*
 * A user whose memory is above the `memory.high` of its cgroup: the kernel delays each allocation
 * that is charged to that group by up to two seconds. No other task may wait for it: no CPU that
 * comes online, no other user's call, no module that is loaded. As root in the guest, with two
 * CPUs.
 */
#include <sys/stat.h>

#include "limits/limits.h"

#define GROUPS "/sys/fs/cgroup"
#define GROUP GROUPS "/throttled"
#define CPU1 "/sys/devices/system/cpu/cpu1/online"
#define HELD (24 * MIB)
#define PATIENCE_MS 1500 /* much less than one call of the throttled user takes */

/*
 * The throttled user's progress: it holds its memory; it may continue; how often it has done its
 * work.
 */
static volatile struct {
	u32 ready;
	u32 go;
	u32 rounds;
} * user;

static int device;
static u32 usual_cpu, usual_session, usual_load;

static void set_high(const char *bytes)
{
	if (!put_file(GROUP "/memory.high", bytes))
		bail("memory.high");
}

/* This memory cannot be reclaimed: there is no swap, and it is locked. */
static void hold_memory(void)
{
	static void *held;

	held = mmap(NULL, HELD, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, -1, 0);
	if (held == MAP_FAILED)
		bail("memory to be held");
}

static void run_in_group(void (*prepare)(void), void (*run)(void))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!put_file(GROUP "/cgroup.procs", "0"))
		bail("cgroup.procs");
	hold_memory();
	kl_become(UID_USER1);
	device = kl_open();
	prepare();
	user->ready = 1;
	while (!user->go)
		sleep_ms(10);
	run();
	user->rounds++;
	pause();
}

/*
 * Starts a user in the group that has run @prepare, and whose allocations are delayed from now on.
 */
static pid_t start_throttled(void (*prepare)(void), void (*run)(void))
{
	pid_t pid;

	memset((void *)user, 0, sizeof(*user));
	pid = fork();
	if (!pid)
		run_in_group(prepare, run);
	for (u32 i = 0; i < 600 && !user->ready; i++)
		sleep_ms(50);
	if (!user->ready || waitpid(pid, NULL, WNOHANG))
		bail("the user does not get there");
	set_high("1M");
	user->go = 1;
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	set_high("max");
}

/* Milliseconds that @run takes in a process of its own. */
static u32 time_of(void (*run)(void))
{
	double begun = now_seconds();
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bail("status %x of what is timed", status);
	return (now_seconds() - begun) * 1e3;
}

static void put_cpu(const char *online)
{
	if (!put_file(CPU1, online))
		bail("CPU 1");
}

static void bring_cpu(void)
{
	put_cpu("1");
}

static void restart_cpu(void)
{
	put_cpu("0");
	put_cpu("1");
}

static void make_session(void)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	struct kl_abi_status status = { .size = sizeof(status) };
	const u32 events[] = { KL_EV_SYSCALL_ENTRY + SYS_getppid, KL_EV_sched_switch, 0 };
	int fd;

	kl_become(UID_USER2);
	fd = kl_open();
	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_STATUS, &status) ||
	    kl_use_events(fd, KL_MASKSET_FIRST_USER, KL_HANDLER_log, events) || kl_start(fd))
		bail("session: %s", kl_why(fd));
	close(fd);
}

static void load_module(void)
{
	char command[300];

	snprintf(command, sizeof(command), "insmod %s/$(uname -r)/kl_passed.ko && rmmod kl_passed",
		 getenv("KL_BUILD") ?: "build");
	if (system(command))
		bail("kl_passed");
}

/* @usual: milliseconds that it takes if no user is throttled, on a machine that may be busy. */
static void check_time(u32 ms, u32 usual, const char *name)
{
	tap_result(ms < PATIENCE_MS + 5 * usual, name, "%u ms, else %u", ms, usual);
	printf("# %s: %u ms, else %u\n", name, ms, usual);
}

/* ---------------------------------------------------------------- the user */

static void prepare_nothing(void)
{
}

/* The allocation of each pair of blocks is delayed. */
static void make_large(void)
{
	struct kl_abi_session params = { .blocks = 256, .block_bytes = 65536 };

	kl_session(device, &params);
}

static void prepare_session(void)
{
	struct kl_abi_session params = { .blocks = 64, .block_bytes = 65536 };

	if (kl_session(device, &params))
		bail("session: %s", kl_why(device));
}

static void do_nothing(void)
{
}

static void prepare_many_events(void)
{
	const char *name = "sched_switch";
	struct kl_abi_event event = { .kind = KL_SOURCE_KIND_TRACEPOINT,
				      .name = (u64)(uintptr_t)name };
	struct kl_abi_events events = { .size = sizeof(events),
					.n = 1,
					.event = (u64)(uintptr_t)&event };

	prepare_session();
	if (kl_call(device, KL_IOC_EVENTS, &events) || kl_use(device, KL_MASKSET_RALL))
		bail("session: %s", kl_why(device));
}

static void start_and_stop(void)
{
	for (;;) {
		if (kl_start(device) || kl_call(device, KL_IOC_STOP, NULL))
			sleep_ms(10);
		user->rounds++;
	}
}

/* ------------------------------------------------------------------- tests */

static void test_large_session(void)
{
	pid_t pid = start_throttled(prepare_nothing, make_large);

	sleep_ms(3000);
	check_time(time_of(restart_cpu), usual_cpu,
		   "a CPU goes and comes back while a user's call waits");
	check_time(time_of(make_session), usual_session,
		   "another user makes a session and starts it");
	tap_check(!user->rounds, "the user's call still waits");
	end(pid);
}

static void test_cpu_that_comes(void)
{
	u32 came, made;
	pid_t pid;

	put_cpu("0");
	pid = start_throttled(prepare_session, do_nothing);
	came = time_of(bring_cpu);
	made = time_of(make_session);
	check_time(came, usual_cpu,
		   "a CPU comes online, where a session has to wait for its buffers");
	check_time(made, usual_session, "another user makes a session meanwhile");
	end(pid);
}

/* The longest of @times runs. */
static u32 longest_of(void (*run)(void), u32 times)
{
	u32 most = 0;

	while (times--) {
		u32 ms = time_of(run);

		most = ms > most ? ms : most;
	}
	return most;
}

static void test_attaching(void)
{
	pid_t pid = start_throttled(prepare_many_events, start_and_stop);

	check_time(longest_of(make_session, 30), usual_session,
		   "another user attaches while a user attaches");
	check_time(longest_of(load_module, 10), usual_load, "a module is loaded meanwhile");
	printf("# the throttled user has started and stopped %u times\n", user->rounds);
	end(pid);
}

int main(void)
{
	user = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (user == MAP_FAILED)
		bail("shared memory");
	put_file(GROUPS "/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0755))
		bail("no cgroup");
	usual_cpu = time_of(restart_cpu);
	usual_session = longest_of(make_session, 5);
	usual_load = longest_of(load_module, 5);
	test_large_session();
	test_cpu_that_comes();
	test_attaching();
	return tap_end();
}
