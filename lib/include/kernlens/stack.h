/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stack traces, which the variables `kstack` and `ustack` refer to by id. A collector fetches
 * them from a session and resolves symbols; a trace directory stores them (docs/format/trace.md);
 * the print functions look them up through the schema.
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

/* Where a trace directory stores its stack traces: in a folder, which CTF readers ignore. */
#define KL_STACKS_FOLDER KL_TRACE_FOLDER
#define KL_STACKS_FILE ".kernlens/stacks"

/* Maximum number of frames of a trace, including inlined functions. */
#define KL_FRAMES_MAX (4 * KL_STACK_FRAMES_MAX)

/**
 * struct kl_frame - a frame of a stack trace
 * @address: return address; in the first frame of an exact trace, the address of the instruction
 *           itself
 * @symbol: the function's symbol as in the symbol table; NULL if unknown
 * @name: the demangled name if it differs from @symbol and was requested; else NULL
 * @offset: bytes from the start of the function to @address; 0 if inlined, or if neither the
 *          function nor its start is known
 * @object: the kernel module, or the path of the program or library; NULL: the kernel itself, or
 *          unknown
 * @build_id: of the program or library, in hexadecimal; NULL if unknown
 * @place: offset in the file of the program or library, in bytes
 * @source: source file; NULL if unknown
 * @line: line in @source; 0 if unknown
 * @inlined: the function is inlined into that of the next frame, which has the same address
 * @uncertain: found by frame pointers, which the program may not have
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
	bool uncertain;
};

/**
 * struct kl_stack - a stack trace
 * @id: from 1
 * @kind: kernel or user stack
 * @flags: KL_STACK_CUT, KL_STACK_EXACT, and the kl_stack_doubt from KL_STACK_DOUBT_SHIFT on
 * @pid: process of a user stack
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
 * kl_stacks_create - create an empty set
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_stacks *kl_stacks_create(void);

/**
 * kl_stacks_destroy - free a set
 * @stacks: or NULL
 */
void kl_stacks_destroy(struct kl_stacks *stacks);

/**
 * kl_stacks_demangle - set whether C++ and Rust symbols are demangled (default: yes)
 * @stacks: applies to the traces in it and to those added later
 * @wanted: demangle; else frames only have their symbols
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
 * kl_stacks_count - number of traces
 * @stacks: stacks
 */
size_t kl_stacks_count(const struct kl_stacks *stacks);

/**
 * kl_stacks_no_room - number of traces that the module dropped because its table was full
 * @stacks: stacks
 */
uint64_t kl_stacks_no_room(const struct kl_stacks *stacks);

/**
 * kl_stacks_save - store the traces in a trace directory
 * @stacks: stacks
 * @path: of the directory; an existing file is replaced atomically
 *
 * Returns 0 or a negative errno with an error text.
 */
int kl_stacks_save(const struct kl_stacks *stacks, const char *path);

/**
 * kl_schema_set_stacks - print stack traces for their ids in events
 * @schema: schema
 * @stacks: must stay valid while the schema uses it; NULL: none
 */
void kl_schema_set_stacks(struct kl_schema *schema, const struct kl_stacks *stacks);

/**
 * kl_print_frame - print "function+0x12 (object) file:line", or as much as is known
 * @buffer: appended to
 * @frame: frame
 */
void kl_print_frame(struct kl_buffer *buffer, const struct kl_frame *frame);

/**
 * kl_print_stack - print a trace, one frame per line
 * @buffer: appended to, unless there is no such trace
 * @stacks: or NULL
 * @id: from an event or a table
 * @indent: number of blanks before each line
 */
void kl_print_stack(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id,
		    unsigned int indent);

/**
 * kl_print_stack_json - print a trace as an array of frames
 * @buffer: appended to
 * @stacks: or NULL
 * @id: from an event or a table; prints null if there is no such trace
 */
void kl_print_stack_json(struct kl_buffer *buffer, const struct kl_stacks *stacks, uint64_t id);

/**
 * kl_stack_doubt_text - why a user stack trace is uncertain or incomplete, in words
 * @stack: stack
 *
 * Returns NULL if it is certain and reaches the outermost frame, or where it was truncated.
 */
const char *kl_stack_doubt_text(const struct kl_stack *stack);

struct kl_stack_collector;

/**
 * kl_stack_collector_create - prepare to fetch a session's traces and resolve their symbols
 * @session: must outlive the collector
 * @stacks: receives the traces; must outlive the collector
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_stack_collector *kl_stack_collector_create(struct kl_session *session,
						     struct kl_stacks *stacks);

/**
 * kl_stack_collector_destroy - free a collector
 * @collector: or NULL
 */
void kl_stack_collector_destroy(struct kl_stack_collector *collector);

/**
 * kl_stack_collect - fetch the traces that are new
 * @collector: collector
 * @lines: also find source lines and inlined functions, including those of traces that were
 *         fetched without them; may take seconds for a program with much debug information
 *
 * Reads the kernel's symbols, and in a separate process the files of programs, as needed. An
 * unresolved symbol is not an error. Returns the number of traces fetched, or a negative errno.
 * May sleep.
 */
int kl_stack_collect(struct kl_stack_collector *collector, bool lines);

/**
 * kl_stack_collector_prepare - load unwind tables before the session starts
 * @collector: of a session that the caller has created
 * @pid: load those of the files that this process has mapped; 0: of none
 * @program: path of a program that will be executed: load those of it and of its libraries; or NULL
 *
 * The module copies the stacks of the first traces of other files, until
 * kl_stack_collector_update() has found them. A file without unwind information is not an error.
 * May sleep.
 */
void kl_stack_collector_prepare(struct kl_stack_collector *collector, pid_t pid,
				const char *program);

/**
 * kl_stack_collector_update - load unwind tables of files that have turned up in traces
 * @collector: of a session that the caller has created
 *
 * To be called often while the session runs, in particular at its beginning. Returns whether files
 * were new. May sleep.
 */
bool kl_stack_collector_update(struct kl_stack_collector *collector);

KL_PUBLIC_END

#endif /* KERNLENS_STACK_H */
