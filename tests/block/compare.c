// SPDX-License-Identifier: GPL-2.0
/*
 * compare CORE KALLSYMS: checks the blocks of a whole kernel against another decoder and against
 * their own invariants. Reads objdump's listing of the text from stdin (addresses and instructions,
 * no bytes) and prints TAP. With --range it only prints where the text begins and ends.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include <kernlens/internal.h>

#include "../../kernel/splice/instruction.h"
#include "../unit/unit.h"

#define FAULTS_SHOWN 5
#define RANDOM 2000000
#define UNKNOWN 0xff /* to objdump */
#define UNKNOWN_MAX 10

static uint64_t begin, end;
static uint8_t *listed; /* by offset in the text: length of objdump's instruction */
static uint32_t *listed_target; /* and its target's offset from the text's beginning, plus 1 */
static uint64_t faults[16], instructions, unknown, targets, windows, slots;

/* What is checked; indexes @faults. */
enum {
	LENGTH,
	TARGET,
	PARTITION,
	EDGE,
	WINDOW,
	SLOT,
	OURS,
};

static ZydisDecoder decoder;

static void fault(int what, const struct kl_block_graph *g, uint32_t offset, const char *text)
{
	if (faults[what]++ < FAULTS_SHOWN)
		printf("# %s+0x%x: %s\n", g->function.name, offset, text);
}

static bool goes_somewhere(const char *text)
{
	return *text == 'j' || !strncmp(text, "call", 4) || !strncmp(text, "loop", 4) ||
	       !strncmp(text, "xbegin", 6) || strstr(text, " jmp") || strstr(text, " call") ||
	       !strncmp(text, "bnd j", 5) || strstr(text, " j");
}

/*
 * A line is "ffffffff81000000:\tcall 0xffffffff81000040"; the next line's address gives the length.
 */
static void read_listing(FILE *file)
{
	char line[512];
	uint64_t before = 0;
	bool known = true;

	while (fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':'), *text, *target;
		uint64_t address;

		if (!colon || colon[1] != '\t')
			continue;
		address = strtoull(line, NULL, 16);
		if (address < begin || address >= end)
			continue;
		if (before && address - before <= 15)
			listed[before - begin] = known ? address - before : UNKNOWN;
		before = address;
		text = colon + 2;
		known = !strstr(text, "(bad)");
		target = strstr(text, "0xffffffff");
		if (target && goes_somewhere(text) && !strchr(text, '*') && !strchr(text, '(')) {
			uint64_t to = strtoull(target, NULL, 16);

			listed_target[address - begin] = (uint32_t)(to - begin) + 1;
		}
	}
	if (before)
		listed[before - begin] = end - before;
}

/* The control flow that the module's decoder must report for such an instruction. */
static uint8_t flow_of(const struct kl_block_instruction *in, const ZydisDecodedInstruction *full)
{
	bool cannot = full->meta.category == ZYDIS_CATEGORY_INTERRUPT ||
		      full->meta.category == ZYDIS_CATEGORY_SYSCALL ||
		      full->meta.category == ZYDIS_CATEGORY_SYSRET ||
		      full->mnemonic == ZYDIS_MNEMONIC_UD0 ||
		      full->mnemonic == ZYDIS_MNEMONIC_UD1 ||
		      full->mnemonic == ZYDIS_MNEMONIC_UD2 || in->reason == KL_BLOCK_cannot_move;

	switch (full->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return in->target ? KL_FLOW_CALL : KL_FLOW_FIXED;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return in->target ? KL_FLOW_JUMP : KL_FLOW_FIXED;
	case ZYDIS_CATEGORY_COND_BR:
		return cannot ? KL_FLOW_FIXED : KL_FLOW_BRANCH;
	case ZYDIS_CATEGORY_RET:
		return cannot ? KL_FLOW_FIXED : KL_FLOW_RETURN;
	default:
		return cannot ? KL_FLOW_FIXED : KL_FLOW_ON;
	}
}

/* What the module's decoder must say of an instruction that goes where a register or memory says. */
static uint8_t indirect_of(const ZydisDecodedInstruction *full)
{
	bool near = full->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR;

	if (full->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE || full->raw.imm[0].is_relative)
		return KL_INDIRECT_NOT;
	if (full->mnemonic == ZYDIS_MNEMONIC_CALL)
		return near ? KL_INDIRECT_CALL : KL_INDIRECT_NOT;
	if (full->mnemonic != ZYDIS_MNEMONIC_JMP)
		return KL_INDIRECT_NOT;
	return near && !(full->attributes & ZYDIS_ATTRIB_HAS_NOTRACK) ? KL_INDIRECT_JUMP :
									KL_INDIRECT_ANYWHERE;
}

/* Does it report that flags may be clobbered before an instruction where they are live? */
static bool spoils_flags(const struct kl_instruction *own, const ZydisDecodedInstruction *full)
{
	const uint32_t counted = ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
				 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;
	const ZydisAccessedFlags *flags = full->cpu_flags;
	uint32_t written =
		flags ? flags->modified | flags->set_0 | flags->set_1 | flags->undefined : 0;

	if (own->flags != KL_FLAGS_READ && flags && flags->tested & counted)
		return true;
	return own->flags == KL_FLAGS_SET && (written & counted) != counted;
}

/* Compare the module's own decoder with Zydis for one instruction. */
static void compare_ours(const struct kl_block_graph *g, const struct kl_block_instruction *in)
{
	const uint8_t *text = g->text + in->offset;
	uint64_t behind = g->function.address + in->offset + in->bytes;
	ZydisDecodedInstruction full;
	struct kl_instruction own;
	uint8_t at = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, text, in->bytes, &full)))
		fault(OURS, g, in->offset, "no decoder accepts it");
	else if (full.raw.imm[0].is_relative)
		at = full.raw.imm[0].offset;
	else if (full.attributes & ZYDIS_ATTRIB_IS_RELATIVE)
		at = full.raw.disp.offset;
	if (!kl_instruction_decode(text, KL_INSTRUCTION_BYTES_MAX, &own))
		fault(OURS, g, in->offset, "the module's decoder refuses it");
	else if (own.bytes != in->bytes || own.at != at)
		fault(OURS, g, in->offset, "the module's decoder reads it differently");
	else if (own.indirect != indirect_of(&full))
		fault(OURS, g, in->offset,
		      "the module's decoder takes it for another kind of jump");
	else if (own.flow != flow_of(in, &full))
		fault(OURS, g, in->offset, "the module's decoder gives it another flow");
	else if (in->target && behind + (int64_t)own.by != in->target)
		fault(OURS, g, in->offset, "the module's decoder has another target");
	else if (spoils_flags(&own, &full))
		fault(OURS, g, in->offset, "the module's decoder lets its flags be changed");
}

static void compare_instructions(const struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < g->instructions; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];
		uint64_t at = g->function.address + in->offset - begin;

		/* Unreachable bytes may not be code, and objdump keeps decoding from them. */
		if (in->block == UINT32_MAX)
			continue;
		instructions++;
		compare_ours(g, in);
		if (listed[at] == UNKNOWN)
			unknown++;
		else if (listed[at] != in->bytes)
			fault(LENGTH, g, in->offset, "objdump has another length");
		if (in->target) {
			targets++;
			if (listed_target[at] != (uint32_t)(in->target - begin) + 1)
				fault(TARGET, g, in->offset, "objdump has another target");
		}
	}
}

static void check_edge(const struct kl_block_graph *g, const struct kl_block *from, uint32_t to)
{
	if (to != UINT32_MAX && to >= g->blocks)
		fault(EDGE, g, from->begin, "edge to an address that begins no block");
}

/*
 * Blocks ascend, do not overlap and consist of whole instructions; a jump's target begins a block.
 */
static void check_blocks(const struct kl_block_graph *g)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		const struct kl_block_instruction *in = &g->instruction[block->first];
		const struct kl_block_instruction *jump = &in[block->n - 1];

		if (block->begin < last || in->offset != block->begin ||
		    jump->offset + jump->bytes != block->begin + block->bytes)
			fault(PARTITION, g, block->begin, "wrong block boundary");
		for (uint32_t k = 1; k < block->n; k++)
			if (in[k].leader || in[k - 1].end != KL_END_FALL)
				fault(PARTITION, g, in[k].offset, "begins a block");
		last = block->begin + block->bytes;
		check_edge(g, block, block->next);
		check_edge(g, block, block->taken);
		if (block->taken < g->blocks &&
		    g->function.address + g->block[block->taken].begin != jump->target)
			fault(EDGE, g, jump->offset, "its jump goes elsewhere");
	}
}

static void check_window(const struct kl_block_graph *g, const struct kl_block_point *point)
{
	uint32_t last = point->begin + point->bytes, at = UINT32_MAX;

	if (point->tier == KL_TIER_NONE) {
		if (!point->reason)
			fault(WINDOW, g, point->begin, "has neither a tier nor a reason");
		return;
	}
	windows++;
	for (uint32_t i = 0; i < g->instructions && g->instruction[i].offset < last; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];

		if (in->offset + in->bytes <= point->begin)
			continue;
		if (at == UINT32_MAX && in->offset != point->begin)
			fault(WINDOW, g, point->begin, "begins inside an instruction");
		if (in->leader && in->offset > point->begin)
			fault(WINDOW, g, in->offset, "is jumped to, inside a window");
		if (in->reason && in->block != UINT32_MAX)
			fault(WINDOW, g, in->offset, "cannot be moved, but is in a window");
		at = in->offset + in->bytes;
	}
	if (at != last)
		fault(WINDOW, g, point->begin, "ends inside an instruction");
	if (point->place < point->begin || point->place > last ||
	    (point->edge == KL_EDGE_TAKEN && point->place == last) ||
	    (point->edge == KL_EDGE_NEXT && point->place != last))
		fault(WINDOW, g, point->place, "has its instrument elsewhere");
}

static int compare_slots(const void *left, const void *right)
{
	const int32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Does a slot lie in padding, or in the rest of a window after its jump? */
static bool is_free(const struct kl_block_graph *g, int32_t slot)
{
	uint32_t first = slot, last = slot + 5;
	bool padding = true;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];
		const struct kl_block_point *pre = &block->pre;

		if (pre->tier == KL_TIER_JUMP && !pre->edge && first >= pre->begin + 5 &&
		    last <= pre->begin + pre->bytes)
			return true;
		if (first < block->begin + block->bytes && block->begin < last)
			padding = false;
	}
	return padding;
}

static void check_slots(const struct kl_block_graph *g)
{
	int32_t *slot = malloc((g->blocks + 1) * sizeof(*slot));
	size_t n = 0;

	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block_point *pre = &g->block[i].pre;
		int64_t far;

		/* The instrument is on the edge to the block, so this is another block's window. */
		if (pre->tier != KL_TIER_BOUNCE || pre->edge)
			continue;
		far = pre->slot - ((int64_t)pre->begin + 2);
		if (far < -128 || far > 127)
			fault(SLOT, g, pre->begin, "its slot is too far");
		if (!is_free(g, pre->slot))
			fault(SLOT, g, pre->begin, "its slot is not free");
		slot[n++] = pre->slot;
	}
	qsort(slot, n, sizeof(*slot), compare_slots);
	for (size_t i = 1; i < n; i++)
		if (slot[i] < slot[i - 1] + 5)
			fault(SLOT, g, slot[i], "two slots overlap");
	slots += n;
	free(slot);
}

static void check_function(struct kl_blocks *blocks, size_t index)
{
	struct kl_block_graph graph;

	if (kl_blocks_graph(blocks, index, &graph)) {
		unit_result(false, "a function is decoded", kl_error_text());
		return;
	}
	if (!graph.function.reason) {
		compare_instructions(&graph);
		check_blocks(&graph);
		for (uint32_t i = 0; i < graph.blocks; i++) {
			check_window(&graph, &graph.block[i].pre);
			check_window(&graph, &graph.block[i].post);
		}
		check_slots(&graph);
	}
	kl_block_graph_free(&graph);
}

/*
 * Random bytes: what both decoders accept has the same length in both, and the module's decoder
 * reads no more than it is given.
 */
static void compare_random(void)
{
	uint64_t state = 88172645463325252ull, both = 0, differ = 0, beyond = 0;

	for (int i = 0; i < RANDOM; i++) {
		uint64_t words[2];
		uint8_t *bytes = (uint8_t *)words;
		ZydisDecodedInstruction full;
		struct kl_instruction own;

		for (int k = 0; k < 2; k++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			words[k] = state;
		}
		if (!kl_instruction_decode(bytes, KL_INSTRUCTION_BYTES_MAX, &own))
			continue;
		beyond += kl_instruction_decode(bytes, own.bytes - 1, &own);
		kl_instruction_decode(bytes, KL_INSTRUCTION_BYTES_MAX, &own);
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes,
								KL_INSTRUCTION_BYTES_MAX, &full)))
			continue;
		both++;
		differ += full.length != own.bytes;
	}
	unit_check(both > RANDOM / 2 && !differ, "random bytes: both agree on what both decode");
	unit_check(!beyond, "a truncated instruction is not decoded");
}

static void report(int what, const char *text)
{
	unit_result(!faults[what], text, NULL);
}

int main(int argc, char **argv)
{
	struct kl_symbols *symbols = argc > 2 ? kl_symbols_open(argv[2]) : NULL;
	struct kl_symbol first = {}, last = {};
	struct kl_blocks *blocks;

	if (!symbols || kl_symbols_find(symbols, "kernel:_stext", &first) < 0 ||
	    kl_symbols_find(symbols, "kernel:_etext", &last) < 0)
		return 2;
	begin = first.address;
	end = last.address;
	if (argc > 3) {
		printf("0x%" PRIx64 " 0x%" PRIx64 "\n", begin, end);
		return 0;
	}
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	blocks = kl_blocks_open(argv[1], symbols);
	listed = calloc(end - begin + 1, sizeof(*listed));
	listed_target = calloc(end - begin + 1, sizeof(*listed_target));
	if (!blocks || !listed || !listed_target) {
		fprintf(stderr, "%s\n", kl_error_text());
		return 2;
	}
	read_listing(stdin);
	for (size_t i = 0; i < kl_blocks_functions(blocks); i++)
		check_function(blocks, i);
	printf("# %zu functions, %" PRIu64 " instructions, %" PRIu64 " targets, %" PRIu64
	       " windows, %" PRIu64 " slots\n",
	       kl_blocks_functions(blocks), instructions, targets, windows, slots);
	unit_result(instructions > 2000000 && targets > 300000, "the whole kernel is decoded",
		    NULL);
	printf("# %" PRIu64 " are unknown to objdump\n", unknown);
	unit_check(unknown <= UNKNOWN_MAX, "objdump knows the instructions");
	report(LENGTH, "every instruction is as long as objdump says");
	report(TARGET, "and goes where objdump says");
	report(OURS, "and the module's decoder reads it as Zydis does");
	compare_random();
	report(PARTITION, "blocks are apart, and cut where something jumps to");
	report(EDGE, "each edge leads to the beginning of a block");
	report(WINDOW,
	       "no patch site has a jump target or an instruction that cannot be relocated");
	report(SLOT, "slots of bounces are near, free, and apart");
	kl_blocks_close(blocks);
	kl_symbols_close(symbols);
	return unit_end();
}
