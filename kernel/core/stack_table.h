/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session's call traces, each once, by id. Written by probes of all CPUs in any
 * context; read by KL_IOC_STACKS. Also compiles in user space for its tests. See
 * docs/design/stack.md.
 */
#ifndef KL_CORE_STACK_TABLE_H
#define KL_CORE_STACK_TABLE_H

#include "../../uapi/kernlens.h"
#include "../ring/platform.h"

enum kl_stack_state {
	KL_STACK_TAKEN = 0, /* is being written */
	KL_STACK_READY = 1,
	KL_STACK_DROPPED = 2, /* another was faster */
};

/**
 * struct kl_stack_trace - a trace to be stored
 * @about: all but `id`
 * @frame: innermost first
 */
struct kl_stack_trace {
	struct kl_abi_stack about;
	const u64 *frame;
};

/**
 * struct kl_stack_entry - one that is
 * @about: with its id
 * @hash: of it
 * @at: its first word of the arena; of a user trace places follow the frames
 * @state: enum kl_stack_state
 * @placed: the places are known
 */
struct kl_stack_entry {
	struct kl_abi_stack about;
	u32 hash;
	u32 at;
	u32 state;
	u32 placed;
};

/**
 * struct kl_stack_table - all of a session
 * @position: entries taken << 32 | words taken
 * @no_room: traces that were not stored
 * @traces: entries that there are
 * @words: of the arena
 * @mask: slots, a power of two, less one
 * @seed: what hashes begin with
 * @slot: hash << 32 | id
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

/* How much memory is needed for so many traces. */
#define KL_STACK_WORDS_EACH 32u
#define KL_STACK_PROBES 32u

u32 kl_stack_insert(struct kl_stack_table *t, const struct kl_stack_trace *trace);
const struct kl_stack_entry *kl_stack_entry(struct kl_stack_table *t, u32 id);
u32 kl_stack_taken(struct kl_stack_table *t);

/* Words of the arena that a trace takes. */
static __always_inline u32 kl_stack_words(const struct kl_abi_stack *about)
{
	return about->frames * (about->kind == KL_STACK_USER ? 2u : 1u);
}

#endif /* KL_CORE_STACK_TABLE_H */
