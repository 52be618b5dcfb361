/* SPDX-License-Identifier: GPL-2.0 */
/* Fills sets of stack traces: from a session, from a trace directory, and from text. */
#ifndef KERNLENS_STACK_STORE_H
#define KERNLENS_STACK_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/abi.h>
#include <kernlens/stack.h>

/**
 * kl_stacks_add - add a trace, or replace the one with the same id
 * @stacks: changed
 * @stack: copied, including its frames and their strings; `name` is not copied but derived from
 *         `symbol`
 *
 * Returns 0, -EINVAL (invalid id or number of frames) or -ENOMEM.
 */
int kl_stacks_add(struct kl_stacks *stacks, const struct kl_stack *stack);

/**
 * kl_stacks_set_no_room - set the result of kl_stacks_no_room()
 * @stacks: changed
 * @number: number of dropped traces
 */
void kl_stacks_set_no_room(struct kl_stacks *stacks, uint64_t number);

/**
 * kl_stacks_write - format traces as text for a trace directory
 * @stacks: stacks
 * @buffer: appended to
 */
void kl_stacks_write(const struct kl_stacks *stacks, struct kl_buffer *buffer);

/**
 * kl_stacks_parse - parse the output of kl_stacks_write()
 * @text: any bytes
 * @bytes: size of @text
 *
 * Returns NULL with errno EINVAL (the error text contains the line number) or ENOMEM.
 */
struct kl_stacks *kl_stacks_parse(const char *text, size_t bytes);

/**
 * kl_frame_label - a name for a frame's function, also if it has no symbol
 * @frame: frame
 * @text: where a name is made if there is none
 * @bytes: size of @text
 *
 * Returns the demangled name or symbol, or @text: "[FILE+PLACE]", where the function starts in the
 * file, or where the frame is if that is unknown; "[FILE]" or "[unknown]" if the place is.
 */
const char *kl_frame_label(const struct kl_frame *frame, char *text, size_t bytes);

/**
 * kl_frame_is_tracing - is a frame part of tracing, not of what is traced?
 * @frame: of a kernel stack
 */
bool kl_frame_is_tracing(const struct kl_frame *frame);

/**
 * kl_schema_stacks - what kl_schema_set_stacks() has set
 * @schema: schema
 *
 * Returns NULL if there is none.
 */
const struct kl_stacks *kl_schema_stacks(const struct kl_schema *schema);

/**
 * kl_stack_collector_pid - pid of the process that reads files for the collector
 * @collector: or NULL
 *
 * Lets a caller that lists all processes leave this one out. Returns 0 if there is none.
 */
pid_t kl_stack_collector_pid(const struct kl_stack_collector *collector);

/**
 * kl_session_stacks - issue KL_IOC_STACKS
 * @session: session
 * @call: filled in by the caller except for `size`
 *
 * Returns 0 or a negative errno.
 */
int kl_session_stacks(struct kl_session *session, struct kl_abi_stacks *call);

/**
 * kl_session_unwind - issue KL_IOC_UNWIND
 * @session: session
 * @call: filled in by the caller except for `size`
 *
 * Returns 0 or a negative errno.
 */
int kl_session_unwind(struct kl_session *session, struct kl_abi_unwind *call);

#endif /* KERNLENS_STACK_STORE_H */
