// SPDX-License-Identifier: GPL-2.0
/*
 * Processes to be looked at, one of each kind of thing that the module tells of a process: what it
 * waits for, what it has open, how it is confined, and those that are never the same for long.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include "fuzz.h"

static void sleep_forever(void)
{
	for (;;)
		pause();
}

static void stay_zombie(void)
{
	for (u32 i = 0; i < 3; i++)
		if (!fork())
			_exit(i);
	sleep_forever();
}

static void stay_stopped(void)
{
	pid_t child = fork();

	if (!child)
		raise(SIGSTOP);
	sleep_forever();
}

static void wait_futex(void)
{
	static volatile u32 word = 1;

	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void wait_mutex(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	if (!fork())
		sleep_forever();
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void wait_pi(void)
{
	static volatile u32 word;

	word = getppid();
	for (;;)
		syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
}

static void wait_pipe(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		_exit(1);
	if (!fork()) {
		char many[4096] = {};

		while (write(ends[1], many, sizeof(many)) > 0)
			;
	}
	if (fork())
		sleep_forever();
	while (read(ends[0], &byte, 1) > 0)
		sleep_ms(50);
}

static void wait_lock(void)
{
	char path[60];
	struct flock range = { .l_type = F_WRLCK, .l_start = 10, .l_len = 20 };
	int fd;

	snprintf(path, sizeof(path), "/tmp/zoo-%u-%d", me->uid, getppid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (flock(fd, LOCK_EX) || fcntl(fd, F_SETLK, &range))
		_exit(1);
	for (u32 i = 0; i < 2; i++)
		if (!fork()) {
			fd = open(path, O_RDWR | O_CLOEXEC);
			if (i)
				flock(fd, LOCK_EX);
			fcntl(fd, F_SETLKW, &range);
			_exit(0);
		}
	sleep_forever();
}

static void wait_poll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec when = { { 0, 300000000 }, { 0, 300000000 } };
	sigset_t signals;

	sigfillset(&signals);
	timerfd_settime(timer, 0, &when, NULL);
	epoll_ctl(set, EPOLL_CTL_ADD, timer, &event);
	epoll_ctl(set, EPOLL_CTL_ADD, eventfd(3, 0), &event);
	epoll_ctl(set, EPOLL_CTL_ADD, signalfd(-1, &signals, 0), &event);
	epoll_ctl(set, EPOLL_CTL_ADD, inotify_init(), &event);
	for (;;) {
		struct pollfd p[2] = { { set, POLLIN, 0 }, { timer, POLLIN, 0 } };

		poll(p, 2, 700);
		epoll_wait(set, &event, 1, 300);
	}
}

static void wait_socket(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), pair[2], fd;
	char byte;

	if (bind(listener, (void *)&address, bytes) || listen(listener, 5) ||
	    getsockname(listener, (void *)&address, &bytes) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		_exit(1);
	/* cppcheck-suppress leakReturnValNotUsed ; they stay open while the process lives */
	socket(AF_INET6, SOCK_DGRAM, 0);
	/* cppcheck-suppress leakReturnValNotUsed ; the same */
	socket(AF_NETLINK, SOCK_RAW, 0);
	if (!fork()) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (void *)&address, bytes))
			read(fd, &byte, 1);
		_exit(0);
	}
	if (!fork())
		read(pair[0], &byte, 1);
	fd = accept(listener, NULL, NULL);
	if (!fork())
		accept(listener, NULL, NULL);
	for (;;) {
		send(fd, "x", 0, 0);
		sleep_ms(200);
	}
}

static void wait_child(void)
{
	if (!fork()) {
		if (!vfork()) {
			usleep(400000);
			execl("/bin/sleep", "sleep", "1", NULL);
			_exit(0);
		}
		sleep_forever();
	}
	for (;;)
		if (wait(NULL) < 0)
			sleep_ms(300);
}

static void wait_message(void)
{
	char message[40];
	int id = msgget(IPC_PRIVATE, 0600);

	alarm(20);
	msgrcv(id, message, 8, 0, 0);
	_exit(0);
}

/* Many descriptors, deep paths, deleted files. */
static void have_files(void)
{
	char path[100];

	for (u32 i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "/tmp/zoo-file-%u-%d-%u", me->uid, getpid(), i);
		/* cppcheck-suppress leakReturnValNotUsed ; they stay open while the process lives */
		open(path, O_RDWR | O_CREAT, 0600);
		if (i % 2)
			unlink(path);
	}
	for (;;) {
		int fd = dup(3);

		sleep_ms(40);
		close(fd);
	}
}

/* Many mappings that come and go, of all kinds. */
static void have_mappings(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	u8 *large = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(large, 4 << 20, MADV_HUGEPAGE);
	memset(large, 1, 4 << 20);
	mlock(large, 8192);
	for (u32 i = 0;; i++) {
		u8 *at = mmap(NULL, 65536, i % 3 ? PROT_READ : PROT_READ | PROT_WRITE,
			      i % 3 ? MAP_PRIVATE : MAP_SHARED | MAP_ANONYMOUS, i % 3 ? fd : -1, 0);

		if (at != MAP_FAILED && i % 3 == 0)
			memset(at, 1, 8192);
		sleep_ms(40);
		munmap(at + 4096 * (i % 4), 65536 - 4096 * (i % 4));
	}
}

static void *end_soon(void *unused)
{
	usleep(20000);
	return NULL;
}

static void change_threads(void)
{
	for (;;) {
		pthread_t thread[8];
		u32 n = 0;

		for (; n < 8; n++)
			if (pthread_create(&thread[n], NULL, end_soon, NULL))
				break;
		while (n)
			pthread_join(thread[--n], NULL);
		sleep_ms(30);
	}
}

/* The same number, always another program. */
static void change_program(void)
{
	usleep(300000);
	execl("/proc/self/exe", "fuzz", "--zoo-again", NULL);
	_exit(0);
}

static void change_rights(void)
{
	struct rlimit limit = { 100, 200 };

	for (u32 i = 0;; i++) {
		prctl(PR_SET_DUMPABLE, i % 2);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_NAME, i % 2 ? "odd" : "a name \n\\ \"that\"");
		setrlimit(RLIMIT_NOFILE, &limit);
		sleep_ms(60);
	}
}

static void spin(void)
{
	for (;;) {
		for (volatile u32 i = 0; i < 20000; i++)
			;
		sleep_ms(80);
	}
}

static void sleep_long(void)
{
	struct timespec time = { 1000, 0 };

	for (;;)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void wait_signal(void)
{
	sigset_t signals;
	siginfo_t info;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	kill(getpid(), SIGUSR1);
	for (;;)
		sigwaitinfo(&signals, &info);
}

/* One child in each call of @waits, which do not return soon. */
static void wait_in_each(void (*const *waits)(void))
{
	for (; *waits; waits++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			(*waits)();
			sleep_forever();
		}
	sleep_forever();
}

static int pipe_end(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

static void in_select(void)
{
	fd_set set, other;
	int end = pipe_end(), fd = eventfd(0, 0);

	FD_ZERO(&set);
	FD_SET(end, &set);
	FD_SET(fd, &set);
	other = set;
	select(fd + 1, &set, NULL, &other, NULL);
}

static void in_poll_of_many(void)
{
	static struct pollfd p[70];

	for (u32 i = 0; i < 70; i++)
		p[i] = (struct pollfd){ pipe_end(), POLLIN, 0 };
	poll(p, 70, -1);
}

static void in_poll_of_sockets(void)
{
	struct pollfd p[3];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	p[0] = (struct pollfd){ pair[0], POLLIN, 0 };
	p[1] = (struct pollfd){ eventfd(0, 0), POLLIN, 0 };
	p[2] = (struct pollfd){ pipe_end(), POLLIN, 0 };
	poll(p, 3, -1);
}

static void in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	for (u32 i = 0; i < 3; i++)
		epoll_ctl(set, EPOLL_CTL_ADD, pipe_end(), &event);
	epoll_wait(set, &event, 1, -1);
}

static void in_splice(void)
{
	int ends[2];

	if (!pipe(ends))
		splice(pipe_end(), NULL, ends[1], NULL, 100, 0);
}

static void in_open(void)
{
	char path[60];

	snprintf(path, sizeof(path), "/tmp/zoo-fifo-%u-%d", me->uid, getpid());
	if (!mkfifo(path, 0600))
		close(open(path, O_RDONLY));
}

static void in_vfork(void)
{
	if (!vfork())
		for (;;)
			pause();
}

static void in_waitid(void)
{
	siginfo_t info;

	if (!fork())
		sleep_forever();
	waitid(P_ALL, 0, &info, WEXITED);
}

static void in_waitpid(void)
{
	pid_t child = fork();

	if (!child)
		sleep_forever();
	waitpid(child, NULL, 0);
}

static void in_sigsuspend(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigsuspend(&set);
}

static void in_futexes(void)
{
	static u32 word[2];
	struct {
		u64 value, address;
		u32 flags, reserved;
	} waits[2] = { { 0, (uintptr_t)&word[0], 2, 0 }, { 0, (uintptr_t)&word[1], 130, 0 } };

	syscall(449, waits, 2, 0, NULL, 0); /* futex_waitv */
}

static void *sleep_in_thread(void *unused)
{
	sleep_forever();
	return NULL;
}

static void in_join(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, sleep_in_thread, NULL))
		pthread_join(thread, NULL);
}

/* A robust mutex of another process, in shared memory. */
static void in_shared_mutex(void)
{
	pthread_mutex_t *mutex =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(mutex, &kind);
	pthread_mutex_lock(mutex);
	if (!fork()) {
		pthread_mutex_lock(mutex);
		_exit(0);
	}
	sleep_forever();
}

static void in_read_of_pair(void)
{
	int pair[2];
	char byte;

	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && read(pair[0], &byte, 1) > 0)
		return;
}

static void in_accept6(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (!bind(fd, (void *)&address, sizeof(address)) && !listen(fd, 1))
		accept(fd, NULL, NULL);
	close(fd);
}

/* A read lock, and who wants to write; of the whole file, and to its end. */
static void in_record_lock(void)
{
	char path[60];
	struct flock range = { .l_type = F_RDLCK };
	int fd;

	snprintf(path, sizeof(path), "/tmp/zoo-range-%u-%d", me->uid, getpid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	fcntl(fd, F_SETLK, &range);
	if (!fork()) {
		range.l_type = F_WRLCK;
		range.l_whence = SEEK_CUR;
		range.l_start = 5;
		fcntl(fd, F_SETLKW, &range);
	}
	if (!fork()) {
		int other = open(path, O_RDWR);

		range = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_END };
		fcntl(other, F_OFD_SETLKW, &range);
		close(other);
	}
	sleep_forever();
	close(fd);
}

static void wait_on_files(void)
{
	static void (*const waits[])(void) = { in_select,  in_poll_of_many, in_poll_of_sockets,
					       in_epoll,   in_splice,	    in_open,
					       in_accept6, in_read_of_pair, NULL };

	wait_in_each(waits);
}

static void wait_on_others(void)
{
	static void (*const waits[])(void) = { in_vfork,	in_waitid,	in_waitpid,
					       in_sigsuspend,	in_futexes,	in_join,
					       in_shared_mutex, in_record_lock, NULL };

	wait_in_each(waits);
}

/* Threads enough that their sums are made before the row, some of which end. */
static void have_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (u32 i = 0; i < 70; i++)
		if (pthread_create(&thread, &small, sleep_in_thread, NULL))
			break;
	change_threads();
}

/* Namespaces of its own, all of them. */
static void have_namespaces(void)
{
	static const int flags[] = { CLONE_NEWPID, CLONE_NEWNS,	 CLONE_NEWUTS,
				     CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWCGROUP };
	char map[40];
	u32 uid = getuid();

	if (!unshare(CLONE_NEWUSER)) {
		snprintf(map, sizeof(map), "0 %u 1", uid);
		put_file("/proc/self/uid_map", map);
	}
	for (u32 i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		unshare(flags[i]);
	if (!fork())
		sleep_forever();
	sleep_forever();
}

static void (*const kinds[])(void) = {
	stay_zombie,	stay_stopped, wait_futex,      wait_mutex,     wait_pi,
	wait_pipe,	wait_lock,    wait_poll,       wait_socket,    wait_child,
	wait_message,	have_files,   have_mappings,   change_threads, change_program,
	change_rights,	spin,	      sleep_long,      wait_signal,    wait_on_files,
	wait_on_others, have_threads, have_namespaces,
};

u32 zoo_kinds(void)
{
	return sizeof(kinds) / sizeof(*kinds);
}

void zoo_run(u32 kind, u64 seed)
{
	kinds[kind % zoo_kinds()]();
	_exit(0);
}
