// SPDX-License-Identifier: GPL-2.0
/*
 * Registers and operations of a program. Registers are allocated from a set and freed again. Only
 * the first failure is recorded; code emitted after it is discarded.
 */
#include <errno.h>

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
		kl_complain(c, node->at,
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
