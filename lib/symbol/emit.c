// SPDX-License-Identifier: GPL-2.0
/*
 * Registers and operations of a program. Registers are allocated from a set and freed again. Only
 * the first failure is recorded; code emitted after it is discarded.
 */
#include <errno.h>

#include <kernlens/usdt.h>

#include "../base/base.h"
#include "expression.h"

/* Operations marked * in the contract: they need the right to hook functions. */
static const bool needs_right[KL_OP_COUNT] = {
	[KL_OP_ARG] = true,	   [KL_OP_CURRENT] = true,	   [KL_OP_PERCPU] = true,
	[KL_OP_LOAD] = true,	   [KL_OP_LOAD_USER] = true,	   [KL_OP_TEXT] = true,
	[KL_OP_PUT_STRING] = true, [KL_OP_PUT_USER_STRING] = true, [KL_OP_PUT_BYTES] = true,
};

int kl_emit_register(struct kl_compiler *c, const struct kl_node *node)
{
	for (int reg = 0; reg < KL_PROGRAM_REGISTERS; reg++) {
		if (c->registers & 1u << reg)
			continue;
		c->registers |= 1u << reg;
		return reg;
	}
	if (!c->error) {
		kl_complain(c, node ? node->at : 0,
			    "the expression is nested too deeply: it needs more than %d values "
			    "at a time",
			    KL_PROGRAM_REGISTERS);
		c->error = -E2BIG;
	}
	return 0;
}

void kl_emit_free(struct kl_compiler *c, int reg)
{
	c->registers &= ~(1u << reg);
}

struct kl_abi_op *kl_emit(struct kl_compiler *c, enum kl_op_code code, int dst, int a, int b,
			  int64_t imm)
{
	static _Thread_local struct kl_abi_op nowhere;
	struct kl_abi_op *op;

	if (c->code->n_ops == KL_PROGRAM_OPS_MAX) {
		if (!c->error) {
			kl_complain(c, 0, "the expression needs more than %d operations",
				    KL_PROGRAM_OPS_MAX);
			c->error = -E2BIG;
		}
		return &nowhere;
	}
	if (needs_right[code])
		c->code->may |= KL_MAY_HOOK_FUNCTIONS;
	op = &c->code->ops[c->code->n_ops++];
	*op = (struct kl_abi_op){ .code = code, .dst = dst, .a = a, .b = b, .imm = imm };
	return op;
}

void kl_emit_const(struct kl_compiler *c, int dst, uint64_t value)
{
	kl_emit(c, KL_OP_CONST, dst, 0, 0, 0)->imm64 = value;
}

void kl_emit_alu(struct kl_compiler *c, enum kl_alu alu, int dst, int a)
{
	kl_emit(c, KL_OP_ALU, dst, a, alu, 0);
}

void kl_emit_alu_const(struct kl_compiler *c, const struct kl_node *node, enum kl_alu alu, int dst,
		       uint64_t value)
{
	int other = kl_emit_register(c, node);

	kl_emit_const(c, other, value);
	kl_emit_alu(c, alu, dst, other);
	kl_emit_free(c, other);
}

unsigned int kl_emit_jump(struct kl_compiler *c, enum kl_op_code code, int a)
{
	kl_emit(c, code, 0, a, 0, 0);
	return c->code->n_ops - 1;
}

void kl_emit_land(struct kl_compiler *c, unsigned int jump)
{
	c->code->ops[jump].imm = c->code->n_ops - 1 - jump;
}

/* ---------------------------------------------------------------- arguments */

/* Keep the lowest bits of a register, sign-extended if @is_signed. */
static void emit_bits(struct kl_compiler *c, int reg, unsigned int bytes, unsigned int shift,
		      bool is_signed)
{
	if (bytes < 8)
		kl_emit(c, KL_OP_BITS, reg, reg, is_signed, (int)(8 * bytes) << 8 | (int)shift);
}

/* Compute an address; *@rest is left to be added by the operation that uses it. */
static int emit_address(struct kl_compiler *c, const struct kl_node *node,
			const struct kl_usdt_argument *from, int64_t *rest)
{
	int reg = kl_emit_register(c, node), index;

	if (from->base >= 0)
		kl_emit(c, KL_OP_ARG, reg, 0, 0, from->base);
	else
		kl_emit_const(c, reg, 0);
	if (from->index >= 0) {
		index = kl_emit_register(c, node);
		kl_emit(c, KL_OP_ARG, index, 0, 0, from->index);
		if (from->scale > 1)
			kl_emit_alu_const(c, node, KL_ALU_MUL, index, from->scale);
		kl_emit_alu(c, KL_ALU_ADD, reg, index);
		kl_emit_free(c, index);
	}
	*rest = from->number;
	if (from->is_32 || from->kind == KL_USDT_ADDRESS || *rest != (int32_t)*rest) {
		kl_emit_alu_const(c, node, KL_ALU_ADD, reg, (uint64_t)*rest);
		*rest = 0;
	}
	/* The sum wraps. */
	if (from->is_32)
		emit_bits(c, reg, 4, 0, false);
	return reg;
}

static int emit_usdt(struct kl_compiler *c, const struct kl_node *node,
		     const struct kl_usdt_argument *from)
{
	int64_t rest;
	int reg;

	switch (from->kind) {
	case KL_USDT_MEMORY:
		reg = emit_address(c, node, from, &rest);
		kl_emit(c, KL_OP_LOAD_USER, reg, reg, kl_number_of(from->bytes, from->is_signed),
			rest);
		return reg;
	case KL_USDT_ADDRESS:
		return emit_address(c, node, from, &rest);
	case KL_USDT_REGISTER:
		reg = kl_emit_register(c, node);
		kl_emit(c, KL_OP_ARG, reg, 0, 0, from->base);
		emit_bits(c, reg, from->bytes, from->shift, from->is_signed);
		return reg;
	default:
		reg = kl_emit_register(c, node);
		kl_emit_const(c, reg, (uint64_t)from->number);
		return reg;
	}
}

int kl_emit_argument(struct kl_compiler *c, const struct kl_node *node, unsigned int index)
{
	int reg;

	if (c->scope->is_usdt)
		return emit_usdt(c, node, &c->scope->argument[index].usdt);
	reg = kl_emit_register(c, node);
	kl_emit(c, KL_OP_ARG, reg, 0, 0, index);
	return reg;
}

/* A string that the data already contains, or that begins one in it, is not stored again. */
void kl_emit_data(struct kl_compiler *c, struct kl_abi_op *op, const struct kl_node *string)
{
	struct kl_code *code = c->code;
	unsigned int bytes = string->string_bytes, at = 0;

	while (at + bytes <= code->data_bytes &&
	       memcmp(code->data + at, string->string, bytes) != 0)
		at++;
	if (at + bytes > code->data_bytes) {
		at = code->data_bytes;
		if (bytes > KL_STRING_MAX || at + bytes > KL_PROGRAM_DATA_MAX) {
			kl_complain(c, string->at, "the string is too long");
			c->error = -E2BIG;
			return;
		}
		memcpy(code->data + at, string->string, bytes);
		code->data_bytes += bytes;
	}
	op->imm64 |= at | bytes << 16;
}
