// SPDX-License-Identifier: GPL-2.0
/* Symbolic names for the numbers in details: states, families, limits, capabilities, signals. */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <kernlens/detail.h>
#include "../base/base.h"

static const char *name_of(const char *const *names, size_t n, uint32_t number, const char *none)
{
	return number < n && names[number] ? names[number] : none;
}

#define NAME_OF(names, number, none) name_of(names, KL_ARRAY_SIZE(names), number, none)

const char *kl_detail_state_name(uint32_t state)
{
	static const char *const names[] = {
		[KL_TASK_STATE_RUNNING] = "running", [KL_TASK_STATE_SLEEPING] = "sleeping",
		[KL_TASK_STATE_DISK] = "disk sleep", [KL_TASK_STATE_STOPPED] = "stopped",
		[KL_TASK_STATE_TRACED] = "traced",   [KL_TASK_STATE_DEAD] = "dead",
		[KL_TASK_STATE_ZOMBIE] = "zombie",   [KL_TASK_STATE_PARKED] = "parked",
		[KL_TASK_STATE_IDLE] = "idle",
	};

	return NAME_OF(names, state, "unknown");
}

const char *kl_detail_file_name(uint32_t kind)
{
	static const char *const names[] = {
		[KL_DETAIL_FILE_REGULAR] = "regular",	  [KL_DETAIL_FILE_DIRECTORY] = "directory",
		[KL_DETAIL_FILE_CHARACTER] = "character", [KL_DETAIL_FILE_BLOCK] = "block",
		[KL_DETAIL_FILE_FIFO] = "fifo",		  [KL_DETAIL_FILE_PIPE] = "pipe",
		[KL_DETAIL_FILE_SOCKET] = "socket",	  [KL_DETAIL_FILE_LINK] = "link",
		[KL_DETAIL_FILE_MEMFD] = "memfd",	  [KL_DETAIL_FILE_EVENTFD] = "eventfd",
		[KL_DETAIL_FILE_EPOLL] = "epoll",	  [KL_DETAIL_FILE_TIMERFD] = "timerfd",
		[KL_DETAIL_FILE_SIGNALFD] = "signalfd",	  [KL_DETAIL_FILE_INOTIFY] = "inotify",
		[KL_DETAIL_FILE_FANOTIFY] = "fanotify",	  [KL_DETAIL_FILE_PIDFD] = "pidfd",
		[KL_DETAIL_FILE_IO_URING] = "io_uring",	  [KL_DETAIL_FILE_NAMESPACE] = "namespace",
		[KL_DETAIL_FILE_ANON] = "anonymous",
	};

	return NAME_OF(names, kind, "unknown");
}

const char *kl_detail_map_name(uint32_t kind)
{
	static const char *const names[] = {
		[KL_DETAIL_MAP_ANON] = "anonymous",  [KL_DETAIL_MAP_FILE] = "file",
		[KL_DETAIL_MAP_HEAP] = "heap",	     [KL_DETAIL_MAP_STACK] = "stack",
		[KL_DETAIL_MAP_SPECIAL] = "special",
	};

	return NAME_OF(names, kind, "unknown");
}

void kl_detail_map_mode(char text[5], uint32_t flags)
{
	text[0] = flags & KL_DETAIL_MAP_READ ? 'r' : '-';
	text[1] = flags & KL_DETAIL_MAP_WRITE ? 'w' : '-';
	text[2] = flags & KL_DETAIL_MAP_EXEC ? 'x' : '-';
	text[3] = flags & KL_DETAIL_MAP_SHARED ? 's' : 'p';
	text[4] = 0;
}

/* ----------------------------------------------------------------- sockets */

const char *kl_detail_family_name(uint32_t family)
{
	static const char *const names[] = {
		[AF_UNIX] = "unix",	[AF_INET] = "ipv4",
		[AF_INET6] = "ipv6",	[AF_NETLINK] = "netlink",
		[AF_PACKET] = "packet", [AF_VSOCK] = "vsock",
		[AF_ALG] = "alg",	[AF_BLUETOOTH] = "bluetooth",
		[AF_CAN] = "can",	[AF_TIPC] = "tipc",
		[AF_XDP] = "xdp",	[AF_KEY] = "key",
		[AF_RDS] = "rds",	[AF_SMC] = "smc",
		[AF_QIPCRTR] = "qrtr",
	};

	return NAME_OF(names, family, NULL);
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[SOCK_STREAM] = "stream", [SOCK_DGRAM] = "dgram",   [SOCK_RAW] = "raw",
		[SOCK_RDM] = "rdm",	  [SOCK_SEQPACKET] = "seq", [SOCK_DCCP] = "dccp",
		[SOCK_PACKET] = "packet",
	};

	return NAME_OF(names, type, "unknown");
}

const char *kl_detail_protocol_name(const struct kl_abi_detail_socket *socket)
{
	if (socket->family != AF_INET && socket->family != AF_INET6)
		return type_name(socket->type);
	if (socket->type == SOCK_RAW)
		return "raw";
	switch (socket->protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_UDPLITE:
		return "udplite";
	case IPPROTO_SCTP:
		return "sctp";
	case IPPROTO_MPTCP:
		return "mptcp";
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return "icmp";
	default:
		return type_name(socket->type);
	}
}

const char *kl_detail_socket_state_name(const struct kl_abi_detail_socket *socket)
{
	static const char *const names[] = {
		[1] = "ESTAB",	    [2] = "SYN-SENT",  [3] = "SYN-RECV", [4] = "FIN-WAIT-1",
		[5] = "FIN-WAIT-2", [6] = "TIME-WAIT", [7] = "UNCONN",	 [8] = "CLOSE-WAIT",
		[9] = "LAST-ACK",   [10] = "LISTEN",   [11] = "CLOSING", [12] = "SYN-RECV",
	};

	return NAME_OF(names, socket->state, "UNKNOWN");
}

/* The path may not be NUL-terminated: the kernel's length limits it. */
static void add_unix(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	const char *path = (const char *)address + offsetof(struct sockaddr_un, sun_path);
	size_t n = bytes - offsetof(struct sockaddr_un, sun_path);

	if (bytes <= offsetof(struct sockaddr_un, sun_path)) {
		kl_buffer_add_char(buffer, '*');
		return;
	}
	if (*path) {
		kl_buffer_add(buffer, path, strnlen(path, n));
		return;
	}
	/* An abstract address may contain NULs. */
	for (size_t i = 0; i < n; i++)
		kl_buffer_add_char(buffer, path[i] ? path[i] : '@');
}

static void add_inet(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	struct sockaddr_in in = { 0 };
	char text[INET_ADDRSTRLEN];

	memcpy(&in, address, bytes < sizeof(in) ? bytes : sizeof(in));
	inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	kl_buffer_printf(buffer, "%s:%u", text, ntohs(in.sin_port));
}

static void add_inet6(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	struct sockaddr_in6 in = { 0 };
	char text[INET6_ADDRSTRLEN];

	memcpy(&in, address, bytes < sizeof(in) ? bytes : sizeof(in));
	inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text));
	kl_buffer_printf(buffer, "[%s", text);
	if (in.sin6_scope_id)
		kl_buffer_printf(buffer, "%%%u", in.sin6_scope_id);
	kl_buffer_printf(buffer, "]:%u", ntohs(in.sin6_port));
}

static void add_netlink(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	struct sockaddr_nl nl = { 0 };

	memcpy(&nl, address, bytes < sizeof(nl) ? bytes : sizeof(nl));
	kl_buffer_printf(buffer, "%u", nl.nl_pid);
	if (nl.nl_groups)
		kl_buffer_printf(buffer, " groups %#x", nl.nl_groups);
}

static void add_packet(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	struct sockaddr_ll ll = { 0 };

	memcpy(&ll, address, bytes < sizeof(ll) ? bytes : sizeof(ll));
	kl_buffer_printf(buffer, "protocol %#x interface %d", ntohs(ll.sll_protocol),
			 ll.sll_ifindex);
}

static void add_vsock(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	struct sockaddr_vm vm = { 0 };

	memcpy(&vm, address, bytes < sizeof(vm) ? bytes : sizeof(vm));
	kl_buffer_printf(buffer, "%u:%u", vm.svm_cid, vm.svm_port);
}

void kl_detail_add_address(struct kl_buffer *buffer, const uint8_t *address, size_t bytes)
{
	uint16_t family = bytes >= sizeof(family) ? kl_get16(address) : AF_UNSPEC;

	switch (family) {
	case AF_UNIX:
		add_unix(buffer, address, bytes);
		break;
	case AF_INET:
		add_inet(buffer, address, bytes);
		break;
	case AF_INET6:
		add_inet6(buffer, address, bytes);
		break;
	case AF_NETLINK:
		add_netlink(buffer, address, bytes);
		break;
	case AF_PACKET:
		add_packet(buffer, address, bytes);
		break;
	case AF_VSOCK:
		add_vsock(buffer, address, bytes);
		break;
	default:
		kl_buffer_add_char(buffer, '-');
	}
}

/* ------------------------------------------------------------------- others */

const char *kl_detail_namespace_name(const struct kl_abi_detail_namespace *ns)
{
	switch (ns->type) {
	case CLONE_NEWNS:
		return "mnt";
	case CLONE_NEWUTS:
		return "uts";
	case CLONE_NEWIPC:
		return "ipc";
	case CLONE_NEWNET:
		return "net";
	case CLONE_NEWUSER:
		return "user";
	case CLONE_NEWCGROUP:
		return "cgroup";
	case CLONE_NEWPID:
		return ns->children ? "pid_for_children" : "pid";
	case CLONE_NEWTIME:
		return ns->children ? "time_for_children" : "time";
	default:
		return "unknown";
	}
}

const char *kl_detail_limit_name(unsigned int limit)
{
	static const char *const names[KL_DETAIL_LIMITS_NUMBER] = {
		"cpu",	   "fsize", "data",  "stack",	   "core",     "rss",  "nproc",	 "nofile",
		"memlock", "as",    "locks", "sigpending", "msgqueue", "nice", "rtprio", "rttime",
	};

	return NAME_OF(names, limit, NULL);
}

const char *kl_detail_capability_name(unsigned int capability)
{
	static const char *const names[] = {
		"cap_chown",
		"cap_dac_override",
		"cap_dac_read_search",
		"cap_fowner",
		"cap_fsetid",
		"cap_kill",
		"cap_setgid",
		"cap_setuid",
		"cap_setpcap",
		"cap_linux_immutable",
		"cap_net_bind_service",
		"cap_net_broadcast",
		"cap_net_admin",
		"cap_net_raw",
		"cap_ipc_lock",
		"cap_ipc_owner",
		"cap_sys_module",
		"cap_sys_rawio",
		"cap_sys_chroot",
		"cap_sys_ptrace",
		"cap_sys_pacct",
		"cap_sys_admin",
		"cap_sys_boot",
		"cap_sys_nice",
		"cap_sys_resource",
		"cap_sys_time",
		"cap_sys_tty_config",
		"cap_mknod",
		"cap_lease",
		"cap_audit_write",
		"cap_audit_control",
		"cap_setfcap",
		"cap_mac_override",
		"cap_mac_admin",
		"cap_syslog",
		"cap_wake_alarm",
		"cap_block_suspend",
		"cap_audit_read",
		"cap_perfmon",
		"cap_bpf",
		"cap_checkpoint_restore",
	};

	return NAME_OF(names, capability, NULL);
}

const char *kl_detail_signal_name(unsigned int number, char *text, size_t bytes)
{
	const char *name = sigabbrev_np((int)number);

	/* libc reserves the first two real-time signals. */
	if (name)
		snprintf(text, bytes, "%s", name);
	else if ((int)number >= SIGRTMIN && (int)number <= SIGRTMAX)
		snprintf(text, bytes, "RTMIN+%u", number - SIGRTMIN);
	else
		snprintf(text, bytes, "%u", number);
	return text;
}

const char *kl_detail_wait_name(uint32_t reason)
{
	static const char *const names[] = {
		[KL_WAIT_NONE] = "runs",       [KL_WAIT_CPU] = "cpu",
		[KL_WAIT_STOPPED] = "stopped", [KL_WAIT_TRACED] = "traced",
		[KL_WAIT_PARENT] = "parent",   [KL_WAIT_KERNEL] = "kernel",
		[KL_WAIT_HIDDEN] = "hidden",   [KL_WAIT_SYSCALL] = "syscall",
		[KL_WAIT_FUTEX] = "futex",     [KL_WAIT_MUTEX] = "mutex",
		[KL_WAIT_THREAD] = "thread",   [KL_WAIT_READ] = "read",
		[KL_WAIT_WRITE] = "write",     [KL_WAIT_ACCEPT] = "accept",
		[KL_WAIT_CONNECT] = "connect", [KL_WAIT_FILE] = "file",
		[KL_WAIT_OPEN] = "open",       [KL_WAIT_POLL] = "poll",
		[KL_WAIT_CHILD] = "child",     [KL_WAIT_VFORK] = "vfork",
		[KL_WAIT_TIME] = "time",       [KL_WAIT_SIGNAL] = "signal",
		[KL_WAIT_LOCK] = "lock",       [KL_WAIT_IPC] = "ipc",
	};

	return NAME_OF(names, reason, "unknown");
}

const char *kl_detail_role_name(uint32_t role)
{
	static const char *const names[] = {
		[KL_OTHER_OWNER] = "owner",   [KL_OTHER_READER] = "reader",
		[KL_OTHER_WRITER] = "writer", [KL_OTHER_PEER] = "peer",
		[KL_OTHER_CHILD] = "child",   [KL_OTHER_HOLDER] = "holder",
		[KL_OTHER_THREAD] = "thread", [KL_OTHER_TRACER] = "tracer",
		[KL_OTHER_PARENT] = "parent",
	};

	return NAME_OF(names, role, "unknown");
}
