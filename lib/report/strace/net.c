// SPDX-License-Identifier: GPL-2.0
/* Sockets: addresses, options, messages. */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <kernlens/format.h>
#include "../../base/base.h"
#include "printers.h"

void kl_arg_socket_type(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_choice_flags(c->out, &kl_words_socket_types, &kl_words_socket_flags,
			     (uint32_t)c->arg[i], 15);
}

/* Which protocols there are depends on the domain. */
void kl_arg_protocol(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (c->arg[0] == AF_INET || c->arg[0] == AF_INET6)
		kl_call_choice(c->out, &kl_words_ip_protocols, (uint32_t)c->arg[i]);
	else if (c->arg[0] == AF_NETLINK)
		kl_call_choice(c->out, &kl_words_netlink, (uint32_t)c->arg[i]);
	else
		kl_buffer_add_signed(c->out, (int32_t)c->arg[i]);
}

/* -------------------------------------------------------------- addresses */

static void put_unix(struct kl_buffer *out, const struct sockaddr_un *address, size_t length)
{
	const uint8_t *path = (const uint8_t *)address->sun_path;
	size_t n = length - sizeof(address->sun_family);

	if (!n)
		return;
	kl_buffer_add_string(out, ", sun_path=");
	/* An abstract name begins with a NUL, and may have others. */
	if (!path[0]) {
		kl_buffer_add_char(out, '@');
		return kl_call_quote(out, path + 1, n - 1, KL_QUOTE_PLAIN, false);
	}
	kl_call_quote(out, path, strnlen((const char *)path, n), KL_QUOTE_PLAIN, false);
}

static void put_inet(struct kl_buffer *out, const struct sockaddr_in *address)
{
	char text[INET_ADDRSTRLEN];

	kl_buffer_printf(out, ", sin_port=htons(%u), sin_addr=inet_addr(\"%s\")",
			 ntohs(address->sin_port),
			 inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)));
}

static void put_inet6(struct kl_buffer *out, const struct sockaddr_in6 *address)
{
	char text[INET6_ADDRSTRLEN];

	kl_buffer_printf(out, ", sin6_port=htons(%u), sin6_flowinfo=htonl(%u)",
			 ntohs(address->sin6_port), ntohl(address->sin6_flowinfo));
	kl_buffer_printf(out, ", inet_pton(AF_INET6, \"%s\", &sin6_addr), sin6_scope_id=%u",
			 inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text)),
			 address->sin6_scope_id);
}

static void put_netlink(struct kl_buffer *out, const struct sockaddr_nl *address)
{
	kl_buffer_printf(out, ", nl_pid=%u, nl_groups=%08x", address->nl_pid, address->nl_groups);
}

static void put_sockaddr(struct kl_buffer *out, const struct sockaddr_storage *s, size_t length)
{
	kl_buffer_add_string(out, "{sa_family=");
	kl_call_choice(out, &kl_words_domains, s->ss_family);
	if (s->ss_family == AF_UNIX) {
		put_unix(out, (const struct sockaddr_un *)s, length);
	} else if (s->ss_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
		put_inet(out, (const struct sockaddr_in *)s);
	} else if (s->ss_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
		put_inet6(out, (const struct sockaddr_in6 *)s);
	} else if (s->ss_family == AF_NETLINK && length >= sizeof(struct sockaddr_nl)) {
		put_netlink(out, (const struct sockaddr_nl *)s);
	} else if (length > sizeof(s->ss_family)) {
		kl_buffer_add_string(out, ", sa_data=");
		kl_call_quote(out, (const uint8_t *)s + sizeof(s->ss_family),
			      length - sizeof(s->ss_family), KL_QUOTE_PLAIN, false);
	}
	kl_buffer_add_char(out, '}');
}

static void print_sockaddr(struct kl_call *c, uint64_t address, int64_t length)
{
	struct sockaddr_storage s = {};

	if (length > (int64_t)sizeof(s))
		length = sizeof(s);
	if (length < (int64_t)sizeof(s.ss_family) || !kl_call_peek(c, address, &s, length))
		return kl_call_address(c->out, address);
	put_sockaddr(c->out, &s, length);
}

void kl_arg_sockaddr(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	print_sockaddr(c, c->arg[i], (int32_t)c->arg[i + 1]);
}

/* The length that the caller has room for, and the one that the kernel has written. */
static bool get_lengths(const struct kl_call *c, uint64_t address, int32_t *room, int32_t *length)
{
	if (!kl_call_peek_entry(c, address, room, sizeof(*room)))
		return false;
	*length = *room;
	if (kl_call_succeeded(c))
		kl_call_peek(c, address, length, sizeof(*length));
	return true;
}

void kl_arg_out_sockaddr(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	int32_t room, length;

	if (!kl_call_succeeded(c) || !get_lengths(c, c->arg[i + 1], &room, &length))
		return kl_call_address(c->out, c->arg[i]);
	print_sockaddr(c, c->arg[i], length < room ? length : room);
}

void kl_arg_out_length(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	int32_t room, length;

	if (!get_lengths(c, c->arg[i], &room, &length))
		return kl_call_address(c->out, c->arg[i]);
	if (room == length)
		kl_buffer_printf(c->out, "[%d]", length);
	else
		kl_buffer_printf(c->out, "[%d => %d]", room, length);
}

/* ---------------------------------------------------------------- options */

static const struct kl_wordlist *options_of(int32_t level)
{
	switch (level) {
	case SOL_SOCKET:
		return &kl_words_socket_options;
	case IPPROTO_IP:
		return &kl_words_ip_options;
	case IPPROTO_IPV6:
		return &kl_words_ipv6_options;
	case IPPROTO_TCP:
		return &kl_words_tcp_options;
	default:
		return NULL;
	}
}

void kl_arg_socket_option(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	const struct kl_wordlist *options = options_of(c->arg[1]);

	if (options)
		kl_call_choice(c->out, options, (uint32_t)c->arg[i]);
	else
		kl_buffer_printf(c->out, "%u", (uint32_t)c->arg[i]);
}

static bool print_linger(struct kl_call *c, uint64_t address)
{
	struct linger linger;

	if (!kl_call_peek(c, address, &linger, sizeof(linger)))
		return false;
	kl_buffer_add_string(c->out, linger.l_onoff == 1 ? "{l_onoff=1" : "{l_onoff=");
	if (linger.l_onoff != 1)
		kl_buffer_add_signed(c->out, linger.l_onoff);
	kl_buffer_printf(c->out, ", l_linger=%d}", linger.l_linger);
	return true;
}

static bool print_credentials(struct kl_call *c, uint64_t address)
{
	struct ucred cred;

	if (!kl_call_peek(c, address, &cred, sizeof(cred)))
		return false;
	kl_buffer_printf(c->out, "{pid=%d, uid=%u, gid=%u}", cred.pid, cred.uid, cred.gid);
	return true;
}

static bool print_int(struct kl_call *c, uint64_t address, bool is_error)
{
	const char *name = NULL;
	int32_t number;

	if (!kl_call_peek(c, address, &number, sizeof(number)))
		return false;
	if (is_error && number > 0)
		name = kl_errno_name(number);
	if (name)
		kl_buffer_printf(c->out, "[%s]", name);
	else
		kl_buffer_printf(c->out, "[%d]", number);
	return true;
}

static bool print_option(struct kl_call *c, uint64_t address, int32_t length)
{
	bool is_socket = c->arg[1] == SOL_SOCKET;
	uint32_t option = c->arg[2];

	if (is_socket && option == SO_LINGER && length >= 8)
		return print_linger(c, address);
	if (is_socket && option == SO_PEERCRED && length >= 12)
		return print_credentials(c, address);
	return length == sizeof(int32_t) && print_int(c, address, is_socket && option == SO_ERROR);
}

void kl_arg_option(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	int32_t room, length = c->arg[i + 1];

	if (kind->is_out &&
	    (!kl_call_succeeded(c) || !get_lengths(c, c->arg[i + 1], &room, &length)))
		return kl_call_address(c->out, c->arg[i]);
	if (length < 0)
		kl_call_address(c->out, c->arg[i]);
	else if (!print_option(c, c->arg[i], length))
		kl_call_bytes(c, c->arg[i], length, KL_QUOTE_PLAIN);
}

/* --------------------------------------------------------------- messages */

void kl_arg_packet(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	kl_call_bytes(c, c->arg[i], c->arg[i + 1], KL_QUOTE_PLAIN);
}

void kl_arg_out_packet(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	if (kl_call_succeeded(c))
		kl_call_bytes(c, c->arg[i], c->result, KL_QUOTE_PLAIN);
	else
		kl_call_address(c->out, c->arg[i]);
}

/* Descriptors that a message passes. */
static void print_descriptors(struct kl_call *c, uint64_t address, size_t bytes)
{
	int32_t fd;

	kl_buffer_add_string(c->out, ", cmsg_type=SCM_RIGHTS, cmsg_data=[");
	for (size_t k = 0; k < bytes / sizeof(fd) && !kl_array_next(c->out, k); k++) {
		if (!kl_call_peek(c, address + k * sizeof(fd), &fd, sizeof(fd)))
			break;
		kl_buffer_add_signed(c->out, fd);
	}
	kl_buffer_add_char(c->out, ']');
}

/* Returns the size of the message with its padding, or 0 at the end. */
static size_t print_control(struct kl_call *c, uint64_t address, size_t left)
{
	struct cmsghdr head;
	uint64_t data = address + sizeof(head);

	if (left < sizeof(head) || !kl_call_peek(c, address, &head, sizeof(head)) ||
	    head.cmsg_len < sizeof(head) || head.cmsg_len > left)
		return 0;
	kl_buffer_printf(c->out, "{cmsg_len=%zu, cmsg_level=", head.cmsg_len);
	kl_call_choice(c->out, &kl_words_socket_levels, (uint32_t)head.cmsg_level);
	if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_RIGHTS) {
		print_descriptors(c, data, head.cmsg_len - sizeof(head));
	} else if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_CREDENTIALS) {
		kl_buffer_add_string(c->out, ", cmsg_type=SCM_CREDENTIALS, cmsg_data=");
		if (!print_credentials(c, data))
			kl_call_address(c->out, data);
	} else {
		kl_buffer_printf(c->out, ", cmsg_type=%#x", (uint32_t)head.cmsg_type);
	}
	kl_buffer_add_char(c->out, '}');
	return CMSG_ALIGN(head.cmsg_len);
}

static void print_controls(struct kl_call *c, const struct msghdr *m)
{
	uint64_t address = (uintptr_t)m->msg_control;
	size_t left = m->msg_controllen, bytes;
	struct cmsghdr head;

	kl_buffer_add_string(c->out, ", msg_control=");
	if (!kl_call_peek(c, address, &head, sizeof(head)))
		return kl_call_address(c->out, address);
	kl_buffer_add_char(c->out, '[');
	for (bool first = true; left >= sizeof(head); first = false) {
		if (!first)
			kl_comma(c);
		bytes = print_control(c, address, left);
		if (!bytes || bytes >= left)
			break;
		address += bytes;
		left -= bytes;
	}
	kl_buffer_add_char(c->out, ']');
}

static void print_message(struct kl_call *c, const struct msghdr *m, int64_t room, bool is_out)
{
	kl_buffer_add_string(c->out, "{msg_name=");
	if (m->msg_namelen)
		print_sockaddr(c, (uintptr_t)m->msg_name, m->msg_namelen);
	else
		kl_call_address(c->out, (uintptr_t)m->msg_name);
	kl_buffer_add_string(c->out, ", msg_namelen=");
	if (room != m->msg_namelen)
		kl_buffer_printf(c->out, "%lld => ", (long long)room);
	kl_buffer_printf(c->out, "%u, msg_iov=", m->msg_namelen);
	kl_vector_at(c, (uintptr_t)m->msg_iov, m->msg_iovlen, is_out);
	kl_buffer_printf(c->out, ", msg_iovlen=%zu", m->msg_iovlen);
	if (m->msg_controllen)
		print_controls(c, m);
	kl_buffer_printf(c->out, ", msg_controllen=%zu, msg_flags=", m->msg_controllen);
	kl_call_flags(c->out, &kl_words_msg, (uint32_t)m->msg_flags);
	kl_buffer_add_char(c->out, '}');
}

void kl_arg_message(struct kl_call *c, unsigned int i, const struct kl_kind *kind)
{
	struct msghdr m, before;

	if (!kl_call_peek_entry(c, c->arg[i], &before, sizeof(before)) ||
	    !kl_call_peek(c, c->arg[i], &m, sizeof(m)))
		kl_call_address(c->out, c->arg[i]);
	else if (kind->is_out && !kl_call_succeeded(c))
		kl_buffer_printf(c->out, "{msg_namelen=%u}", before.msg_namelen);
	else
		print_message(c, &m, before.msg_namelen, kind->is_out);
}
