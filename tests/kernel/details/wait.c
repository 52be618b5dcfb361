// SPDX-License-Identifier: GPL-2.0
/*
 * What processes wait for: sets up each kind of wait with a known peer, and requests its details
 * while the process sleeps.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "details.h"

/**
 * struct wanted - what must be reported about a wait
 * @fd: of the first thing that is waited for; -1: none; -2: any
 * @n_on: number of things that are waited for
 * @role, @pid: of the task that can end the wait; pid 0: none must be reported, -1: not checked
 */
struct wanted {
	const char *name;
	u32 reason;
	int fd;
	u32 n_on;
	u32 role;
	pid_t pid;
};

static struct kl_detail found_wait;
static u32 found_flags; /* of the last task that can end it */

/* @has_until: a time limit must be reported. */
static void expect_until(pid_t sleeper, struct wanted w, bool has_until)
{
	struct kl_details list;
	u32 on = 0, others = 0, right = 0;
	char title[100];
	int fd = -1;

	if (!wait_asleep(sleeper, "SD"))
		bail("%s: it does not sleep", w.name);
	sleep_ms(20);
	list = get(sleeper, KL_DETAIL_WAIT);
	for (size_t i = 1; i < list.n; i++) {
		const struct kl_detail *e = &list.entry[i];

		if (e->kind == KL_DETAIL_RECORD_WAIT_ON && !on++)
			fd = e->file.fd;
		if (e->kind != KL_DETAIL_RECORD_WAIT_OTHER)
			continue;
		others++;
		found_flags = e->other.flags;
		right += e->other.role == w.role &&
			 (e->other.pid == w.pid || e->other.tid == w.pid);
	}
	found_wait = list.entry[0];
	snprintf(title, sizeof(title), "waits: %s", w.name);
	tap_result(list.entry[0].wait.reason == w.reason && (fd == w.fd || w.fd == -2) &&
			   on == w.n_on && (w.pid < 0 || (w.pid ? right > 0 : !others)) &&
			   !has_until == !(list.entry[0].wait.flags & KL_WAIT_HAS_UNTIL),
		   title, "%s, fd %d, on %u, others %u, right %u, flags %#x, syscall %d",
		   kl_detail_wait_name(list.entry[0].wait.reason), fd, on, others, right,
		   list.entry[0].wait.flags, list.entry[0].wait.syscall);
	kl_details_deinit(&list);
}

static void expect(pid_t sleeper, struct wanted w)
{
	expect_until(sleeper, w, false);
}

/* ----------------------------------------------------------- pipes, sockets */

static void test_pipes(void)
{
	static char bytes[1 << 20];
	int in[2], out[2];
	pid_t reader, writer, other;

	if (pipe(in) || pipe(out))
		bail("pipe");
	reader = fork_child();
	if (!reader) {
		close(in[1]);
		_exit(read(in[0], bytes, 1));
	}
	writer = fork_child();
	if (!writer) {
		close(in[0]);
		close(in[1]);
		close(out[0]);
		_exit(write(out[1], bytes, sizeof(bytes)));
	}
	other = fork_child();
	if (!other) {
		close(in[0]);
		close(out[1]);
		for (;;)
			pause();
	}
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
	expect(reader, (struct wanted){ "a pipe's reader, for its writer", KL_WAIT_READ, in[0], 1,
					KL_OTHER_WRITER, other });
	expect(writer, (struct wanted){ "a pipe's writer, for its reader", KL_WAIT_WRITE, out[1], 1,
					KL_OTHER_READER, other });
}

/* tee() and splice() take the input first. Its writer ends the wait, the output's reader does not. */
static void test_two_pipes(bool splices)
{
	int in[2], out[2];
	pid_t caller, writer;

	if (pipe(in) || pipe(out))
		bail("pipe");
	caller = fork_child();
	if (!caller) {
		close(in[1]);
		close(out[0]);
		if (splices)
			_exit(splice(in[0], NULL, out[1], NULL, 1, 0));
		_exit(tee(in[0], out[1], 1, 0));
	}
	writer = fork_child();
	if (!writer) {
		close(in[0]);
		close(out[0]);
		close(out[1]);
		for (;;)
			pause();
	}
	close(in[0]);
	close(in[1]);
	close(out[1]);
	expect(caller, (struct wanted){ splices ? "splice, for its input's writer" :
						  "tee, for its input's writer",
					KL_WAIT_FILE, in[0], 2, KL_OTHER_WRITER, writer });
	close(out[0]);
}

static void test_socket(int family)
{
	struct sockaddr_in in = { AF_INET, 0, { htonl(INADDR_LOOPBACK) }, {} };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_un un = { AF_UNIX, "" };
	struct sockaddr *name = family == AF_INET  ? (void *)&in :
				family == AF_INET6 ? (void *)&in6 :
						     (void *)&un;
	socklen_t bytes = family == AF_INET  ? sizeof(in) :
			  family == AF_INET6 ? sizeof(in6) :
					       sizeof(un);
	int listening, ready[2];
	pid_t server, client;
	char byte, title[60];

	if (!has_family(family)) {
		snprintf(title, sizeof(title), "waits: family %d", family);
		return tap_skip(title, strerror(EAFNOSUPPORT));
	}
	listening = socket(family, SOCK_STREAM, 0);
	snprintf(un.sun_path, sizeof(un.sun_path), "/tmp/kl-details/wait");
	if (pipe(ready) || bind(listening, name, bytes) || listen(listening, 5) ||
	    getsockname(listening, name, &bytes))
		bail("listen");
	server = fork_child();
	if (!server) {
		int fd = accept(listening, NULL, NULL);

		for (;;)
			poll(NULL, 0, fd * 0 - 1);
	}
	snprintf(title, sizeof(title), "family %d, to accept", family);
	expect(server, (struct wanted){ title, KL_WAIT_ACCEPT, listening, 1, 0, 0 });
	client = fork_child();
	if (!client) {
		int fd = socket(family, SOCK_STREAM, 0);

		if (connect(fd, name, bytes))
			_exit(1);
		dup2(fd, 100);
		_exit(read(100, &byte, 1));
	}
	snprintf(title, sizeof(title), "family %d, to read, for its peer", family);
	sleep_ms(100);
	expect(client, (struct wanted){ title, KL_WAIT_READ, 100, 1, KL_OTHER_PEER, server });
	close(listening);
	close(ready[0]);
	close(ready[1]);
}

/* --------------------------------------------------- several things at once */

static void test_several(void)
{
	int pipes[2], event = eventfd(0, 0), epoll = epoll_create1(0);
	struct epoll_event params = { .events = EPOLLIN };
	pid_t pid;
	u64 value;

	if (pipe(pipes))
		bail("pipe");
	pid = fork_child();
	if (!pid) {
		struct pollfd polled[2] = { { pipes[0], POLLIN, 0 }, { event, POLLIN, 0 } };

		_exit(poll(polled, 2, 100000));
	}
	expect_until(pid,
		     (struct wanted){ "poll, with a time limit", KL_WAIT_POLL, pipes[0], 2,
				      KL_OTHER_WRITER, getpid() },
		     true);
	pid = fork_child();
	if (!pid) {
		fd_set set;

		FD_ZERO(&set);
		FD_SET(pipes[0], &set);
		FD_SET(event, &set);
		_exit(select(64, &set, NULL, NULL, NULL));
	}
	expect(pid, (struct wanted){ "select", KL_WAIT_POLL, event, 2, KL_OTHER_HOLDER, getpid() });
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &params) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &params))
		bail("epoll");
	pid = fork_child();
	if (!pid)
		_exit(epoll_wait(epoll, &params, 1, -1));
	expect(pid, (struct wanted){ "epoll", KL_WAIT_POLL, -2, 2, KL_OTHER_WRITER, getpid() });
	pid = fork_child();
	if (!pid)
		_exit(read(event, &value, 8));
	expect(pid, (struct wanted){ "an eventfd, who has it, too", KL_WAIT_READ, event, 1,
				     KL_OTHER_HOLDER, getpid() });
}

/* ---------------------------------------------------------------- processes */

static int run_vforked(void *argument)
{
	sleep_ms(100000);
	return 0;
}

static void test_processes(void)
{
	static char stack[16384];
	int to[2];
	pid_t pid, child;

	if (pipe(to))
		bail("pipe");
	pid = fork_child();
	if (!pid) {
		child = fork();
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (write(to[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		_exit(waitpid(child, NULL, 0) > 0 ? 0 : 1);
	}
	if (read(to[0], &child, sizeof(child)) != sizeof(child))
		bail("read");
	expect(pid, (struct wanted){ "wait4 for one child", KL_WAIT_CHILD, -1, 0, KL_OTHER_CHILD,
				     child });
	tap_check(found_wait.wait.value == (u64)child, "waits: for that one");
	pid = fork_child();
	if (!pid) {
		clone(run_vforked, stack + sizeof(stack), CLONE_VFORK | CLONE_VM | SIGCHLD, NULL);
		_exit(0);
	}
	expect(pid,
	       (struct wanted){ "vfork, for its child", KL_WAIT_VFORK, -1, 0, KL_OTHER_CHILD, -1 });
	tap_check(found_wait.wait.pid > pid, "waits: vfork's child is reported");
	/*
	 * Kill vfork's child here: its parent, whose memory it shares, is killed later, and only
	 * that parent could reap it.
	 */
	kill(found_wait.wait.pid, SIGKILL);
	pid = fork_child();
	if (!pid)
		for (;;)
			pause();
	expect(pid, (struct wanted){ "pause, for a signal", KL_WAIT_SIGNAL, -1, 0, 0, 0 });
	pid = fork_child();
	if (!pid) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		_exit(sigwaitinfo(&set, NULL));
	}
	expect(pid, (struct wanted){ "sigwaitinfo", KL_WAIT_SIGNAL, -1, 0, 0, 0 });
	tap_check(found_wait.wait.value == 1ull << (SIGUSR1 - 1), "waits: for that signal");
}

static void test_sleep(void)
{
	struct timespec now;
	u64 begun;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &now);
	begun = now.tv_sec * 1000000000ull + now.tv_nsec;
	pid = fork_child();
	if (!pid) {
		sleep_ms(1000000);
		_exit(0);
	}
	expect_until(pid, (struct wanted){ "nanosleep, until when", KL_WAIT_TIME, -1, 0, 0, 0 },
		     true);
	clock_gettime(CLOCK_MONOTONIC, &now);
	tap_result(found_wait.wait.until_ns >= begun + 1000000000000ull &&
			   found_wait.wait.until_ns <=
				   now.tv_sec * 1000000000ull + now.tv_nsec + 1000000000000ull,
		   "waits: it ends a thousand seconds after it began", "until %llu, begun %llu",
		   (unsigned long long)found_wait.wait.until_ns, (unsigned long long)begun);
	pid = fork_child();
	if (!pid) {
		clock_gettime(CLOCK_REALTIME, &now);
		now.tv_sec += 500;
		_exit(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &now, NULL));
	}
	expect_until(pid, (struct wanted){ "clock_nanosleep to a date", KL_WAIT_TIME, -1, 0, 0, 0 },
		     true);
	tap_result(found_wait.wait.until_ns - found_wait.wait.now_ns <= 500000000000ull &&
			   found_wait.wait.until_ns - found_wait.wait.now_ns > 480000000000ull,
		   "waits: it ends at that date", "%lld",
		   (long long)(found_wait.wait.until_ns - found_wait.wait.now_ns));
}

/* -------------------------------------------------------------------- locks */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile pid_t holder;

static void *lock_and_sleep(void *argument)
{
	pthread_mutex_lock(argument);
	holder = gettid();
	for (;;)
		pause();
	return NULL;
}

/* Starts a process of two threads, of which the first waits for the second. Reports their ids. */
static pid_t start_pair(pthread_mutex_t *of, bool joins, pid_t *second)
{
	int to[2];
	pid_t pid, tid;

	if (pipe(to))
		bail("pipe");
	pid = fork_child();
	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, lock_and_sleep, of);
		while (!holder)
			sleep_ms(1);
		tid = holder;
		if (write(to[1], &tid, sizeof(tid)) != sizeof(tid))
			_exit(1);
		if (joins)
			pthread_join(thread, NULL);
		else
			pthread_mutex_lock(of);
		_exit(0);
	}
	if (read(to[0], second, sizeof(*second)) != sizeof(*second))
		bail("read");
	sleep_ms(50);
	return pid;
}

static void test_futexes(void)
{
	static pthread_mutex_t inheriting;
	pthread_mutexattr_t attributes;
	static u32 word = 4711;
	pid_t pid, second;

	pid = start_pair(&mutex, false, &second);
	expect(pid, (struct wanted){ "a mutex, its owner", KL_WAIT_MUTEX, -1, 0, KL_OTHER_OWNER,
				     second });
	tap_check(found_wait.wait.pid == second && !(found_wait.wait.flags & KL_WAIT_PI) &&
			  found_wait.wait.flags & KL_WAIT_FROM_MEMORY &&
			  found_wait.wait.address == (uintptr_t)&mutex &&
			  found_flags & KL_WAIT_FROM_MEMORY,
		  "waits: the mutex' place, and that memory says it");
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inheriting, &attributes);
	pid = start_pair(&inheriting, false, &second);
	expect(pid, (struct wanted){ "a mutex that hands priority on", KL_WAIT_MUTEX, -1, 0,
				     KL_OTHER_OWNER, second });
	tap_check(found_wait.wait.flags & KL_WAIT_PI && found_wait.wait.pid == second &&
			  !(found_flags & KL_WAIT_FROM_MEMORY),
		  "waits: marked as such, with the owner from the kernel");
	pid = start_pair(&mutex, true, &second);
	expect(pid, (struct wanted){ "pthread_join, for the thread", KL_WAIT_THREAD, -1, 0,
				     KL_OTHER_THREAD, second });
	pid = fork_child();
	if (!pid)
		_exit(syscall(SYS_futex, &word, FUTEX_WAIT, 4711, NULL, NULL, 0));
	expect(pid, (struct wanted){ "a futex without an owner", KL_WAIT_FUTEX, -1, 0, 0, 0 });
	tap_check(found_wait.wait.value == 4711 && found_wait.wait.flags & KL_WAIT_SHARED,
		  "waits: the futex' word");
}

/* Processes share the word; one holds the lock, and the word is changed to name another. */
static void test_forged(void)
{
	u32 *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t owner, pid;
	u32 right;

	owner = fork_child();
	if (!owner) {
		syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
		for (;;)
			pause();
	}
	while (!*(volatile u32 *)word)
		sleep_ms(1);
	pid = fork_child();
	if (!pid)
		_exit(syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	expect(pid, (struct wanted){ "a lock that processes share, its owner", KL_WAIT_MUTEX, -1, 0,
				     KL_OTHER_OWNER, owner });
	right = *word;
	tap_check(right == ((u32)owner | FUTEX_WAITERS) && !(found_flags & KL_WAIT_FROM_MEMORY) &&
			  found_wait.wait.flags & KL_WAIT_PI &&
			  found_wait.wait.flags & KL_WAIT_SHARED,
		  "waits: by the kernel");
	*word = getpid() | FUTEX_WAITERS;
	expect(pid, (struct wanted){ "no owner, if the word contradicts the kernel", KL_WAIT_MUTEX,
				     -1, 0, 0, 0 });
	tap_check(!found_wait.wait.pid && found_wait.wait.flags & KL_WAIT_PI,
		  "waits: but that it is such a lock");
	*word = right;
}

static int open_lockable(void)
{
	return open("/tmp/kl-details/locked", O_RDWR | O_CREAT, 0600);
}

static void test_file_locks(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 100, .l_len = 50 };
	int own = open_lockable(), to[2];
	pid_t owner, pid;
	char byte = 0;

	if (pipe(to))
		bail("pipe");
	owner = fork_child();
	if (!owner) {
		int fd = open_lockable();

		if (flock(fd, LOCK_EX) || fcntl(fd, F_SETLK, &lock) || write(to[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(to[0], &byte, 1) != 1)
		bail("read");
	pid = fork_child();
	if (!pid) {
		int fd = open_lockable();

		dup2(fd, 50);
		_exit(flock(50, LOCK_SH));
	}
	expect(pid,
	       (struct wanted){ "flock, its owner", KL_WAIT_LOCK, 50, 1, KL_OTHER_OWNER, owner });
	pid = fork_child();
	if (!pid) {
		lock.l_start = 140;
		_exit(fcntl(own, F_SETLKW, &lock));
	}
	expect(pid, (struct wanted){ "a lock of bytes, its owner", KL_WAIT_LOCK, own, 1,
				     KL_OTHER_OWNER, owner });
	tap_check(found_wait.wait.flags & KL_WAIT_RECORD_LOCK && found_wait.wait.start == 140 &&
			  found_wait.wait.end == 189,
		  "waits: which bytes");
	pid = fork_child();
	if (!pid) {
		int fd = open_lockable();

		dup2(fd, 51);
		lock.l_start = 90;
		_exit(fcntl(51, F_OFD_SETLKW, &lock));
	}
	expect(pid, (struct wanted){ "a lock of the open file", KL_WAIT_LOCK, 51, 1, KL_OTHER_OWNER,
				     owner });
}

static void test_others(void)
{
	const char *path = "/tmp/kl-details/nobody";
	struct kl_details list;
	volatile char *spinning;
	pid_t pid;

	mkfifo(path, 0600);
	pid = fork_child();
	if (!pid)
		_exit(open(path, O_WRONLY));
	expect(pid, (struct wanted){ "a fifo to be opened", KL_WAIT_OPEN, -1, 0, 0, 0 });
	list = get(pid, KL_DETAIL_WAIT);
	tap_check(!strcmp(list.entry[0].text, path), "waits: the fifo's path");
	kl_details_deinit(&list);
	spinning = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork_child();
	if (!pid)
		for (;;)
			*spinning = 1;
	while (!*spinning)
		sleep_ms(1);
	list = get(pid, KL_DETAIL_WAIT);
	tap_check(list.entry[0].wait.reason == KL_WAIT_NONE ||
			  list.entry[0].wait.reason == KL_WAIT_CPU,
		  "waits: one that runs does not");
	kl_details_deinit(&list);
	kill(pid, SIGSTOP);
	wait_asleep(pid, "T");
	list = get(pid, KL_DETAIL_WAIT);
	tap_check(list.entry[0].wait.reason == KL_WAIT_STOPPED, "waits: one that is stopped");
	kl_details_deinit(&list);
}

void test_waits(void)
{
	/* For the socket of AF_UNIX, which test_socket() binds there. */
	mkdir("/tmp/kl-details", 0700);
	unlink("/tmp/kl-details/wait");
	test_pipes();
	test_two_pipes(false);
	test_two_pipes(true);
	test_socket(AF_INET);
	test_socket(AF_INET6);
	test_socket(AF_UNIX);
	test_several();
	test_processes();
	test_sleep();
	test_futexes();
	test_forged();
	test_file_locks();
	test_others();
}
