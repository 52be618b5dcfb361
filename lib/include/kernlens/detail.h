/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that the module tells of one process or thread that is not a number of fixed size:
 * files, sockets, mappings, rights, what it waits for ... A list of one kind is read
 * whole and decoded; its entries are the structs of the contract with the texts beside
 * them. See KL_DETAIL_* and struct kl_abi_detail_* in <kernlens/abi.h> for what is in
 * them, and their units.
 *
 * Who may not see a process gets the same answer as for one that is not there. Entries of
 * one list are of one moment only as far as the process stands still.
 */
#ifndef KERNLENS_DETAIL_H
#define KERNLENS_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_detail - one entry of a list
 * @kind: which member of the union: enum kl_detail_kind or enum kl_detail_record
 * @is_cut: a text was longer than what there is
 * @text: first text, ended by a NUL, which it may hold, too; empty if there is none
 * @text_bytes: without the NUL behind it
 * @more: second text: what a file says of itself, a cgroup's path (the first has its
 *        controllers), a set of nodes
 * @more_bytes: of it
 *
 * Texts live as long as the list. Members that an older module does not have are 0.
 */
struct kl_detail {
	uint32_t kind;
	bool is_cut;
	union {
		struct kl_abi_detail_record record;
		struct kl_abi_detail_task task;
		struct kl_abi_detail_bytes bytes;
		struct kl_abi_detail_path path;
		struct kl_abi_detail_file file;
		struct kl_abi_detail_socket socket;
		struct kl_abi_detail_map map;
		struct kl_abi_detail_memory memory;
		struct kl_abi_detail_signals signals;
		struct kl_abi_detail_namespace ns;
		struct kl_abi_detail_cgroup cgroup;
		struct kl_abi_detail_rights rights;
		struct kl_abi_detail_affinity affinity;
		struct kl_abi_detail_limits limits;
		struct kl_abi_detail_io io;
		struct kl_abi_detail_syscall syscall;
		struct kl_abi_detail_frame frame;
		struct kl_abi_detail_wait wait;
		struct kl_abi_detail_other other;
		struct kl_abi_detail_child child;
	};
	const char *text;
	size_t text_bytes;
	const char *more;
	size_t more_bytes;
};

/**
 * struct kl_details - a list of one kind
 * @entry: its entries
 * @n: so many
 * @flags: KL_DETAIL_ENDED, KL_DETAIL_CUT
 * @records: what the texts are in
 *
 * Command line and environment are one entry, whose text is all of it.
 */
struct kl_details {
	struct kl_detail *entry;
	size_t n;
	uint32_t flags;
	struct kl_buffer records;
};

/**
 * kl_details_read - ask for all details of a kind
 * @device: device
 * @pid: of a process or thread, in this process' pid namespace
 * @what: enum kl_detail_kind
 * @details: filled in, whatever was in it; to be freed with kl_details_deinit()
 *
 * Where the kernel must say that this process may trace the other one, /proc/PID/mem is
 * opened as the proof of it and not read. May sleep, as long as the other one makes its
 * memory wait. Returns 0 or a negative errno: -ESRCH (no such process, or none that may
 * be seen; also one that ended before all was read), -EACCES (may not be traced), -EPERM
 * (needs CAP_SYS_ADMIN), -EAGAIN (keeps executing new programs), -ENOMEM.
 */
int kl_details_read(struct kl_device *device, int pid, uint32_t what, struct kl_details *details);

/**
 * kl_details_deinit - free a list's memory
 * @details: zeroed or read
 */
void kl_details_deinit(struct kl_details *details);

/**
 * kl_detail_state_name - "sleeping", "zombie" ...
 * @state: KL_TASK_STATE_*
 */
const char *kl_detail_state_name(uint32_t state);

/**
 * kl_detail_policy_name - "other", "fifo" ...
 * @policy: SCHED_*
 */
const char *kl_detail_policy_name(uint32_t policy);

/**
 * kl_detail_file_name - "pipe", "regular" ...
 * @kind: enum kl_detail_file_kind
 */
const char *kl_detail_file_name(uint32_t kind);

/**
 * kl_detail_family_name - "unix", "ipv4", "netlink" ...
 * @family: AF_*
 *
 * Returns NULL if there is no name for it.
 */
const char *kl_detail_family_name(uint32_t family);

/**
 * kl_detail_protocol_name - "tcp", "udp", "stream" ..., as ss(8) names sockets
 * @socket: whose
 */
const char *kl_detail_protocol_name(const struct kl_abi_detail_socket *socket);

/**
 * kl_detail_socket_state_name - "LISTEN", "ESTAB" ..., as ss(8) names them
 * @socket: whose
 */
const char *kl_detail_socket_state_name(const struct kl_abi_detail_socket *socket);

/**
 * kl_detail_add_address - a socket's address as text
 * @buffer: appended to: "127.0.0.1:80", "[::1]:80", a path, "@abstract", "-" if none
 * @address: a struct sockaddr
 * @bytes: of it
 */
void kl_detail_add_address(struct kl_buffer *buffer, const uint8_t *address, size_t bytes);

/**
 * kl_detail_namespace_name - "mnt", "pid_for_children" ..., as in /proc/PID/ns
 * @ns: which
 */
const char *kl_detail_namespace_name(const struct kl_abi_detail_namespace *ns);

/**
 * kl_detail_limit_name - "cpu", "nofile" ...: RLIMIT_* in small letters
 * @limit: its number
 *
 * Returns NULL behind the last.
 */
const char *kl_detail_limit_name(unsigned int limit);

/**
 * kl_detail_capability_name - "cap_chown" ...
 * @capability: its number
 *
 * Returns NULL if there is no name for it.
 */
const char *kl_detail_capability_name(unsigned int capability);

/**
 * kl_detail_signal_name - "HUP", "RTMIN+3" ...
 * @number: from 1
 * @text: room for it
 * @bytes: of it
 *
 * Returns @text.
 */
const char *kl_detail_signal_name(unsigned int number, char *text, size_t bytes);

/**
 * kl_detail_wait_name - "mutex", "read" ...: one word
 * @reason: enum kl_detail_wait
 */
const char *kl_detail_wait_name(uint32_t reason);

/**
 * kl_detail_role_name - "owner", "writer" ...
 * @role: enum kl_detail_role
 */
const char *kl_detail_role_name(uint32_t role);

KL_PUBLIC_END

#endif /* KERNLENS_DETAIL_H */
