/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call traces: what the ids stand for that the variables `kstack` and `ustack` have.
 * A collector gets them from a session and finds names; a trace directory keeps them
 * (docs/format/trace.md); printing finds them through the schema.
 */
#ifndef KERNLENS_STACK_H
#define KERNLENS_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <kernlens/abi.h>
#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/* Where a trace directory has its traces; in a folder, which readers of CTF leave alone. */
#define KL_STACKS_FOLDER KL_TRACE_FOLDER
#define KL_STACKS_FILE "kernlens/stacks"

/* The most frames of a trace: functions that were inlined count, too. */
#define KL_FRAMES_MAX (4 * KL_STACK_FRAMES_MAX)

/**
 * struct kl_frame - a step of a call trace
 * @address: where a call returns to; of the first frame of an exact trace, where it was
 * @symbol: the function, as its linker calls it; NULL if it is not known
 * @name: as its programmer does, if that is something else and wanted; else NULL
 * @offset: bytes from the function's beginning to @address; 0 if it is inlined
 * @object: the kernel module, or the program's or library's path; NULL: the kernel
 *          itself, or not known
 * @build_id: of a program or library, in hexadecimal; NULL if it is not known
 * @place: offset in the file of a program or library
 * @source: file of the program's source; NULL if it is not known
 * @line: in it, 0 if it is not known
 * @inlined: the function is part of that of the next frame, whose address it has
 */
struct kl_frame {
	uint64_t address;
	const char *symbol;
	const char *name;
	uint64_t offset;
	const char *object;
	const char *build_id;
	uint64_t place;
	const char *source;
	uint32_t line;
	bool inlined;
};

/**
 * struct kl_stack - a call trace
 * @id: from 1
 * @kind: of the kernel or of a program
 * @flags: KL_STACK_CUT, KL_STACK_EXACT
 * @pid: the program's process
 * @n: number of frames
 * @frame: innermost first
 */
struct kl_stack {
	uint32_t id;
	enum kl_stack_kind kind;
	unsigned int flags;
	int32_t pid;
	unsigned int n;
	struct kl_frame *frame;
};

struct kl_stacks;

/**
 * kl_stacks_create - no traces yet
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_stacks *kl_stacks_create(void);

/**
 * kl_stacks_destroy - free them
 * @stacks: or NULL
 */
void kl_stacks_destroy(struct kl_stacks *stacks);

/**
 * kl_stacks_add - one more, or another with the same id
 * @stacks: changed
 * @stack: copied, with its frames and their texts; their `name` is found, not taken
 *
 * Returns -EINVAL (id, number of frames) or -ENOMEM.
 */
int kl_stacks_add(struct kl_stacks *stacks, const struct kl_stack *stack);

/**
 * kl_stacks_demangle - whether frames have names as in C++ and Rust; they do at first
 * @stacks: all in it are changed, and those that come
 * @wanted: or symbols as they are
 */
void kl_stacks_demangle(struct kl_stacks *stacks, bool wanted);

/**
 * kl_stacks_get - a trace by its id
 * @stacks: or NULL: there are none
 * @id: any
 *
 * Returns NULL if there is none.
 */
const struct kl_stack *kl_stacks_get(const struct kl_stacks *stacks, uint64_t id);

/**
 * kl_stacks_count - how many there are
 * @stacks: stacks
 */
size_t kl_stacks_count(const struct kl_stacks *stacks);

/**
 * kl_stacks_no_room - how often the module had no room for a trace
 * @stacks: stacks
 */
uint64_t kl_stacks_no_room(const struct kl_stacks *stacks);

/**
 * kl_stacks_set_no_room - say so
 * @stacks: changed
 * @number: how often
 */
void kl_stacks_set_no_room(struct kl_stacks *stacks, uint64_t number);

/**
 * kl_stacks_write - as text, for a trace directory
 * @stacks: stacks
 * @buffer: appended to
 */
void kl_stacks_write(const struct kl_stacks *stacks, struct kl_buffer *buffer);

/**
 * kl_stacks_parse - what kl_stacks_write() wrote
 * @text: any bytes
 * @bytes: of them
 *
 * Returns NULL with errno EINVAL (with the line's number in the error text) or ENOMEM.
 */
struct kl_stacks *kl_stacks_parse(const char *text, size_t bytes);

/**
 * kl_stacks_load - the traces of a trace directory
 * @path: of the directory
 *
 * Returns NULL with errno ENOENT if it has none, or as kl_stacks_parse().
 */
struct kl_stacks *kl_stacks_load(const char *path);

/**
 * kl_stacks_save - put them into a trace directory
 * @stacks: stacks
 * @path: of the directory; what is there already is replaced at once
 *
 * Returns what the system said.
 */
int kl_stacks_save(const struct kl_stacks *stacks, const char *path);

/**
 * kl_schema_set_stacks - print traces where events have their ids
 * @schema: schema
 * @stacks: must outlive its use; NULL: none
 */
void kl_schema_set_stacks(struct kl_schema *schema, const struct kl_stacks *stacks);

/**
 * kl_print_frame - "function+0x12 (object) file:line", or what is known of it
 * @buffer: appended to
 * @frame: frame
 */
void kl_print_frame(struct kl_buffer *buffer, const struct kl_frame *frame);

/**
 * kl_print_stack - a trace, a line a frame
 * @buffer: appended to; nothing if there is no such trace
 * @stacks: or NULL
 * @id: from an event or a table
 * @indent: blanks before each line
 */
void kl_print_stack(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id,
		    unsigned int indent);

/**
 * kl_print_stack_json - a trace as an array of frames
 * @buffer: appended to
 * @stacks: or NULL
 * @id: from an event or a table; null is written if there is no such trace
 */
void kl_print_stack_json(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id);

struct kl_stack_collector;

/**
 * kl_stack_collector_create - get a session's traces, with names
 * @session: must outlive it
 * @stacks: gets them; must outlive it
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_stack_collector *kl_stack_collector_create(struct kl_session *session,
						     struct kl_stacks *stacks);

/**
 * kl_stack_collector_destroy - free it
 * @collector: or NULL
 */
void kl_stack_collector_destroy(struct kl_stack_collector *collector);

/**
 * kl_stack_collect - get what is new
 * @collector: collector
 * @lines: also lines of the source and inlined functions, of all that were got without them,
 *         too. That may take seconds for a program with much debug information
 *
 * Reads the kernel's symbols and, in a process of its own, the programs' files as they are
 * needed. A name that cannot be found is no error. Returns how many traces came, or a
 * negative errno.
 */
int kl_stack_collect(struct kl_stack_collector *collector, bool lines);

/**
 * kl_stack_collector_pid - the process that reads files for it now; 0: none
 * @collector: or NULL
 *
 * Whoever shows all processes may want to leave it out.
 */
pid_t kl_stack_collector_pid(const struct kl_stack_collector *collector);

/**
 * kl_session_stacks - KL_IOC_STACKS
 * @session: session
 * @call: filled in but for `size`
 *
 * Returns a negative errno on failure.
 */
int kl_session_stacks(struct kl_session *session, struct kl_abi_stacks *call);

KL_PUBLIC_END

#endif /* KERNLENS_STACK_H */
