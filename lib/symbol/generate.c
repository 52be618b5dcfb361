// SPDX-License-Identifier: GPL-2.0
/*
 * Turns nodes into operations. A value ends up in a register. A place is a register and an offset,
 * so that p->a.b[2] is a single load. Of two operands, the one that needs more registers is
 * computed first, so that eight suffice for all but odd expressions.
 */
#include <errno.h>

#include "../base/base.h"
#include "expression.h"

static int value(struct kl_compiler *c, const struct kl_node *node);
static struct kl_operand place(struct kl_compiler *c, const struct kl_node *node);

static void claim(struct kl_compiler *c, int reg)
{
	c->registers |= 1u << reg;
}

/* Move the value from register @from to @to, which is free. */
static void bring(struct kl_compiler *c, int to, int from)
{
	if (to == from)
		return;
	kl_emit_free(c, from);
	claim(c, to);
	kl_emit(c, KL_OP_MOVE, to, from, 0, 0);
}

static void narrow(struct kl_compiler *c, int reg, unsigned int bits, unsigned int from,
		   bool is_signed)
{
	kl_emit(c, KL_OP_BITS, reg, reg, is_signed, bits << 8 | from);
}

static bool is_wide_unsigned(const struct kl_ctype *type)
{
	return type->stars || (type->bytes == 8 && !type->is_signed);
}

/* Cannot fail: the operands' types have been checked. */
static struct kl_ctype value_type(struct kl_compiler *c, const struct kl_node *node)
{
	struct kl_ctype type;

	kl_check_value(c, node, &type);
	return type;
}

/* ------------------------------------------------------------------ places */

/* The place that the pointer or array @node refers to. */
static struct kl_operand pointed(struct kl_compiler *c, const struct kl_node *node)
{
	if (kl_ctype_is_array(&node->type))
		return place(c, node);
	return (struct kl_operand){ .reg = value(c, node) };
}

/* Compute the place's address in its register. */
static int address(struct kl_compiler *c, const struct kl_node *node, struct kl_operand p)
{
	if (p.offset)
		kl_emit_alu_const(c, node, KL_ALU_ADD, p.reg, p.offset);
	return p.reg;
}

static struct kl_operand index_place(struct kl_compiler *c, const struct kl_node *node)
{
	uint64_t bytes = kl_ctype_bytes(&node->type, c->scope->btf);
	struct kl_operand p;
	int index;

	if (node->b->kind == KL_NODE_NUMBER) {
		p = pointed(c, node->a);
		p.offset += node->b->number * bytes;
		return p;
	}
	if (node->b->need > node->a->need) {
		index = value(c, node->b);
		p = pointed(c, node->a);
	} else {
		p = pointed(c, node->a);
		index = value(c, node->b);
	}
	if (bytes != 1)
		kl_emit_alu_const(c, node, KL_ALU_MUL, index, bytes);
	kl_emit_alu(c, KL_ALU_ADD, p.reg, index);
	kl_emit_free(c, index);
	return p;
}

static struct kl_operand place(struct kl_compiler *c, const struct kl_node *node)
{
	struct kl_operand p = { 0 };

	switch (node->kind) {
	case KL_NODE_GLOBAL:
		p.reg = kl_emit_register(c, node);
		kl_emit_const(c, p.reg, node->number);
		if (node->is_percpu)
			kl_emit(c, KL_OP_PERCPU, p.reg, p.reg, 0, 0);
		break;
	case KL_NODE_MEMBER:
		p = place(c, node->a);
		p.offset += node->number;
		break;
	case KL_NODE_ARROW:
		p = pointed(c, node->a);
		p.offset += node->number;
		break;
	case KL_NODE_INDEX:
		p = index_place(c, node);
		break;
	default: /* KL_NODE_DEREF */
		p = pointed(c, node->a);
	}
	return p;
}

static int load(struct kl_compiler *c, const struct kl_node *node)
{
	struct kl_operand p = place(c, node);
	enum kl_number number = KL_NUMBER_U64;

	if (!node->type.stars)
		number = kl_number_of(node->type.bytes, !node->bits && node->type.is_signed);
	if (p.offset != (int32_t)p.offset) {
		address(c, node, p);
		p.offset = 0;
	}
	kl_emit(c, node->is_user ? KL_OP_LOAD_USER : KL_OP_LOAD, p.reg, p.reg, number, p.offset);
	if (node->bits)
		narrow(c, p.reg, node->bits, node->bit, node->type.is_signed);
	return p.reg;
}

/* ------------------------------------------------------------------ values */

/*
 * Offsets of the strings before a field: from the record's start to the first one, and from there
 * to the second, for imm64. At most two strings precede a field.
 */
static uint64_t gaps(struct kl_compiler *c, const struct kl_node *node,
		     const struct kl_field *field)
{
	uint64_t found = 0;

	for (const struct kl_field *f = c->scope->class->fields; f < field; f++) {
		if (f->type != KL_TYPE_STRING || !f->offset)
			continue;
		if (f->anchor < 2) {
			found |= (uint64_t)f->offset << (32 + 16 * f->anchor);
		} else if (!c->error) {
			kl_complain(c, node->at, "too many strings before this field");
			c->error = -EINVAL;
		}
	}
	return found;
}

static int field(struct kl_compiler *c, const struct kl_node *node, unsigned int element)
{
	const struct kl_field *f = &c->scope->class->fields[node->number];
	int reg = kl_emit_register(c, node);

	kl_emit(c, KL_OP_FIELD, reg, f->anchor, f->type, f->offset + element * f->bytes)->imm64 =
		gaps(c, node, f);
	return reg;
}

static int argument(struct kl_compiler *c, const struct kl_node *node)
{
	int reg = kl_emit_argument(c, node, (unsigned int)node->number);

	/* The upper bits of a register with a narrow argument are undefined. */
	if (!c->scope->is_usdt && !node->type.stars && node->type.bytes < 8)
		narrow(c, reg, 8 * node->type.bytes, 0, node->type.is_signed);
	return reg;
}

static int minus(struct kl_compiler *c, const struct kl_node *node)
{
	int reg = value(c, node->a), zero = kl_emit_register(c, node);

	kl_emit_const(c, zero, 0);
	kl_emit_alu(c, KL_ALU_SUB, zero, reg);
	kl_emit_free(c, reg);
	return zero;
}

static int cast(struct kl_compiler *c, const struct kl_node *node)
{
	struct kl_ctype from = value_type(c, node->a);
	const struct kl_ctype *to = &node->type;
	int reg = value(c, node->a);

	if (to->stars || to->bytes == 8)
		return reg;
	if (to->is_bool) {
		kl_emit_alu_const(c, node, KL_ALU_NE, reg, 0);
		return reg;
	}
	if (!from.stars && from.bytes == to->bytes && from.is_signed == to->is_signed)
		return reg;
	if (!from.stars && from.bytes < to->bytes && (!from.is_signed || to->is_signed))
		return reg;
	narrow(c, reg, 8 * to->bytes, 0, to->is_signed);
	return reg;
}

static int text(struct kl_compiler *c, const struct kl_node *node)
{
	enum kl_text_relation relation = node->b->is_prefix ? KL_TEXT_PREFIX : KL_TEXT_EQUAL;
	const struct kl_node *a = node->a;
	const struct kl_field *f;
	struct kl_abi_op *op;
	struct kl_operand p;
	int reg;

	if (a->kind == KL_NODE_FIELD) {
		f = &c->scope->class->fields[a->number];
		reg = kl_emit_register(c, node);
		op = kl_emit(c, KL_OP_FIELD_TEXT, reg, f->anchor, relation,
			     f->offset | (f->type == KL_TYPE_TEXT ? f->count : 0) << 16);
		op->imm64 = gaps(c, a, f);
		kl_emit_data(c, op, node->b);
	} else if (a->kind == KL_NODE_VARIABLE) {
		reg = kl_emit_register(c, node);
		kl_emit_data(c, kl_emit(c, KL_OP_VARIABLE_TEXT, reg, 0, relation, a->number),
			     node->b);
	} else {
		p = pointed(c, a);
		reg = address(c, node, p);
		kl_emit_data(c, kl_emit(c, KL_OP_TEXT, reg, reg, relation, 0), node->b);
	}
	if (node->op == KL_BINARY_NE)
		kl_emit_alu_const(c, node, KL_ALU_EQ, reg, 0);
	return reg;
}

/* The operation for @node. *@swap: exchange the operands. */
static enum kl_alu alu_of(const struct kl_node *node, const struct kl_ctype *a,
			  const struct kl_ctype *b, bool *swap)
{
	bool no_sign = is_wide_unsigned(a) || is_wide_unsigned(b);

	*swap = node->op == KL_BINARY_GT || node->op == KL_BINARY_GE;
	switch (node->op) {
	case KL_BINARY_MUL:
		return KL_ALU_MUL;
	case KL_BINARY_DIV:
		return no_sign ? KL_ALU_UDIV : KL_ALU_DIV;
	case KL_BINARY_MOD:
		return no_sign ? KL_ALU_UMOD : KL_ALU_MOD;
	case KL_BINARY_ADD:
		return KL_ALU_ADD;
	case KL_BINARY_SUB:
		return KL_ALU_SUB;
	case KL_BINARY_SHL:
		return KL_ALU_SHL;
	case KL_BINARY_SHR:
		return is_wide_unsigned(a) ? KL_ALU_SHR : KL_ALU_SAR;
	case KL_BINARY_LT:
	case KL_BINARY_GT:
		return no_sign ? KL_ALU_ULT : KL_ALU_LT;
	case KL_BINARY_LE:
	case KL_BINARY_GE:
		return no_sign ? KL_ALU_ULE : KL_ALU_LE;
	case KL_BINARY_EQ:
		return KL_ALU_EQ;
	case KL_BINARY_NE:
		return KL_ALU_NE;
	case KL_BINARY_AND:
		return KL_ALU_AND;
	case KL_BINARY_XOR:
		return KL_ALU_XOR;
	default:
		return KL_ALU_OR;
	}
}

/* Bytes that adding 1 to a pointer advances it by; 1 for numbers. */
static uint64_t stride(struct kl_compiler *c, const struct kl_ctype *pointer)
{
	struct kl_ctype target;
	uint64_t bytes;

	if (!pointer->stars)
		return 1;
	kl_ctype_target(&target, pointer, c->scope->btf);
	bytes = kl_ctype_bytes(&target, c->scope->btf);
	return bytes ? bytes : 1;
}

static int binary(struct kl_compiler *c, const struct kl_node *node)
{
	struct kl_ctype at = value_type(c, node->a), bt = value_type(c, node->b);
	bool is_sum = node->op == KL_BINARY_ADD || node->op == KL_BINARY_SUB, swap;
	enum kl_alu alu = alu_of(node, &at, &bt, &swap);
	uint64_t step;
	int a, b;

	if (node->b->need > node->a->need) {
		b = value(c, node->b);
		a = value(c, node->a);
	} else {
		a = value(c, node->a);
		b = value(c, node->b);
	}
	if (is_sum && at.stars != 0 && !bt.stars) {
		step = stride(c, &at);
		if (step != 1)
			kl_emit_alu_const(c, node, KL_ALU_MUL, b, step);
	} else if (is_sum && bt.stars && !at.stars) {
		step = stride(c, &bt);
		if (step != 1)
			kl_emit_alu_const(c, node, KL_ALU_MUL, a, step);
	}
	kl_emit_alu(c, alu, swap ? b : a, swap ? a : b);
	kl_emit_free(c, swap ? a : b);
	if (is_sum && at.stars && bt.stars) {
		step = stride(c, &at);
		if (step != 1)
			kl_emit_alu_const(c, node, KL_ALU_DIV, a, step);
	}
	return swap ? b : a;
}

/* Is its value always 0 or 1? */
static bool is_truth(const struct kl_node *node)
{
	switch (node->kind) {
	case KL_NODE_NOT:
	case KL_NODE_AND:
	case KL_NODE_OR:
	case KL_NODE_FLAG:
		return true;
	case KL_NODE_BINARY:
		return node->op >= KL_BINARY_LT && node->op <= KL_BINARY_NE;
	default:
		return false;
	}
}

/* Skip the second operand if the first one decides. */
static int logic(struct kl_compiler *c, const struct kl_node *node)
{
	int reg = value(c, node->a);
	unsigned int jump =
		kl_emit_jump(c, node->kind == KL_NODE_AND ? KL_OP_JUMP_ZERO : KL_OP_JUMP_NONZERO,
			     reg);

	kl_emit_free(c, reg);
	bring(c, reg, value(c, node->b));
	kl_emit_land(c, jump);
	if (!is_truth(node->a) || !is_truth(node->b))
		kl_emit_alu_const(c, node, KL_ALU_NE, reg, 0);
	return reg;
}

static int choice(struct kl_compiler *c, const struct kl_node *node)
{
	int condition = value(c, node->a), reg;
	unsigned int other = kl_emit_jump(c, KL_OP_JUMP_ZERO, condition), end;

	kl_emit_free(c, condition);
	reg = value(c, node->b);
	end = kl_emit_jump(c, KL_OP_JUMP, 0);
	kl_emit_free(c, reg);
	kl_emit_land(c, other);
	bring(c, reg, value(c, node->c));
	kl_emit_land(c, end);
	return reg;
}

static int simple(struct kl_compiler *c, const struct kl_node *node, enum kl_op_code op)
{
	int reg = kl_emit_register(c, node);

	kl_emit(c, op, reg, 0, 0, op == KL_OP_CURRENT ? 0 : node->number);
	return reg;
}

static int number(struct kl_compiler *c, const struct kl_node *node)
{
	int reg = kl_emit_register(c, node);

	kl_emit_const(c, reg, node->number);
	return reg;
}

static int with_const(struct kl_compiler *c, const struct kl_node *node, enum kl_alu alu,
		      uint64_t constant)
{
	int reg = value(c, node->a);

	kl_emit_alu_const(c, node, alu, reg, constant);
	return reg;
}

static int value(struct kl_compiler *c, const struct kl_node *node)
{
	switch (node->kind) {
	case KL_NODE_NUMBER:
		return number(c, node);
	case KL_NODE_FIELD:
		return field(c, node, 0);
	case KL_NODE_ARGUMENT:
		return argument(c, node);
	case KL_NODE_VARIABLE:
		return simple(c, node, KL_OP_VARIABLE);
	case KL_NODE_CURRENT:
		return simple(c, node, KL_OP_CURRENT);
	case KL_NODE_FLAG:
		return simple(c, node, KL_OP_FLAG);
	case KL_NODE_SINCE:
		return simple(c, node, KL_OP_SINCE);
	case KL_NODE_ADDRESS:
		return address(c, node, place(c, node->a));
	case KL_NODE_USER:
		return value(c, node->a);
	case KL_NODE_NEGATE:
		return minus(c, node);
	case KL_NODE_INVERT:
		return with_const(c, node, KL_ALU_XOR, UINT64_MAX);
	case KL_NODE_NOT:
		return with_const(c, node, KL_ALU_EQ, 0);
	case KL_NODE_CAST:
		return cast(c, node);
	case KL_NODE_BINARY:
		return node->b->kind == KL_NODE_STRING ? text(c, node) : binary(c, node);
	case KL_NODE_AND:
	case KL_NODE_OR:
		return logic(c, node);
	case KL_NODE_CHOICE:
		return choice(c, node);
	default: /* a place */
		if (node->kind == KL_NODE_INDEX && !node->is_place)
			return field(c, node->a, node->b->number);
		if (kl_ctype_is_array(&node->type))
			return address(c, node, place(c, node));
		return load(c, node);
	}
}

/* ----------------------------------------------------------------- program */

static void put_string(struct kl_compiler *c, struct kl_node *node, const struct kl_ctype *type)
{
	unsigned int bytes = KL_STRING_MAX;

	if (kl_ctype_is_array(&node->type)) {
		unsigned int elements = kl_btf_elements(c->scope->btf, node->type.id);

		if (elements && elements < bytes)
			bytes = elements;
	}
	kl_emit(c, type->is_user ? KL_OP_PUT_USER_STRING : KL_OP_PUT_STRING, 0, value(c, node), 0,
		bytes);
	c->code->out_bytes = bytes;
	c->code->result = (struct kl_result){ .kind = KL_RESULT_STRING,
					      .type = KL_TYPE_STRING,
					      .format = KL_FORMAT_text };
}

int kl_generate(struct kl_compiler *c, struct kl_node *node, unsigned int flags)
{
	struct kl_code *code = c->code;
	struct kl_ctype type;
	int reg = 0;

	if (kl_check_value(c, node, &type))
		return -EINVAL;
	kl_ctype_result(&type, &code->result);
	if (!(flags & KL_EXPRESSION_RECORD)) {
		reg = value(c, node);
	} else if (kl_ctype_is_string(&type)) {
		put_string(c, node, &type);
	} else {
		unsigned int put = code->result.type;

		kl_emit(c, KL_OP_PUT, 0, value(c, node), put, 0);
		code->out_bytes = 1u << put / 2;
	}
	kl_emit(c, KL_OP_END, 0, reg, 0, 0);
	return c->error;
}
