/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prints the system calls, signals and exits of a sequence of items as strace(1) does: with the
 * events strace_*, also what the arguments of calls point to.
 */
#ifndef KERNLENS_STRACE_H
#define KERNLENS_STRACE_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/public.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

struct kl_strace;

#define KL_STRACE_TIMES 0x1u /* begin lines with the time of entry: [seconds.nanoseconds] */
#define KL_STRACE_RELATIVE 0x2u /* that time relative to the start of the trace, not to 1970 */

/**
 * kl_strace_create - create a formatter that prints system calls as strace(1) does
 * @flags: KL_STRACE_*
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_strace *kl_strace_create(unsigned int flags);

/**
 * kl_strace_destroy - free
 * @strace: or NULL
 */
void kl_strace_destroy(struct kl_strace *strace);

/**
 * kl_strace_add - add an item
 * @strace: strace
 * @buffer: completed lines are appended: a call when it has returned, or "<unfinished ...>" when
 *          another task's call comes in between
 * @item: any; only system calls, the events strace_* and losses have an effect
 *
 * Returns 0 or -ENOMEM.
 */
int kl_strace_add(struct kl_strace *strace, struct kl_buffer *buffer, const struct kl_item *item);

/**
 * kl_strace_lacks_memory - are there calls, but no events strace_*?
 * @strace: strace
 *
 * Structures and buffers are then printed as addresses, and signals and exits are missing.
 */
bool kl_strace_lacks_memory(const struct kl_strace *strace);

/**
 * kl_strace_finish - print the calls that have not returned at the end of the trace
 * @strace: strace
 * @buffer: appended to
 */
void kl_strace_finish(struct kl_strace *strace, struct kl_buffer *buffer);

KL_PUBLIC_END

#endif /* KERNLENS_STRACE_H */
