// SPDX-License-Identifier: GPL-2.0
/* Folds operations on constants at compile time, instead of computing them for each event. */
#include <errno.h>

#include "expression.h"

static bool is_number(const struct kl_node *node)
{
	return node && node->kind == KL_NODE_NUMBER;
}

static bool is_unsigned(const struct kl_node *node)
{
	return node->type.stars || (node->type.bytes == 8 && !node->type.is_signed);
}

static uint64_t truncate(uint64_t value, const struct kl_ctype *type)
{
	unsigned int shift = 64 - 8 * type->bytes;

	if (type->stars || type->bytes == 8)
		return value;
	if (type->is_bool)
		return value != 0;
	if (type->is_signed)
		return (int64_t)(value << shift) >> shift;
	return value << shift >> shift;
}

static uint64_t compare(enum kl_binary op, uint64_t a, uint64_t b, bool no_sign)
{
	bool less = no_sign ? a < b : (int64_t)a < (int64_t)b;

	switch (op) {
	case KL_BINARY_LT:
		return less;
	case KL_BINARY_LE:
		return less || a == b;
	case KL_BINARY_GT:
		return !less && a != b;
	case KL_BINARY_GE:
		return !less;
	case KL_BINARY_EQ:
		return a == b;
	default:
		return a != b;
	}
}

/* Like KL_ALU_DIV and the like: INT64_MIN / -1, which overflows, stays INT64_MIN. */
static uint64_t divide(enum kl_binary op, uint64_t a, uint64_t b, bool no_sign)
{
	if (no_sign)
		return op == KL_BINARY_DIV ? a / b : a % b;
	if (b == UINT64_MAX)
		return op == KL_BINARY_DIV ? -a : 0;
	return op == KL_BINARY_DIV ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b;
}

uint64_t kl_calculate(enum kl_binary op, uint64_t a, uint64_t b, bool no_sign, bool left_no_sign)
{
	switch (op) {
	case KL_BINARY_MUL:
		return a * b;
	case KL_BINARY_DIV:
	case KL_BINARY_MOD:
		return divide(op, a, b, no_sign);
	case KL_BINARY_ADD:
		return a + b;
	case KL_BINARY_SUB:
		return a - b;
	case KL_BINARY_SHL:
		return a << (b & 63);
	case KL_BINARY_SHR:
		return left_no_sign ? a >> (b & 63) : (uint64_t)((int64_t)a >> (b & 63));
	case KL_BINARY_AND:
		return a & b;
	case KL_BINARY_XOR:
		return a ^ b;
	case KL_BINARY_OR:
		return a | b;
	default:
		return compare(op, a, b, no_sign);
	}
}

static void become_number(struct kl_node *node, uint64_t number)
{
	node->kind = KL_NODE_NUMBER;
	node->number = number;
	node->need = 1;
}

static void fold_binary(struct kl_node *node)
{
	const struct kl_node *a = node->a, *b = node->b;

	/* Sums with pointers are scaled when they are generated. */
	if (!is_number(a) || !is_number(b) || a->type.stars || b->type.stars)
		return;
	become_number(node, kl_calculate(node->op, a->number, b->number,
					 is_unsigned(a) || is_unsigned(b), is_unsigned(a)));
}

/* An operand of && or || that is not evaluated must still be valid: it has been checked by now. */
static void fold_logic(struct kl_node *node)
{
	bool is_or = node->kind == KL_NODE_OR;

	if (!is_number(node->a))
		return;
	if (!node->a->number == !is_or)
		become_number(node, is_or);
	else if (is_number(node->b))
		become_number(node, node->b->number != 0);
}

static void fold_choice(struct kl_node *node)
{
	struct kl_node *chosen = node->a->number ? node->b : node->c;
	struct kl_ctype type = node->type;

	/*
	 * Do not replace the node by another kind: the operand may have another type or be a place,
	 * but the choice is a value.
	 */
	if (chosen->kind != KL_NODE_NUMBER)
		return;
	become_number(node, chosen->number);
	node->type = type;
}

void kl_fold(struct kl_node *node)
{
	switch (node->kind) {
	case KL_NODE_BINARY:
		fold_binary(node);
		break;
	case KL_NODE_AND:
	case KL_NODE_OR:
		fold_logic(node);
		break;
	case KL_NODE_CHOICE:
		if (is_number(node->a))
			fold_choice(node);
		break;
	case KL_NODE_NEGATE:
		if (is_number(node->a))
			become_number(node, -node->a->number);
		break;
	case KL_NODE_INVERT:
		if (is_number(node->a))
			become_number(node, ~node->a->number);
		break;
	case KL_NODE_NOT:
		if (is_number(node->a))
			become_number(node, !node->a->number);
		break;
	case KL_NODE_CAST:
		if (is_number(node->a))
			become_number(node, truncate(node->a->number, &node->type));
		break;
	default:
		break;
	}
}
