// SPDX-License-Identifier: GPL-2.0
/*
 * Packets and connections over loopback, a device that discards what it sends (dummy), a pair of
 * devices (veth) with a neighbour at the other end, and one that this program feeds (tun).
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "cause.h"

#define PORT 4321
#define TIMES 5
#define SEQ 123456789
#define ACK 987654321

static struct sockaddr_in address(const char *host, int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = inet_addr(host),
	};
}

static int open_socket(int type, int protocol)
{
	return CHECK(socket(AF_INET, type | SOCK_CLOEXEC, protocol));
}

static void bind_to(int fd, const char *host, int port)
{
	struct sockaddr_in a = address(host, port);
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)));
}

static int connect_to(int fd, const char *host, int port)
{
	struct sockaddr_in a = address(host, port);

	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static void set_value(const char *path, const char *value, char *old)
{
	strcpy(old, read_line(path));
	must_write(path, value);
}

static int listener;

static void talk_tcp(void)
{
	char buffer[1000] = "";

	listener = open_socket(SOCK_STREAM, 0);
	bind_to(listener, "127.0.0.1", PORT);
	CHECK(listen(listener, 5));
	for (int i = 0; i < TIMES; i++) {
		int client = open_socket(SOCK_STREAM, 0), server;
		struct sockaddr_in self;
		socklen_t length = sizeof(self);

		CHECK(connect_to(client, "127.0.0.1", PORT));
		/* cppcheck-suppress nullPointer ; the peer is not asked for */
		server = CHECK(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		CHECK(getsockname(client, (struct sockaddr *)&self, &length));
		CHECK(send(client, buffer, 700 + i, 0));
		CHECK(recv(server, buffer, sizeof(buffer), 0));
		CHECK(send(server, buffer, 10, 0));
		CHECK(recv(client, buffer, sizeof(buffer), 0));
		fact("net_dev_queue protocol=0x800 ip_proto=6 saddr=0x0100007f daddr=0x0100007f "
		     "sport=%d dport=%d name=lo tcp_flags=2 ack_seq=0",
		     ntohs(self.sin_port), PORT);
		fact("net_dev_queue protocol=0x800 ip_proto=6 len=%d sport=%d dport=%d "
		     "tcp_flags=0x18",
		     700 + i + 66, ntohs(self.sin_port), PORT);
		fact("netif_rx protocol=0x800 ip_proto=6 saddr=0x0100007f daddr=0x0100007f "
		     "sport=%d dport=%d name=lo tcp_flags=2 ack_seq=0",
		     ntohs(self.sin_port), PORT);
		fact("netif_receive_skb protocol=0x800 ip_proto=6 saddr=0x0100007f "
		     "daddr=0x0100007f sport=%d dport=%d name=lo tcp_flags=2 ack_seq=0",
		     ntohs(self.sin_port), PORT);
		fact("inet_sock_set_state oldstate=2 newstate=1 protocol=6 family=2 sport=%d "
		     "dport=%d",
		     ntohs(self.sin_port), PORT);
		if (i == 1) {
			/* Unread data: the other side gets a reset. */
			CHECK(send(client, buffer, 10, 0));
			sleep_ms(5);
		}
		close(server);
		close(client);
	}
}

static void refuse(void)
{
	int tcp = open_socket(SOCK_STREAM, 0), udp = open_socket(SOCK_DGRAM, 0);
	char byte = 0;

	if (!connect_to(tcp, "127.0.0.1", PORT + 1))
		fprintf(stderr, "net: not refused\n");
	CHECK(connect_to(udp, "127.0.0.1", PORT + 1));
	CHECK(send(udp, &byte, 1, 0));
	if (send(udp, &byte, 1, 0) >= 0)
		send(udp, &byte, 1, 0);
	fact("icmp_send type=3 code=3 saddr=0x0100007f daddr=0x0100007f");
	fact("inet_sk_error_report error=111 protocol=17 dport=%d", PORT + 1);
	fact("inet_sk_error_report error=111 protocol=6 dport=%d", PORT + 1);
	close(tcp);
	close(udp);
}

/* More datagrams than the receive buffer holds. */
static void overflow(void)
{
	int udp = open_socket(SOCK_DGRAM, 0), sender = open_socket(SOCK_DGRAM, 0), size = 1, ping;
	socklen_t length = sizeof(size);
	char buffer[1000] = "";

	CHECK(setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	bind_to(udp, "127.0.0.1", PORT + 2);
	CHECK(connect_to(sender, "127.0.0.1", PORT + 2));
	for (int i = 0; i < 10; i++)
		CHECK(send(sender, buffer, sizeof(buffer), 0));
	fact("udp_fail_queue_rcv_skb rc=-12 family=2 lport=%d", PORT + 2);
	close(udp);
	/* More replies than the requester's buffer holds. */
	must_write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
	ping = open_socket(SOCK_DGRAM, IPPROTO_ICMP);
	CHECK(setsockopt(ping, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
	CHECK(getsockopt(ping, SOL_SOCKET, SO_RCVBUF, &size, &length));
	CHECK(connect_to(ping, "127.0.0.1", 0));
	buffer[0] = ICMP_ECHO;
	for (int i = 0; i < 10; i++)
		CHECK(send(ping, buffer, sizeof(buffer), 0));
	fact("sock_rcvqueue_full sk_rcvbuf=%d", size);
	close(ping);
	close(sender);
}

/*
 * TCP may use three pages, then its old limit is restored. A CPU reserves 1 MiB before it accounts
 * globally.
 */
static void exceed_memory(void)
{
	char old[256], buffer[65536] = "";
	int client = open_socket(SOCK_STREAM, 0), server, size = 8 << 20;

	CHECK(connect_to(client, "127.0.0.1", PORT));
	/* cppcheck-suppress nullPointer ; the peer is not asked for */
	server = CHECK(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	CHECK(setsockopt(client, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)));
	set_value("/proc/sys/net/ipv4/tcp_mem", "1 2 3", old);
	run_on(0);
	for (int i = 0; i < 64; i++)
		send(client, buffer, sizeof(buffer), MSG_DONTWAIT);
	run_anywhere();
	fact("sock_exceed_buf_limit sysctl_mem=1,2,3 name=TCP");
	must_write("/proc/sys/net/ipv4/tcp_mem", old);
	close(server);
	close(client);
}

static uint16_t sum(const void *data, int bytes, uint32_t start)
{
	for (int i = 0; i < bytes; i += 2) {
		uint16_t word;

		memcpy(&word, (const char *)data + i, 2);
		start += word;
	}
	while (start >> 16)
		start = (start & 0xffff) + (start >> 16);
	return ~start;
}

/* Sends a segment with the source address @from; @bad: with a wrong checksum. */
static void send_segment(const char *from, const char *to, int port, bool bad)
{
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} packet = {
		.ip = { .version = 4,
			.ihl = 5,
			.ttl = 64,
			.protocol = IPPROTO_TCP,
			.saddr = inet_addr(from),
			.daddr = inet_addr(to),
			.tot_len = htons(sizeof(packet)) },
		.tcp = { .source = htons(999),
			 .dest = htons(port),
			 .doff = 5,
			 .syn = 1,
			 .seq = htonl(SEQ),
			 .ack_seq = htonl(ACK),
			 .window = htons(1000) },
	};
	struct {
		uint32_t from, to;
		uint8_t zero, protocol;
		uint16_t length;
	} pseudo = { packet.ip.saddr, packet.ip.daddr, 0, IPPROTO_TCP, htons(sizeof(packet.tcp)) };
	int raw = open_socket(SOCK_RAW, IPPROTO_RAW);
	struct sockaddr_in a = address(to, 0);

	packet.tcp.check =
		sum(&packet.tcp, sizeof(packet.tcp), (uint16_t)~sum(&pseudo, sizeof(pseudo), 0)) ^
		bad;
	CHECK(sendto(raw, &packet, sizeof(packet), 0, (struct sockaddr *)&a, sizeof(a)));
	close(raw);
}

/* Packets to 10.9.0.2 never arrive, so they are retransmitted. */
static void lose_packets(void)
{
	int client = open_socket(SOCK_STREAM | SOCK_NONBLOCK, 0);
	int server = open_socket(SOCK_STREAM, 0);

	RUN("modprobe", "dummy");
	MUST_RUN("ip", "link", "add", "kldummy", "type", "dummy");
	MUST_RUN("ip", "addr", "add", "10.9.0.1/24", "dev", "kldummy");
	MUST_RUN("ip", "link", "set", "kldummy", "up");
	bind_to(server, "10.9.0.1", PORT);
	CHECK(listen(server, 5));
	connect_to(client, "10.9.0.2", PORT);
	send_segment("10.9.0.2", "10.9.0.1", PORT, false);
	send_segment("127.0.0.1", "127.0.0.1", PORT, true);
	sleep_ms(2500);
	fact("net_dev_queue name=lo sport=999 dport=%d seq=%d ack_seq=%d tcp_flags=2", PORT, SEQ,
	     ACK);
	fact("netif_rx name=lo sport=999 dport=%d seq=%d ack_seq=%d tcp_flags=2", PORT, SEQ, ACK);
	fact("netif_receive_skb name=lo sport=999 dport=%d seq=%d ack_seq=%d tcp_flags=2", PORT,
	     SEQ, ACK);
	fact("tcp_retransmit_skb state=2 family=2 dport=%d daddr=0x0200090a saddr=0x0100090a",
	     PORT);
	fact("tcp_retransmit_synack sport=%d dport=999 family=2 saddr=0x0100090a "
	     "daddr=0x0200090a",
	     PORT);
	close(client);
	close(server);
	MUST_RUN("ip", "link", "del", "kldummy");
}

static void send_to(const char *host)
{
	int fd = open_socket(SOCK_DGRAM, 0);
	char byte = 0;

	if (!connect_to(fd, host, 9))
		send(fd, &byte, 1, 0);
	close(fd);
}

/*
 * Two ends of a veth pair, one in its own network namespace, where 10.8.0.2 replies and 10.8.0.3
 * does not.
 */
static void meet_neighbours(void)
{
	RUN("modprobe", "veth");
	MUST_RUN("ip", "netns", "add", "kl");
	MUST_RUN("ip", "link", "add", "klveth", "type", "veth", "peer", "name", "klpeer", "netns",
		 "kl");
	MUST_RUN("ip", "addr", "add", "10.8.0.1/24", "dev", "klveth");
	MUST_RUN("ip", "link", "set", "klveth", "up");
	MUST_RUN("ip", "netns", "exec", "kl", "sh", "-c",
		 "ip addr add 10.8.0.2/24 dev klpeer && ip link set klpeer up");
	/* A qdisc that packets cannot bypass. */
	MUST_RUN("tc", "qdisc", "add", "dev", "klveth", "root", "tbf", "rate", "1mbit", "burst",
		 "10kb", "latency", "70ms");
	sleep_ms(100);
	try_write("/proc/sys/net/ipv4/neigh/klveth/delay_first_probe_time", "1");
	try_write("/proc/sys/net/ipv4/neigh/klveth/base_reachable_time_ms", "500");
	send_to("10.8.0.2");
	send_to("10.8.0.3");
	sleep_ms(1500);
	send_to("10.8.0.2");
	sleep_ms(2500);
	fact("neigh_create family=2 primary_key4=0x0200080a dev=klveth");
	/* Deleted while the route still refers to it. */
	MUST_RUN("ip", "neigh", "flush", "dev", "klveth");
	MUST_RUN("ip", "neigh", "replace", "10.8.0.4", "lladdr", "02:00:00:00:00:04", "dev",
		 "klveth");
	MUST_RUN("ip", "neigh", "del", "10.8.0.4", "dev", "klveth");
	MUST_RUN("ip", "link", "del", "klveth");
	MUST_RUN("ip", "netns", "del", "kl");
}

static int open_tun(const char *name, short flags)
{
	struct ifreq request = {};
	int fd = CHECK(open("/dev/net/tun", O_RDWR | O_CLOEXEC));

	strcpy(request.ifr_name, name);
	request.ifr_flags = IFF_TAP | IFF_NO_PI | flags;
	CHECK(ioctl(fd, TUNSETIFF, &request));
	MUST_RUN("ip", "link", "set", name, "up");
	return fd;
}

/* Packets that a device receives, in each way that the driver supports. */
static void feed_device(void)
{
	char frame[200] = { 0 };
	struct iovec pieces[] = { { frame, 60 }, { frame + 60, 140 } };
	struct {
		const char *name;
		short flags;
	} kinds[] = { { "kltap0", 0 },
		      { "kltap1", IFF_NAPI },
		      { "kltap2", IFF_NAPI | IFF_NAPI_FRAGS } };

	RUN("modprobe", "tun");
	memset(frame, 0xff, 6);
	frame[6] = 2;
	frame[12] = 8; /* IPv4 */
	frame[14] = 0x45;
	for (int i = 0; i < 3; i++) {
		int fd = open_tun(kinds[i].name, kinds[i].flags);

		for (int k = 0; k < TIMES; k++)
			if (writev(fd, pieces, 2) < 0)
				fprintf(stderr, "net: %s: %s\n", kinds[i].name, strerror(errno));
		sleep_ms(20);
		close(fd);
	}
}

/* An XDP program that passes all packets, run on packets that are then received as a list. */
static void receive_list(void)
{
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char frame[64] = { 0 };
	union bpf_attr load = { .prog_type = BPF_PROG_TYPE_XDP,
				.insn_cnt = 2,
				.insns = (uintptr_t)program,
				.license = (uintptr_t) "GPL" };
	struct xdp_md context = { .data_end = sizeof(frame), .ingress_ifindex = 1 };
	union bpf_attr run = { .test = { .data_in = (uintptr_t)frame,
					 .data_size_in = sizeof(frame),
					 .ctx_in = (uintptr_t)&context,
					 .ctx_size_in = sizeof(context),
					 .repeat = 8,
					 .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
					 .batch_size = 4 } };

	frame[12] = 8;
	frame[14] = 0x45;
	run.test.prog_fd = CHECK(syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load)));
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run)))
		fprintf(stderr, "net: live frames: %s\n", strerror(errno));
	close(run.test.prog_fd);
}

int main(void)
{
	talk_tcp();
	refuse();
	overflow();
	exceed_memory();
	lose_packets();
	close(listener);
	meet_neighbours();
	feed_device();
	receive_list();
	sleep_ms(200);
	return 0;
}
