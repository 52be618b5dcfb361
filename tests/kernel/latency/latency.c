// SPDX-License-Identifier: GPL-2.0
/*
 * The latency profile through the device alone: tasks whose sleeps, waits for a processor, wakers
 * and chains are known; sums compared with the kernel's own schedstat; bounds, errors, and what an
 * ordinary user gets. latency [PROCESSES [exact]]: on a machine that counts instructions, times
 * agree within the clock's error; on any other, the host's scheduling is visible, too.
 */
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "latency.h"

bool exact;

static void test_calls(void)
{
	struct kl_abi_latency params = { .size = sizeof(params) };
	struct kl_abi_latency_read call = { .size = sizeof(call) };
	struct kl_abi_session session = { .blocks = 4, .block_bytes = 4096 };
	int fd = kl_open();

	tap_check(kl_call(fd, KL_IOC_LATENCY, &params) == -ENOTCONN, "a profile needs a session");
	if (kl_session(fd, &session))
		bail("session");
	tap_check(kl_call(fd, KL_IOC_LATENCY_READ, &call) == -ENODATA, "there is none to read");
	params.flags = 0x80000000u;
	tap_check(kl_call(fd, KL_IOC_LATENCY, &params) == -EINVAL, "an unknown flag is refused");
	params.flags = KL_LATENCY_WAKER_STACKS;
	tap_check(kl_call(fd, KL_IOC_LATENCY, &params) == -EINVAL, "so are wakers' stacks alone");
	params.flags = 0;
	params.tasks = KL_LATENCY_TASKS_MAX + 1;
	tap_check(kl_call(fd, KL_IOC_LATENCY, &params) == -EINVAL, "and too many tasks");
	params.tasks = 0;
	params.entries = KL_LATENCY_ENTRIES_MIN - 1;
	tap_check(kl_call(fd, KL_IOC_LATENCY, &params) == -EINVAL, "and too few entries");
	params.entries = 0;
	tap_check(!kl_call(fd, KL_IOC_LATENCY, &params) &&
			  params.tasks == KL_LATENCY_TASKS_DEFAULT &&
			  params.entries == KL_LATENCY_ENTRIES_DEFAULT,
		  "the defaults are reported");
	tap_check(kl_call(fd, KL_IOC_LATENCY, &params) == -EBUSY, "only one");
	tap_check(!kl_call(fd, KL_IOC_LATENCY_READ, &call) && !call.n && !call.start,
		  "nothing before the start");
	call.what = 4;
	tap_check(kl_call(fd, KL_IOC_LATENCY_READ, &call) == -EINVAL, "there are four arrays");
	start(fd);
	call = (struct kl_abi_latency_read){ .size = sizeof(call), .n = 1, .buffer = 8 };
	tap_check(kl_call(fd, KL_IOC_LATENCY_READ, &call) == -EFAULT, "a bad buffer is refused");
	close(fd);
}

/* Also reports the total time by its own clock, and the longest sleep. */
static void sleep_often(int to)
{
	u64 sum = 0, most = 0;

	for (int i = 0; i < 40; i++) {
		u64 begun = now_ns(), took;

		sleep_ms(i == 20 ? 30 : 5);
		took = now_ns() - begun;
		sum += took;
		most = took > most ? took : most;
	}
	if (write(to, &sum, 8) != 8 || write(to, &most, 8) != 8)
		_exit(1);
	pause();
}

/*
 * Each sleep that has an entry is in a bucket, with the same length: entries are kept by another
 * part of the module. Runs are compared with the sums of tasks, which include those under way.
 */
static void test_times(void)
{
	u64 sum[KL_LATENCY_STATES] = { 0 }, count[KL_LATENCY_STATES] = { 0 }, in_buckets, least,
	    most;
	bool good = n_times == KL_LATENCY_STATES && !told.no_entry && !told.evicted_entries;

	for (u32 i = 0; i < n_entries; i++) {
		sum[entries[i].state] += entries[i].asleep.sum;
		count[entries[i].state] += entries[i].asleep.count;
	}
	for (u32 i = 0; i < n_tasks; i++)
		for (u32 s = 0; s < KL_LATENCY_INTERRUPTIBLE; s++) {
			sum[s] += tasks[i].in[s].sum;
			count[s] += tasks[i].in[s].count;
		}
	for (u32 s = 0; s < n_times; s++) {
		in_buckets = 0;
		least = 0;
		most = 0;
		for (u32 i = 0; i < KL_LATENCY_BUCKETS; i++) {
			double bound = cycles_per_ns * 1000 * (1ull << i);

			in_buckets += times[s].count[i];
			least += i ? (u64)(times[s].count[i] * (bound / 2 - 1)) : 0;
			most += (u64)(times[s].count[i] * (bound + 1));
		}
		printf("# state %u: %llu times, %.3f ms; expected %llu, %.3f ms\n", times[s].state,
		       (unsigned long long)in_buckets, ms(times[s].sum),
		       (unsigned long long)count[s], ms(sum[s]));
		good &= times[s].state == s && times[s].sum >= least && times[s].sum <= most;
		if (s >= KL_LATENCY_INTERRUPTIBLE)
			good &= in_buckets == count[s] && times[s].sum == sum[s];
		else
			good &= in_buckets <= count[s] && in_buckets + n_tasks >= count[s] &&
				times[s].sum <= sum[s];
	}
	tap_check(good, "each time that has ended is in its bucket");
}

static void test_sleeps(void)
{
	int fd = open_profile(ALL_FLAGS, 0, 0), up[2], tid;
	const struct kl_abi_latency_task *t;
	const struct kl_abi_latency_entry *e;
	u64 measured, worst[2];
	bool timer = false;
	double awake;

	if (pipe(up))
		bail("pipe");
	start(fd);
	tid = fork();
	if (!tid)
		sleep_often(up[1]);
	if (read(up[0], &measured, 8) != 8 || read(up[0], worst, 8) != 8)
		bail("read");
	sleep_ms(20);
	stop(fd);
	fetch(fd);
	t = task_of(tid);
	if (!t)
		bail("the sleeper is not there");
	print_task("sleeper", t);
	e = longest(t->id, KL_LATENCY_INTERRUPTIBLE);
	tap_result(e && e->syscall == SYS_clock_nanosleep,
		   "its sleeps are reported with their system call", "%d", e ? e->syscall : -2);
	/* Its own clock also includes the time just before and after the sleep. */
	tap_result(e && e->asleep.count >= (exact ? 40 : 30) && e->asleep.count <= 40 &&
			   ms(e->asleep.sum) > (exact ? 225 : 150) &&
			   near(ms(e->asleep.sum) + ms(t->in[KL_LATENCY_RUNNABLE].sum),
				measured / 1e6, exact ? 0.003 : 0.3, exact ? 0.5 : 50),
		   "40 sleeps are as long as the program's clock says",
		   "%llu, %.3f ms and %.3f, of %.3f", e ? (unsigned long long)e->asleep.count : 0,
		   e ? ms(e->asleep.sum) : 0, ms(t->in[KL_LATENCY_RUNNABLE].sum), measured / 1e6);
	/* The timer is armed before the task leaves the CPU. */
	awake = exact ? 0 : ms(t->in[KL_LATENCY_RUNNING].sum + t->in[KL_LATENCY_RUNNABLE].sum);
	tap_result(e && ms(e->asleep.worst) >= 30 - awake && ms(e->asleep.worst) <= worst[0] / 1e6,
		   "the worst of them too", "%.3f of %.3f", e ? ms(e->asleep.worst) : 0,
		   worst[0] / 1e6);
	for (u32 i = 0; e && i < n_sources; i++)
		timer |= sources[i].id == e->hop[0].id && sources[i].number;
	tap_check(e && e->hop[0].kind == KL_LATENCY_WAKER_TIMER && timer && !e->hop[1].kind,
		  "woken by a timer, not by the interrupted task");
	tap_check(e && e->kstack && e->ustack, "with both stacks");
	test_times();
	tap_check(add_up(), "each task's states add up to its time");
	tap_result(told.unpaired == 0 && !told.missed, "each sleep's end was seen", "%llu unpaired",
		   (unsigned long long)told.unpaired);
	kill(tid, SIGKILL);
	waitpid(tid, NULL, 0);
	close(fd);
}

static void read_schedstat(int tid, u64 *run, u64 *wait)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%lu %lu", run, wait) != 2)
		bail("%s", path);
	fclose(file);
}

static bool is_near(double ours, double theirs)
{
	return near(ours, theirs, exact ? 0.003 : 0.15, exact ? 1 : 40);
}

/* Several tasks compete for a processor; some of them sleep now and then. */
static void test_schedstat(void)
{
	enum {
		N = 4
	};
	u64 run[N], wait[N], run_end, wait_end;
	int fd = open_profile(0, 0, 0), tid[N];
	bool good = true;

	for (int i = 0; i < N; i++) {
		tid[i] = fork();
		if (!tid[i]) {
			kl_pin(0);
			for (;;) {
				burn_ms(10 + 7 * i);
				if (i & 1)
					sleep_ms(3 * i);
			}
		}
	}
	kl_pin(1 % sysconf(_SC_NPROCESSORS_ONLN));
	sleep_ms(50);
	for (int i = 0; i < N; i++)
		kill(tid[i], SIGSTOP);
	sleep_ms(50);
	for (int i = 0; i < N; i++)
		read_schedstat(tid[i], &run[i], &wait[i]);
	start(fd);
	for (int i = 0; i < N; i++)
		kill(tid[i], SIGCONT);
	sleep_ms(1500);
	for (int i = 0; i < N; i++)
		kill(tid[i], SIGSTOP);
	sleep_ms(50);
	stop(fd);
	fetch(fd);
	for (int i = 0; i < N; i++) {
		const struct kl_abi_latency_task *t = task_of(tid[i]);
		double ran, waited;

		read_schedstat(tid[i], &run_end, &wait_end);
		if (!t)
			bail("task %d is not there", tid[i]);
		ran = ms(t->in[KL_LATENCY_RUNNING].sum);
		waited = ms(t->in[KL_LATENCY_RUNNABLE].sum + t->in[KL_LATENCY_PREEMPTED].sum);
		print_task("competitor", t);
		printf("# schedstat: ran %.3f, waited %.3f ms\n", (run_end - run[i]) / 1e6,
		       (wait_end - wait[i]) / 1e6);
		good &= is_near(ran, (run_end - run[i]) / 1e6);
		good &= is_near(waited, (wait_end - wait[i]) / 1e6);
	}
	tap_check(good, "time on and before a processor is schedstat's");
	tap_check(add_up(), "and all states add up");
	tap_check(!n_entries, "sums alone make no entries");
	for (int i = 0; i < N; i++) {
		kill(tid[i], SIGKILL);
		waitpid(tid[i], NULL, 0);
	}
	close(fd);
}

/* ----------------------------------------------------------------- bounds */

static void run_processes(unsigned int n)
{
	while (n--) {
		int pid = fork();

		if (!pid)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			bail("fork");
	}
}

static void test_bounds(unsigned int processes)
{
	int fd = open_profile(KL_LATENCY_WAKERS | KL_LATENCY_KERNEL_STACKS, 512, 64);
	u32 ended = 0, last = 0;
	bool order = true;

	start(fd);
	run_processes(processes);
	/* A process that has been reaped may still have to be switched from for the last time. */
	usleep(100000);
	stop(fd);
	fetch(fd);
	for (u32 i = 0; i < n_tasks; i++)
		ended += !!(tasks[i].flags & KL_LATENCY_TASK_ENDED);
	for (u32 i = 0; i < n_tasks; i++) {
		order &= tasks[i].id && tasks[i].id != last;
		last = tasks[i].id;
	}
	printf("# %u tasks, %u of them ended; evicted: %llu tasks, %llu entries; no entry %llu, missed %llu\n",
	       n_tasks, ended, (unsigned long long)told.evicted_tasks,
	       (unsigned long long)told.evicted_entries, (unsigned long long)told.no_entry,
	       (unsigned long long)told.missed);
	tap_check(n_tasks <= 512 && n_entries <= 64 && ended > 100 && order,
		  "the tables keep their size");
	tap_result(told.evicted_tasks + ended >= processes &&
			   told.evicted_tasks + ended <= processes + 1000 && !told.missed,
		   "each process was there, or is counted", "%llu and %u of %u",
		   (unsigned long long)told.evicted_tasks, ended, processes);
	tap_check(told.evicted_entries > 0, "so are entries that had to go");
	tap_check(add_up(), "states add up");
	start(fd);
	stop(fd);
	fetch(fd);
	tap_check(!told.evicted_tasks && ms(told.until - told.start) < 1000, "a start begins anew");
	close(fd);
}

/* More live tasks than there is room for. */
static void test_full(void)
{
	int fd = open_profile(0, 16, 64), pid[40];

	start(fd);
	for (int i = 0; i < 40; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			for (;;)
				sleep_ms(1);
		}
	}
	sleep_ms(200);
	for (int i = 0; i < 20; i++) {
		fetch(fd);
		if (!add_up())
			bail("while it is full");
	}
	stop(fd);
	fetch(fd);
	tap_check(n_tasks == 16 && told.missed > 1000,
		  "waits that do not fit are counted as missed");
	for (int i = 0; i < 40; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	close(fd);
}

/* Reads the profile while it is updated. */
static void test_live(void)
{
	int fd = open_profile(ALL_FLAGS, 0, 0), pid[6];
	bool good = true;
	u32 reads = 0;

	for (int i = 0; i < 6; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			int ends[2];

			if (pipe(ends))
				_exit(1);
			if (!fork()) {
				/* Ends with the writer. */
				close(ends[1]);
				for (char byte;;)
					if (read(ends[0], &byte, 1) != 1)
						_exit(0);
			}
			close(ends[0]);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				if (write(ends[1], "", 1) != 1)
					_exit(1);
		}
	}
	start(fd);
	for (double end = now_seconds() + 2; good && (now_seconds() < end || reads < 10); reads++) {
		fetch(fd);
		good = add_up();
	}
	printf("# %u reads\n", reads);
	tap_check(good, "what is read while it runs adds up each time");
	for (int i = 0; i < 6; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	stop(fd);
	fetch(fd);
	tap_check(add_up(), "and at the end");
	close(fd);
}

/* ------------------------------------------------------------------- users */

static void become(u32 id)
{
	if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
		_exit(99);
	prctl(PR_SET_DUMPABLE, 1);
}

static int user_part(void)
{
	struct kl_abi_latency params = { .size = sizeof(params),
					 .flags = KL_LATENCY_KERNEL_STACKS };
	struct kl_abi_session session = { .blocks = 4, .block_bytes = 4096 };
	const struct kl_abi_latency_entry *e;
	const struct kl_abi_latency_task *t;
	int fd, child, bad = 0;

	become(4242);
	fd = kl_open();
	if (kl_session(fd, &session) || kl_use(fd, KL_MASKSET_RNOTHING))
		return 1;
	bad |= (kl_call(fd, KL_IOC_LATENCY, &params) != -EPERM) << 1;
	params.flags = 0;
	params.tasks = KL_LATENCY_TASKS_UNPRIVILEGED + 1;
	bad |= (kl_call(fd, KL_IOC_LATENCY, &params) != -EINVAL) << 2;
	params.tasks = 0;
	params.flags = KL_LATENCY_WAKERS | KL_LATENCY_WAKER_STACKS | KL_LATENCY_USER_STACKS |
		       KL_LATENCY_OWNERS;
	if (kl_call(fd, KL_IOC_LATENCY, &params) || kl_start(fd))
		return 1;
	child = link_process(links[0][0], links[1][1], 0, 0, 0);
	sleep_ms(50);
	pass(-1, links[2][1], 0, 0);
	sleep_ms(200);
	kl_stop(fd);
	fetch(fd);
	for (u32 i = 0; i < n_tasks; i++)
		bad |= (tasks[i].uid != 4242) << 3;
	bad |= !add_up() << 4;
	t = task_of(child);
	if (!t)
		return bad | 1 << 5;
	e = longest(t->id, KL_LATENCY_INTERRUPTIBLE);
	print_entry("user's", e);
	bad |= !(e && e->hop[0].kind == KL_LATENCY_WAKER_HIDDEN && !e->hop[0].id && !e->kstack &&
		 !e->waker_kstack && !e->waker_ustack && e->ustack)
	       << 6;
	for (u32 i = 0; i < n_sources; i++)
		bad |= (sources[i].kind == KL_LATENCY_WAKER_TIMER && sources[i].number) << 7;
	kill(child, SIGKILL);
	return bad;
}

static void test_users(void)
{
	int user, status;
	char byte;

	make_links();
	user = fork();
	if (!user)
		_exit(user_part());
	if (read(links[2][0], &byte, 1) != 1)
		bail("read");
	sleep_ms(50);
	pass(-1, links[0][1], 0, 0);
	if (read(links[1][0], &byte, 1) != 1)
		bail("read");
	waitpid(user, &status, 0);
	tap_result(!WEXITSTATUS(status),
		   "a user sees own tasks, and no address, nor who else has woken them", "bits %x",
		   WEXITSTATUS(status));
	drop_links();
}

int main(int argc, char **argv)
{
	struct kl_abi_info info;
	int fd = kl_open();

	info = kl_info(fd);
	cycles_per_ns = info.clock_hz / 1e9;
	exact = argc > 2 && !strcmp(argv[2], "exact");
	close(fd);
	test_calls();
	test_sleeps();
	test_schedstat();
	test_pingpong();
	test_chain(60, 0, true);
	test_chain(10, 120, false);
	test_owner();
	test_pi_owner(true);
	test_pi_owner(false);
	test_io();
	test_bounds(argc > 1 ? strtoul(argv[1], NULL, 0) : 2000);
	test_full();
	test_live();
	test_users();
	return tap_end();
}
