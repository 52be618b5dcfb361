// SPDX-License-Identifier: GPL-2.0
/*
 * Details of a task's sockets, for detail.c: addresses, state and queues, as ss(8) shows them.
 * Numbers are read without the socket's lock, as in the kernel's own lists.
 */
#include <linux/file.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/user_namespace.h>
#include <net/af_unix.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "../../compat/socket.h"
#include "detail.h"

static bool is_inet(const struct sock *sk)
{
	return sk->sk_family == AF_INET || sk->sk_family == AF_INET6;
}

/* ---------------------------------------------------------------- addresses */

static u32 put_inet(u8 *to, __be32 address, __be16 port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = port };

	in.sin_addr.s_addr = address;
	memcpy(to, &in, sizeof(in));
	return sizeof(in);
}

#if IS_ENABLED(CONFIG_IPV6)
static u32 put_inet6(u8 *to, const struct sock *sk, const struct in6_addr *address, __be16 port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = port };

	in.sin6_addr = *address;
	in.sin6_scope_id = ipv6_iface_scope_id(address, READ_ONCE(sk->sk_bound_dev_if));
	memcpy(to, &in, sizeof(in));
	return sizeof(in);
}
#endif

static void fill_inet(struct kl_abi_detail_socket *to, const struct sock *sk)
{
	__be16 local = inet_sk(sk)->inet_sport, remote = inet_sk(sk)->inet_dport;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		to->local_bytes = put_inet6(to->local, sk, &sk->sk_v6_rcv_saddr, local);
		to->remote_bytes = put_inet6(to->remote, sk, &sk->sk_v6_daddr, remote);
		return;
	}
#endif
	to->local_bytes = put_inet(to->local, inet_sk(sk)->inet_rcv_saddr, local);
	to->remote_bytes = put_inet(to->remote, inet_sk(sk)->inet_daddr, remote);
}

/*
 * Families whose getname() does not take the socket's lock, which a process may hold for as long
 * as it likes while it copies from memory that is not present.
 */
static bool has_names(const struct sock *sk)
{
	return sk->sk_family == AF_UNIX || sk->sk_family == AF_NETLINK ||
	       sk->sk_family == AF_PACKET;
}

static u32 ask_name(struct socket *sock, u8 *to, int peer)
{
	union {
		struct sockaddr_storage storage;
		struct sockaddr_un un;
		u8 room[256];
	} name = {};
	int bytes;

	bytes = sock->ops->getname(sock, (struct sockaddr *)&name, peer);
	if (bytes <= 0)
		return 0;
	bytes = min_t(int, bytes, KL_DETAIL_ADDRESS_BYTES);
	memcpy(to, &name, bytes);
	return bytes;
}

static u64 peer_inode(struct sock *sk)
{
	struct sock *peer = unix_peer_get(sk);
	u64 inode = 0;

	if (peer) {
		inode = sock_i_ino(peer);
		sock_put(peer);
	}
	return inode;
}

static void fill_addresses(struct kl_abi_detail_socket *to, struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (is_inet(sk)) {
		fill_inet(to, sk);
		return;
	}
	if (!has_names(sk))
		return;
	to->local_bytes = ask_name(sock, to->local, 0);
	to->remote_bytes = ask_name(sock, to->remote, 1);
	if (sk->sk_family == AF_UNIX)
		to->peer_inode = peer_inode(sk);
}

/* ------------------------------------------------------------------- queues */

static void fill_tcp(struct kl_abi_detail_socket *to, struct sock *sk)
{
	const struct tcp_sock *tcp = tcp_sk(sk);

	if (sk->sk_state == TCP_LISTEN) {
		to->recv_queue = READ_ONCE(sk->sk_ack_backlog);
		to->send_queue = READ_ONCE(sk->sk_max_ack_backlog);
		return;
	}
	to->recv_queue = max_t(int, READ_ONCE(tcp->rcv_nxt) - READ_ONCE(tcp->copied_seq), 0);
	to->send_queue = READ_ONCE(tcp->write_seq) - tcp->snd_una;
	/*
	 * Like tcp_get_info, but without the socket's lock. Each number is of some instant of the
	 * call.
	 */
	to->flags |= KL_DETAIL_SOCKET_NUMBERS;
	to->bytes_sent = READ_ONCE(tcp->bytes_acked);
	to->bytes_received = READ_ONCE(tcp->bytes_received);
	to->retransmits = READ_ONCE(tcp->total_retrans);
	to->rtt_us = READ_ONCE(tcp->srtt_us) >> 3;
	to->congestion_window = READ_ONCE(tcp->snd_cwnd);
}

static void fill_unix(struct kl_abi_detail_socket *to, struct sock *sk)
{
	if (sk->sk_state == TCP_LISTEN) {
		to->recv_queue = skb_queue_len(&sk->sk_receive_queue);
		to->send_queue = READ_ONCE(sk->sk_max_ack_backlog);
		return;
	}
	to->recv_queue = max_t(long, unix_inq_len(sk), 0);
	to->send_queue = max_t(long, unix_outq_len(sk), 0);
}

static bool is_tcp(const struct sock *sk)
{
	return is_inet(sk) && sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP;
}

static bool is_udp(const struct sock *sk)
{
	return is_inet(sk) && sk->sk_type == SOCK_DGRAM &&
	       (sk->sk_protocol == IPPROTO_UDP || sk->sk_protocol == IPPROTO_UDPLITE);
}

static void fill_queues(struct kl_abi_detail_socket *to, struct sock *sk)
{
	to->recv_room = READ_ONCE(sk->sk_rcvbuf);
	to->send_room = READ_ONCE(sk->sk_sndbuf);
	to->drops = atomic_read(&sk->sk_drops);
	if (is_tcp(sk)) {
		fill_tcp(to, sk);
		return;
	}
	if (sk->sk_family == AF_UNIX) {
		fill_unix(to, sk);
		return;
	}
	to->recv_queue = is_udp(sk) ? udp_rqueue_get(sk) : sk_rmem_alloc_get(sk);
	to->send_queue = sk_wmem_alloc_get(sk);
}

/* ------------------------------------------------------------------ records */

/**
 * kl_detail_add_socket - add the record of a socket
 * @d: the call
 * @record: kind of the record
 * @fd: descriptor
 * @file: its file, with a reference
 *
 * Returns false if there is no room. Context: may sleep.
 */
bool kl_detail_add_socket(struct kl_detail *d, u32 record, int fd, struct file *file)
{
	struct kl_abi_detail_socket *to;
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock ? sock->sk : NULL;

	if (!sk)
		return true;
	to = kl_detail_add(d, record, sizeof(*to), 0);
	if (!to)
		return false;
	to->fd = fd;
	to->family = sk->sk_family;
	to->type = sk->sk_type;
	to->protocol = sk->sk_protocol;
	to->state = READ_ONCE(sk->sk_state);
	to->inode = file_inode(file)->i_ino;
	to->net_namespace = sock_net(sk)->ns.inum;
	to->uid = from_kuid_munged(current_user_ns(), kl_sock_uid(sk));
	to->bound_interface = READ_ONCE(sk->sk_bound_dev_if);
	fill_addresses(to, sock);
	fill_queues(to, sk);
	return true;
}

static bool add(struct kl_detail *d, int fd, struct file *file, bool cloexec)
{
	return kl_detail_add_socket(d, KL_DETAIL_SOCKETS, fd, file);
}

/**
 * kl_detail_sockets - KL_DETAIL_SOCKETS
 * @d: the call
 */
int kl_detail_sockets(struct kl_detail *d)
{
	return kl_detail_each_file(d, add);
}
