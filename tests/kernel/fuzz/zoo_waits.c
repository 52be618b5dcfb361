// SPDX-License-Identifier: GPL-2.0
/*
 * Processes of the zoo that each wait in one system call, with the files, memory and other
 * processes that explain the wait.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "fuzz.h"

#define MANY 90 /* more files than the module checks */

/* Forks one child for each of @waits, which do not return soon. */
static void wait_in_each(void (*const *waits)(void), u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			waits[i]();
			sleep_forever();
		}
	sleep_forever();
}

#define WAIT_IN_EACH(...)                                             \
	do {                                                          \
		static void (*const waits[])(void) = { __VA_ARGS__ }; \
		wait_in_each(waits, sizeof(waits) / sizeof(*waits));  \
	} while (0)

/* Returns a pipe end that stays empty and open while the process lives. */
static int pipe_end(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

/* -------------------------------------------------------------------- files */

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

static void in_select_of_many(void)
{
	fd_set set;
	int end = 0;

	FD_ZERO(&set);
	for (u32 i = 0; i < MANY; i++) {
		end = pipe_end();
		FD_SET(end, &set);
	}
	select(end + 1, &set, NULL, NULL, NULL);
}

static void in_poll_of_many(void)
{
	static struct pollfd p[MANY];

	for (u32 i = 0; i < MANY; i++)
		p[i] = (struct pollfd){ i % 7 ? pipe_end() : -1, POLLIN, 0 };
	poll(p, MANY, -1);
}

static void in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	for (u32 i = 0; i < 3; i++)
		epoll_ctl(set, EPOLL_CTL_ADD, pipe_end(), &event);
	epoll_wait(set, &event, 1, -1);
}

/* Its fdinfo is larger than 4,096 bytes. */
static void in_epoll_of_many(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	for (u32 i = 0; i < MANY; i++)
		epoll_ctl(set, EPOLL_CTL_ADD, pipe_end(), &event);
	epoll_wait(set, &event, 1, -1);
}

static void in_splice(void)
{
	int ends[2];

	if (!pipe(ends))
		splice(pipe_end(), NULL, ends[1], NULL, 100, 0);
}

static void in_tee(void)
{
	int ends[2];

	if (!pipe(ends))
		tee(pipe_end(), ends[1], 100, 0);
}

static void fifo_path(char path[60])
{
	snprintf(path, 60, "/tmp/zoo-fifo-%u-%d", me->uid, getpid());
}

static void in_openat(void)
{
	char path[60];

	fifo_path(path);
	if (!mkfifo(path, 0600))
		close(open(path, O_RDONLY));
}

/* By the older call, with the path at the very end of a page that no page follows. */
static void in_open(void)
{
	char path[60];
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at;

	fifo_path(path);
	if (pages == MAP_FAILED || mkfifo(path, 0600))
		return;
	munmap(pages + 4096, 4096);
	at = strcpy(pages + 4096 - strlen(path) - 1, path);
	syscall(SYS_open, at, O_RDONLY, 0);
}

static void in_full_pipe(void)
{
	static const char many[65536];
	int ends[2];

	if (pipe(ends))
		return;
	while (write(ends[1], many, sizeof(many)) > 0)
		;
}

void wait_on_files(void)
{
	WAIT_IN_EACH(in_select, in_select_of_many, in_poll_of_many, in_epoll, in_epoll_of_many,
		     in_splice, in_tee, in_openat, in_open, in_full_pipe);
}

/* ------------------------------------------------------------------ sockets */

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

static void in_read_of_pair(void)
{
	int pair[2];
	char byte;

	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && read(pair[0], &byte, 1) > 0)
		return;
}

static void in_full_pair(void)
{
	static const char many[65536];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	while (write(pair[1], many, sizeof(many)) > 0)
		;
}

static void in_accept(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (!bind(fd, (void *)&address, sizeof(address)) && !listen(fd, 1))
		accept(fd, NULL, NULL);
	close(fd);
}

/* More connections than the listener's backlog allows. */
static void in_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	/* The kernel chooses the name. */
	if (bind(listener, (void *)&address, sizeof(sa_family_t)) || listen(listener, 0) ||
	    getsockname(listener, (void *)&address, &bytes))
		sleep_forever();
	for (u32 i = 0; i < 4; i++)
		if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, bytes))
			break;
	close(listener);
}

/* A connection with both ends in this process. */
static void in_receive(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), other;
	char byte;

	if (bind(listener, (void *)&address, bytes) || listen(listener, 5) ||
	    getsockname(listener, (void *)&address, &bytes) || connect(fd, (void *)&address, bytes))
		sleep_forever();
	other = accept(listener, NULL, NULL);
	me->successes += recv(fd, &byte, 1, 0) > 0;
	close(other);
	close(listener);
	close(fd);
}

void wait_on_sockets(void)
{
	WAIT_IN_EACH(in_poll_of_sockets, in_read_of_pair, in_full_pair, in_accept, in_connect,
		     in_receive);
}

/* -------------------------------------------------------------------- locks */

/* Waits for two futexes: the first may be shared between processes, the second may not. */
static void in_futexes(void)
{
	static u32 word[2];
	struct {
		u64 value, address;
		u32 flags, reserved;
	} waits[2] = { { 0, (uintptr_t)&word[0], 2, 0 }, { 0, (uintptr_t)&word[1], 130, 0 } };

	syscall(449, waits, 2, 0, NULL, 0); /* futex_waitv */
}

static void in_join(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, sleep_in_thread, NULL))
		pthread_join(thread, NULL);
}

static pthread_mutex_t *shared_mutex(int protocol)
{
	pthread_mutex_t *mutex =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&kind, protocol);
	pthread_mutex_init(mutex, &kind);
	return mutex;
}

/* A child holds the mutex that this process waits for. */
static void wait_for_mutex(int protocol)
{
	pthread_mutex_t *mutex = shared_mutex(protocol);

	if (!fork()) {
		pthread_mutex_lock(mutex);
		sleep_forever();
	}
	sleep_ms(200);
	pthread_mutex_lock(mutex);
}

static void in_shared_mutex(void)
{
	wait_for_mutex(PTHREAD_PRIO_NONE);
}

static void in_shared_pi_mutex(void)
{
	wait_for_mutex(PTHREAD_PRIO_INHERIT);
}

/* A file with a read lock held by a child. */
static int locked_file(void)
{
	char path[60];
	struct flock range = { .l_type = F_RDLCK };
	int fd;

	snprintf(path, sizeof(path), "/tmp/zoo-range-%u-%d", me->uid, getpid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (!fork()) {
		fcntl(fd, F_SETLK, &range);
		sleep_forever();
	}
	sleep_ms(200);
	close(fd);
	return open(path, O_RDWR);
}

static void in_record_lock(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 5, .l_len = -5 };
	int fd = locked_file();

	lseek(fd, 10, SEEK_SET);
	fcntl(fd, F_SETLKW, &range);
	close(fd);
}

static void in_open_file_lock(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_END };
	int fd = locked_file();

	fcntl(fd, F_OFD_SETLKW, &range);
	close(fd);
}

static void in_file_lock(void)
{
	char path[60];
	int fd, other;

	snprintf(path, sizeof(path), "/tmp/zoo-flock-%u-%d", me->uid, getpid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	flock(fd, LOCK_EX);
	other = open(path, O_RDWR);
	flock(other, LOCK_SH);
	close(other);
	close(fd);
}

static void in_semaphore(void)
{
	struct sembuf take = { 0, -1, 0 };
	int id = semget(IPC_PRIVATE, 1, 0600);

	alarm(20);
	_exit(semop(id, &take, 1));
}

static void in_message(void)
{
	char message[40];
	int id = msgget(IPC_PRIVATE, 0600);

	alarm(20);
	msgrcv(id, message, 8, 0, 0);
	_exit(0);
}

void wait_on_locks(void)
{
	WAIT_IN_EACH(in_futexes, in_join, in_shared_mutex, in_shared_pi_mutex, in_record_lock,
		     in_open_file_lock, in_file_lock, in_semaphore, in_message);
}

/* ----------------------------------------------------------------- children */

static void in_vfork(void)
{
	if (!vfork())
		for (;;)
			pause();
}

static pid_t sleeping_child(void)
{
	pid_t child = fork();

	if (!child)
		sleep_forever();
	return child;
}

static void in_waitid(void)
{
	siginfo_t info;

	sleeping_child();
	waitid(P_ALL, 0, &info, WEXITED);
}

static void in_waitid_of_one(void)
{
	siginfo_t info;

	waitid(P_PID, sleeping_child(), &info, WEXITED);
}

static void in_waitpid(void)
{
	sleeping_child();
	waitpid(sleeping_child(), NULL, 0);
}

static void in_wait_of_any(void)
{
	for (u32 i = 0; i < 3; i++)
		sleeping_child();
	wait(NULL);
}

/* Stopped by its tracer. */
static void in_trace(void)
{
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGUSR1);
		sleep_forever();
	}
	waitpid(child, NULL, 0);
}

void wait_on_children(void)
{
	WAIT_IN_EACH(in_vfork, in_waitid, in_waitid_of_one, in_waitpid, in_wait_of_any, in_trace);
}

/* ------------------------------------------------------------------ signals */

static void in_sigsuspend(void)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	sigsuspend(&set);
}

static void in_sigtimedwait(void)
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

static void *unmap_soon(void *page)
{
	sleep_ms(200);
	munmap(page, 4096);
	return NULL;
}

/* The set is in memory that has been unmapped. */
static void in_sigsuspend_of_none(void)
{
	sigset_t *set =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (set != MAP_FAILED && !pthread_create(&thread, NULL, unmap_soon, set))
		sigsuspend(set);
}

static void in_nanosleep(void)
{
	struct timespec time = { 1000, 0 };

	nanosleep(&time, NULL);
}

void wait_on_signals(void)
{
	WAIT_IN_EACH(in_sigsuspend, in_sigsuspend_of_none, in_sigtimedwait, in_nanosleep);
}
