// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves a session's stack traces: the kernel's by /proc/kallsyms, those of programs by
 * stack_object.c, and those of code in no file by jit.c. Fed by KL_IOC_STACKS, feeds
 * format/stack.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include <kernlens/stack_store.h>
#include <kernlens/symbols.h>
#include "../base/base.h"
#include "callers.h"
#include "jit.h"
#include "modules.h"
#include "stack_object.h"
#include "unwind.h"

#define BUFFER_BYTES (256u << 10)

/**
 * struct unplaced - a trace none of whose files was known when it was fetched
 * @bytes: its size
 * @wait: how many calls of kl_stack_collect() lie between two tries
 * @due: the call that tries again
 */
struct unplaced {
	uint32_t id;
	uint32_t bytes;
	uint64_t wait;
	uint64_t due;
};

struct kl_stack_collector {
	struct kl_session *session;
	struct kl_stacks *stacks;
	uint32_t next; /* id of the first trace not fetched yet */
	uint32_t next_lines; /* id of the first trace that may lack lines */
	bool lines;
	struct kl_symbols *symbols;
	uint64_t modules; /* hash of the loaded modules when the symbols were read */
	struct kl_objects *objects;
	struct kl_jit *jit;
	struct kl_unwinder *unwinder;
	struct unplaced *unplaced;
	size_t n_unplaced, unplaced_room;
	uint64_t calls; /* of kl_stack_collect() */
	uint64_t wait; /* of a trace that is found to be unplaced */
	uint8_t *buffer;
};

struct kl_stack_collector *kl_stack_collector_create(struct kl_session *session,
						     struct kl_stacks *stacks)
{
	struct kl_stack_collector *c = calloc(1, sizeof(*c));

	if (c) {
		c->buffer = malloc(BUFFER_BYTES);
		c->objects = kl_objects_create(session);
		c->jit = kl_jit_create();
		c->unwinder = c->objects ? kl_unwinder_create(session, c->objects) : NULL;
	}
	if (!c || !c->buffer || !c->jit || !c->unwinder) {
		kl_stack_collector_destroy(c);
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	c->session = session;
	c->stacks = stacks;
	c->next = 1;
	c->next_lines = 1;
	return c;
}

void kl_stack_collector_destroy(struct kl_stack_collector *c)
{
	if (!c)
		return;
	kl_unwinder_destroy(c->unwinder);
	kl_objects_destroy(c->objects);
	kl_jit_destroy(c->jit);
	kl_symbols_close(c->symbols);
	free(c->unplaced);
	free(c->buffer);
	free(c);
}

pid_t kl_stack_collector_pid(const struct kl_stack_collector *c)
{
	return c ? kl_objects_pid(c->objects) : 0;
}

/* ---------------------------------------------------------- kernel frames */

/* Read the symbols again if modules were loaded or unloaded. */
static void look_at_symbols(struct kl_stack_collector *c)
{
	uint64_t modules = kl_modules_hash();

	if (c->symbols && c->modules == modules)
		return;
	kl_symbols_close(c->symbols);
	c->symbols = kl_symbols_open(NULL);
	c->modules = modules;
	kl_error_clear();
}

/*
 * A call may be a function's last instruction, so look up the byte before a return address: the
 * address itself may belong to the next function.
 */
static void name_kernel(struct kl_stack_collector *c, struct kl_frame *frame, bool exact)
{
	struct kl_symbol symbol;
	uint64_t offset;

	if (!c->symbols || kl_symbols_at(c->symbols, frame->address - !exact, &symbol, &offset)) {
		kl_error_clear();
		return;
	}
	frame->symbol = symbol.name;
	frame->offset = offset + !exact;
	frame->object = *symbol.module ? symbol.module : NULL;
}

/* ---------------------------------------------------------------- traces */

static int add_unplaced(struct kl_stack_collector *c, const struct unplaced *trace)
{
	struct unplaced *grown =
		kl_array_grow(c->unplaced, c->n_unplaced, &c->unplaced_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->unplaced = grown;
	grown[c->n_unplaced++] = *trace;
	return 0;
}

static int note_unplaced(struct kl_stack_collector *c, uint32_t id, size_t bytes)
{
	const struct unplaced trace = { id, (uint32_t)bytes, c->wait, c->calls + c->wait };

	return add_unplaced(c, &trace);
}

static unsigned int count_frames(const struct kl_abi_stack *about)
{
	return about->frames < KL_STACK_FRAMES_MAX ? about->frames : KL_STACK_FRAMES_MAX;
}

static bool is_exact(const struct kl_abi_stack *about, unsigned int frame)
{
	return !frame && about->flags & KL_STACK_EXACT;
}

static void name_kernel_frames(struct kl_stack_collector *c, const struct kl_abi_stack *about,
			       const uint8_t *at, struct kl_stack *stack)
{
	stack->n = count_frames(about);
	for (unsigned int i = 0; i < stack->n; i++) {
		stack->frame[i].address = kl_get64(at + 8 * i);
		name_kernel(c, &stack->frame[i], is_exact(about, i));
	}
}

static const struct kl_cfi_table *table_of(void *of, uint32_t number)
{
	struct kl_stack_collector *c = of;

	return kl_unwinder_table(c->unwinder, number);
}

/* Read a user trace, and finish it if its stack has been copied. Returns its size. */
static size_t read_user_trace(struct kl_stack_collector *c, const struct kl_abi_stack *about,
			      const uint8_t *at, struct kl_user_trace *trace)
{
	unsigned int n = count_frames(about);
	size_t bytes = 16ul * about->frames;

	trace->about = *about;
	trace->about.frames = (uint8_t)n;
	for (unsigned int i = 0; i < n; i++) {
		trace->address[i] = kl_get64(at + 8 * i);
		trace->place[i] = kl_get64(at + 8 * (about->frames + i));
	}
	if (!(about->flags & KL_STACK_COPY))
		return bytes;
	kl_callers_find(trace, at + bytes, table_of, c);
	return bytes + kl_copy_bytes(at + bytes);
}

/* Returns whether the file of any frame is known. */
static bool name_user_frames(struct kl_stack_collector *c, const struct kl_user_trace *trace,
			     struct kl_stack *stack)
{
	unsigned int n = trace->about.frames, room;
	bool placed = false;

	for (unsigned int i = 0; i < n; i++) {
		struct kl_frame *frame = &stack->frame[stack->n];
		uint64_t place = trace->place[i];

		placed |= place != 0;
		kl_unwinder_number(c->unwinder, (uint32_t)(place >> KL_STACK_PLACE_SHIFT));
		frame->address = trace->address[i];
		frame->uncertain = i >= trace->about.certain;
		/* Reserve one for each remaining frame. */
		room = KL_FRAMES_MAX - stack->n - (n - i - 1);
		stack->n += kl_objects_name(c->objects, frame, room, place,
					    is_exact(&trace->about, i), c->lines);
		/* Compiled code may also be in memory that is a file: a memfd, /dev/zero. */
		if (!frame->symbol)
			kl_jit_name(c->jit, trace->about.pid, frame, is_exact(&trace->about, i));
	}
	return placed;
}

/* Process one of the module's traces. Returns its size in @bytes. */
static int take_trace(struct kl_stack_collector *c, const uint8_t *at, size_t *bytes)
{
	struct kl_frame frames[KL_FRAMES_MAX] = {};
	struct kl_abi_stack about;
	struct kl_stack stack = { .frame = frames };
	struct kl_user_trace trace;
	bool placed;

	memcpy(&about, at, sizeof(about));
	stack.id = about.id;
	stack.kind = (enum kl_stack_kind)about.kind;
	stack.pid = about.pid;
	stack.flags = about.flags;
	at += sizeof(about);
	*bytes = sizeof(about) + 8ul * about.frames;
	if (about.kind != KL_STACK_USER) {
		/* Already resolved, and its modules may be unloaded by now. */
		if (about.id < c->next)
			return 0;
		name_kernel_frames(c, &about, at, &stack);
		return kl_stacks_add(c->stacks, &stack);
	}
	*bytes = sizeof(about) + read_user_trace(c, &about, at, &trace);
	stack.flags = trace.about.flags;
	placed = name_user_frames(c, &trace, &stack);
	if (!placed && note_unplaced(c, about.id, *bytes))
		return -ENOMEM;
	return kl_stacks_add(c->stacks, &stack);
}

/* Fetch the traces from @first on that fit in @room. Returns their number, and advances @first. */
static int fetch(struct kl_stack_collector *c, uint32_t *first, uint32_t room)
{
	struct kl_abi_stacks call = {
		.what = KL_STACKS_TRACES,
		.first = *first,
		.buffer = (uintptr_t)c->buffer,
		.bytes = room,
	};
	int ret = kl_session_stacks(c->session, &call);
	const uint8_t *at = c->buffer;

	if (ret)
		return ret;
	if (call.n)
		look_at_symbols(c);
	for (unsigned int i = 0; i < call.n; i++) {
		size_t bytes;

		ret = take_trace(c, at, &bytes);
		if (ret)
			return ret;
		at += bytes;
	}
	*first = call.first;
	kl_stacks_set_no_room(c->stacks, call.no_room);
	return (int)call.n;
}

/*
 * Retry files that were unknown because the program was changing its mappings. They may never be
 * known: the code is in no file, or the process has exited. So each wait is twice the last one; the
 * final call, which wants lines, tries all.
 */
static int fetch_unplaced(struct kl_stack_collector *c)
{
	struct unplaced *traces = c->unplaced;
	size_t n = c->n_unplaced;
	int ret = 0;

	c->unplaced = NULL;
	c->n_unplaced = 0;
	c->unplaced_room = 0;
	for (size_t i = 0; i < n && ret >= 0; i++) {
		uint32_t first = traces[i].id;

		if (!c->lines && traces[i].due > c->calls) {
			ret = add_unplaced(c, &traces[i]);
			continue;
		}
		c->wait = 2 * traces[i].wait;
		ret = fetch(c, &first, traces[i].bytes);
		if (!c->lines && traces[i].id < c->next_lines)
			c->next_lines = traces[i].id;
	}
	free(traces);
	return ret < 0 ? ret : 0;
}

int kl_stack_collect(struct kl_stack_collector *c, bool lines)
{
	uint32_t *next = lines ? &c->next_lines : &c->next;
	int ret, n = 0;

	c->lines = lines;
	c->calls++;
	kl_jit_update(c->jit);
	ret = fetch_unplaced(c);
	c->wait = 1;
	while (!ret) {
		ret = fetch(c, next, BUFFER_BYTES);
		if (ret <= 0)
			break;
		n += ret;
		ret = 0;
	}
	if (c->next < c->next_lines)
		c->next = c->next_lines;
	kl_unwinder_release(c->unwinder);
	return ret < 0 ? ret : n;
}

void kl_stack_collector_prepare(struct kl_stack_collector *c, pid_t pid, const char *program)
{
	kl_unwinder_vdso(c->unwinder);
	if (program)
		kl_unwinder_program(c->unwinder, program);
	if (pid)
		kl_unwinder_process(c->unwinder, pid);
}

bool kl_stack_collector_update(struct kl_stack_collector *c)
{
	return kl_unwinder_wanted(c->unwinder);
}
