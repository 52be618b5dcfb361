// SPDX-License-Identifier: GPL-2.0
/*
 * Decides where uprobes fit into a program's function: blocks that are certainly reached and begin
 * with an instruction that the kernel accepts. The kernel only checks when the program is mapped,
 * and then reports refusals to no one, so its rules are implemented here, too.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

/*
 * First opcode bytes that the kernel refuses: invalid or privileged instructions, ports, interrupts
 * and far jumps. If there is a VEX or EVEX prefix, it checks the opcode after that, too.
 */
static const uint8_t refused[] = {
	0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x62,
	0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4,
	0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb,
};

/* Segment overrides without effect, and lock. */
static const uint8_t refused_prefix[] = { 0x26, 0x2e, 0x36, 0x3e, 0xf0 };

static bool has(const uint8_t *list, size_t n, uint8_t byte)
{
	return memchr(list, byte, n);
}

static bool has_prefix(const ZydisDecodedInstruction *in, const uint8_t *list, size_t n)
{
	for (unsigned int i = 0; i < in->raw.prefix_count; i++)
		if (has(list, n, in->raw.prefixes[i].value))
			return true;
	return false;
}

/* Encodings that the kernel's decoder knows in all supported versions. */
static bool is_known(const ZydisDecodedInstruction *in)
{
	/* AMD-only extensions that were discontinued. */
	if (in->meta.isa_set == ZYDIS_ISA_SET_FMA4 || in->meta.isa_set == ZYDIS_ISA_SET_XOP)
		return false;
	switch (in->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		return in->opcode_map <= ZYDIS_OPCODE_MAP_0F3A;
	default:
		return false;
	}
}

/* Does the kernel accept a uprobe on the instruction? */
bool kl_uprobe_takes(const struct kl_blocks *b, uint64_t address, size_t room)
{
	static const uint8_t operand_size = 0x66;
	ZydisDecodedInstruction in;
	bool plain;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&b->decoder, NULL, kl_text_of(b, address),
							room, &in)) ||
	    !is_known(&in) || has_prefix(&in, refused_prefix, sizeof(refused_prefix)))
		return false;
	plain = in.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
		in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	if (plain && has(refused, sizeof(refused), in.opcode))
		return false;
	/*
	 * A move to SS delays interrupts. Relative jumps with an operand size prefix differ by
	 * vendor.
	 */
	if (in.mnemonic == ZYDIS_MNEMONIC_MOV && in.opcode == 0x8e && in.raw.modrm.reg == 2)
		return false;
	if (in.raw.imm[0].is_relative && has_prefix(&in, &operand_size, 1))
		return false;
	/* It is executed out of line, so its abort handler's address would be wrong. */
	return in.mnemonic != ZYDIS_MNEMONIC_XBEGIN;
}

/* ----------------------------------------------------------- reachability */

struct walk {
	const struct kl_block_graph *g;
	bool *reached;
	uint32_t *open;
	uint32_t n;
};

static void visit(struct walk *w, uint32_t block)
{
	if (block == KL_NO_BLOCK || w->reached[block])
		return;
	w->reached[block] = true;
	w->open[w->n++] = block;
}

/*
 * Visit what is reachable from the function's start, and from the targets of other functions'
 * jumps.
 */
static void reach(struct walk *w, const struct kl_blocks *b)
{
	const struct kl_block_graph *g = w->g;
	const struct kl_block_function *f = &g->function;

	visit(w, 0);
	for (size_t i = kl_set_from(&b->leader, f->address);
	     i < b->leader.n && b->leader.at[i] - f->address < f->bytes; i++) {
		uint32_t at = kl_instruction_at(g, b->leader.at[i] - f->address);

		if (at != UINT32_MAX)
			visit(w, g->instruction[at].block);
	}
	while (w->n) {
		uint32_t block = w->open[--w->n];

		visit(w, g->block[block].next);
		visit(w, g->block[block].taken);
		for (uint32_t i = 0; i < g->edges; i++)
			if (g->edge[i].from == block)
				visit(w, g->edge[i].to);
	}
}

/* ------------------------------------------------------------------ places */

static struct kl_block_point place(const struct kl_block_graph *g, uint32_t instruction,
				   uint8_t reason)
{
	const struct kl_block_instruction *in = &g->instruction[instruction];

	reason = reason ?: in->reason;
	return (struct kl_block_point){
		.tier = reason ? KL_TIER_NONE : KL_TIER_TRAP,
		.reason = reason,
		.bytes = reason ? 0 : 1,
		.begin = in->offset,
		.place = in->offset,
	};
}

/* Is a block entered by a single edge only? */
static bool only_goes_on(const struct kl_block_graph *g, uint32_t block)
{
	unsigned int ways = 0;

	if (g->indirect || g->block[block].entered)
		return false;
	for (uint32_t i = 0; i < g->blocks; i++)
		ways += (g->block[i].next == block) + (g->block[i].taken == block);
	return ways == 1;
}

/* After the last instruction that does not jump: at the jump, or at the next block. */
static struct kl_block_point place_behind(const struct kl_block_graph *g,
					  const struct kl_block *block, uint8_t reason)
{
	if (reason || block->end != KL_END_FALL)
		return place(g, block->first + block->n - 1, reason);
	if (block->next == KL_NO_BLOCK || !only_goes_on(g, block->next))
		return place(g, block->first + block->n - 1, KL_BLOCK_shared);
	return place(g, g->block[block->next].first, 0);
}

/* Fill in `pre` and `post` of all blocks of a program. */
int kl_uprobe_plan(const struct kl_blocks *b, struct kl_block_graph *graph)
{
	struct walk w = { .g = graph };

	if (!graph->blocks)
		return 0;
	w.reached = calloc(graph->blocks, sizeof(*w.reached));
	w.open = calloc(graph->blocks, sizeof(*w.open));
	if (w.reached && w.open) {
		reach(&w, b);
		for (uint32_t i = 0; i < graph->blocks; i++) {
			struct kl_block *block = &graph->block[i];
			uint8_t reason = graph->function.reason;

			if (!reason && !w.reached[i])
				reason = graph->indirect ? KL_BLOCK_indirect : KL_BLOCK_unreached;
			block->pre = place(graph, block->first, reason);
			block->post = place_behind(graph, block, reason);
		}
	}
	free(w.open);
	free(w.reached);
	return w.reached && w.open ? 0 : kl_fail(ENOMEM, "out of memory");
}
