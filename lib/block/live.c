// SPDX-License-Identifier: GPL-2.0
/*
 * Computes which registers and flags are live at a block's start: read before they are written.
 * This is a backward data-flow analysis from the function's exits, repeated until nothing changes.
 * Where liveness is unknown, everything is live. The private calling conventions between a
 * program's functions are unknown.
 */

#include "../base/base.h"
#include "block.h"

/* What a jump to @target leaves live. The parts of a split function share all registers. */
static uint32_t live_elsewhere(const struct kl_blocks *b, const struct kl_function_entry *self,
			       uint64_t target)
{
	const struct kl_function_entry *f = kl_function_entry_at(b, target);

	if (!f || b->program || f->address != target || self->returns_flags ||
	    strstr(f->name, ".cold") || strstr(f->name, ".part."))
		return KL_LIVE_ALL;
	return 0xffff;
}

static uint32_t live_behind(const struct kl_blocks *b, const struct kl_function_entry *self,
			    const struct kl_block_graph *g, const struct kl_block *block)
{
	const struct kl_block_instruction *last = &g->instruction[block->first + block->n - 1];
	uint32_t live = 0;

	switch (block->end) {
	case KL_END_RETURN:
		return self->returns_flags || b->program ? KL_LIVE_ALL : 0xffff;
	case KL_END_LEAVE:
		return live_elsewhere(b, self, last->target);
	case KL_END_STOP:
		return last->target ? 0xffff : KL_LIVE_ALL;
	case KL_END_JUMP:
		return block->taken == KL_NO_BLOCK ? KL_LIVE_ALL : g->block[block->taken].live;
	case KL_END_BRANCH:
		live = block->taken == KL_NO_BLOCK ? live_elsewhere(b, self, last->target) :
						     g->block[block->taken].live;
		break;
	default:
		break;
	}
	return live | (block->next == KL_NO_BLOCK ? KL_LIVE_ALL : g->block[block->next].live);
}

static uint32_t live_before(const struct kl_block_graph *g, const struct kl_block *block,
			    uint32_t live)
{
	for (uint32_t i = block->first + block->n; i-- > block->first;) {
		const struct kl_block_instruction *in = &g->instruction[i];

		live = (live & ~in->kills) | in->reads;
	}
	return live;
}

/* Fill in `live` of all blocks. */
void kl_live(const struct kl_blocks *b, struct kl_block_graph *graph)
{
	const struct kl_function_entry *self =
		&b->function[kl_function_at(b, graph->function.address)];
	bool changed = true;

	for (uint32_t i = 0; i < graph->blocks; i++)
		graph->block[i].live = 0;
	while (changed) {
		changed = false;
		for (uint32_t i = graph->blocks; i-- > 0;) {
			struct kl_block *block = &graph->block[i];
			uint32_t live =
				live_before(graph, block, live_behind(b, self, graph, block));

			changed |= live != block->live;
			block->live = live;
		}
	}
}
