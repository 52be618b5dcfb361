/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The latency profile of a session: where the time of its tasks goes. Read from the
 * module as a whole; what waits are called, and who ended them, as text.
 */
#ifndef KERNLENS_LATENCY_H
#define KERNLENS_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/flame.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/stack.h>

KL_PUBLIC_BEGIN

/**
 * kl_session_latency - give a session a latency profile
 * @session: that has never been started
 * @params: flags, bounds (0: the defaults); its size is set by this function
 *
 * Returns a negative errno: EPERM (stacks of the kernel), EINVAL, EBUSY, ENOMEM.
 */
int kl_session_latency(struct kl_session *session, struct kl_abi_latency *params);

/**
 * struct kl_latency - a profile as it was when it was read; times in nanoseconds
 * @about: what could not be kept; since when it has run, until when
 * @task: by id
 * @entry: the longest first
 * @source: interrupts that have woken tasks
 */
struct kl_latency {
	struct kl_abi_latency_read about;
	struct kl_abi_latency_task *task;
	size_t n_tasks;
	struct kl_abi_latency_entry *entry;
	size_t n_entries;
	struct kl_abi_latency_source *source;
	size_t n_sources;
	struct kl_symbols *symbols;
};

/**
 * kl_latency_read - read a session's profile
 * @session: that has one
 * @clock_hz: kl_abi_info.clock_hz of the device
 *
 * Returns NULL with errno: ENODATA (it has none), ENOMEM. Free it with
 * kl_latency_destroy().
 */
struct kl_latency *kl_latency_read(struct kl_session *session, uint64_t clock_hz);

/**
 * kl_latency_destroy - free it
 * @latency: or NULL
 */
void kl_latency_destroy(struct kl_latency *latency);

/**
 * kl_latency_task - a task by its id
 * @latency: profile
 * @id: any
 *
 * Returns NULL if the module did not keep it.
 */
const struct kl_abi_latency_task *kl_latency_task(const struct kl_latency *latency, uint32_t id);

/**
 * kl_latency_state_name - "running", "interruptible" ...
 * @state: enum kl_latency_state
 */
const char *kl_latency_state_name(unsigned int state);

/* What kl_latency_reason() says of a kernel thread that has nothing to do. */
#define KL_LATENCY_NO_WORK "no work"

/**
 * kl_latency_reason - what a wait was for, by the functions in its trace; else by the
 *		       system call; else by its state
 * @stacks: traces of the session; or NULL
 * @schema: knows system calls
 * @entry: the wait
 *
 * Returns a short text as "futex", "disk", "pipe".
 */
const char *kl_latency_reason(const struct kl_stacks *stacks, const struct kl_schema *schema,
			      const struct kl_abi_latency_entry *entry);

/**
 * kl_latency_syscall - the system call that a wait was in
 * @schema: knows system calls
 * @entry: the wait
 *
 * Returns NULL if it was in none.
 */
const char *kl_latency_syscall(const struct kl_schema *schema,
			       const struct kl_abi_latency_entry *entry);

/**
 * kl_latency_print_hop - who woke: "sh/123", "timer hrtimer_wakeup", "irq 24 (eth0)"
 * @buffer: appended to
 * @latency: profile
 * @hop: of an entry
 */
void kl_latency_print_hop(struct kl_buffer *buffer, struct kl_latency *latency,
			  const struct kl_abi_latency_hop *hop);

/**
 * kl_latency_print_chain - all hops of a wait, the waker first, "?" behind an uncertain one
 * @buffer: appended to
 * @latency: profile
 * @entry: the wait
 */
void kl_latency_print_chain(struct kl_buffer *buffer, struct kl_latency *latency,
			    const struct kl_abi_latency_entry *entry);

/**
 * kl_latency_flame - all waits as a flame graph: process, program's functions, the
 *		      kernel's; time for a processor as "[runnable]"
 * @latency: profile
 * @stacks: traces of the session; or NULL
 * @schema: knows system calls
 * @idle: kernel threads with nothing to do, too
 *
 * Values are microseconds. Returns NULL with errno ENOMEM.
 */
struct kl_flame *kl_latency_flame(struct kl_latency *latency, const struct kl_stacks *stacks,
				  const struct kl_schema *schema, bool idle);

KL_PUBLIC_END

#endif /* KERNLENS_LATENCY_H */
