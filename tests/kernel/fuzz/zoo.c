// SPDX-License-Identifier: GPL-2.0
/*
 * Processes to inspect, one for each kind of thing that the module reports about a process: what it
 * waits for, what it has open, how it is confined; and processes that change all the time.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "fuzz.h"

/* Sleeps, so that processes that change all the time do not use up a slow kernel's CPU time. */
static void nap(unsigned int ms)
{
	sleep_ms(ms * slowness);
}

void sleep_forever(void)
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
		nap(50);
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
		nap(200);
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
			nap(300);
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

		nap(40);
		close(fd);
	}
}

/* The mapping stays while the process lives. */
static u8 *map(size_t bytes, int prot, int flags, int fd, off_t offset)
{
	u8 *at = mmap(NULL, bytes, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return NULL;
	/* Writing to it gives it pages of its own. */
	if (prot & PROT_WRITE)
		at[bytes / 2]++;
	return at;
}

/* Creates one mapping of each kind that the kernel distinguishes. */
static void map_each_kind(int fd)
{
	static const int flags[] = { MAP_GROWSDOWN, MAP_LOCKED, MAP_HUGETLB, MAP_NORESERVE };
	int shared = memfd_create("zoo", 0), id = shmget(IPC_PRIVATE, 8192, 0600);
	u8 *at;

	for (u32 i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		map(2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags[i], -1, 0);
	at = map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, 65536, "a name");
	map(65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	map(65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ftruncate(shared, 8192))
		map(8192, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	map(8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
	at = shmat(id, NULL, 0);
	if (at != (void *)-1)
		at[0] = 1;
	shmctl(id, IPC_RMID, NULL);
	if (sbrk(65536) == (void *)-1)
		_exit(1);
}

/* Many mappings that come and go, of all kinds. */
static void have_mappings(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	u8 *large = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(large, 4 << 20, MADV_HUGEPAGE);
	memset(large, 1, 4 << 20);
	mlock(large, 8192);
	map_each_kind(fd);
	for (u32 i = 0;; i++) {
		u8 *at = mmap(NULL, 65536, i % 3 ? PROT_READ : PROT_READ | PROT_WRITE,
			      i % 3 ? MAP_PRIVATE : MAP_SHARED | MAP_ANONYMOUS, i % 3 ? fd : -1, 0);

		if (at != MAP_FAILED && i % 3 == 0)
			memset(at, 1, 8192);
		nap(40);
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
		nap(30);
	}
}

/* Keeps its pid, but executes another program again and again. */
void zoo_change_program(void)
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
		nap(60);
	}
}

static void spin(void)
{
	for (;;) {
		for (volatile u32 i = 0; i < 20000; i++)
			;
		nap(80);
	}
}

static void sleep_long(void)
{
	struct timespec time = { 1000, 0 };

	for (;;)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void *sleep_in_thread(void *unused)
{
	sleep_forever();
	return NULL;
}

/* Enough threads that their sums are computed before the row; some of them exit. */
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

/* Has all of its namespaces to itself. */
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

/* Starts with the ZOO_WAITING kinds that wait for something, themselves or in their children. */
static void (*const kinds[ZOO_KINDS])(void) = {
	wait_on_files, wait_on_sockets, wait_on_locks,	wait_on_children,   wait_on_signals,
	wait_futex,    wait_mutex,	wait_pi,	wait_pipe,	    wait_lock,
	wait_poll,     wait_socket,	wait_child,	stay_zombie,	    stay_stopped,
	have_files,    have_mappings,	change_threads, zoo_change_program, change_rights,
	spin,	       sleep_long,	have_threads,	have_namespaces,
};

void zoo_run(u32 kind, u64 seed)
{
	kinds[kind % ZOO_KINDS]();
	_exit(0);
}
