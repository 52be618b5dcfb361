// SPDX-License-Identifier: GPL-2.0
/*
 * Stores each distinct stack trace once, without locks, waiting or allocation: a slot goes from
 * free to used and stays used. A and B are the barriers of docs/design/stack.md.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <stddef.h>
#include <string.h>
#endif

#include "stack_table.h"

#define AT(member) offsetof(struct kl_abi_stack, member)
_Static_assert(AT(frames) == 4 && AT(flags) == 7, "shape_of");
_Static_assert(AT(pid) == 8 && AT(exec) == 12, "program_of");

/* The members frames, certain, kind and flags in one number, and pid and exec. */
static __always_inline u32 shape_of(const struct kl_abi_stack *about)
{
	u32 shape;

	memcpy(&shape, (const u8 *)about + AT(frames), sizeof(shape));
	return shape;
}

static __always_inline u64 program_of(const struct kl_abi_stack *about)
{
	u64 program;

	memcpy(&program, (const u8 *)about + AT(pid), sizeof(program));
	return program;
}

static __always_inline u32 hash_of(const struct kl_stack_trace *trace)
{
	const struct kl_abi_stack *about = &trace->about;
	u64 hash = kl_stack_mix(trace->mixed, shape_of(about));

	hash = kl_stack_mix(hash, program_of(about));
	hash = kl_stack_mix(hash, about->start_ns);
	if (about->flags & KL_STACK_COPY)
		hash = kl_stack_mix(hash, trace->copy);
	return hash >> 32;
}

/* Without a call, as memcmp() is one. */
static __always_inline bool are_same(const u64 *a, const u64 *b, u32 n)
{
	for (const u64 *end = a + n; a < end; a++, b++)
		if (*a != *b)
			return false;
	return true;
}

/* A caller that loaded the slot's value with acquire may read the entry (A). */
static __always_inline bool is_same(const struct kl_stack_table *t, u32 id,
				    const struct kl_stack_trace *trace)
{
	const struct kl_stack_entry *entry = &t->entry[id - 1];
	const struct kl_abi_stack *a = &entry->about, *b = &trace->about;

	return shape_of(a) == shape_of(b) && program_of(a) == program_of(b) &&
	       a->start_ns == b->start_ns && !(a->flags & KL_STACK_COPY) &&
	       are_same(&t->word[entry->at], trace->frame, b->frames);
}

/* Reserve an entry and its words in one exchange, so that one exchange can also give them back. */
static bool take(struct kl_stack_table *t, const struct kl_stack_trace *trace, u64 *before)
{
	u32 words = kl_stack_words(&trace->about);

	*before = kl_load(t->position);
	do {
		if (*before >> 32 >= t->traces || words > t->words - (u32)*before)
			return false;
	} while (!kl_try_cmpxchg_full(t->position, before, *before + (1ull << 32) + words));
	return true;
}

static void give_back(struct kl_stack_table *t, const struct kl_stack_trace *trace, u64 before)
{
	u64 taken = before + (1ull << 32) + kl_stack_words(&trace->about);

	if (!kl_try_cmpxchg_full(t->position, &taken, before))
		kl_store_release(t->entry[before >> 32].state, KL_STACK_DROPPED);
}

static void fill(struct kl_stack_table *t, const struct kl_stack_trace *trace, u32 hash, u64 before)
{
	struct kl_stack_entry *entry = &t->entry[before >> 32];
	u32 frames = trace->about.frames;

	entry->about = trace->about;
	entry->about.id = (u32)(before >> 32) + 1;
	entry->hash = hash;
	entry->at = (u32)before;
	memcpy(&t->word[entry->at], trace->frame, frames * sizeof(u64));
	if (trace->about.kind == KL_STACK_USER)
		memset(&t->word[entry->at + frames], 0, frames * sizeof(u64));
	if (trace->about.flags & KL_STACK_COPY)
		t->word[entry->at + 2 * frames] = trace->copy;
}

static u32 count_no_room(struct kl_stack_table *t)
{
	u64 number = kl_load(t->no_room);

	while (!kl_try_cmpxchg_full(t->no_room, &number, number + 1))
		;
	return KL_STACK_NO_ROOM;
}

/**
 * kl_stack_insert - store a trace, or find it if it is already stored
 * @t: the table
 * @trace: a trace of at least one frame
 *
 * Returns the trace's id, or KL_STACK_NO_ROOM if the table is full, which is counted. Context: any.
 */
u32 kl_stack_insert(struct kl_stack_table *t, const struct kl_stack_trace *trace)
{
	u32 hash = hash_of(trace), id;
	bool taken = false;
	u64 before = 0;

	for (u32 probe = 0; probe < KL_STACK_PROBES; probe++) {
		u64 *slot = &t->slot[(hash + probe) & t->mask];
		u64 found = kl_load_acquire(*slot), mine;

		if (!found) {
			if (!taken) {
				if (!take(t, trace, &before))
					return count_no_room(t);
				fill(t, trace, hash, before);
				taken = true;
			}
			id = (u32)(before >> 32) + 1;
			mine = (u64)hash << 32 | id;
			if (kl_try_cmpxchg_full(*slot, &found, mine)) {
				kl_store_release(t->entry[id - 1].state, KL_STACK_READY);
				return id;
			}
			found = kl_load_acquire(*slot);
		}
		id = (u32)found;
		if (found >> 32 == hash && is_same(t, id, trace)) {
			if (taken)
				give_back(t, trace, before);
			return id;
		}
	}
	if (taken)
		give_back(t, trace, before);
	return count_no_room(t);
}

/**
 * kl_stack_taken - number of ids that are in use or about to be
 * @t: the table
 *
 * The ids are 1 to this number.
 */
u32 kl_stack_taken(struct kl_stack_table *t)
{
	return kl_load(t->position) >> 32;
}

/**
 * kl_stack_entry - find a trace by its id
 * @t: the table
 * @id: any number
 *
 * Returns NULL if there is no such trace or it is still being written.
 */
const struct kl_stack_entry *kl_stack_entry(struct kl_stack_table *t, u32 id)
{
	if (!id || id > kl_stack_taken(t) || id > t->traces)
		return NULL;
	/* The state before the entry and its words (B). */
	if (kl_load_acquire(t->entry[id - 1].state) == KL_STACK_TAKEN)
		return NULL;
	return &t->entry[id - 1];
}
