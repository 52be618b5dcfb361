// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of a relocated function: where it is entered from the text, and where control comes back
 * from what stays in the text. Blocks reached only from such windows need none of their own; those
 * that begin with an instruction that stays are counted when the copy is left. Adding up the jumps
 * of both variants shows whether this is cheaper than a window for each block.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "splices.h"

/* Cost of reaching a block: the number of jumps, and a breakpoint, which is expensive. */
#define COST_TRAP 500

/* What is known about each block. */
struct block_state {
	uint32_t targets;
	bool window; /* may be entered from the text */
	bool lost; /* and cannot be diverted into the copy */
	bool reached; /* reached in the copy */
	bool ends_in_text; /* execution leaves the copy before the block's end */
};

struct plan {
	const struct kl_block_graph *g;
	struct block_state *block;
};

/* A window on the edge to a block does not help: that edge is in the copy. */
static bool has_window(const struct kl_block *block)
{
	return block->pre.tier != KL_TIER_NONE && !block->pre.edge;
}

static uint32_t place_of(const struct kl_block *block)
{
	return block->pre.edge ? block->begin : block->pre.begin;
}

/* A call returns to the text; other instructions cannot be relocated. */
static bool stays(const struct kl_block_instruction *in)
{
	return in->reason || in->end == KL_END_CALL || (in->end == KL_END_STOP && in->target);
}

/* Does any instruction from the block's point on stay in the text? */
static bool has_stay(const struct kl_block_graph *g, const struct kl_block *block)
{
	for (uint32_t i = block->first; i < block->first + block->n; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];

		if (in->offset >= place_of(block) && stays(in))
			return true;
	}
	return false;
}

static bool set(bool *flag)
{
	bool changed = !*flag;

	*flag = true;
	return changed;
}

/* The block is entered from the text: it has a window, or it is lost. */
static bool enter(struct plan *plan, uint32_t i)
{
	struct block_state *state = &plan->block[i];
	bool changed = set(&state->window);

	if (!has_window(&plan->g->block[i]) || !state->targets)
		changed |= set(&state->lost);
	return changed;
}

static bool go_on(struct plan *plan, uint32_t from, uint32_t to)
{
	const struct block_state *state = &plan->block[from];

	if (to == UINT32_MAX)
		return false;
	if (state->lost || state->ends_in_text)
		return enter(plan, to);
	return (state->window || state->reached) && set(&plan->block[to].reached);
}

/*
 * May the code before a block continue into it in the text? The module does not assume that a call
 * never returns. If the block before does not lead to this one, unreached code lies in between.
 */
static bool comes_from_text(const struct kl_block_graph *g, uint32_t i)
{
	const struct kl_block *before = &g->block[i - 1];

	switch (before->end) {
	case KL_END_JUMP:
	case KL_END_LEAVE:
	case KL_END_RETURN:
		/* A jump label's jump may become a nop. */
		return g->instruction[before->first + before->n - 1].reason;
	case KL_END_FALL:
	case KL_END_BRANCH:
		return before->next != i;
	default:
		return true;
	}
}

static void find_entered(struct plan *plan)
{
	const struct kl_block_graph *g = plan->g;
	bool changed = true;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];

		plan->block[i].ends_in_text = has_stay(g, block);
		if (block->entered || !i || comes_from_text(g, i))
			enter(plan, i);
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < g->blocks; i++) {
			changed |= go_on(plan, i, g->block[i].next);
			changed |= go_on(plan, i, g->block[i].taken);
		}
		/* Treat blocks without a known path as entered from the text. */
		for (uint32_t i = 0; !changed && i < g->blocks; i++)
			if (!plan->block[i].window && !plan->block[i].reached)
				changed = enter(plan, i);
	}
}

static uint32_t window_cost(const struct kl_block_point *at)
{
	switch (at->tier) {
	case KL_TIER_TRAP:
		return COST_TRAP;
	case KL_TIER_BOUNCE:
		return 2;
	case KL_TIER_NONE:
		return 0;
	default:
		return 1;
	}
}

/* Is relocation better: fewer points lost, or as few and fewer jumps? */
static bool is_better(const struct plan *plan)
{
	const struct kl_block_graph *g = plan->g;
	uint32_t placed = 0, placed_relocated = 0, cost = 0, cost_relocated = 0;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct block_state *state = &plan->block[i];
		const struct kl_block_point *pre = &g->block[i].pre;

		if (!state->targets)
			continue;
		placed += pre->tier != KL_TIER_NONE;
		placed_relocated += !state->lost;
		cost += window_cost(pre) + (pre->tier != KL_TIER_NONE && pre->tier != KL_TIER_CALL);
		if (state->window)
			cost_relocated += window_cost(pre);
		/* A call that is changed in place does not return to the copy. */
		cost_relocated += state->ends_in_text && !state->lost &&
				  !(state->window && pre->tier == KL_TIER_CALL);
	}
	return placed_relocated > placed || (placed_relocated == placed && cost_relocated < cost);
}

static bool is_countable(const struct kl_splice_target *target, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (target[i].behind || target[i].instrument != KL_INSTRUMENT_COUNT)
			return false;
	return n;
}

/* List the targets, with a window for those that need one. */
static uint32_t list_needs(const struct plan *plan, const struct kl_splice_target *target,
			   uint32_t n, uint32_t first, struct kl_splice_need *need)
{
	uint32_t needs = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct kl_block *block = &plan->g->block[target[i].block];
		const struct block_state *state = &plan->block[target[i].block];
		struct kl_block_point none = { .begin = place_of(block) };

		if (state->lost)
			continue;
		needs = kl_splice_add_need(plan->g, need, needs,
					   (struct kl_splice_need){
						   .at = state->window ? block->pre : none,
						   .place = place_of(block),
						   .point = first + i,
						   .instrument = target[i].instrument,
					   });
	}
	return needs;
}

/* Is every point at or after the first window? */
static bool begins_with_window(const struct kl_splice_need *need, uint32_t n)
{
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (need[i].at.bytes && need[i].at.begin < first)
			first = need[i].at.begin;
	for (uint32_t i = 0; i < n; i++)
		if (need[i].place < first)
			return false;
	return n;
}

/* The reason why a block has no window of its own. */
static uint8_t reason_of(const struct kl_block_graph *g, const struct kl_block *block)
{
	return block->pre.edge ? g->instruction[block->first].reason : block->pre.reason;
}

/*
 * Set the reasons of points that cannot be instrumented if the function is @moved; else restore
 * those of the function in place.
 */
static void set_reasons(struct kl_splices *s, const struct plan *plan,
			const struct kl_splice_target *target, uint32_t n, uint32_t first,
			bool moved)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct kl_block *block = &plan->g->block[target[i].block];
		bool lost = plan->block[target[i].block].lost;

		s->point[first + i].reason = !moved ? s->reason[first + i] :
					     lost   ? reason_of(plan->g, block) :
						      0;
	}
}

/* Make the windows, unless some would be too large: then none are made. */
static int make_windows(struct kl_splices *s, const struct plan *plan,
			const struct kl_splice_target *target, uint32_t n, uint32_t first)
{
	struct kl_splice_need *need = calloc(2 * (size_t)n + 1, sizeof(*need));
	uint32_t windows = s->windows, instruments = s->instruments, needs;
	bool fits;
	int ret = 0;

	if (!need)
		return kl_fail(ENOMEM, "out of memory");
	needs = list_needs(plan, target, n, first, need);
	fits = begins_with_window(need, needs);
	set_reasons(s, plan, target, n, first, true);
	if (fits)
		ret = kl_splice_windows_of(s, plan->g, need, needs, true);
	for (uint32_t i = 0; i < n; i++)
		fits &= plan->block[target[i].block].lost || !s->point[first + i].reason;
	free(need);
	if (!ret && fits)
		return 1;
	set_reasons(s, plan, target, n, first, false);
	s->windows = windows;
	s->instruments = instruments;
	return ret;
}

int kl_splice_relocated(struct kl_splices *s, const struct kl_block_graph *g,
			const struct kl_splice_target *target, uint32_t n, uint32_t first)
{
	struct plan plan = { .g = g };
	int ret = 0;

	if (!is_countable(target, n))
		return 0;
	plan.block = calloc(g->blocks + 1, sizeof(*plan.block));
	if (!plan.block)
		return kl_fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		plan.block[target[i].block].targets++;
	find_entered(&plan);
	if (is_better(&plan))
		ret = make_windows(s, &plan, target, n, first);
	free(plan.block);
	return ret;
}
