// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the targets of a program's jumps through tables. It follows the instructions before such a
 * jump, as far back as nothing else leads to them: a number was compared with a constant, indexes a
 * read-only table, and a base may be added. If any of this is uncertain, the jump has no known
 * targets. Feeds graph.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "block.h"

#define SLOTS 4 /* memory locations that are tracked: the stack, in unoptimized code */
#define BOUNDS 8
#define PATH_MAX_INSTRUCTIONS 64
#define ENTRIES_MAX 4096

enum kind {
	LINEAR, /* number + scale * the number @id; a constant if scale is 0 */
	ENTRY, /* the entry of the table at @number with index @id */
	TARGET, /* an ENTRY with @base added */
};

struct value {
	enum kind kind;
	uint32_t id;
	uint8_t scale;
	uint8_t bytes; /* size of an entry */
	bool wide; /* sign-extended to 64 bits */
	uint64_t number;
	uint64_t base;
};

struct slot {
	ZydisRegister base;
	int64_t displacement;
	uint16_t bits;
	struct value value;
};

struct path {
	const struct kl_blocks *b;
	const struct kl_block_graph *g;
	struct value reg[KL_REGISTERS];
	struct slot slot[SLOTS];
	unsigned int slots;
	struct {
		uint32_t id;
		uint64_t most;
	} bound[BOUNDS];
	unsigned int bounds;
	uint32_t ids;
	/* The last comparison, if the flags have not changed since. */
	bool compared;
	uint32_t compared_id;
	uint64_t compared_with;
	/* Addresses that registers hold throughout the function; 0: none. */
	uint64_t fixed[KL_REGISTERS];
	const struct kl_constants *constants; /* may be NULL */
};

static struct value constant(uint64_t number)
{
	return (struct value){ .number = number };
}

static struct value unknown(struct path *p)
{
	return (struct value){ .id = ++p->ids, .scale = 1 };
}

static bool is_constant(const struct value *v)
{
	return v->kind == LINEAR && !v->scale;
}

/* Is it an unmodified number? */
static bool is_plain(const struct value *v)
{
	return v->kind == LINEAR && v->scale == 1 && !v->number;
}

/* ------------------------------------------------------------------ values */

static struct value add(struct path *p, struct value a, struct value b)
{
	if (is_constant(&b) && !is_constant(&a))
		return add(p, b, a);
	if (!is_constant(&a))
		return unknown(p);
	if (b.kind == ENTRY && b.wide && b.bytes == 4) {
		b.kind = TARGET;
		b.base = a.number;
		return b;
	}
	/* An unscaled number plus a constant is just another number. */
	if (b.kind != LINEAR || (b.scale == 1 && a.number))
		return unknown(p);
	b.number += a.number;
	return b;
}

static struct value scale(struct path *p, struct value v, uint64_t by)
{
	if (v.kind != LINEAR || by > 8 || v.scale * by > 8)
		return unknown(p);
	v.scale *= by;
	v.number *= by;
	return v;
}

static struct value in_register(const struct path *p, ZydisRegister reg)
{
	int number = kl_register_number(reg);

	return number < 0 ? (struct value){ .id = UINT32_MAX, .scale = 1 } : p->reg[number];
}

static struct value address_of(struct path *p, const ZydisDecodedOperand *memory, uint64_t behind)
{
	struct value sum = constant(memory->mem.disp.has_displacement ? memory->mem.disp.value : 0);
	struct value index;

	if (memory->mem.segment == ZYDIS_REGISTER_FS || memory->mem.segment == ZYDIS_REGISTER_GS)
		return unknown(p);
	if (memory->mem.base == ZYDIS_REGISTER_RIP)
		return constant(sum.number + behind);
	if (memory->mem.index != ZYDIS_REGISTER_NONE) {
		index = scale(p, in_register(p, memory->mem.index), memory->mem.scale);
		sum = add(p, sum, index);
	}
	if (memory->mem.base != ZYDIS_REGISTER_NONE)
		sum = add(p, in_register(p, memory->mem.base), sum);
	return sum;
}

static struct slot *slot_of(struct path *p, const ZydisDecodedOperand *memory)
{
	for (unsigned int i = 0; i < p->slots; i++)
		if (p->slot[i].base == memory->mem.base &&
		    p->slot[i].displacement == memory->mem.disp.value &&
		    p->slot[i].bits == memory->size)
			return &p->slot[i];
	return NULL;
}

static bool is_slot(const ZydisDecodedOperand *memory)
{
	return memory->mem.index == ZYDIS_REGISTER_NONE &&
	       (memory->mem.base == ZYDIS_REGISTER_RBP || memory->mem.base == ZYDIS_REGISTER_RSP);
}

static void keep(struct path *p, const ZydisDecodedOperand *memory, struct value value)
{
	if (p->slots == SLOTS || !is_slot(memory))
		return;
	p->slot[p->slots++] =
		(struct slot){ memory->mem.base, memory->mem.disp.value, memory->size, value };
}

/* Load from memory: an entry of a table, or a value that was stored in a slot. */
static struct value load(struct path *p, const ZydisDecodedOperand *memory, uint64_t behind)
{
	struct value at = address_of(p, memory, behind);
	const struct slot *slot = slot_of(p, memory);
	unsigned int bytes = memory->size / 8;

	if (slot)
		return slot->value;
	if (at.kind == LINEAR && (bytes == 4 || bytes == 8) && at.scale == bytes)
		return (struct value){ .kind = ENTRY,
				       .id = at.id,
				       .bytes = bytes,
				       .wide = bytes == 8,
				       .number = at.number };
	at = unknown(p);
	keep(p, memory, at);
	return at;
}

static struct value get(struct path *p, const ZydisDecodedOperand *operand, uint64_t behind)
{
	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		return in_register(p, operand->reg.value);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return load(p, operand, behind);
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return constant(operand->imm.value.u);
	default:
		return unknown(p);
	}
}

/* ------------------------------------------------------------ instructions */

/* Extend from 32 bits or fewer: a number stays the same, an entry is sign-extended if @sign. */
static struct value widen(struct path *p, struct value v, bool sign)
{
	if (v.kind == ENTRY && v.bytes == 4) {
		v.wide |= sign;
		return v;
	}
	return is_plain(&v) ? v : unknown(p);
}

static struct value masked(struct path *p, uint64_t most)
{
	struct value v = unknown(p);

	if (p->bounds < BOUNDS) {
		p->bound[p->bounds].id = v.id;
		p->bound[p->bounds++].most = most;
	}
	return v;
}

/* The value that an instruction writes to its first operand. */
static struct value result_of(struct path *p, const ZydisDecodedInstruction *in,
			      const ZydisDecodedOperand *operand, uint64_t behind)
{
	struct value v;

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		return operand[0].size == 64 ? address_of(p, &operand[1], behind) : unknown(p);
	case ZYDIS_MNEMONIC_MOV:
		v = get(p, &operand[1], behind);
		return operand[0].size == 64 || is_constant(&v) || v.kind == ENTRY ?
			       v :
			       widen(p, v, false);
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
		return widen(p, get(p, &operand[1], behind), true);
	case ZYDIS_MNEMONIC_MOVZX:
		v = get(p, &operand[1], behind);
		if (is_plain(&v) && operand[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand[1].size == 8)
			return masked(p, UINT8_MAX);
		return widen(p, v, false);
	case ZYDIS_MNEMONIC_ADD:
		if (operand[0].size != 64)
			return unknown(p);
		v = get(p, &operand[1], behind);
		return add(p, get(p, &operand[0], behind), v);
	case ZYDIS_MNEMONIC_SHL:
		if (operand[0].size != 64 || operand[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		    operand[1].imm.value.u > 3)
			return unknown(p);
		return scale(p, get(p, &operand[0], behind), 1u << operand[1].imm.value.u);
	case ZYDIS_MNEMONIC_AND:
		if (operand[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || operand[1].imm.value.s < 0)
			return unknown(p);
		return masked(p, operand[1].imm.value.u);
	default:
		return unknown(p);
	}
}

static void compare(struct path *p, const ZydisDecodedOperand *operand, uint64_t behind)
{
	struct value v = get(p, &operand[0], behind);

	p->compared = is_plain(&v) && operand[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		      operand[1].imm.value.s >= 0;
	p->compared_id = v.id;
	p->compared_with = operand[1].imm.value.u;
}

/* A branch that is not taken bounds the number compared. */
static void pass(struct path *p, ZydisMnemonic mnemonic)
{
	uint64_t most = p->compared_with;

	if (!p->compared || p->bounds == BOUNDS)
		return;
	if (mnemonic == ZYDIS_MNEMONIC_JNB && most)
		most--;
	else if (mnemonic != ZYDIS_MNEMONIC_JNBE)
		return;
	p->bound[p->bounds].id = p->compared_id;
	p->bound[p->bounds++].most = most;
}

/* Forget all operands that it writes, except for a result that result_of() knows. */
static void overwrite(struct path *p, const ZydisDecodedInstruction *in,
		      const ZydisDecodedOperand *operand, uint64_t behind)
{
	bool one = in->operand_count_visible > 1 && operand[0].actions & ZYDIS_OPERAND_ACTION_WRITE;
	struct value v = one ? result_of(p, in, operand, behind) : unknown(p);

	for (unsigned int i = 0; i < in->operand_count; i++) {
		int number;

		if (!(operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			p->slots = 0;
		number = operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER ?
				 kl_register_number(operand[i].reg.value) :
				 -1;
		if (number >= 0)
			p->reg[number] = !i && operand[0].size >= 32 ? v : unknown(p);
	}
	if (one && operand[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    in->mnemonic == ZYDIS_MNEMONIC_MOV)
		keep(p, &operand[0], v);
}

static void follow(struct path *p, const ZydisDecodedInstruction *in,
		   const ZydisDecodedOperand *operand, uint64_t behind)
{
	if (in->mnemonic == ZYDIS_MNEMONIC_CMP) {
		compare(p, operand, behind);
	} else if (in->mnemonic == ZYDIS_MNEMONIC_CDQE) {
		p->reg[0] = widen(p, p->reg[0], true);
	} else if (in->meta.category == ZYDIS_CATEGORY_COND_BR) {
		pass(p, in->mnemonic);
	} else if (in->meta.category == ZYDIS_CATEGORY_CALL ||
		   in->meta.category == ZYDIS_CATEGORY_SYSCALL) {
		for (int i = 0; i < KL_REGISTERS; i++)
			if (!(KL_CALLEE_SAVED & 1u << i) || !is_constant(&p->reg[i]))
				p->reg[i] = unknown(p);
		p->slots = 0;
		p->compared = false;
	} else {
		overwrite(p, in, operand, behind);
		if (in->cpu_flags && (in->cpu_flags->modified | in->cpu_flags->undefined |
				      in->cpu_flags->set_0 | in->cpu_flags->set_1) &
					     (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_ZF))
			p->compared = false;
	}
}

/* ------------------------------------------------------------------- tables */

/*
 * Find addresses that registers hold throughout the function, because compilers load a table's
 * address once before a loop: the register is only written by loads of that address, and restored
 * at the end.
 */
static void find_fixed(const struct kl_blocks *b, const struct kl_block_graph *g,
		       uint64_t fixed[KL_REGISTERS])
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	uint32_t other = ~KL_CALLEE_SAVED & 0xffff;

	memset(fixed, 0, KL_REGISTERS * sizeof(*fixed));
	for (uint32_t i = 0; i < g->instructions; i++) {
		uint64_t address = 0;

		if (!kl_decode_operands(b, g, i, &in, operand))
			return;
		if (in.mnemonic == ZYDIS_MNEMONIC_POP)
			continue;
		if (in.mnemonic == ZYDIS_MNEMONIC_LEA && operand[1].mem.base == ZYDIS_REGISTER_RIP)
			address = g->function.address + g->instruction[i].offset + in.length +
				  operand[1].mem.disp.value;
		for (unsigned int k = 0; k < in.operand_count; k++) {
			int number = operand[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
						     operand[k].actions &
							     ZYDIS_OPERAND_ACTION_MASK_WRITE ?
					     kl_register_number(operand[k].reg.value) :
					     -1;

			if (number < 0)
				continue;
			if (!address || (fixed[number] && fixed[number] != address))
				other |= 1u << number;
			fixed[number] = address;
		}
	}
	for (int i = 0; i < KL_REGISTERS; i++)
		if (other & 1u << i)
			fixed[i] = 0;
}

/* Start of the straight path to an instruction, on which only the one before leads to each. */
static uint32_t path_begin(const struct kl_block_graph *g, uint32_t index)
{
	uint32_t first = index > PATH_MAX_INSTRUCTIONS ? index - PATH_MAX_INSTRUCTIONS : 0;

	while (index > first && !g->instruction[index].leader &&
	       (g->instruction[index - 1].end == KL_END_FALL ||
		g->instruction[index - 1].end == KL_END_BRANCH ||
		g->instruction[index - 1].end == KL_END_CALL))
		index--;
	return index;
}

/* Compute the value that a jump goes to. */
static bool find_value(struct path *p, uint32_t index, struct value *to)
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t first = path_begin(p->g, index);
	ZydisDecodedInstruction in;

	for (int i = 0; i < KL_REGISTERS; i++) {
		uint64_t known = p->constants && p->constants->known[first] ?
					 p->constants->value[first][i] :
					 p->fixed[i];

		p->reg[i] = known ? constant(known) : unknown(p);
	}
	for (uint32_t i = first; i <= index; i++) {
		uint64_t behind = p->g->function.address + p->g->instruction[i].offset +
				  p->g->instruction[i].bytes;

		if (!kl_decode_operands(p->b, p->g, i, &in, operand))
			return false;
		if (i == index)
			*to = get(p, &operand[0], behind);
		else
			follow(p, &in, operand, behind);
	}
	return to->kind == TARGET || (to->kind == ENTRY && to->bytes == 8);
}

static bool is_constant_memory(const struct kl_blocks *b, uint64_t address, size_t bytes)
{
	for (size_t i = 0; i < b->segments; i++)
		if (address >= b->segment[i].begin && address + bytes <= b->segment[i].end)
			return !b->segment[i].changes;
	return false;
}

/* Read the entries into @target. Returns their number; 0: unknown. */
static uint32_t read_table(const struct path *p, const struct value *v, uint64_t *target)
{
	uint64_t most = ENTRIES_MAX;
	uint8_t raw[8];

	for (unsigned int i = 0; i < p->bounds; i++)
		if (p->bound[i].id == v->id && p->bound[i].most < most)
			most = p->bound[i].most;
	if (most >= ENTRIES_MAX || !is_constant_memory(p->b, v->number, (most + 1) * v->bytes))
		return 0;
	for (uint64_t i = 0; i <= most; i++) {
		if (kl_text_read(p->b, v->number + i * v->bytes, raw, v->bytes))
			return 0;
		target[i] = v->kind == TARGET ? v->base + (int64_t)(int32_t)kl_get32(raw) :
						kl_get64(raw);
	}
	return most + 1;
}

/* Are all targets instructions, of this function or another? */
static bool are_instructions(const struct path *p, const uint64_t *target, uint32_t n)
{
	const struct kl_block_function *f = &p->g->function;

	for (uint32_t i = 0; i < n; i++) {
		if (target[i] - f->address < f->bytes) {
			if (kl_instruction_at(p->g, target[i] - f->address) == UINT32_MAX)
				return false;
		} else if (target[i] < p->b->begin || target[i] >= p->b->end ||
			   kl_function_at(p->b, target[i]) < 0) {
			return false;
		}
	}
	return true;
}

static bool has_edge(const struct kl_block_graph *g, uint32_t from)
{
	for (uint32_t i = 0; i < g->edges; i++)
		if (g->edge[i].from == from)
			return true;
	return false;
}

static int add_edge(struct kl_block_graph *g, size_t *room, uint32_t from, uint32_t to)
{
	struct kl_block_edge *grown;

	for (uint32_t i = 0; i < g->edges; i++)
		if (g->edge[i].from == from && g->edge[i].to == to)
			return 0;
	grown = kl_array_grow(g->edge, g->edges, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	g->edge = grown;
	grown[g->edges++] = (struct kl_block_edge){ from, to };
	return 0;
}

/* Process one jump. Sets @more if it makes an instruction a new leader. */
static int find_targets(struct path *p, struct kl_block_graph *g, size_t *room, uint32_t index,
			bool *more)
{
	const struct kl_block_function *f = &g->function;
	uint64_t target[ENTRIES_MAX];
	uint32_t n = 0;
	struct value v = {};
	int ret = 0;

	if (find_value(p, index, &v))
		n = read_table(p, &v, target);
	if (!n || !are_instructions(p, target, n)) {
		g->indirect = true;
		return 0;
	}
	for (uint32_t i = 0; !ret && i < n; i++) {
		struct kl_block_instruction *in;

		if (target[i] - f->address >= f->bytes)
			continue;
		in = &g->instruction[kl_instruction_at(g, target[i] - f->address)];
		*more |= !in->leader;
		in->leader = true;
		ret = add_edge(g, room, g->instruction[index].offset, in->offset);
	}
	return ret;
}

/* Process all jumps once. @banned: those whose targets turned out to be uncertain. */
static int find_all(const struct kl_blocks *b, struct kl_block_graph *g,
		    const uint64_t fixed[KL_REGISTERS], const struct kl_constants *constants,
		    bool *banned, bool *more)
{
	struct kl_block_graph old = *g;
	size_t room = 0;
	int ret = 0;

	g->edge = NULL;
	g->edges = 0;
	g->indirect = false;
	for (uint32_t i = 0; !ret && i < g->instructions; i++) {
		struct path p = { .b = b, .g = g, .constants = constants };
		uint32_t before = g->edges;

		if (g->instruction[i].end != KL_END_JUMP || g->instruction[i].target)
			continue;
		memcpy(p.fixed, fixed, sizeof(p.fixed));
		if (banned[i])
			g->indirect = true;
		else
			ret = find_targets(&p, g, &room, i, more);
		if (g->edges == before && has_edge(&old, g->instruction[i].offset)) {
			banned[i] = true;
			*more = true;
		}
	}
	*more |= g->edges != old.edges;
	free(old.edge);
	return ret;
}

/*
 * Repeat until nothing is new: a table's target may lie between a comparison and another table's
 * jump, or set a register. So may the targets of an unresolved jump: if there are any, the caller
 * starts over without @believe, which ignores registers set elsewhere.
 */
static int find_until_known(const struct kl_blocks *b, struct kl_block_graph *g, bool believe,
			    bool *banned)
{
	uint64_t fixed[KL_REGISTERS];
	bool more = true;
	int ret = 0;

	find_fixed(b, g, fixed);
	while (!ret && more) {
		struct kl_constants constants = {};

		more = false;
		if (believe)
			ret = kl_constants_find(b, g, &constants);
		if (!ret)
			ret = find_all(b, g, fixed, believe ? &constants : NULL, banned, &more);
		kl_constants_free(&constants);
	}
	return ret;
}

int kl_jump_tables(const struct kl_blocks *b, struct kl_block_graph *graph)
{
	bool *banned, any = false;
	int ret;

	for (uint32_t i = 0; i < graph->instructions; i++)
		any |= graph->instruction[i].end == KL_END_JUMP && !graph->instruction[i].target;
	if (!any)
		return 0;
	banned = calloc(graph->instructions, sizeof(*banned));
	if (!banned)
		return -ENOMEM;
	ret = find_until_known(b, graph, true, banned);
	if (!ret && graph->indirect) {
		memset(banned, 0, graph->instructions * sizeof(*banned));
		graph->edges = 0;
		ret = find_until_known(b, graph, false, banned);
	}
	free(banned);
	return ret;
}
