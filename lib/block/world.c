// SPDX-License-Identifier: GPL-2.0
/*
 * Finds what a function's own code does not show: who jumps into its middle, whether it returns,
 * and whether its callers use the flags it leaves. Scans the whole text once, and then visits the
 * callers of functions that do not return until no more are found.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

#define INT3 0xcc /* mostly between functions */
#define BEHIND_CALL 4 /* instructions after a call that are searched for a use of its flags */

static int add_call(struct kl_blocks *b, uint32_t callee, uint32_t caller)
{
	struct kl_call *grown = kl_array_grow(b->call, b->calls, &b->call_capacity, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	b->call = grown;
	grown[b->calls++] = (struct kl_call){ .callee = callee, .caller = caller };
	return 0;
}

/* Are the flags read at @address before they are written? */
static bool reads_flags(const struct kl_blocks *b, uint64_t address, uint64_t end)
{
	struct kl_block_instruction in;

	for (int i = 0; i < BEHIND_CALL && address < end; i++, address += in.bytes) {
		if (!kl_decode(b, address, end - address, &in))
			return false;
		if (in.reads & KL_LIVE_FLAGS)
			return true;
		if (in.kills & KL_LIVE_FLAGS || in.end != KL_END_FALL)
			return false;
	}
	return false;
}

/* Record an instruction's target, or an address that it takes, if it is elsewhere. */
static int note_target(struct kl_blocks *b, uint32_t index, const struct kl_block_instruction *in,
		       uint64_t taken, uint64_t behind)
{
	const struct kl_function_entry *f = &b->function[index];
	uint64_t target = in->target ?: taken;
	long other = target >= b->begin && target < b->end ? kl_function_at(b, target) : -1;
	int ret = 0;

	if (other < 0)
		return 0;
	if (b->function[other].address != target) {
		/* The graph finds leaders in the same function, except for targets of calls. */
		if (other != index || in->end == KL_END_CALL || taken)
			ret = kl_set_add(&b->leader, target);
		return ret;
	}
	if (taken || other == index)
		return 0;
	if (in->end == KL_END_CALL && reads_flags(b, behind, f->address + f->bytes))
		b->function[other].returns_flags = true;
	return add_call(b, other, index);
}

/* Record all of a function's targets. Sets @leaves if the function returns or jumps elsewhere. */
static int note_function(struct kl_blocks *b, uint32_t index, bool *leaves)
{
	const struct kl_function_entry *f = &b->function[index];
	uint64_t end = f->address + f->bytes;
	struct kl_taken taken;
	struct kl_block_instruction in;
	int ret = 0;

	*leaves = false;
	for (uint64_t at = f->address; !ret && at < end; at += in.bytes) {
		in.bytes = 1;
		if (*kl_text_of(b, at) == INT3)
			continue;
		if (!kl_decode_shape(b, at, end - at, &in, &taken)) {
			*leaves |= !kl_is_padding(kl_text_of(b, at), end - at);
			break;
		}
		if (in.end == KL_END_RETURN ||
		    ((in.end == KL_END_JUMP || in.end == KL_END_BRANCH) &&
		     (in.target < f->address || in.target >= end)))
			*leaves = true;
		ret = note_target(b, index, &in, taken.taken, at + in.bytes);
		for (size_t i = 0; !ret && i < KL_ARRAY_SIZE(taken.perhaps); i++)
			if (taken.perhaps[i] >= b->begin && taken.perhaps[i] < b->end)
				ret = kl_set_add(&b->word, taken.perhaps[i]);
	}
	return ret;
}

static int compare_calls(const void *left, const void *right)
{
	const struct kl_call *a = left, *b = right;

	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	return (a->caller > b->caller) - (a->caller < b->caller);
}

static size_t calls_from(const struct kl_blocks *b, uint32_t callee)
{
	size_t low = 0, high = b->calls;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->call[middle].callee < callee)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Does a function return, given what is now known of its callees? */
static int ask_again(struct kl_blocks *b, uint32_t index)
{
	struct kl_block_graph graph;
	int ret = kl_graph_make(b, index, &graph);

	if (ret)
		return ret;
	ret = kl_graph_returns(b, &graph);
	kl_block_graph_free(&graph);
	return ret;
}

/* Check the callers of the functions in @open. */
static int spread(struct kl_blocks *b, uint32_t *open, size_t n)
{
	while (n) {
		uint32_t callee = open[--n];

		for (size_t i = calls_from(b, callee); i < b->calls && b->call[i].callee == callee;
		     i++) {
			uint32_t caller = b->call[i].caller;
			int ret;

			if (b->function[caller].never || (i && b->call[i - 1].callee == callee &&
							  b->call[i - 1].caller == caller))
				continue;
			ret = ask_again(b, caller);
			if (ret < 0)
				return ret;
			if (ret)
				continue;
			b->function[caller].never = true;
			open[n++] = caller;
		}
	}
	return 0;
}

/*
 * Start with functions that nothing leaves, and go on with their callers. A module's functions may
 * call a kernel function that does not return, so all of them are checked.
 */
static int find_never(struct kl_blocks *b, const bool *leaves)
{
	uint32_t *open = malloc((b->functions + 1) * sizeof(*open));
	size_t n = 0;
	int ret = open ? 0 : -ENOMEM;

	for (size_t i = 0; ret >= 0 && i < b->functions; i++) {
		if (leaves[i] && !b->kernel)
			continue;
		ret = ask_again(b, i);
		if (ret)
			continue;
		b->function[i].never = true;
		open[n++] = i;
	}
	if (ret >= 0)
		ret = spread(b, open, n);
	free(open);
	return ret;
}

int kl_world_load(struct kl_blocks *b)
{
	bool *leaves = calloc(b->functions, sizeof(*leaves));
	int ret = leaves ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < b->functions; i++)
		ret = note_function(b, i, &leaves[i]);
	kl_set_sort(&b->leader);
	kl_set_sort(&b->word);
	if (b->calls)
		qsort(b->call, b->calls, sizeof(*b->call), compare_calls);
	if (!ret)
		ret = find_never(b, leaves);
	free(leaves);
	return ret < 0 ? kl_fail(ENOMEM, "out of memory") : 0;
}
