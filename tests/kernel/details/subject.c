// SPDX-License-Identifier: GPL-2.0
/*
 * The process that is inspected: files and sockets of all kinds, in several states and with data in
 * them, many mappings, signals, limits, children. It stops itself.
 */
#include <arpa/inet.h>
#include <grp.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include "details.h"

static long must(long result, const char *what)
{
	if (result < 0)
		bail("%s", what);
	return result;
}

#define MUST(what) must(what, #what)

#define DIRECTORY "/tmp/kl-details"

static void write_bytes(int fd, size_t n)
{
	static char bytes[65536];

	if (write(fd, bytes, n) != (ssize_t)n)
		bail("write");
}

/* --------------------------------------------------------------------- files */

static void open_files(void)
{
	struct itimerspec in = { .it_value.tv_sec = 1000 };
	int fd, pipes[2], epoll;
	sigset_t set;

	fd = MUST(open(DIRECTORY "/file", O_RDWR | O_CREAT, 0640));
	write_bytes(fd, 1000);
	MUST(lseek(fd, 5, SEEK_SET));
	MUST(open(DIRECTORY "/file", O_WRONLY | O_APPEND | O_CLOEXEC));
	write_bytes(MUST(open(DIRECTORY "/gone", O_RDWR | O_CREAT, 0600)), 10);
	MUST(unlink(DIRECTORY "/gone"));
	MUST(open(DIRECTORY, O_RDONLY | O_DIRECTORY));
	MUST(open("/dev/zero", O_RDONLY));
	MUST(symlink("nowhere", DIRECTORY "/link"));
	MUST(open(DIRECTORY "/link", O_PATH | O_NOFOLLOW));
	MUST(pipe(pipes));
	write_bytes(pipes[1], 10);
	MUST(mkfifo(DIRECTORY "/fifo", 0600));
	MUST(open(DIRECTORY "/fifo", O_RDWR));
	fd = MUST(eventfd(5, EFD_NONBLOCK));
	epoll = MUST(epoll_create1(EPOLL_CLOEXEC));
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN }));
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0],
		       &(struct epoll_event){ .events = EPOLLIN | EPOLLET }));
	MUST(timerfd_settime(MUST(timerfd_create(CLOCK_MONOTONIC, 0)), 0, &in, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	MUST(signalfd(-1, &set, 0));
	MUST(inotify_add_watch(MUST(inotify_init1(0)), DIRECTORY, IN_CREATE));
	write_bytes(MUST(memfd_create("klmemfd", 0)), 4096);
	MUST(syscall(SYS_pidfd_open, getpid(), 0));
	MUST(open("/proc/self/ns/uts", O_RDONLY));
	for (int i = 0; i < SUBJECT_FD_MANY; i++)
		MUST(dup(fd));
}

/* ------------------------------------------------------------------- sockets */

static void open_unix(void)
{
	struct sockaddr_un name = { AF_UNIX, DIRECTORY "/socket" };
	struct sockaddr_un hidden = { AF_UNIX, "\0klabstract" };
	socklen_t bytes = offsetof(struct sockaddr_un, sun_path) + 11;
	int pair[2], fd;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	write_bytes(pair[0], 7);
	fd = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(fd, (void *)&name, sizeof(name)));
	MUST(listen(fd, 3));
	MUST(connect(MUST(socket(AF_UNIX, SOCK_STREAM, 0)), (void *)&name, sizeof(name)));
	MUST(connect(MUST(socket(AF_UNIX, SOCK_STREAM, 0)), (void *)&name, sizeof(name)));
	MUST(accept(fd, NULL, NULL));
	fd = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
	MUST(bind(fd, (void *)&hidden, bytes));
	MUST(connect(MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), (void *)&hidden, bytes));
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
}

static struct sockaddr_in6 address_of(int fd)
{
	struct sockaddr_in6 in;
	socklen_t bytes = sizeof(in);

	MUST(getsockname(fd, (void *)&in, &bytes));
	return in;
}

/* Binds a socket to the family's loopback address and a port of the kernel's choice. */
static int bound(int family, int type)
{
	struct sockaddr_in in = { AF_INET, 0, { htonl(INADDR_LOOPBACK) }, {} };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = MUST(socket(family, type, 0));

	if (family == AF_INET)
		MUST(bind(fd, (void *)&in, sizeof(in)));
	else
		MUST(bind(fd, (void *)&in6, sizeof(in6)));
	return fd;
}

static int connected(int family, int type, int to)
{
	struct sockaddr_in6 in = address_of(to);
	int fd = MUST(socket(family, type, 0));

	MUST(connect(fd, (void *)&in, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(in)));
	return fd;
}

/*
 * A listening socket with a connection that is not accepted, one established with data, one half
 * closed.
 */
static void open_tcp(int family)
{
	int listening = bound(family, SOCK_STREAM), client, server;

	MUST(listen(listening, 5));
	client = connected(family, SOCK_STREAM, listening);
	server = MUST(accept(listening, NULL, NULL));
	write_bytes(client, 100);
	write_bytes(server, 33);
	client = connected(family, SOCK_STREAM, listening);
	MUST(accept(listening, NULL, NULL));
	MUST(shutdown(client, SHUT_WR));
	connected(family, SOCK_STREAM, listening);
	MUST(socket(family, SOCK_STREAM, 0));
}

static void open_udp(int family)
{
	int server = bound(family, SOCK_DGRAM);

	write_bytes(connected(family, SOCK_DGRAM, server), 50);
}

bool has_family(int family)
{
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		return errno != EAFNOSUPPORT;
	close(fd);
	return true;
}

static void open_sockets(void)
{
	open_unix();
	open_tcp(AF_INET);
	open_udp(AF_INET);
	if (has_family(AF_INET6)) {
		open_tcp(AF_INET6);
		open_udp(AF_INET6);
	}
	MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	MUST(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

/* ------------------------------------------------------------------- mappings */

static char *map(size_t bytes, int flags)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	if (at == MAP_FAILED)
		bail("mmap");
	return at;
}

static void make_maps(void)
{
	char *at = map(64 << 20, MAP_PRIVATE);
	int fd = MUST(open(DIRECTORY "/mapped", O_RDWR | O_CREAT, 0600));

	for (size_t i = 0; i < 64 << 20; i += 3 * 4096)
		at[i] = 1;
	/* Pages that are only read map the zero page, which counts for no process. */
	at = map(1 << 20, MAP_PRIVATE);
	for (size_t i = 0; i < 1 << 20; i += 4096)
		*(volatile char *)(at + i);
	at = map(16 << 20, MAP_PRIVATE);
	madvise(at, 16 << 20, MADV_HUGEPAGE);
	memset(at, 1, 12 << 20);
	/* Huge, and only read. */
	at = map(8 << 20, MAP_PRIVATE);
	madvise(at, 8 << 20, MADV_HUGEPAGE);
	for (size_t i = 0; i < 8 << 20; i += 4096)
		*(volatile char *)(at + i);
	at = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE | MAP_HUGETLB,
		  -1, 0);
	if (at != MAP_FAILED)
		*at = 1;
	at = map(1 << 20, MAP_SHARED);
	memset(at, 1, 1 << 19);
	write_bytes(fd, 65536);
	at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	at[4096] = 1;
	at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
	at[4096] = 1;
	MUST(mlock(map(65536, MAP_PRIVATE), 65536));
	at = map(SUBJECT_MAPS_MANY * 4096l, MAP_PRIVATE);
	for (long i = 0; i < SUBJECT_MAPS_MANY; i += 2) {
		at[i * 4096] = 1;
		MUST(mprotect(at + i * 4096, 4096, PROT_READ));
	}
}

/* ---------------------------------------------------------------------- others */

static void catch (int number)
{
}

static void set_numbers(void)
{
	struct rlimit limit = { 12345, 67890 };
	gid_t groups[] = { 7, 42, 4711 };
	struct sigaction action = { .sa_handler = catch };
	sigset_t set;
	cpu_set_t cpus;

	signal(SIGHUP, SIG_IGN);
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	MUST(setrlimit(RLIMIT_CORE, &limit));
	MUST(setgroups(3, groups));
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	MUST(sched_setaffinity(0, sizeof(cpus), &cpus));
	MUST(unshare(CLONE_NEWUTS));
	MUST(chdir(DIRECTORY));
}

/* Three that wait, and a zombie. */
static void make_children(void)
{
	siginfo_t ended;
	pid_t last;

	for (int i = 0; i < 3; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	last = MUST(fork());
	if (!last)
		_exit(0);
	MUST(waitid(P_PID, last, &ended, WEXITED | WNOWAIT));
}

static void run_subject(void)
{
	mkdir(DIRECTORY, 0700);
	set_numbers();
	open_files();
	open_sockets();
	make_maps();
	make_children();
	sleep_ms(200);
	for (;;)
		raise(SIGSTOP);
}

pid_t start_subject(void)
{
	pid_t pid;

	/* Huge pages are not tested where they are unavailable. */
	put_file("/proc/sys/vm/nr_hugepages", "4");
	put_file("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	put_file("/proc/sys/net/ipv4/ping_group_range", "0 0");
	/* Loopback is down in a guest that has just booted. */
	if (system("ip link set lo up 2>/dev/null || ifconfig lo up"))
		bail("lo");
	pid = fork_child();
	if (!pid)
		run_subject();
	if (!wait_asleep(pid, "T"))
		bail("the subject does not stop");
	return pid;
}
