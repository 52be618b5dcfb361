// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the copy of a user stack, as the module walks the stack itself. The module copies the stack
 * of a trace that has met a file without an unwind table; when the trace is read, the table is
 * available.
 */
#include <string.h>

#include <kernlens/uapi/unwind_walk.h>
#include "callers.h"

struct copied {
	struct kl_abi_stack_copy head;
	const uint8_t *range, *word;
};

static struct copied find_parts(const uint8_t *copy)
{
	struct copied c;

	memcpy(&c.head, copy, sizeof(c.head));
	c.range = copy + sizeof(c.head);
	c.word = c.range + c.head.ranges * sizeof(struct kl_abi_stack_range);
	return c;
}

size_t kl_copy_bytes(const uint8_t *copy)
{
	struct copied c = find_parts(copy);

	return (size_t)(c.word - copy) + 8ul * c.head.words;
}

static bool read_word(const void *stack, __u64 at, __u64 *word)
{
	const struct copied *c = stack;
	uint64_t offset = at - c->head.sp;

	if (offset & 7 || offset / 8 >= c->head.words)
		return false;
	memcpy(word, c->word + offset, sizeof(*word));
	return true;
}

/* The file position of an address, or 0. */
static uint64_t find_place(const struct copied *c, uint64_t address)
{
	for (unsigned int i = 0; i < c->head.ranges; i++) {
		struct kl_abi_stack_range range;

		memcpy(&range, c->range + i * sizeof(range), sizeof(range));
		if (address - range.start < range.bytes)
			return range.place + (address - range.start);
	}
	return 0;
}

static uint32_t no_rule(enum kl_stack_doubt doubt)
{
	return kl_unwind_rule(KL_UNWIND_NONE, doubt, 0);
}

static uint32_t find_rule(const struct copied *c, uint64_t address, kl_callers_table *table,
			  void *of)
{
	uint64_t place = find_place(c, address);
	const struct kl_cfi_table *t;
	uint32_t rule;

	if (!place)
		return no_rule(KL_STACK_NO_FILE);
	t = table(of, (uint32_t)(place >> KL_STACK_PLACE_SHIFT));
	if (!t || !t->n)
		return no_rule(KL_STACK_NO_TABLE);
	rule = kl_cfi_find(t, place & ((1ull << KL_STACK_PLACE_SHIFT) - 1));
	return rule == KL_UNWIND_NONE ? no_rule(KL_STACK_NO_RULE) : rule;
}

/* Returns why the walk has ended; sets @n to the number of frames. */
static enum kl_stack_doubt walk(struct kl_user_trace *trace, const struct copied *c,
				unsigned int *n, kl_callers_table *table, void *of)
{
	struct kl_unwind_frame frame = {
		.ip = trace->address[*n - 1],
		.sp = c->head.sp,
		.bp = c->head.bp,
		.bp_known = c->head.bp_known,
	};
	bool exact = *n == 1 && trace->about.flags & KL_STACK_EXACT;

	for (;;) {
		uint32_t rule = find_rule(c, frame.ip - !exact, table, of);
		enum kl_stack_doubt doubt;

		if (kl_unwind_kind_of(rule) == KL_UNWIND_END ||
		    (rule == no_rule(KL_STACK_NO_RULE) && frame.bp_known && !frame.bp))
			return KL_STACK_SURE;
		doubt = kl_unwind_step(&frame, rule, read_word, c);
		if (doubt)
			return doubt;
		if (*n >= c->head.frames || *n == KL_STACK_FRAMES_MAX) {
			trace->about.flags |= KL_STACK_CUT;
			return KL_STACK_SURE;
		}
		exact = kl_unwind_is_signal(rule);
		trace->address[*n] = frame.ip;
		trace->place[*n] = find_place(c, frame.ip);
		++*n;
	}
}

void kl_callers_find(struct kl_user_trace *trace, const uint8_t *copy, kl_callers_table *table,
		     void *of)
{
	unsigned int n = trace->about.certain, flags;
	struct kl_user_trace found = *trace;
	struct copied c = find_parts(copy);
	enum kl_stack_doubt doubt;

	trace->about.flags &= ~KL_STACK_COPY;
	found.about.flags &= ~(KL_STACK_COPY | KL_STACK_CUT);
	if (!n || n > KL_STACK_FRAMES_MAX)
		return;
	doubt = walk(&found, &c, &n, table, of);
	/* Nothing more is known, but the module's guess. */
	if (doubt && n == trace->about.certain)
		return;
	flags = found.about.flags & ((1u << KL_STACK_DOUBT_SHIFT) - 1);
	if (doubt == KL_STACK_NOT_READABLE && c.head.words == KL_STACK_COPY_WORDS_MAX)
		flags |= KL_STACK_CUT;
	else
		flags |= doubt << KL_STACK_DOUBT_SHIFT;
	found.about.flags = (uint8_t)flags;
	found.about.frames = (uint8_t)n;
	found.about.certain = (uint8_t)n;
	*trace = found;
}
