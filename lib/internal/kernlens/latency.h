/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The latency profile of a session: where the time of its tasks goes. The profile is read from
 * the module as a whole; functions here describe waits, and what ended them, as text.
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
#include <kernlens/schema.h>
#include <kernlens/stack.h>

/**
 * kl_session_latency - give a session a latency profile
 * @session: session that has never been started
 * @params: flags and maximum numbers (0: the defaults); the size is set by this function
 *
 * Returns 0 or a negative errno: -EPERM (kernel stacks require more rights), -EINVAL, -EBUSY,
 * -ENOMEM.
 */
int kl_session_latency(struct kl_session *session, struct kl_abi_latency *params);

/**
 * struct kl_latency - a profile at the time it was read; times in nanoseconds
 * @about: what was dropped, and when the profile began and ended
 * @task: tasks, sorted by id
 * @n_tasks: number of tasks
 * @entry: waits, longest total first
 * @n_entries: number of waits
 * @source: interrupts that have woken tasks
 * @n_sources: number of interrupts
 * @symbols: the kernel's symbols, used to name sources; NULL until they are needed
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
 * @session: session that has one
 * @clock_hz: kl_abi_info.clock_hz of the device
 *
 * Returns NULL with errno: ENODATA (the session has none), ENOMEM. Free it with
 * kl_latency_destroy(). May sleep.
 */
struct kl_latency *kl_latency_read(struct kl_session *session, uint64_t clock_hz);

/**
 * kl_latency_destroy - free a profile
 * @latency: or NULL
 */
void kl_latency_destroy(struct kl_latency *latency);

/**
 * kl_latency_task - a task by its id
 * @latency: profile
 * @id: any
 *
 * Returns NULL if the module no longer had it.
 */
const struct kl_abi_latency_task *kl_latency_task(const struct kl_latency *latency, uint32_t id);

/**
 * kl_latency_state_name - "running", "interruptible" ...
 * @state: enum kl_latency_state
 */
const char *kl_latency_state_name(unsigned int state);

/* What kl_latency_reason() returns for an idle kernel thread. */
#define KL_LATENCY_NO_WORK "no work"

/* The reason of waits of fsync() and fdatasync(). */
#define KL_LATENCY_FSYNC "fsync"

/**
 * kl_latency_reason_at - what a wait was for, from where it was
 * @schema: names system calls
 * @function: kernel function that waits, or NULL
 * @syscall: number of the system call; -1: none
 *
 * Returns a short text, or NULL if it is not known.
 */
const char *kl_latency_reason_at(const struct kl_schema *schema, const char *function,
				 int32_t syscall);

/**
 * kl_latency_reason - what a wait was for
 * @stacks: traces of the session; or NULL
 * @schema: names system calls
 * @entry: the wait
 *
 * Found from the functions in its stack trace, else from the system call, else from the state.
 * Returns a short text such as "futex", "disk", "pipe".
 */
const char *kl_latency_reason(const struct kl_stacks *stacks, const struct kl_schema *schema,
			      const struct kl_abi_latency_entry *entry);

/**
 * kl_latency_syscall - the system call that a wait was in
 * @schema: names system calls
 * @entry: the wait
 *
 * Returns NULL if it was in none.
 */
const char *kl_latency_syscall(const struct kl_schema *schema,
			       const struct kl_abi_latency_entry *entry);

/**
 * kl_latency_print_hop - print who woke a task: "sh/123", "timer hrtimer_wakeup", "irq 24 (eth0)"
 * @buffer: appended to
 * @latency: profile
 * @hop: of an entry
 */
void kl_latency_print_hop(struct kl_buffer *buffer, struct kl_latency *latency,
			  const struct kl_abi_latency_hop *hop);

/**
 * kl_latency_print_chain - print all hops of a wait, the waker first
 * @buffer: appended to; an uncertain hop is followed by "?"
 * @latency: profile
 * @entry: the wait
 */
void kl_latency_print_chain(struct kl_buffer *buffer, struct kl_latency *latency,
			    const struct kl_abi_latency_entry *entry);

/**
 * kl_latency_flame - all waits as a flame graph
 * @latency: profile
 * @stacks: traces of the session; or NULL
 * @schema: names system calls
 * @idle: include idle kernel threads
 *
 * Frames are the process, the functions of the program and those of the kernel; time spent
 * waiting for a CPU is "[runnable]". Values are microseconds. Returns NULL with errno ENOMEM;
 * free the result with kl_flame_destroy().
 */
struct kl_flame *kl_latency_flame(struct kl_latency *latency, const struct kl_stacks *stacks,
				  const struct kl_schema *schema, bool idle);

#endif /* KERNLENS_LATENCY_H */
