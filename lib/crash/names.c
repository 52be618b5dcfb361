// SPDX-License-Identifier: GPL-2.0
/*
 * Writes what the IDs in a session's records stand for: its stack traces, and the paths of
 * cgroups. Names are those that its recorder had stored in the session. Traces that are newer have
 * those of the same frames in other traces, and functions of the kernel have names if this machine
 * runs the same one.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include <kernlens/id_names.h>
#include <kernlens/symbols.h>
#include "../base/base.h"
#include "../base/table.h"
#include "dump.h"

/*
 * A frame that has a name. @key: made of the rest. @pid: process of a user stack; 0: of a kernel
 * stack. @frame: in the stored traces.
 */
struct known {
	uint64_t key;
	uint64_t address;
	int32_t pid;
	const struct kl_frame *frame;
};

/*
 * @stored: by the recorder
 * @known: frames of these traces
 * @symbols: of this machine; NULL: it runs another kernel
 * @shift: from addresses here to those of the machine
 * @same_boot: it is this machine, running
 */
struct names {
	struct kl_id_names stored;
	struct kl_hash known;
	struct kl_symbols *symbols;
	uint64_t shift;
	bool same_boot;
};

/* ------------------------------------------------------- names */

static uint64_t key_of(int32_t pid, uint64_t address)
{
	return kl_crash_mix(address + 1, (uint32_t)pid) | 1;
}

static int32_t process_of(enum kl_stack_kind kind, int32_t pid)
{
	return kind == KL_STACK_USER ? pid : 0;
}

static int note_known(struct names *names, const struct kl_stack *stack)
{
	int32_t pid = process_of(stack->kind, stack->pid);

	for (unsigned int i = 0; i < stack->n; i++) {
		const struct kl_frame *frame = &stack->frame[i];
		struct known *known;

		/* Inlined functions share their address with the one that they are part of. */
		if (!frame->symbol || frame->inlined)
			continue;
		known = kl_hash_get(&names->known, key_of(pid, frame->address));
		if (!known)
			return -ENOMEM;
		known->address = frame->address;
		known->pid = pid;
		known->frame = frame;
	}
	return 0;
}

static int open_stored(const struct kl_dump *dump, struct kl_dump_parts *parts, struct names *names)
{
	const struct kl_dump_bytes *bytes = &parts->region[KL_CRASH_NAMES];
	const struct kl_stack *stack;
	int ret = 0;

	names->known.size = sizeof(struct known);
	if (!bytes->bytes)
		return 0;
	ret = kl_id_names_parse(bytes->bytes, bytes->length, &names->stored);
	if (ret == -EINVAL) {
		parts->damaged++;
		kl_dump_damaged(dump, "the names that the session has cannot be used: %s",
				kl_error_text());
		return 0;
	}
	for (uint32_t id = 1; names->stored.stacks && !ret && id <= KL_STACK_TRACES_MAX; id++) {
		stack = kl_stacks_get(names->stored.stacks, id);
		if (stack)
			ret = note_known(names, stack);
	}
	return ret;
}

/* This machine's symbols name the other's functions if both run the same kernel. */
static void open_symbols(const struct kl_dump_load *load, struct names *names)
{
	struct kl_trace_info here;
	struct kl_symbol symbol;

	kl_trace_info_init(&here);
	if (!load->anchor.text_address || strcmp(here.kernel_release, load->machine.release) ||
	    strcmp(here.kernel_version, load->machine.version))
		return;
	names->symbols = kl_symbols_open(NULL);
	if (!names->symbols || kl_symbols_hidden(names->symbols) ||
	    !kl_symbols_lookup(names->symbols, "kernel:" KL_CRASH_SYMBOL, &symbol)) {
		kl_symbols_close(names->symbols);
		names->symbols = NULL;
		return;
	}
	names->shift = load->anchor.text_address - symbol.address;
	names->same_boot = here.boot_id[0] && !strcmp(here.boot_id, load->machine.boot_id);
}

static void close_names(struct names *names)
{
	kl_symbols_close(names->symbols);
	kl_hash_deinit(&names->known);
	kl_stacks_destroy(names->stored.stacks);
	kl_cgroups_destroy(names->stored.cgroups);
}

static bool name_by_known(const struct names *names, int32_t pid, struct kl_frame *frame)
{
	const struct known *known = kl_hash_find(&names->known, key_of(pid, frame->address));

	if (!known || known->address != frame->address || known->pid != pid)
		return false;
	frame->symbol = known->frame->symbol;
	frame->offset = known->frame->offset;
	frame->object = known->frame->object;
	frame->build_id = known->frame->build_id;
	frame->place = known->frame->place;
	return true;
}

/* In another boot, modules are elsewhere: only the kernel's own functions have names then. */
static void name_by_symbols(const struct names *names, struct kl_frame *frame, bool exact)
{
	struct kl_symbol symbol;
	uint64_t offset, address = frame->address - names->shift - !exact;

	if (!names->symbols || kl_symbols_around(names->symbols, address, &symbol, &offset) ||
	    (*symbol.module && !names->same_boot))
		return;
	frame->symbol = symbol.name;
	frame->object = *symbol.module ? symbol.module : NULL;
	frame->offset = offset + !exact;
}

/* ------------------------------------------------------- stack traces */

/* The recorder may have found more frames than the module, but the first is the same. */
static const struct kl_stack *stored_stack(const struct names *names,
					   const struct kl_crash_stack *entry, uint64_t first)
{
	const struct kl_stack *stack = kl_stacks_get(names->stored.stacks, entry->about.id);
	bool same = stack && stack->kind == entry->about.kind && stack->pid == entry->about.pid &&
		    stack->frame[0].address == first;

	return same ? stack : NULL;
}

static int add_stack(struct kl_stacks *stacks, const struct names *names,
		     const struct kl_crash_stack *entry, const uint8_t *words, size_t n_words)
{
	struct kl_frame frame[KL_STACK_FRAMES_MAX] = {};
	struct kl_stack stack = {
		.id = entry->about.id,
		.kind = entry->about.kind,
		.flags = entry->about.flags,
		.pid = entry->about.pid,
		.n = entry->about.frames,
		.frame = frame,
	};
	const struct kl_stack *stored;

	if (stack.kind != KL_STACK_KERNEL && stack.kind != KL_STACK_USER)
		return -EBADMSG;
	if (!stack.n || stack.n > KL_STACK_FRAMES_MAX || entry->at > n_words ||
	    stack.n > n_words - entry->at)
		return -EBADMSG;
	words += 8 * (size_t)entry->at;
	stored = stored_stack(names, entry, kl_get64(words));
	if (stored)
		return kl_stacks_add(stacks, stored);
	for (unsigned int i = 0; i < stack.n; i++) {
		bool exact = !i && stack.flags & KL_STACK_EXACT;

		frame[i].address = kl_get64(words + 8 * i);
		frame[i].uncertain = i >= entry->about.certain;
		if (!name_by_known(names, process_of(stack.kind, stack.pid), &frame[i]) &&
		    stack.kind == KL_STACK_KERNEL)
			name_by_symbols(names, &frame[i], exact);
	}
	return kl_stacks_add(stacks, &stack);
}

static int add_stacks(const struct kl_dump *dump, const struct names *names,
		      struct kl_dump_parts *parts, struct kl_stacks *stacks)
{
	const struct kl_dump_bytes *entries = &parts->region[KL_CRASH_STACKS];
	const struct kl_dump_bytes *words = &parts->region[KL_CRASH_STACK_WORDS];
	size_t damaged = 0;
	int ret = 0;

	for (size_t i = 0; i < entries->length / sizeof(struct kl_crash_stack) && !ret; i++) {
		struct kl_crash_stack entry;

		memcpy(&entry, entries->bytes + i * sizeof(entry), sizeof(entry));
		if (entry.state != KL_CRASH_STACK_READY)
			continue;
		ret = entry.about.id == i + 1 ?
			      add_stack(stacks, names, &entry, (const uint8_t *)words->bytes,
					words->length / 8) :
			      -EBADMSG;
		damaged += ret == -EBADMSG || ret == -EINVAL;
		ret = ret == -ENOMEM ? ret : 0;
	}
	if (damaged) {
		parts->damaged += damaged;
		kl_dump_damaged(dump, "%zu stack traces are damaged", damaged);
	}
	return ret;
}

static int save_stacks(const struct kl_dump *dump, const struct names *names,
		       struct kl_dump_parts *parts, const char *path)
{
	struct kl_stacks *stacks;
	int ret;

	if (!parts->region[KL_CRASH_STACKS].bytes || !parts->region[KL_CRASH_STACK_WORDS].bytes)
		return 0;
	stacks = kl_stacks_create();
	if (!stacks)
		return -errno;
	ret = add_stacks(dump, names, parts, stacks);
	if (!ret)
		ret = kl_stacks_save(stacks, path);
	kl_stacks_destroy(stacks);
	return ret;
}

int kl_dump_save_names(const struct kl_dump *dump, const struct kl_dump_load *load,
		       struct kl_dump_parts *parts, const char *path)
{
	struct names names = {};
	int ret = open_stored(dump, parts, &names);

	if (!ret) {
		open_symbols(load, &names);
		ret = save_stacks(dump, &names, parts, path);
	}
	if (!ret && names.stored.cgroups)
		ret = kl_cgroups_save(names.stored.cgroups, path);
	close_names(&names);
	if (!ret)
		kl_error_clear();
	return ret;
}
