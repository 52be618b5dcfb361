// SPDX-License-Identifier: GPL-2.0
/*
 * Makes system calls of all kinds, with arguments that strace decodes, and some with addresses and
 * sizes that cannot be read. compare.py compares what strace and kernlens print.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

static char buffer[4096];

static void use_terminal(void)
{
	struct termios t;
	struct winsize size;
	int master, slave, n = 1;

	openpty(&master, &slave, NULL, NULL, NULL);
	tcgetattr(slave, &t);
	tcsetattr(slave, TCSADRAIN, &t);
	cfmakeraw(&t);
	tcsetattr(slave, TCSANOW, &t);
	ioctl(slave, TIOCGWINSZ, &size);
	ioctl(slave, TIOCSWINSZ, &size);
	ioctl(slave, FIONREAD, &n);
	ioctl(slave, FIONBIO, &n);
	ioctl(slave, FIOCLEX);
	ioctl(slave, FIONCLEX);
	ioctl(slave, TIOCGPGRP, &n);
	ioctl(slave, TCFLSH, TCIFLUSH);
	ioctl(slave, TCXONC, TCOON);
	ioctl(slave, _IOW(0xab, 0xcd, int), &n);
	close(slave);
	close(master);
}

static void use_options(int fd)
{
	struct timeval time = { 1, 5 };
	struct linger linger = { 1, 5 };
	socklen_t length = sizeof(int);
	int n = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &n, sizeof(n));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &n, sizeof(n));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &n, &length);
	length = 8;
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &n, &length);
}

static void pass_messages(int from, int to)
{
	struct iovec out[2] = { { "ab", 2 }, { "cd", 2 } };
	struct iovec in[2] = { { buffer, 3 }, { buffer + 16, 20 } };
	struct msghdr message = { .msg_iov = out, .msg_iovlen = 2 };
	struct sockaddr_storage name;

	send(from, "hello", 5, MSG_NOSIGNAL);
	recv(to, buffer, 100, 0);
	recv(to, buffer, 100, MSG_DONTWAIT);
	writev(from, out, 2);
	readv(to, in, 2);
	sendmsg(from, &message, MSG_NOSIGNAL);
	message.msg_iov = in;
	message.msg_name = &name;
	message.msg_namelen = sizeof(name);
	recvmsg(to, &message, 0);
	recvmsg(to, &message, MSG_DONTWAIT);
	shutdown(from, SHUT_WR);
	recv(to, buffer, 100, MSG_PEEK);
}

static void use_sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(8766),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = htons(9),
				    .sin6_addr = in6addr_loopback };
	struct sockaddr_nl link = { .nl_family = AF_NETLINK };
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0abstract" };
	struct sockaddr_storage got;
	socklen_t length = sizeof(got);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP), client, peer;
	int pair[2], fd;

	use_options(server);
	bind(server, (struct sockaddr *)&address, sizeof(address));
	getsockname(server, (struct sockaddr *)&got, &length);
	listen(server, 5);
	client = socket(AF_INET, SOCK_STREAM, 0);
	connect(client, (struct sockaddr *)&address, sizeof(address));
	peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	pass_messages(client, peer);
	getpeername(client, (struct sockaddr *)&got, &length);
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	bind(fd, (struct sockaddr *)&name, sizeof(name.sun_family) + 9);
	length = sizeof(got);
	getsockname(fd, (struct sockaddr *)&got, &length);
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP);
	connect(fd, (struct sockaddr *)&six, sizeof(six));
	sendto(fd, "x", 1, 0, (struct sockaddr *)&six, sizeof(six));
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bind(fd, (struct sockaddr *)&link, sizeof(link));
}

static void wait_for_files(void)
{
	struct timespec time = { 0, 1000000 };
	struct timeval old_time = { 0, 1000 };
	struct epoll_event event = { EPOLLIN | EPOLLET, { .u64 = 5 } }, events[4];
	struct pollfd polled[3];
	sigset_t set;
	fd_set in, out;
	int fds[2], fd;

	pipe(fds);
	polled[0] = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	polled[1] = (struct pollfd){ .fd = fds[1], .events = POLLOUT };
	polled[2] = (struct pollfd){ .fd = -1, .events = POLLIN };
	poll(polled, 3, 100);
	poll(polled, 1, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	ppoll(polled, 1, &time, &set);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(fds[0], &in);
	FD_SET(fds[1], &out);
	syscall(SYS_select, fds[1] + 1, &in, &out, NULL, NULL);
	FD_SET(fds[0], &in);
	syscall(SYS_select, fds[0] + 1, &in, NULL, NULL, &old_time);
	FD_SET(fds[0], &in);
	pselect(fds[0] + 1, &in, NULL, NULL, &time, &set);
	fd = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(fd, EPOLL_CTL_ADD, fds[0], &event);
	epoll_wait(fd, events, 4, 1);
	write(fds[1], "a", 1);
	epoll_wait(fd, events, 4, 10);
	epoll_ctl(fd, EPOLL_CTL_DEL, fds[0], NULL);
}

static void lock_files(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 5 };

	flock(fd, LOCK_EX | LOCK_NB);
	fcntl(fd, F_SETLK, &lock);
	fcntl(fd, F_GETLK, &lock);
	lock.l_pid = 0;
	fcntl(fd, F_OFD_SETLK, &lock);
	fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_GETFD);
	fcntl(fd, F_DUPFD_CLOEXEC, 50);
}

static void copy_files(int fd)
{
	loff_t offset = 0, other = 0;
	int fds[2];

	pipe2(fds, O_CLOEXEC | O_NONBLOCK);
	sendfile(fds[1], fd, &other, 10);
	sendfile(fds[1], fd, NULL, 10);
	splice(fd, &offset, fds[1], NULL, 5, SPLICE_F_MOVE);
	copy_file_range(fd, &offset, fds[1], NULL, 5, 0);
	pread(fd, buffer, 100, 5);
	pwrite(fd, "a\001\0012\377\"\\x\n", 9, 0);
	lseek(fd, 5, SEEK_END);
	fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 10);
	ftruncate(fd, 100);
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
	fchmod(fd, 04755);
}

static void use_files(void)
{
	const struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };
	struct statx stx;
	struct stat st;
	struct statfs fs;
	int fd = open("a", O_RDWR | O_CREAT | O_TRUNC, 01644);

	lock_files(fd);
	copy_files(fd);
	stat("/dev/null", &st);
	statx(AT_FDCWD, "/dev/null", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx);
	statfs("/proc", &fs);
	mknod("fifo", S_IFIFO | 0600, 0);
	mknod("device", S_IFCHR | 0600, makedev(1, 3));
	mkdirat(AT_FDCWD, "dir", 0755);
	mkdir("dir", 0);
	unlinkat(AT_FDCWD, "dir", AT_REMOVEDIR);
	utimensat(AT_FDCWD, "a", NULL, 0);
	utimensat(AT_FDCWD, "a", now, AT_SYMLINK_NOFOLLOW);
	setxattr("a", "user.x", "value", 5, XATTR_CREATE);
	getxattr("a", "user.x", buffer, 100);
	listxattr("a", buffer, 100);
	renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 1);
	linkat(AT_FDCWD, "b", AT_FDCWD, "c", 0);
	symlink("target", "link");
	readlink("link", buffer, 100);
	readlinkat(AT_FDCWD, "link", buffer, 3);
	chmod("b", 0);
	fchownat(AT_FDCWD, "b", -1, -1, AT_SYMLINK_NOFOLLOW);
	access("b", R_OK | W_OK);
	faccessat(AT_FDCWD, "b", X_OK, 0);
	open("/etc", O_RDONLY | O_DIRECTORY | O_PATH | O_NOFOLLOW | O_CLOEXEC);
	open("nosuch", O_WRONLY | O_APPEND | O_SYNC);
	getcwd(buffer, sizeof(buffer));
	umask(077);
}

static void on_signal(int number)
{
}

static void use_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER };
	stack_t stack = { .ss_sp = buffer, .ss_size = sizeof(buffer) };
	const struct timespec time = { 0, 1000000 };
	const union sigval value = { .sival_int = 7 };
	sigset_t set;

	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGRTMIN);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGRTMIN + 1, &action, NULL);
	sigaction(SIGUSR2, NULL, &action);
	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, &set);
	kill(getpid(), SIGUSR1);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGUSR1, value);
	kill(getpid(), SIGCHLD);
	kill(getpid(), SIGWINCH);
	sigpending(&set);
	sigtimedwait(&set, NULL, &time);
	sigaltstack(&stack, NULL);
	sigaltstack(NULL, &stack);
}

static void use_time(void)
{
	const struct itimerspec spec = { .it_value = { 0, 1 } };
	struct itimerval timer = { .it_value = { 10, 0 } };
	struct timespec time = { 0, 1000000 };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	getitimer(ITIMER_REAL, &timer);
	timer.it_value.tv_sec = 0;
	timer.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &timer, &timer);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	syscall(SYS_clock_getres, CLOCK_REALTIME, &time);
	syscall(SYS_nanosleep, &spec.it_value, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &spec.it_value, NULL);
	eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void use_limits(void)
{
	struct sched_param param = {};
	struct rlimit limit;
	struct rusage usage;
	struct utsname name;
	unsigned int cpu, node;
	uid_t ids[3];
	cpu_set_t cpus;
	gid_t groups[16];

	getrlimit(RLIMIT_NOFILE, &limit);
	setrlimit(RLIMIT_NOFILE, &limit);
	getrusage(RUSAGE_CHILDREN, &usage);
	uname(&name);
	getgroups(16, groups);
	getresuid(&ids[0], &ids[1], &ids[2]);
	setresuid(-1, -1, -1);
	syscall(SYS_getcpu, &cpu, &node, NULL);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	CPU_SET(1, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_OTHER, &param);
	sched_getparam(0, &param);
	setpriority(PRIO_PROCESS, 0, 0);
	prctl(PR_SET_NAME, "abc");
	prctl(PR_GET_NAME, buffer);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_GET_DUMPABLE);
	prctl(PR_SET_DUMPABLE, 1);
	getrandom(buffer, 16, GRND_NONBLOCK);
}

static void use_memory(void)
{
	void *area = mmap(NULL, 8192, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	mprotect(area, 4096, PROT_READ | PROT_WRITE);
	madvise(area, 8192, MADV_DONTNEED);
	msync(area, 8192, MS_SYNC);
	area = mremap(area, 8192, 16384, MREMAP_MAYMOVE);
	munmap(area, 16384);
	memfd_create("name", MFD_CLOEXEC);
}

static void run_children(void)
{
	char *const arguments[] = { "name", "a long argument that is longer than 32 characters",
				    NULL };
	char *const environment[] = { "A=1", NULL };
	struct rusage usage;
	siginfo_t info;
	int status;
	pid_t child = fork();

	if (!child)
		_exit(7);
	waitpid(child, &status, 0);
	child = fork();
	if (!child)
		raise(SIGTERM);
	wait4(child, &status, WUNTRACED, &usage);
	child = fork();
	if (!child) {
		execve("/nonexistent", arguments, environment);
		execve("/bin/true", arguments, environment);
	}
	waitid(P_PID, child, &info, WEXITED);
	waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
	wait4(-1, &status, WNOHANG, NULL);
}

/* What cannot be read, or only in part: the end of a page that nothing follows. */
static void use_hostile_memory(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = page + 4096, **list = (char **)(end - 16);
	void *const places[] = { NULL,
				 (void *)8,
				 (void *)~0xfffull,
				 end,
				 end - 4,
				 (void *)0xffffffff81000000,
				 (void *)0x800000000000 };

	munmap(end, 4096);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		void *at = places[i];

		syscall(SYS_write, -1, at, 100);
		syscall(SYS_write, -1, at, ~0ul);
		syscall(SYS_read, -1, at, ~0ul);
		syscall(SYS_writev, -1, at, 1024);
		syscall(SYS_poll, at, 3, 0);
		syscall(SYS_connect, -1, at, -1);
		syscall(SYS_connect, -1, at, 1000);
		syscall(SYS_getsockname, -1, at, at);
		syscall(SYS_sendmsg, -1, at, 0);
		syscall(SYS_setsockopt, -1, SOL_SOCKET, SO_TYPE, at, ~0u);
		syscall(SYS_rt_sigaction, SIGUSR1, at, NULL, 8);
		syscall(SYS_clone3, at, 88);
		syscall(SYS_clone3, at, ~0ul);
		syscall(SYS_execve, "/nonexistent", at, at);
		syscall(SYS_select, -1, at, at, at, at);
		syscall(SYS_getdents64, -1, at, ~0u);
		syscall(SYS_futex, at, 0, 1, at);
		syscall(SYS_ioctl, -1, _IOWR('x', 1, int[4000]), at);
		syscall(SYS_prctl, PR_SET_NAME, at);
		syscall(SYS_timer_create, -1, at, at);
	}
	list[0] = end - 3;
	list[1] = end;
	memcpy(end - 19, "abc", 3);
	syscall(SYS_execve, "/nonexistent", list, list);
}

int main(void)
{
	use_terminal();
	use_sockets();
	wait_for_files();
	use_files();
	use_signals();
	use_time();
	use_limits();
	use_memory();
	run_children();
	use_hostile_memory();
	return 3;
}
