// SPDX-License-Identifier: GPL-2.0
/*
 * program_splice once N | fork N CHILDREN | exec N | vfork N | load [filter]: calls work() or
 * library_work() and checks the result. load prints its process id and runs until its input ends,
 * with a filter of its system calls if requested. Its threads do nothing but these calls, disturbed
 * by a timer's signals, by threads and children that come and go, and by blocking system calls. At
 * the end it prints how often work() was called.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

unsigned long library_work(unsigned long n);

static volatile unsigned long factor = 2654435761u;
static atomic_ulong calls;
static atomic_int over, wrong;
static volatile sig_atomic_t alarms;

__attribute__((noinline)) unsigned long leaf(unsigned long n)
{
	unsigned long a[6] = { n, n + 1, n ^ 3, n * 5, n >> 2, ~n };
	volatile unsigned long *p = a;

	return p[n % 6] + (n & 8 ? p[0] : p[5]) * factor;
}

__attribute__((noinline)) unsigned long turn(unsigned long sum)
{
	switch (sum % 9) {
	case 0:
		return sum + 3;
	case 1:
		return sum ^ factor;
	case 2:
		return leaf(sum);
	case 3:
		sum <<= factor & 1;
		break;
	case 4:
		return -sum;
	case 6:
		sum *= 7;
		break;
	}
	return sum + factor;
}

/* Loops, both sides of branches, calls, a jump table, live flags. */
#define BODY(n)                                                          \
	unsigned long sum = 0, low, high;                                \
	for (unsigned long i = 0; i < 5; i++) {                          \
		if ((n + i) & 4)                                         \
			sum += leaf(n + i);                              \
		else                                                     \
			sum ^= n * factor;                               \
		__asm__ volatile("addq %2, %0\n\tjo 1f\n1:\tadcq $0, %1" \
				 : "=&r"(low), "=&r"(high)               \
				 : "r"(sum), "0"(~n), "1"(n));           \
		sum += low ^ high;                                       \
		sum = turn(sum);                                         \
	}                                                                \
	return sum

__attribute__((noinline)) unsigned long work(unsigned long n)
{
	BODY(n);
}

/* The same code in a function that is not counted. */
__attribute__((noinline)) static unsigned long reference(unsigned long n)
{
	BODY(n);
}

static void call(unsigned long n)
{
	atomic_fetch_add(&calls, 1);
	if (work(n) != reference(n) || library_work(n) != reference(n) + 1)
		atomic_store(&wrong, 1);
}

/* Leaves the processors to others, among them the program that instruments this one. */
static void rest(void)
{
	const struct timespec time = { .tv_nsec = 8000000 };

	nanosleep(&time, NULL);
}

static void *hammer(void *unused)
{
	for (unsigned long n = 0; !atomic_load(&over); n++) {
		call(n);
		if (n % 256 == 255)
			rest();
	}
	return unused;
}

static void take_alarm(int unused)
{
	(void)unused;
	alarms++;
	call((unsigned long)alarms);
}

static void *call_once(void *n)
{
	call((unsigned long)n);
	return n;
}

static void *make_threads(void *unused)
{
	pthread_t thread;

	for (unsigned long n = 0; !atomic_load(&over); n++) {
		if (pthread_create(&thread, NULL, call_once, (void *)n) ||
		    pthread_join(thread, NULL))
			atomic_store(&wrong, 2);
		if (n % 8 == 7)
			rest();
	}
	return unused;
}

static int fork_one(unsigned long n)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		for (unsigned long i = 0; i < n; i++)
			call(i);
		_exit(atomic_load(&wrong));
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static void *make_children(void *unused)
{
	while (!atomic_load(&over)) {
		if (fork_one(100) || system("true"))
			atomic_store(&wrong, 3);
		rest();
	}
	return unused;
}

static void *sleep_often(void *unused)
{
	const struct timespec wanted = { .tv_nsec = 70000000 };
	struct timespec before, after;

	while (!atomic_load(&over)) {
		clock_gettime(CLOCK_MONOTONIC, &before);
		if (nanosleep(&wanted, NULL))
			atomic_store(&wrong, 4);
		clock_gettime(CLOCK_MONOTONIC, &after);
		if ((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec <
		    wanted.tv_nsec)
			atomic_store(&wrong, 5);
	}
	return unused;
}

/* A system call that blocks until the end. */
static void *wait_for_end(void *pipe)
{
	char byte;

	if (read(*(int *)pipe, &byte, 1) != 1 || byte != 'x')
		atomic_store(&wrong, 6);
	return pipe;
}

/* All calls are allowed; what matters is that there is a filter. */
static int filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int load(void)
{
	void *(*const what[])(void *) = { hammer,	hammer,	       hammer,	    hammer,
					  make_threads, make_children, sleep_often, wait_for_end };
	const struct itimerval timer = { { .tv_usec = 1000 }, { .tv_usec = 1000 } };
	struct sigaction action = { .sa_handler = take_alarm, .sa_flags = SA_RESTART };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	pthread_t thread[8];
	sigset_t alarm;
	int ends[2];

	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (pipe(ends))
		return 1;
	for (int i = 0; i < 8; i++) {
		/* Four threads take the signals; the others block them. */
		pthread_sigmask(i < 4 ? SIG_UNBLOCK : SIG_BLOCK, &alarm, NULL);
		if (pthread_create(&thread[i], NULL, what[i], &ends[0]))
			return 1;
	}
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (poll(&input, 1, -1) < 1)
		atomic_store(&wrong, 7);
	atomic_store(&over, 1);
	if (write(ends[1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	printf("%lu calls, %d alarms, %d wrong\n", atomic_load(&calls), (int)alarms,
	       atomic_load(&wrong));
	return atomic_load(&wrong) || !alarms;
}

static int start(const char *how, const char *self, const char *n)
{
	pid_t pid;
	int status;

	if (!strcmp(how, "exec"))
		return execl(self, self, "once", n, NULL);
	pid = vfork();
	if (!pid) {
		execl(self, self, "once", n, NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc < 2)
		return 2;
	if (argc > 2 && !strcmp(argv[2], "filter") && filter())
		return 1;
	if (!strcmp(argv[1], "load"))
		return load();
	for (unsigned long i = 0; i < n; i++)
		call(i);
	for (int i = argc > 3 ? atoi(argv[3]) : 0; i > 0; i--)
		if (fork_one(n))
			return 1;
	if (!strcmp(argv[1], "exec") || !strcmp(argv[1], "vfork"))
		return start(argv[1], "/proc/self/exe", argv[2]);
	return atomic_load(&wrong);
}
