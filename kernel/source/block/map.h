/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known about each byte of the kernel's text, and one function of it, decoded. Made of the
 * kernel's own tables and text, never of what a caller says. See map.c, function.c.
 */
#ifndef KL_SOURCE_BLOCK_MAP_H
#define KL_SOURCE_BLOCK_MAP_H

#include <linux/types.h>

#include "instruction.h"

struct kl_error;

#define KL_MAP_GIVERS_MAX 256
#define KL_MAP_RETURNS_MAX 8

/**
 * struct kl_map - one bit for each byte of the text, and more
 * @begin: of the text
 * @bytes: of it
 * @start: a symbol is there
 * @entered: something elsewhere may go there
 * @never: must not be changed or moved
 * @giver: functions that leave flags to their callers
 * @givers: how many; more than fit: all do
 * @returns: thunks: a jump there is a return
 */
struct kl_map {
	unsigned long begin;
	unsigned long bytes;
	unsigned long *start;
	unsigned long *entered;
	unsigned long *never;
	unsigned long giver[KL_MAP_GIVERS_MAX];
	u32 givers;
	unsigned long returns[KL_MAP_RETURNS_MAX];
};

extern struct kl_map kl_map;

int kl_map_load(struct kl_error *why);
void kl_map_free(void);
bool kl_map_function(unsigned long address, unsigned long *begin, unsigned long *end);
bool kl_map_gives_flags(unsigned long function);
bool kl_map_returns(unsigned long target);
bool kl_map_any(const unsigned long *bits, unsigned long begin, unsigned long end);

static inline bool kl_map_has(unsigned long address)
{
	return address - kl_map.begin < kl_map.bytes;
}

static inline bool kl_map_test(const unsigned long *bits, unsigned long address)
{
	unsigned long at = address - kl_map.begin;

	return bits[at / BITS_PER_LONG] >> at % BITS_PER_LONG & 1;
}

/* die.c: what runs before a breakpoint's handler has found whose it is */
int kl_map_exclude_die(struct kl_error *why);
void kl_map_exclude(unsigned long begin, unsigned long end);

/* An instruction of a function, where it is, and what is live before it. */
struct kl_step {
	u32 offset;
	bool flags_live;
	bool target; /* a jump of the function goes there */
	struct kl_instruction in;
};

/**
 * struct kl_function - a function decoded
 * @begin: address
 * @end: address behind it, with its padding
 * @text: its bytes, as they are without kprobes and splices
 * @step: its instructions
 * @steps: how many
 * @refusal: enum kl_splice_refusal: why it cannot be spliced at all, or 0
 */
struct kl_function {
	unsigned long begin;
	unsigned long end;
	u8 *text;
	struct kl_step *step;
	u32 steps;
	u32 refusal;
	size_t text_room;
	size_t step_room;
};

int kl_function_load(struct kl_function *f, unsigned long address);
void kl_function_find_live(struct kl_function *f);
long kl_function_step(const struct kl_function *f, u32 offset);
void kl_function_free(struct kl_function *f);

#endif /* KL_SOURCE_BLOCK_MAP_H */
