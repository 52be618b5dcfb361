// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: created, renamed, moved between CPUs, waited for, with an inherited priority, stopped by a
 * debugger, signalled, exiting.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/resource.h>

#include "cause.h"

#define CHILDREN 8

static unsigned long pid_namespace(void)
{
	char text[64] = "";

	CHECK(readlink("/proc/self/ns/pid", text, sizeof(text) - 1));
	return strtoul(strchr(text, '[') + 1, NULL, 10);
}

static void fork_and_wait(void)
{
	unsigned long ns = pid_namespace();

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = CHECK(fork());
		int status;

		if (!pid) {
			char name[16];

			snprintf(name, sizeof(name), "cause-%d", i);
			prctl(PR_SET_NAME, name);
			sched_yield();
			_exit(i);
		}
		CHECK(waitpid(pid, &status, 0));
		fact("sched_process_fork parent_tid=%d parent_pid=%d child_tid=%d child_pid=%d "
		     "vtid=%d parent_ns_inum=%lu child_ns_inum=%lu",
		     (int)syscall(SYS_gettid), getpid(), pid, pid, pid, ns, ns);
		fact("task_rename tid=%d oldcomm=task newcomm=cause-%d oom_score_adj=0", pid, i);
		fact("sched_process_exit tid=%d comm=cause-%d", pid, i);
		fact("sched_process_free tid=%d comm=cause-%d", pid, i);
	}
}

/* A child in its own PID namespace, where it has another id. */
static void fork_into_namespace(void)
{
	pid_t pid = CHECK(fork());

	if (!pid) {
		char text[64] = "";
		pid_t first;

		CHECK(unshare(CLONE_NEWPID));
		first = CHECK(fork());
		if (!first) {
			sleep_ms(20);
			_exit(0);
		}
		CHECK(readlink("/proc/self/ns/pid_for_children", text, sizeof(text) - 1));
		fact("sched_process_fork parent_tid=%d child_tid=%d vtid=1 parent_ns_inum=%lu "
		     "child_ns_inum=%lu",
		     getpid(), first, pid_namespace(), strtoul(strchr(text, '[') + 1, NULL, 10));
		CHECK(waitpid(first, NULL, 0));
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0));
}

static void *in_thread(void *data)
{
	*(pid_t *)data = syscall(SYS_gettid);
	return NULL;
}

/* A thread: its thread id differs from its process id. */
static void start_thread(void)
{
	pthread_t thread;
	pid_t tid = 0;

	if (pthread_create(&thread, NULL, in_thread, &tid))
		DIE("pthread_create");
	pthread_join(thread, NULL);
	fact("sched_process_fork parent_tid=%d child_tid=%d child_pid=%d vtid=%d", getpid(), tid,
	     getpid(), tid);
}

static void run_programs(void)
{
	/* vfork blocks this task until the child executes another program. */
	for (int i = 0; i < 3; i++) {
		pid_t pid = CHECK(vfork());

		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		CHECK(waitpid(pid, NULL, 0));
		fact("sched_process_exec tid=%d old_tid=%d filename=/bin/true", pid, pid);
	}
}

static void change_cpu(void)
{
	for (int i = 0; i < 10; i++) {
		run_on(i & 1);
		sleep_ms(1);
	}
}

static volatile bool stop;

static void *spin(void *data)
{
	while (!stop)
		;
	return NULL;
}

/* Two tasks that want one CPU, so that each waits for it. */
static void share_cpu(void)
{
	pthread_t thread;
	time_t end;

	run_on(0);
	if (pthread_create(&thread, NULL, spin, NULL))
		DIE("pthread_create");
	end = time(NULL) + 1;
	while (time(NULL) < end)
		;
	stop = true;
	pthread_join(thread, NULL);
}

static uint32_t pi_word;

static void set_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	CHECK(sched_setscheduler(0, SCHED_FIFO, &param));
}

static void *urgent(void *data)
{
	set_fifo(30);
	CHECK(syscall(SYS_futex, &pi_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	CHECK(syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	return NULL;
}

static void lend_priority(void)
{
	struct sched_param normal = {};
	pthread_t thread;

	set_fifo(10);
	CHECK(syscall(SYS_futex, &pi_word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	if (pthread_create(&thread, NULL, urgent, NULL))
		DIE("pthread_create");
	sleep_ms(50);
	CHECK(syscall(SYS_futex, &pi_word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	pthread_join(thread, NULL);
	/* In records, the priority of a SCHED_FIFO task is -1 - sched_priority. */
	fact("sched_pi_setprio tid=%d oldprio=-11 newprio=-31", getpid());
	fact("sched_pi_setprio tid=%d oldprio=-31 newprio=-11", getpid());
	CHECK(sched_setscheduler(0, SCHED_OTHER, &normal));
}

static void debug_child(void)
{
	pid_t pid = CHECK(fork());
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0));
	ptrace(PTRACE_PEEKUSER, pid, (void *)(8L * ORIG_RAX), NULL);
	fact("sched_wait_task tid=%d comm=task", pid);
	CHECK(ptrace(PTRACE_CONT, pid, NULL, NULL));
	CHECK(waitpid(pid, &status, 0));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
}

static void send_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct rlimit none = { 0, 0 };
	pid_t pid;

	setrlimit(RLIMIT_CORE, &none);
	CHECK(sigaction(SIGUSR1, &action, NULL));
	CHECK(sigaction(SIGRTMIN + 1, &action, NULL));
	for (int i = 0; i < 5; i++)
		CHECK(kill(getpid(), SIGUSR1));
	CHECK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 7 }));
	fact("signal_generate sig=%d error=0 code=0 pid=%d group=1 result=0 comm=task", SIGUSR1,
	     getpid());
	fact("signal_generate sig=%d error=0 code=-1 pid=%d", SIGRTMIN + 1, getpid());
	fact("signal_deliver sig=%d error=0 code=0 handler=%lu", SIGUSR1, (unsigned long)on_signal);
	pid = CHECK(fork());
	if (!pid) {
		static volatile int *volatile nowhere = (int *)8;

		*nowhere = 1;
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0));
	fact("signal_generate sig=%d code=1 pid=%d", SIGSEGV, pid);
}

int main(void)
{
	must_write("/proc/sys/kernel/sched_schedstats", "1");
	fork_and_wait();
	fork_into_namespace();
	start_thread();
	run_programs();
	change_cpu();
	lend_priority();
	debug_child();
	send_signals();
	share_cpu();
	/* The kernel frees dead tasks after a grace period. */
	sleep_ms(200);
	return 0;
}
