// SPDX-License-Identifier: GPL-2.0
/*
 * Which task woke which, on whose behalf, and which held the lock: processes whose roles are known.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "latency.h"

int links[3][2];

void pass(int from, int to, unsigned int late_ms, unsigned int burn)
{
	char byte = 0;

	if (from >= 0 && read(from, &byte, 1) != 1)
		_exit(1);
	if (late_ms)
		sleep_ms(late_ms);
	if (burn)
		burn_ms(burn);
	if (to >= 0 && write(to, &byte, 1) != 1)
		_exit(1);
}

int link_process(int from, int to, unsigned int late_ms, unsigned int burn, int cpu)
{
	int pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	kl_pin(cpu);
	pass(from, to, late_ms, burn);
	pause();
	_exit(0);
}

void make_links(void)
{
	for (int i = 0; i < 3; i++)
		if (pipe(links[i]))
			bail("pipe");
}

void drop_links(void)
{
	for (int i = 0; i < 3; i++) {
		close(links[i][0]);
		close(links[i][1]);
	}
}

/* A waits for B, B for C, C for a timer. With @burn, B runs that long after C has finished. */
void test_chain(unsigned int late_ms, unsigned int burn, bool certain)
{
	int fd = open_profile(KL_LATENCY_WAKERS | KL_LATENCY_OWNERS, 0, 0), a, b, c;
	const struct kl_abi_latency_task *ta, *tb, *tc;
	const struct kl_abi_latency_entry *e;
	int last = sysconf(_SC_NPROCESSORS_ONLN) - 1;

	make_links();
	start(fd);
	a = link_process(links[0][0], -1, 0, 0, 0);
	b = link_process(links[1][0], links[0][1], 0, burn, last);
	sleep_ms(20);
	c = link_process(-1, links[1][1], late_ms, 0, 0);
	sleep_ms(late_ms + burn + 60);
	stop(fd);
	fetch(fd);
	ta = task_of(a);
	tb = task_of(b);
	tc = task_of(c);
	if (!ta || !tb || !tc)
		bail("the chain's tasks are not there");
	e = longest(ta->id, KL_LATENCY_INTERRUPTIBLE);
	print_entry(certain ? "chain" : "busy chain", e);
	tap_check(e && e->hop[0].kind == KL_LATENCY_WAKER_TASK && e->hop[0].id == tb->id &&
			  !e->hop[0].flags,
		  certain ? "A was woken by B" : "A was woken by B, which was busy");
	tap_check(e && e->hop[1].kind == KL_LATENCY_WAKER_TASK && e->hop[1].id == tc->id &&
			  !!(e->hop[1].flags & KL_LATENCY_HOP_UNCERTAIN) == !certain,
		  certain ? "which had waited for C" : "that it waited for C is not certain");
	tap_check(e && e->hop[2].kind == KL_LATENCY_WAKER_TIMER && !e->hop[3].kind,
		  "and that for a timer");
	tap_check(add_up(), "states add up");
	kill(a, SIGKILL);
	kill(b, SIGKILL);
	kill(c, SIGKILL);
	while (wait(NULL) > 0)
		;
	drop_links();
	close(fd);
}

/* Two processes that wake each other. */
void test_pingpong(void)
{
	enum {
		ROUNDS = 2000
	};
	int fd = open_profile(ALL_FLAGS, 0, 0), a, b, status;
	const struct kl_abi_latency_task *ta, *tb;
	u64 right = 0, wrong = 0;

	make_links();
	start(fd);
	a = fork();
	if (!a) {
		for (int i = 0; i < ROUNDS; i++) {
			pass(-1, links[0][1], 0, 0);
			pass(links[1][0], -1, 0, 0);
		}
		_exit(0);
	}
	b = fork();
	if (!b) {
		for (int i = 0; i < ROUNDS; i++)
			pass(links[0][0], links[1][1], 0, 0);
		_exit(0);
	}
	waitpid(a, &status, 0);
	waitpid(b, &status, 0);
	/* A process that has been reaped may still have its last switch ahead of it. */
	sleep_ms(100);
	stop(fd);
	fetch(fd);
	ta = task_of(a);
	tb = task_of(b);
	if (!ta || !tb)
		bail("the players are not there");
	print_task("player", ta);
	for (u32 i = 0; i < n_entries; i++) {
		const struct kl_abi_latency_entry *e = &entries[i];

		if ((e->task != ta->id && e->task != tb->id) || e->syscall != SYS_read)
			continue;
		if (e->hop[0].kind == KL_LATENCY_WAKER_TASK &&
		    e->hop[0].id == (e->task == ta->id ? tb->id : ta->id))
			right += e->asleep.count;
		else
			wrong += e->asleep.count;
	}
	/*
	 * A woken task may preempt its waker, which then need not sleep: only one of the two does.
	 */
	tap_result(right > ROUNDS / 2 && !wrong, "ping and pong are woken by each other alone",
		   "%llu, others %llu", (unsigned long long)right, (unsigned long long)wrong);
	tap_check(ta->flags & KL_LATENCY_TASK_ENDED && tb->flags & KL_LATENCY_TASK_ENDED,
		  "tasks that have ended are kept");
	tap_check(add_up(), "their states add up to their life");
	close(fd);
}

/*
 * One process writes a large file repeatedly, which takes the file's lock; the other also wants to
 * write to it. Both run on one processor: otherwise the waiter would spin instead of sleeping.
 */
static int write_file(const char *path, unsigned int mib, unsigned int pause_ms)
{
	int pid = fork(), fd;
	char *data;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	kl_pin(0);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	data = calloc(mib + 1, 1 << 20);
	for (;;) {
		if (pwrite(fd, data, mib ? mib << 20 : 1, 0) < 1)
			_exit(1);
		if (pause_ms)
			sleep_ms(pause_ms);
	}
}

/* Number of voluntary context switches of a task. */
static u64 sleeps_of(pid_t pid)
{
	char path[64], line[128];
	unsigned long long sleeps = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "voluntary_ctxt_switches: %llu", &sleeps);
	if (file)
		fclose(file);
	return sleeps;
}

/* A waiter's sleeps, by whether the profile names the right holder, a wrong one, or none. */
struct blame {
	u64 right;
	u64 wrong;
	u64 none;
};

/*
 * Ends the profile and its two processes. @state: count only sleeps in this state;
 * KL_LATENCY_STATES: in any.
 */
static struct blame tally(int fd, int holder, int waiter, u32 state, int call)
{
	const struct kl_abi_latency_task *h, *w;
	struct blame blame = {};

	stop(fd);
	fetch(fd);
	kill(holder, SIGKILL);
	kill(waiter, SIGKILL);
	while (wait(NULL) > 0)
		;
	h = task_of(holder);
	w = task_of(waiter);
	if (!h || !w)
		bail("holder and waiter are not there");
	print_task("waiter", w);
	for (u32 i = 0; i < n_entries; i++) {
		const struct kl_abi_latency_entry *e = &entries[i];

		if (e->task != w->id || e->syscall != call ||
		    (state != KL_LATENCY_STATES && e->state != state))
			continue;
		print_entry("waiter", e);
		if (!e->owner)
			blame.none += e->asleep.count;
		else if (e->owner == h->id && e->hop[0].id == h->id)
			blame.right += e->asleep.count;
		else
			blame.wrong += e->asleep.count;
	}
	return blame;
}

void test_owner(void)
{
	int fd = open_profile(KL_LATENCY_WAKERS | KL_LATENCY_OWNERS, 0, 0), holder, waiter;
	struct blame blame;

	start(fd);
	holder = write_file("/dev/shm/latency", 4, 0);
	waiter = write_file("/dev/shm/latency", 0, 3);
	/* On a busy host a write takes a large part of a second. */
	for (int i = 0; i < 20 && (i < 2 || sleeps_of(waiter) < 24); i++)
		sleep_ms(500);
	blame = tally(fd, holder, waiter, KL_LATENCY_UNINTERRUPTIBLE, SYS_pwrite64);
	tap_result(blame.right > 5 && !blame.wrong && blame.none <= blame.right,
		   "waits for a lock are attributed to its holder",
		   "%llu right, %llu wrong, %llu not", (unsigned long long)blame.right,
		   (unsigned long long)blame.wrong, (unsigned long long)blame.none);
	unlink("/dev/shm/latency");
	close(fd);
}

/* Holds a mutex for @held_ms, again and again; with 0 it is the waiter. */
static int use_mutex(pthread_mutex_t *mutex, unsigned int held_ms, unsigned int pause_ms)
{
	int pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	kl_pin(0);
	for (;;) {
		pthread_mutex_lock(mutex);
		if (held_ms)
			sleep_ms(held_ms);
		pthread_mutex_unlock(mutex);
		sleep_ms(pause_ms);
	}
}

/*
 * The kernel knows the owner of a mutex that inherits priority. The owner of any other mutex is
 * only in the program's memory, which the profile does not read.
 */
void test_pi_owner(bool hands_on)
{
	pthread_mutex_t *mutex =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open_profile(KL_LATENCY_WAKERS | KL_LATENCY_OWNERS, 0, 0), holder, waiter;
	pthread_mutexattr_t attributes;
	struct blame blame;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (hands_on)
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(mutex, &attributes);
	start(fd);
	holder = use_mutex(mutex, 20, 3);
	waiter = use_mutex(mutex, 0, 1);
	sleep_ms(800);
	blame = tally(fd, holder, waiter, KL_LATENCY_STATES, SYS_futex);
	tap_result(hands_on ? blame.right >= 5 && !blame.wrong && !blame.none :
			      blame.none >= 5 && !blame.right && !blame.wrong,
		   hands_on ? "waits for a PI mutex are attributed to its owner" :
			      "waits for other mutexes have no holder",
		   "%llu right, %llu wrong, %llu not", (unsigned long long)blame.right,
		   (unsigned long long)blame.wrong, (unsigned long long)blame.none);
	munmap(mutex, 4096);
	close(fd);
}
