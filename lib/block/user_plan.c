// SPDX-License-Identifier: GPL-2.0
/*
 * Decides where splices fit into a program's function: adapts the plan for the kernel's blocks
 * (plan.c) to programs. Whatever is uncertain is left out: blocks without a known path to them, and
 * whole functions with an unresolved jump.
 */
#include <errno.h>

#include "../base/base.h"
#include "block.h"
#include "user_patch.h"

#define PAGE_BYTES 4096u
#define JUMP_BYTES 5
#define BOUNCE_BYTES 2

/* Encodings that processors or decoders interpret differently. */
static bool is_odd(const ZydisDecodedInstruction *in)
{
	if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE))
		return false;
	return in->address_width != 64 ||
	       (in->raw.imm[0].is_relative && (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE));
}

/* An indirect jump does the same anywhere. */
static bool is_near_jump(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
	       in->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR && !in->raw.imm[0].is_relative;
}

/* Set why an instruction cannot be relocated. Flags may be a parameter of whatever is called. */
static void judge(const struct kl_blocks *b, struct kl_block_graph *g, uint32_t index)
{
	struct kl_block_instruction *in = &g->instruction[index], again;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;

	if (!kl_decode(b, g->function.address + in->offset, in->bytes, &again) ||
	    !kl_decode_operands(b, g, index, &decoded, operand)) {
		in->reason = KL_BLOCK_cannot_move;
		return;
	}
	in->reason = again.reason;
	if (is_odd(&decoded))
		in->reason = KL_BLOCK_cannot_move;
	else if (is_near_jump(&decoded))
		in->reason = 0;
	if (decoded.meta.category == ZYDIS_CATEGORY_CALL) {
		in->reads |= KL_LIVE_FLAGS;
		in->kills &= ~KL_LIVE_FLAGS;
	}
	/* Zeros and breakpoints between blocks may be data. */
	if (in->block == KL_NO_BLOCK)
		in->reason = in->nop ? 0 : KL_BLOCK_unreached;
}

/* Exclude blocks that are not certainly reached. @reason: exclude all; 0: decide for each. */
static void exclude(struct kl_block_graph *g, uint8_t reason)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		uint8_t why = block->pre.reason;

		if (reason)
			why = reason;
		else if (why == KL_BLOCK_uprobe || block->pre.tier != KL_TIER_NONE)
			continue;
		for (uint32_t k = block->first; k < block->first + block->n; k++)
			g->instruction[k].reason = why;
	}
}

static bool crosses_page(uint64_t address, uint32_t bytes)
{
	return address % PAGE_BYTES + bytes > PAGE_BYTES;
}

static void cancel(struct kl_block_point *point)
{
	point->tier = KL_TIER_NONE;
	point->reason = KL_BLOCK_no_room;
	point->bytes = 0;
}

/*
 * Cancel breakpoints, because one left behind would kill the program. Cancel writes that cross a
 * page, because they could be left half done. Cancel windows that may be entered.
 */
static void check_point(const struct kl_blocks *b, const struct kl_block_graph *g,
			struct kl_block_point *point)
{
	uint64_t at = g->function.address + point->begin;

	if (point->tier != KL_TIER_NONE && kl_user_is_entered(b, at + 1, at + point->bytes))
		cancel(point);

	switch (point->tier) {
	case KL_TIER_NONE:
		return;
	case KL_TIER_TRAP:
		cancel(point);
		return;
	case KL_TIER_BOUNCE:
		if (crosses_page(at, BOUNCE_BYTES) ||
		    crosses_page(g->function.address + (int64_t)point->slot, JUMP_BYTES))
			cancel(point);
		return;
	default:
		if (crosses_page(at, JUMP_BYTES))
			cancel(point);
	}
}

/* Is a slot in padding, or after the jump of a window that stays? */
static bool is_lent(const struct kl_blocks *b, const struct kl_block_graph *g, int32_t slot)
{
	uint64_t at = g->function.address + (int64_t)slot;

	if (kl_user_is_entered(b, at, at + JUMP_BYTES))
		return false;
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		const struct kl_block_point *pre = &block->pre;

		if (pre->tier == KL_TIER_JUMP && slot >= (int32_t)pre->begin + JUMP_BYTES &&
		    slot + JUMP_BYTES <= (int32_t)(pre->begin + pre->bytes))
			return true;
	}
	/* Is it padding? */
	for (uint32_t i = 0; i < g->instructions; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];

		if ((int32_t)(in->offset + in->bytes) <= slot)
			continue;
		if ((int32_t)in->offset >= slot + JUMP_BYTES)
			break;
		if (in->block != KL_NO_BLOCK)
			return false;
	}
	return slot >= 0 && slot + JUMP_BYTES <= (int32_t)g->function.bytes;
}

static void check_points(const struct kl_blocks *b, struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		check_point(b, g, &g->block[i].pre);
		check_point(b, g, &g->block[i].post);
	}
	for (uint32_t i = 0; i < g->blocks; i++) {
		struct kl_block *block = &g->block[i];

		if (block->pre.tier == KL_TIER_BOUNCE && !is_lent(b, g, block->pre.slot))
			cancel(&block->pre);
		if (block->post.tier == KL_TIER_BOUNCE && !is_lent(b, g, block->post.slot))
			cancel(&block->post);
	}
}

int kl_user_plan(const struct kl_blocks *b, struct kl_block_graph *graph)
{
	int ret;

	for (uint32_t i = 0; i < graph->instructions; i++)
		judge(b, graph, i);
	exclude(graph, graph->indirect ? KL_BLOCK_indirect : 0);
	kl_live(b, graph);
	ret = kl_plan(graph, false);
	if (!ret)
		check_points(b, graph);
	return ret;
}
