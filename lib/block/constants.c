// SPDX-License-Identifier: GPL-2.0
/*
 * Finds addresses that registers hold throughout parts of a program's function: compilers load a
 * jump table's address once, before a loop. This is a forward data-flow analysis, repeated until
 * nothing changes; where paths with different values meet, the value is unknown. Feeds
 * jump_table.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

struct flow {
	const struct kl_blocks *b;
	const struct kl_block_graph *g;
	struct kl_constants *c;
	uint32_t *open; /* work list: starts whose state has changed */
	bool *waits; /* is the start in the work list? */
	uint32_t n;
};

/* Can an instruction be reached other than by falling through from the one before? */
static bool is_start(const struct kl_block_graph *g, uint32_t i)
{
	return !i || g->instruction[i].leader || g->instruction[i - 1].end != KL_END_FALL;
}

static void wait_for(struct flow *f, uint32_t start)
{
	if (f->waits[start])
		return;
	f->waits[start] = true;
	f->open[f->n++] = start;
}

/* Merge @value, the registers on a path that leads to @start. */
static void meet(struct flow *f, uint32_t start, const uint64_t value[KL_REGISTERS])
{
	uint64_t *there = f->c->value[start];
	bool changed = !f->c->known[start];

	if (changed)
		memcpy(there, value, KL_REGISTERS * sizeof(*value));
	f->c->known[start] = true;
	for (int i = 0; i < KL_REGISTERS; i++)
		if (there[i] && there[i] != value[i]) {
			there[i] = 0;
			changed = true;
		}
	if (changed)
		wait_for(f, start);
}

static void meet_offset(struct flow *f, uint64_t offset, const uint64_t value[KL_REGISTERS])
{
	uint32_t at = offset < f->g->function.bytes ? kl_instruction_at(f->g, offset) : UINT32_MAX;

	if (at != UINT32_MAX)
		meet(f, at, value);
}

/* Apply an instruction's effect to the registers. */
static void apply(const struct flow *f, uint32_t index, uint64_t value[KL_REGISTERS])
{
	const struct kl_block_instruction *at = &f->g->instruction[index];
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	uint64_t to = 0;
	int number;

	if (!kl_decode_operands(f->b, f->g, index, &in, operand)) {
		memset(value, 0, KL_REGISTERS * sizeof(*value));
		return;
	}
	if (in.mnemonic == ZYDIS_MNEMONIC_LEA && operand[0].size == 64 &&
	    operand[1].mem.base == ZYDIS_REGISTER_RIP) {
		to = f->g->function.address + at->offset + at->bytes + operand[1].mem.disp.value;
	} else if (in.mnemonic == ZYDIS_MNEMONIC_MOV && operand[0].size == 64 &&
		   operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		number = kl_register_number(operand[1].reg.value);
		to = number < 0 ? 0 : value[number];
	}
	for (unsigned int i = 0; i < in.operand_count; i++) {
		number = operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
					 operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ?
				 kl_register_number(operand[i].reg.value) :
				 -1;
		if (number >= 0)
			value[number] = i ? 0 : to;
	}
	for (int i = 0; at->end == KL_END_CALL && i < KL_REGISTERS; i++)
		if (!(KL_CALLEE_SAVED & 1u << i))
			value[i] = 0;
}

/* Process the run of instructions from a start, and merge the result into its successors. */
static void go(struct flow *f, uint32_t start)
{
	const struct kl_block_graph *g = f->g;
	const struct kl_block_instruction *last;
	uint64_t value[KL_REGISTERS];
	uint32_t i = start;

	memcpy(value, f->c->value[start], sizeof(value));
	for (;; i++) {
		apply(f, i, value);
		if (i + 1 == g->instructions || is_start(g, i + 1))
			break;
	}
	last = &g->instruction[i];
	if (i + 1 < g->instructions &&
	    (last->end == KL_END_FALL || last->end == KL_END_CALL || last->end == KL_END_BRANCH))
		meet(f, i + 1, value);
	if (last->end == KL_END_BRANCH || last->end == KL_END_JUMP)
		meet_offset(f, last->target - g->function.address, value);
	for (uint32_t k = 0; k < g->edges; k++)
		if (g->edge[k].from == last->offset)
			meet_offset(f, g->edge[k].to, value);
}

static void run(struct flow *f)
{
	const struct kl_block_function *of = &f->g->function;
	const struct kl_addresses_set *set = &f->b->leader;
	static const uint64_t nothing[KL_REGISTERS];

	meet(f, 0, nothing);
	for (size_t i = kl_set_from(set, of->address);
	     i < set->n && set->at[i] - of->address < of->bytes; i++)
		meet_offset(f, set->at[i] - of->address, nothing);
	while (f->n) {
		uint32_t start = f->open[--f->n];

		f->waits[start] = false;
		go(f, start);
	}
}

int kl_constants_find(const struct kl_blocks *b, const struct kl_block_graph *g,
		      struct kl_constants *c)
{
	struct flow f = { .b = b, .g = g, .c = c };
	int ret = 0;

	*c = (struct kl_constants){
		.value = calloc(g->instructions + 1, sizeof(*c->value)),
		.known = calloc(g->instructions + 1, sizeof(*c->known)),
	};
	f.open = calloc(g->instructions + 1, sizeof(*f.open));
	f.waits = calloc(g->instructions + 1, sizeof(*f.waits));
	if (!c->value || !c->known || !f.open || !f.waits)
		ret = -ENOMEM;
	else
		run(&f);
	free(f.waits);
	free(f.open);
	if (ret)
		kl_constants_free(c);
	return ret;
}

void kl_constants_free(struct kl_constants *c)
{
	free(c->value);
	free(c->known);
	*c = (struct kl_constants){};
}
