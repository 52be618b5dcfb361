/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Details of one process or thread that do not fit a number of fixed size: files, sockets,
 * mappings, credentials, what it waits for, and so on. A list of one kind is read completely and
 * decoded. Its entries are structs of the module's interface, along with their texts; see
 * KL_DETAIL_* and struct kl_abi_detail_* in <kernlens/abi.h> for their members and units.
 *
 * A caller that may not see a process gets the same error as for one that does not exist. The
 * entries of a list are from one moment only if the process does not change in the meantime.
 */
#ifndef KERNLENS_DETAIL_H
#define KERNLENS_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>

/**
 * struct kl_detail - one entry of a list
 * @kind: selects the member of the union: enum kl_detail_kind or enum kl_detail_record
 * @is_cut: a text was truncated
 * @text: first text, terminated by a NUL but possibly containing others; empty if there is none
 * @text_bytes: size of @text, without the terminating NUL
 * @more: second text: additional information about a file; the path of a cgroup, whose first text
 *        lists its controllers; the set of NUMA nodes
 * @more_bytes: size of @more
 *
 * Texts live as long as the list. Sets of bits and numbers have no terminating NUL.
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
		struct kl_abi_detail_pages pages;
	};
	const char *text;
	size_t text_bytes;
	const char *more;
	size_t more_bytes;
};

/**
 * struct kl_details - a list of one kind
 * @entry: its entries
 * @n: number of entries
 * @flags: KL_DETAIL_ENDED, KL_DETAIL_CUT
 * @records: memory that holds the texts
 *
 * The command line and the environment are a single entry whose text is all of it.
 */
struct kl_details {
	struct kl_detail *entry;
	size_t n;
	uint32_t flags;
	struct kl_buffer records;
};

/**
 * kl_details_read - read all details of one kind
 * @device: device
 * @pid: process or thread in the caller's pid namespace
 * @what: enum kl_detail_kind; kl_page_runs_read() needs less memory for pages
 * @details: filled in, overwriting its contents; free it with kl_details_deinit()
 *
 * For kinds that require the right to trace the process, /proc/PID/mem or /proc/PID/environ is
 * opened as proof of that right; nothing is read from it. May sleep for as long as the process
 * makes accesses to its memory wait.
 *
 * Returns 0 or a negative errno: -ESRCH (no such process, not visible to the caller, or it ended
 * before everything was read), -EACCES (the caller may not trace it), -EPERM (requires
 * CAP_SYS_ADMIN), -EAGAIN (it keeps executing new programs), -EPROTO (the reply cannot be
 * decoded), -ENOMEM.
 */
int kl_details_read(struct kl_device *device, int pid, uint32_t what, struct kl_details *details);

/**
 * kl_details_deinit - free the memory of a list
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
 * kl_detail_map_name - "anonymous", "file", "heap" ...
 * @kind: enum kl_detail_map_kind
 */
const char *kl_detail_map_name(uint32_t kind);

/**
 * kl_detail_map_mode - permissions of a mapping, as in /proc/PID/maps: "r-xp"
 * @text: filled in
 * @flags: KL_DETAIL_MAP_*
 */
void kl_detail_map_mode(char text[5], uint32_t flags);

/**
 * kl_detail_family_name - "unix", "ipv4", "netlink" ...
 * @family: AF_*
 *
 * Returns NULL if it has no name.
 */
const char *kl_detail_family_name(uint32_t family);

/**
 * kl_detail_protocol_name - "tcp", "udp", "stream" ..., as in ss(8)
 * @socket: the socket
 */
const char *kl_detail_protocol_name(const struct kl_abi_detail_socket *socket);

/**
 * kl_detail_socket_state_name - "LISTEN", "ESTAB" ..., as in ss(8)
 * @socket: the socket
 */
const char *kl_detail_socket_state_name(const struct kl_abi_detail_socket *socket);

/**
 * kl_detail_add_address - print the address of a socket
 * @buffer: appended to: "127.0.0.1:80", "[::1]:80", a path, "@abstract", "-" if there is none
 * @address: a struct sockaddr
 * @bytes: size of @address
 */
void kl_detail_add_address(struct kl_buffer *buffer, const uint8_t *address, size_t bytes);

/**
 * kl_detail_namespace_name - "mnt", "pid_for_children" ..., as in /proc/PID/ns
 * @ns: the namespace
 */
const char *kl_detail_namespace_name(const struct kl_abi_detail_namespace *ns);

/**
 * kl_detail_limit_name - "cpu", "nofile" ...: RLIMIT_* in lower case
 * @limit: its number
 *
 * Returns NULL after the last.
 */
const char *kl_detail_limit_name(unsigned int limit);

/**
 * kl_detail_capability_name - "cap_chown" ...
 * @capability: its number
 *
 * Returns NULL if it has no name.
 */
const char *kl_detail_capability_name(unsigned int capability);

/**
 * kl_detail_signal_name - "HUP", "RTMIN+3" ...
 * @number: from 1
 * @text: out: the name
 * @bytes: size of @text
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

#endif /* KERNLENS_DETAIL_H */
