// SPDX-License-Identifier: GPL-2.0
/*
 * Builds one function's instructions and basic blocks: decodes it from start to end, and splits it
 * at every jump target and after every instruction that may transfer control.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

#define FUNCTION_ALIGNMENT 16
#define HLT 0xf4

struct maker {
	const struct kl_blocks *b;
	const struct kl_function_entry *f;
	struct kl_block_graph *g;
	size_t room; /* instructions allocated */
	size_t block_room;
};

/* The first reason is kept. */
static void exclude(struct kl_block_graph *g, enum kl_block_reason reason)
{
	if (!g->function.reason)
		g->function.reason = reason;
}

static bool is_inside(const struct kl_function_entry *f, uint64_t address)
{
	return address >= f->address && address - f->address < f->bytes;
}

uint32_t kl_instruction_at(const struct kl_block_graph *g, uint32_t offset)
{
	uint32_t low = 0, high = g->instructions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (g->instruction[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < g->instructions && g->instruction[low].offset == offset ? low : UINT32_MAX;
}

/**
 * kl_is_hook - is it a hook of ftrace, BPF or livepatch?
 * @at: KL_HOOK_BYTES of text
 *
 * The first five-byte nop of a function, or a call in its place.
 */
bool kl_is_hook(const uint8_t *at)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	return !memcmp(at, nop, sizeof(nop)) || *at == 0xe8;
}

/**
 * kl_is_landing_pad - does an instruction mark where indirect jumps may go?
 * @at: KL_LANDING_PAD_BYTES of text
 *
 * It is endbr64, or one of the nops with which the kernel replaces it (seals it) where no indirect
 * jump goes: until 6.14, and since 6.15.
 */
bool kl_is_landing_pad(const uint8_t *at)
{
	static const uint8_t pads[][KL_LANDING_PAD_BYTES] = {
		{ 0xf3, 0x0f, 0x1e, 0xfa },
		{ 0x66, 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0xd6 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(pads); i++)
		if (!memcmp(at, pads[i], sizeof(pads[i])))
			return true;
	return false;
}

/* Is it a landing pad, sealed or not, before a hook? */
static bool is_entry_pad(const struct maker *m, const struct kl_block_instruction *in)
{
	const uint8_t *at = m->g->text;

	return !in->offset && m->f->bytes >= KL_LANDING_PAD_BYTES + KL_HOOK_BYTES &&
	       kl_is_landing_pad(at) && kl_is_hook(at + KL_LANDING_PAD_BYTES);
}

/*
 * Does a function without a symbol begin here? The linker may have preferred another one of the
 * same name, but the nop still belongs to ftrace.
 */
static bool is_unnamed_entry(const struct maker *m, const struct kl_block_instruction *in)
{
	uint64_t address = m->f->address + in->offset;
	uint32_t n = m->g->instructions;
	const struct kl_block_instruction *before;

	if (n && kl_is_landing_pad(m->g->text + m->g->instruction[n - 1].offset))
		address = m->f->address + m->g->instruction[--n].offset;
	before = n ? &m->g->instruction[n - 1] : NULL;
	return before && address % FUNCTION_ALIGNMENT == 0 && in->nop && in->bytes == 5 &&
	       (before->nop || before->end == KL_END_RETURN || before->end == KL_END_JUMP ||
		before->end == KL_END_STOP) &&
	       kl_is_hook(m->g->text + in->offset);
}

/* Mark a program's instructions: those that uprobes refuse, and those that end execution. */
static void mark_program(const struct maker *m, struct kl_block_instruction *in)
{
	uint64_t address = m->f->address + in->offset;

	if (in->reason == KL_BLOCK_bug || (in->bytes == 1 && m->g->text[in->offset] == HLT))
		in->end = KL_END_STOP;
	in->reason = kl_uprobe_takes(m->b, address, in->bytes) ? 0 : KL_BLOCK_uprobe;
}

/*
 * Set the reasons that the kernel's tables give. Returns false if they list an address inside the
 * instruction.
 */
static bool mark(const struct maker *m, struct kl_block_instruction *in)
{
	uint64_t address = m->f->address + in->offset;
	const struct kl_mark *found = kl_mark_within(m->b, address, address + in->bytes);
	uint32_t entry = m->g->instructions &&
					 m->g->instruction[0].reason == KL_BLOCK_function_entry ?
				 m->g->instruction[0].bytes :
				 0;

	if (m->b->program) {
		mark_program(m, in);
		return true;
	}
	if (is_entry_pad(m, in))
		in->reason = KL_BLOCK_function_entry;
	if (in->bytes == 5 && in->offset == entry && kl_is_hook(m->g->text + in->offset)) {
		in->reason = KL_BLOCK_function_entry;
		if (in->end == KL_END_CALL)
			in->end = KL_END_FALL;
	}
	if (is_unnamed_entry(m, in)) {
		in->reason = KL_BLOCK_function_entry;
		in->leader = true;
	}
	if (!found)
		return true;
	/* In newer kernels, the ud1 of a WARN() is what a static call has become. */
	if (in->reason != KL_BLOCK_bug)
		in->reason = found->reason;
	return found->address == address;
}

static int add_instruction(struct maker *m, const struct kl_block_instruction *in)
{
	struct kl_block_graph *g = m->g;
	struct kl_block_instruction *grown =
		kl_array_grow(g->instruction, g->instructions, &m->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	g->instruction = grown;
	grown[g->instructions++] = *in;
	return 0;
}

static int sweep(struct maker *m)
{
	struct kl_block_graph *g = m->g;
	struct kl_block_instruction in;

	for (uint32_t offset = 0; offset < m->f->bytes; offset += in.bytes) {
		uint32_t left = m->f->bytes - offset;

		/*
		 * Padding up to the end of a module's section; zeros would decode as instructions.
		 */
		if (!g->text[offset] && kl_is_padding(g->text + offset, left))
			return 0;
		if (!kl_decode(m->b, m->f->address + offset, left, &in)) {
			if (!kl_is_padding(g->text + offset, left))
				exclude(g, KL_BLOCK_undecodable);
			return 0;
		}
		in.offset = offset;
		if (!mark(m, &in))
			exclude(g, KL_BLOCK_undecodable);
		if (in.end == KL_END_CALL) {
			const struct kl_function_entry *to =
				in.target ? kl_function_entry_at(m->b, in.target) : NULL;

			in.reads |= 0xffff;
			if (!to || !to->returns_flags)
				in.kills |= KL_LIVE_FLAGS;
			if (to && to->never && to->address == in.target)
				in.end = KL_END_STOP;
		}
		if (add_instruction(m, &in))
			return -ENOMEM;
	}
	return 0;
}

static void lead(struct kl_block_graph *g, uint32_t offset)
{
	uint32_t index = kl_instruction_at(g, offset);

	if (index != UINT32_MAX)
		g->instruction[index].leader = true;
	else
		exclude(g, KL_BLOCK_undecodable);
}

static bool ends_block(const struct kl_block_instruction *in)
{
	return in->end != KL_END_FALL || in->reason == KL_BLOCK_bug;
}

/*
 * Mark the addresses of @set as leaders. If not @sure, they may just be data that looks like
 * addresses, so they need not be instructions.
 */
static void lead_from(const struct maker *m, const struct kl_addresses_set *set, bool sure)
{
	for (size_t i = kl_set_from(set, m->f->address); i < set->n && is_inside(m->f, set->at[i]);
	     i++) {
		uint32_t at = kl_instruction_at(m->g, set->at[i] - m->f->address);

		if (at != UINT32_MAX)
			m->g->instruction[at].leader = true;
		else if (sure)
			exclude(m->g, KL_BLOCK_undecodable);
	}
}

/* May an indirect branch go there? Not if the kernel has sealed it. */
static bool is_landing_pad(const struct kl_block_graph *g, const struct kl_block_instruction *in)
{
	static const uint8_t endbr64[KL_LANDING_PAD_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return in->bytes == KL_LANDING_PAD_BYTES &&
	       !memcmp(g->text + in->offset, endbr64, sizeof(endbr64));
}

/* Mark jump targets as leaders. cut() also ends a block after every jump. */
static void find_leaders(const struct maker *m)
{
	struct kl_block_graph *g = m->g;

	if (g->instructions)
		g->instruction[0].leader = true;
	for (uint32_t i = 0; i < g->instructions; i++) {
		struct kl_block_instruction *in = &g->instruction[i];

		if (in->target && in->end != KL_END_CALL && is_inside(m->f, in->target))
			lead(g, in->target - m->f->address);
		if (in->end == KL_END_JUMP && !in->target && !m->b->program && in->reason)
			exclude(g, KL_BLOCK_indirect);
		if (m->b->tracked && is_landing_pad(g, in))
			in->leader = true;
	}
	lead_from(m, &m->b->leader, !m->b->program);
	lead_from(m, &m->b->word, false);
}

static int add_block(struct maker *m, uint32_t first, uint32_t end)
{
	struct kl_block_graph *g = m->g;
	struct kl_block *grown = kl_array_grow(g->block, g->blocks, &m->block_room, sizeof(*grown));
	const struct kl_block_instruction *last = &g->instruction[end - 1];

	if (!grown)
		return -ENOMEM;
	g->block = grown;
	grown[g->blocks] = (struct kl_block){
		.begin = g->instruction[first].offset,
		.bytes = last->offset + last->bytes - g->instruction[first].offset,
		.first = first,
		.n = end - first,
		.end = last->end,
		.next = KL_NO_BLOCK,
		.taken = KL_NO_BLOCK,
	};
	for (uint32_t i = first; i < end; i++)
		g->instruction[i].block = g->blocks;
	g->blocks++;
	return 0;
}

static int cut(struct maker *m)
{
	struct kl_block_graph *g = m->g;
	uint32_t first = 0;

	for (uint32_t i = 0; i < g->instructions; i++) {
		if (i + 1 < g->instructions && !ends_block(&g->instruction[i]) &&
		    !g->instruction[i + 1].leader)
			continue;
		if (add_block(m, first, i + 1))
			return -ENOMEM;
		first = i + 1;
	}
	return 0;
}

static bool goes_on(uint8_t end)
{
	return end == KL_END_FALL || end == KL_END_CALL || end == KL_END_BRANCH;
}

static uint32_t block_at(const struct kl_block_graph *g, uint32_t offset)
{
	return g->instruction[kl_instruction_at(g, offset)].block;
}

/* Convert the ends of edges from offsets to blocks. */
static void name_edges(struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < g->edges; i++) {
		g->edge[i].from = block_at(g, g->edge[i].from);
		g->edge[i].to = block_at(g, g->edge[i].to);
	}
}

static void connect(const struct maker *m)
{
	struct kl_block_graph *g = m->g;

	for (uint32_t i = 0; i < g->blocks; i++) {
		struct kl_block *block = &g->block[i];
		const struct kl_block_instruction *last =
			&g->instruction[block->first + block->n - 1];

		if (goes_on(block->end) && i + 1 < g->blocks)
			block->next = i + 1;
		if (block->end != KL_END_BRANCH && block->end != KL_END_JUMP)
			continue;
		if (last->target && is_inside(m->f, last->target)) {
			uint32_t at = kl_instruction_at(g, last->target - m->f->address);

			block->taken = at == UINT32_MAX ? KL_NO_BLOCK : g->instruction[at].block;
		} else if (block->end == KL_END_JUMP && (last->target || !m->b->program)) {
			block->end = KL_END_LEAVE;
		}
	}
}

static bool is_filling(const struct kl_block_graph *g, const struct kl_block *block)
{
	for (uint32_t i = block->first; i < block->first + block->n; i++) {
		const struct kl_block_instruction *in = &g->instruction[i];

		if (!in->nop && !kl_is_padding(g->text + in->offset, in->bytes))
			return false;
	}
	return true;
}

static void enter(const struct maker *m, const struct kl_addresses_set *set)
{
	struct kl_block_graph *g = m->g;

	for (size_t i = kl_set_from(set, m->f->address); i < set->n && is_inside(m->f, set->at[i]);
	     i++) {
		uint32_t at = kl_instruction_at(g, set->at[i] - m->f->address);

		if (at != UINT32_MAX)
			g->block[g->instruction[at].block].entered = true;
	}
}

/*
 * Set how blocks are entered: `entered` from outside, `alone` only by falling through the branch
 * before. @ways: 1 for the latter, else 0 or 2.
 */
static void find_entries(const struct maker *m, uint8_t *ways)
{
	struct kl_block_graph *g = m->g;

	enter(m, &m->b->leader);
	enter(m, &m->b->word);
	for (uint32_t i = 0; m->b->tracked && i < g->blocks; i++)
		g->block[i].entered |= is_landing_pad(g, &g->instruction[g->block[i].first]);
	for (uint32_t i = 0; i < g->edges; i++)
		g->block[block_at(g, g->edge[i].to)].entered = true;
	g->block[0].entered = true;
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block *block = &g->block[i];

		if (block->next != KL_NO_BLOCK && ways[block->next] < 2)
			ways[block->next] += block->end == KL_END_BRANCH ? 1 : 2;
		if (block->taken != KL_NO_BLOCK)
			ways[block->taken] = 2;
	}
	for (uint32_t i = 0; i < g->blocks; i++)
		g->block[i].alone = ways[i] == 1 && !g->block[i].entered;
}

/*
 * Remove blocks that are unreachable and do nothing: padding from the compiler. @to: new numbers of
 * the blocks.
 */
static void drop_filling(struct kl_block_graph *g, uint32_t *to, const bool *reached)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < g->blocks; i++) {
		bool filling = !reached[i] && is_filling(g, &g->block[i]);

		to[i] = filling ? KL_NO_BLOCK : kept++;
	}
	for (uint32_t i = 0; i < g->blocks; i++) {
		struct kl_block *block = &g->block[i];

		for (uint32_t k = block->first; k < block->first + block->n; k++)
			g->instruction[k].block = to[i];
		if (block->next != KL_NO_BLOCK)
			block->next = to[block->next];
		if (block->taken != KL_NO_BLOCK)
			block->taken = to[block->taken];
		/* A block without known predecessors may have unknown ones. */
		if (!reached[i]) {
			block->entered = true;
			block->alone = false;
		}
		if (to[i] != KL_NO_BLOCK)
			g->block[to[i]] = *block;
	}
	g->blocks = kept;
}

static void reach(const struct kl_block_graph *g, bool *reached, uint32_t *open)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->blocks; i++)
		if (g->block[i].entered) {
			reached[i] = true;
			open[n++] = i;
		}
	while (n) {
		const struct kl_block *block = &g->block[open[--n]];
		const uint32_t next[] = { block->next, block->taken };

		for (int k = 0; k < 2; k++)
			if (next[k] != KL_NO_BLOCK && !reached[next[k]]) {
				reached[next[k]] = true;
				open[n++] = next[k];
			}
	}
}

/* Can it leave the function, by a return or by a jump to a function that may return? */
static bool is_exit(const struct kl_blocks *b, const struct kl_block_graph *g,
		    const struct kl_block *block)
{
	const struct kl_block_instruction *last = &g->instruction[block->first + block->n - 1];
	const struct kl_function_entry *callee;

	if (block->end == KL_END_RETURN || (goes_on(block->end) && block->next == KL_NO_BLOCK))
		return true;
	if (block->end != KL_END_LEAVE &&
	    (block->end != KL_END_BRANCH || block->taken != KL_NO_BLOCK))
		return false;
	callee = last->target ? kl_function_entry_at(b, last->target) : NULL;
	return !callee || !callee->never;
}

/* Can the function return, given what is known of its callees? Returns -ENOMEM, 0 or 1. */
int kl_graph_returns(const struct kl_blocks *b, const struct kl_block_graph *g)
{
	bool *reached = calloc(g->blocks + 1, sizeof(*reached));
	uint32_t *open = calloc(g->blocks + 1, sizeof(*open));
	int ret = !reached || !open ? -ENOMEM :
				      g->function.reason == KL_BLOCK_undecodable ||
					      g->function.reason == KL_BLOCK_indirect;

	if (!ret) {
		reach(g, reached, open);
		for (uint32_t i = 0; i < g->blocks && !ret; i++)
			ret = reached[i] && is_exit(b, g, &g->block[i]);
	}
	free(open);
	free(reached);
	return ret;
}

static int find_filling(const struct maker *m)
{
	struct kl_block_graph *g = m->g;
	uint8_t *ways = calloc(g->blocks, 1);
	bool *reached = calloc(g->blocks, sizeof(*reached));
	uint32_t *open = calloc(g->blocks, sizeof(*open));
	int ret = ways && reached && open ? 0 : -ENOMEM;

	if (!ret) {
		find_entries(m, ways);
		reach(g, reached, open);
		drop_filling(g, open, reached);
	}
	free(open);
	free(reached);
	free(ways);
	return ret;
}

/* Build everything but liveness and splices. */
int kl_graph_make(const struct kl_blocks *b, size_t index, struct kl_block_graph *graph)
{
	struct maker m = { .b = b, .f = &b->function[index], .g = graph };
	int ret;

	*graph = (struct kl_block_graph){ .text = kl_text_of(b, m.f->address) };
	kl_blocks_function(b, index, &graph->function);
	ret = sweep(&m);
	if (!ret) {
		find_leaders(&m);
		if (b->program)
			ret = kl_jump_tables(b, graph);
	}
	if (!ret)
		ret = cut(&m);
	if (!ret && graph->blocks) {
		connect(&m);
		ret = find_filling(&m);
		name_edges(graph);
	}
	if (!ret)
		return 0;
	kl_block_graph_free(graph);
	return kl_fail(ENOMEM, "out of memory");
}

void kl_block_graph_free(struct kl_block_graph *graph)
{
	free(graph->instruction);
	free(graph->block);
	free(graph->edge);
	*graph = (struct kl_block_graph){};
}
