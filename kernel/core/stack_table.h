/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session's stack traces, each stored once and identified by an id. Written by probes on all CPUs
 * in any context; read by KL_IOC_STACKS. Also compiles in user space for its tests. See
 * docs/design/stack.md.
 */
#ifndef KL_CORE_STACK_TABLE_H
#define KL_CORE_STACK_TABLE_H

#include "../../uapi/kernlens.h"
#include "../ring/platform.h"

enum kl_stack_state {
	KL_STACK_TAKEN = 0, /* being written */
	KL_STACK_READY = 1,
	KL_STACK_DROPPED = 2, /* given up: stored by another CPU first, or no free slot */
};

/**
 * struct kl_stack_trace - a trace to be stored
 * @about: all members except `id`
 * @frame: innermost first
 * @mixed: the table's seed and all frames, by kl_stack_mix()
 * @copy: with KL_STACK_COPY: index of the copy of the stack, which belongs to this trace only
 */
struct kl_stack_trace {
	struct kl_abi_stack about;
	const u64 *frame;
	u64 mixed;
	u32 copy;
};

/**
 * struct kl_stack_entry - a stored trace
 * @about: all members, with the trace's id
 * @hash: of the trace
 * @at: index of its first word in the arena; in a user trace, the frames are followed by their
 *      places, and by the index of the copy of the stack if there is one
 * @state: enum kl_stack_state
 * @placed: the places of its frames are known
 */
struct kl_stack_entry {
	struct kl_abi_stack about;
	u32 hash;
	u32 at;
	u32 state;
	u32 placed;
};

/**
 * struct kl_stack_table - all traces of a session
 * @position: entries taken << 32 | words taken
 * @no_room: number of traces not stored, because the table was full
 * @traces: number of entries
 * @words: size of the arena
 * @mask: number of slots, a power of two, minus one
 * @seed: initial value of hashes
 * @slot: hash table of hash << 32 | id
 * @entry: traces, by id minus one
 * @word: the arena, which stores frames and places
 */
struct kl_stack_table {
	u64 position;
	u64 no_room;
	u32 traces;
	u32 words;
	u32 mask;
	u32 seed;
	u64 *slot;
	struct kl_stack_entry *entry;
	u64 *word;
};

/*
 * Average number of words per trace that the arena has, and number of slots that a lookup probes.
 */
#define KL_STACK_WORDS_EACH 32u
#define KL_STACK_PROBES 32u

u32 kl_stack_insert(struct kl_stack_table *t, const struct kl_stack_trace *trace);
const struct kl_stack_entry *kl_stack_entry(struct kl_stack_table *t, u32 id);
u32 kl_stack_taken(struct kl_stack_table *t);

#define KL_STACK_MULTIPLIER 0x61C8864680B583EBull /* 2^64 divided by the golden ratio */

/* Adds a word to a hash. */
static __always_inline u64 kl_stack_mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * KL_STACK_MULTIPLIER;
	return hash ^ hash >> 32;
}

/* The member @mixed of a trace. */
static inline u64 kl_stack_mix_frames(const struct kl_stack_table *t, const u64 *frame, u32 n)
{
	u64 hash = t->seed;

	for (u32 i = 0; i < n; i++)
		hash = kl_stack_mix(hash, frame[i]);
	return hash;
}

/* Number of arena words that a trace takes. */
static __always_inline u32 kl_stack_words(const struct kl_abi_stack *about)
{
	return about->frames * (about->kind == KL_STACK_USER ? 2u : 1u) +
	       !!(about->flags & KL_STACK_COPY);
}

#endif /* KL_CORE_STACK_TABLE_H */
