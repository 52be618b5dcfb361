// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers a recorder's events: calls with paths, processes, threads, packets, locks.
 */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "fuzz.h"

/* A path in a page that has not been read in yet; the module accesses it before the kernel does. */
static const char *late_path(void)
{
	static __thread char *last;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	close(fd);
	if (last)
		munmap(last, 1 << 20);
	last = at == MAP_FAILED ? NULL : at;
	/* cppcheck-suppress memleak ; unmapped by the next call */
	return last ? last + 4096 * below(200) : "/none";
}

static void fire_paths(void)
{
	static const char *const paths[] = {
		"/etc/passwd", "/proc/self/status", "", "/tmp", "/none/and nothing\n\t\"behind\"",
		NULL
	};
	const char *path = paths[below(6)];
	char byte;
	int fd;

	if (one_in(4))
		path = late_path();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &byte, 1) > 0)
		close(fd);
	me->successes += !access(path, R_OK);
	rename("/none", one_in(2) ? path : (char *)0xffff888000000000);
	syscall(SYS_mount, path, "/none", "none", 0, NULL);
	/* cppcheck-suppress ignoredReturnValue ; it shall fail */
	if (symlink("/none", path))
		return;
}

static void fire_child(void)
{
	pid_t child = one_in(2) ? vfork() : fork();

	if (!child) {
		char *const arguments[] = { "sh", "-c", ":", NULL };

		if (one_in(3))
			_exit(1);
		execve(one_in(3) ? "/none" : "/bin/true", arguments, NULL);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Packets through the loopback interface: UDP and TCP, over IPv4 and IPv6. */
void fire_packets(void)
{
	int family = one_in(2) ? AF_INET : AF_INET6, server, client;
	struct sockaddr_storage address = { .ss_family = family };
	socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) :
					      sizeof(struct sockaddr_in6);
	int type = one_in(2) ? SOCK_STREAM : SOCK_DGRAM;

	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	server = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	client = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!bind(server, (void *)&address, bytes) &&
	    !getsockname(server, (void *)&address, &bytes)) {
		listen(server, 1);
		if (!connect(client, (void *)&address, bytes) || errno == EINPROGRESS)
			/* Sometimes more than one packet. */
			send(client, room, one_in(3) ? 5000 : 10, MSG_NOSIGNAL);
		sched_yield();
	}
	close(client);
	close(server);
}

/*
 * Frames not made by any protocol: short ones, and headers that promise data which does not follow.
 */
void fire_frames(void)
{
	static const u16 protocols[] = { ETHERTYPE_IP, ETHERTYPE_IP, ETHERTYPE_IPV6,
					 ETHERTYPE_ARP };
	static const u8 versions[] = { 0x45, 0x45, 0x4f, 0x44, 0x60, 0x60, 0x00, 0xff };
	static const u8 uppers[] = { IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, 99 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = (s32)if_nametoindex("lo") };
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (u32 n = 1 + below(12); fd >= 0 && n; n--) {
		u8 frame[80] = { versions[below(8)] };

		to.sll_protocol = htons(protocols[below(4)]);
		frame[6] = one_in(4) ? below(256) :
				       0; /* IPv4: which fragment; IPv6: what follows */
		if (one_in(2))
			frame[6] = uppers[below(4)];
		frame[9] = uppers[below(4)];
		sendto(fd, frame, below(one_in(2) ? 45 : sizeof(frame)), MSG_DONTWAIT, (void *)&to,
		       sizeof(to));
	}
	close(fd);
}

static void *end_thread(void *unused)
{
	prctl(PR_SET_NAME, "fuzz thread");
	return NULL;
}

static void fire_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, end_thread, NULL))
		pthread_join(thread, NULL);
}

static void *lock_once(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

/* A thread waits for a mutex whose owner inherits its priority. */
static void fire_mutex(void)
{
	pthread_mutexattr_t kind;
	pthread_mutex_t mutex;
	pthread_t thread;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &kind);
	pthread_mutex_lock(&mutex);
	if (!pthread_create(&thread, NULL, lock_once, &mutex)) {
		sleep_ms(1 + below(4));
		pthread_mutex_unlock(&mutex);
		pthread_join(thread, NULL);
	}
}

static void use_cpus(u32 first, u32 last)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (u32 i = first; i <= last; i++)
		CPU_SET(i, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Two tasks of one CPU that wait for each other, so that one's sleep is the other's turn. */
static void fire_turns(void)
{
	char byte = 0;
	pid_t child;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	use_cpus(0, 0);
	child = fork();
	if (!child) {
		close(ends[0]);
		while (read(ends[1], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(ends[1]);
	for (u32 n = below(100); n && write(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1;
	     n--)
		;
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	use_cpus(0, 1);
}

/* A call through the 32-bit table: getpid. */
static void fire_compat(void)
{
	long number = 20;

	asm volatile("int $0x80" : "+a"(number) : : "r8", "r9", "r10", "r11", "memory");
}

/*
 * More calls than a processor can record: runs for a while; the watchdog may suspend the recorder.
 */
static void fire_storm(void)
{
	double end = now_seconds() + 1.5;

	while (now_seconds() < end)
		for (u32 i = 0; i < 1000; i++)
			syscall(SYS_getppid);
}

void fire_calls(void)
{
	if (one_in(150))
		fire_storm();
	for (u32 n = 1 + below(4); n; n--) {
		switch (below(10)) {
		case 8:
			fire_turns();
			break;
		case 7:
			fire_compat();
			break;
		case 0 ... 1:
			fire_paths();
			break;
		case 2:
			fire_child();
			break;
		case 3:
			fire_thread();
			break;
		case 4:
			fire_packets();
			break;
		case 5:
			prctl(PR_SET_NAME, one_in(2) ? "fuzz" : "another name");
			sleep_ms(below(3));
			break;
		case 6:
			fire_mutex();
			break;
		default:
			/* Fills a few blocks, or more than the session has. */
			for (u32 i = below(one_in(4) ? 1500 : 200); i; i--)
				syscall(SYS_getppid);
		}
	}
}
