// SPDX-License-Identifier: GPL-2.0
/*
 * Computes the types of nodes, from the leaves up, and rejects what they do not allow. Numbers are
 * computed with 64 bits; they are unsigned if an operand is unsigned and has 64 bits, like C's
 * promotions.
 */
#include <errno.h>

#include "../base/base.h"
#include "expression.h"

#define MEMBERS_MAX 65536u /* whose names are compared; a struct has some hundreds */

static int complain_value(struct kl_compiler *c, const struct kl_node *node,
			  const struct kl_ctype *type)
{
	struct kl_buffer text = { 0 };
	int ret;

	switch (type->base) {
	case KL_BASE_TEXT:
		return kl_complain(c, node->at,
				   "a string is not a number: compare it with == or != to a "
				   "\"string\"");
	case KL_BASE_NUMBERS:
		return kl_complain(c, node->at, "this has several values: select one with [0]");
	case KL_BASE_VOID:
		return kl_complain(c, node->at, "this has no value: cast it");
	default:
		kl_ctype_describe(type, c->scope->btf, &text);
		ret = kl_complain(c, node->at, "a whole %s is not a number: select a member",
				  text.data ? text.data : "struct");
		kl_buffer_deinit(&text);
		return ret;
	}
}

int kl_check_value(struct kl_compiler *c, const struct kl_node *node, struct kl_ctype *type)
{
	*type = node->type;
	if (kl_ctype_is_array(type)) {
		kl_ctype_decay(type, c->scope->btf);
		type->is_user = node->is_user;
	}
	if (type->stars || type->base == KL_BASE_INT)
		return 0;
	return complain_value(c, node, type);
}

static void set_bool(struct kl_ctype *type)
{
	kl_ctype_int(type, 4, true);
}

static bool is_wide_unsigned(const struct kl_ctype *type)
{
	return type->stars || (type->bytes == 8 && !type->is_signed);
}

static void set_need(const struct kl_compiler *c, struct kl_node *node)
{
	unsigned int a = node->a ? node->a->need : 0, b = node->b ? node->b->need : 0;
	unsigned int other = node->c ? node->c->need : 0;
	unsigned int need = a > b ? a : b;

	if (node->kind == KL_NODE_BINARY || node->kind == KL_NODE_INDEX)
		need += a == b;
	else if (node->kind == KL_NODE_CHOICE && other > need)
		need = other;
	/* A constant operand takes a register, too. */
	if (need < 2 && node->a)
		need = node->kind == KL_NODE_MEMBER || node->kind == KL_NODE_ARROW ? 1 : 2;
	/* An address with a base, a scaled index and a displacement. */
	if (node->kind == KL_NODE_ARGUMENT && c->scope->is_usdt)
		need = 3;
	node->need = need ? need : 1;
}

/* ------------------------------------------------------------------ places */

/* Suggest members. @left bounds the work where structs contain each other many times. */
static void offer_members(const struct kl_btf *btf, uint32_t type, struct kl_near *near,
			  unsigned int depth, unsigned int *left)
{
	struct kl_btf_member member;

	type = kl_btf_resolve(btf, type);
	for (unsigned int i = 0; *left && !kl_btf_member_at(btf, type, i, &member); i++) {
		(*left)--;
		if (*member.name)
			kl_near_offer(near, member.name);
		else if (depth < 16)
			offer_members(btf, member.type, near, depth + 1, left);
	}
}

static int complain_member(struct kl_compiler *c, const struct kl_node *node,
			   const struct kl_ctype *type, const char *name)
{
	struct kl_buffer text = { 0 };
	unsigned int left = MEMBERS_MAX;
	struct kl_near near;
	const char *what;
	int ret;

	kl_near_init(&near, name, strlen(name));
	offer_members(c->scope->btf, type->id, &near, 0, &left);
	kl_ctype_describe(type, c->scope->btf, &text);
	what = text.data ? text.data : "struct";
	if (near.best)
		ret = kl_complain(c, node->at, "%s has no member \"%s\"; did you mean \"%s\"?",
				  what, name, near.best);
	else if (kl_btf_kind(c->scope->btf, type->id) == KL_BTF_FWD)
		ret = kl_complain(c, node->at,
				  "the members of %s are unknown: it is only declared, not defined",
				  what);
	else
		ret = kl_complain(c, node->at, "%s has no member \"%s\"", what, name);
	kl_buffer_deinit(&text);
	return ret;
}

/* Load a bitfield as the compiler does: with the smallest aligned number that has all its bits. */
static int place_bits(struct kl_compiler *c, struct kl_node *node, const struct kl_btf_member *m)
{
	for (unsigned int bytes = 1; bytes <= 8; bytes *= 2) {
		unsigned int start = m->bit_offset / (8 * bytes) * (8 * bytes);

		if (m->bit_offset + m->bits > start + 8 * bytes)
			continue;
		node->number = start / 8;
		node->bits = m->bits;
		node->bit = m->bit_offset - start;
		node->type.bytes = bytes;
		return 0;
	}
	return kl_complain(c, node->at, "this bitfield crosses 64 bits");
}

/* Set @type to the struct that @node is a member of. */
static int check_holder(struct kl_compiler *c, struct kl_node *node, struct kl_ctype *type)
{
	const struct kl_node *a = node->a;

	*type = a->type;
	if (node->kind == KL_NODE_MEMBER) {
		if (type->stars == 1 && type->base == KL_BASE_STRUCT)
			return kl_complain(c, node->at,
					   "this is a pointer: use -> for its members");
		node->is_user = a->is_user;
	} else {
		if (!type->stars && type->base == KL_BASE_STRUCT)
			return kl_complain(c, node->at,
					   "this is not a pointer: use . for its members");
		if (kl_check_value(c, a, type))
			return -EINVAL;
		node->is_user = type->is_user;
		if (type->stars)
			type->stars--;
		else
			type->base = KL_BASE_VOID;
	}
	if (!type->stars && type->base == KL_BASE_STRUCT)
		return 0;
	return kl_complain(c, node->at, "this is not a struct and has no members");
}

static int check_member(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_btf_member member;
	struct kl_ctype type;
	char name[128];

	if (check_holder(c, node, &type))
		return -EINVAL;
	if (node->length >= sizeof(name))
		return kl_complain(c, node->at, "the name is too long");
	memcpy(name, c->text + node->at, node->length);
	name[node->length] = 0;
	if (kl_btf_member_find(c->scope->btf, type.id, name, &member))
		return complain_member(c, node, &type, name);
	kl_ctype_btf(&node->type, c->scope->btf, member.type);
	node->is_place = true;
	node->number = member.bit_offset / 8;
	if (node->is_user && node->type.stars)
		node->type.is_user = true;
	return member.bits ? place_bits(c, node, &member) : 0;
}

/* Set the type of what a pointer or array points to. */
static int check_target(struct kl_compiler *c, struct kl_node *node, const struct kl_ctype *type)
{
	if (!type->stars)
		return kl_complain(c, node->at, "this is not a pointer");
	kl_ctype_target(&node->type, type, c->scope->btf);
	if (!node->type.stars &&
	    (node->type.base == KL_BASE_VOID || node->type.base == KL_BASE_FUNCTION))
		return kl_complain(c, node->at, "the pointer's target type is unknown: cast it");
	node->is_place = true;
	node->is_user = type->is_user;
	if (node->is_user && node->type.stars)
		node->type.is_user = true;
	return 0;
}

static int check_index(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype type, index;
	uint64_t elements = 0;

	if (kl_check_value(c, node->b, &index))
		return -EINVAL;
	if (!kl_ctype_is_int(&index))
		return kl_complain(c, node->b->at, "an index must be a number");
	if (node->a->type.base == KL_BASE_NUMBERS) {
		if (node->b->kind != KL_NODE_NUMBER)
			return kl_complain(c, node->b->at,
					   "an index into a field must be a constant");
		elements = c->scope->class->fields[node->a->number].count;
		node->type = node->a->type;
		node->type.base = KL_BASE_INT;
	} else {
		if (kl_ctype_is_array(&node->a->type))
			elements = kl_btf_elements(c->scope->btf, node->a->type.id);
		if (kl_check_value(c, node->a, &type) || check_target(c, node, &type))
			return -EINVAL;
	}
	if (elements && node->b->kind == KL_NODE_NUMBER && node->b->number >= elements)
		return kl_complain(c, node->b->at, "the array has only %llu elements",
				   (unsigned long long)elements);
	return 0;
}

static int check_address(struct kl_compiler *c, struct kl_node *node)
{
	const struct kl_node *a = node->a;

	/* A function's name is its address. */
	if (a->kind == KL_NODE_NUMBER && a->type.stars && a->type.base == KL_BASE_FUNCTION) {
		*node = *a;
		return 0;
	}
	if (!a->is_place)
		return kl_complain(c, node->at, "this has no address");
	if (a->bits)
		return kl_complain(c, node->at, "a bitfield has no address");
	node->type = a->type;
	node->type.stars++;
	node->type.is_user = a->is_user;
	return 0;
}

/* ------------------------------------------------------------------ values */

static int check_sign(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype type;

	if (kl_check_value(c, node->a, &type))
		return -EINVAL;
	if (node->kind == KL_NODE_USER) {
		if (!type.stars)
			return kl_complain(c, node->a->at, "this is not a pointer: cast it");
		node->type = type;
		node->type.is_user = true;
	} else if (node->kind == KL_NODE_NOT) {
		set_bool(&node->type);
	} else {
		if (type.stars)
			return kl_complain(c, node->at, "this is a pointer: cast it to u64");
		kl_ctype_int(&node->type, 8, !is_wide_unsigned(&type));
	}
	return 0;
}

static int check_cast(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype type;

	if (!node->type.stars && node->type.base != KL_BASE_INT)
		return kl_complain(c, node->at, "cannot cast to a whole struct or to void");
	if (kl_check_value(c, node->a, &type))
		return -EINVAL;
	if (node->type.stars)
		node->type.is_user = type.stars && type.is_user;
	return 0;
}

/*
 * Turn ~ and !~ into == and !=, with the beginning of a string if the pattern ends in an asterisk:
 * programs cannot do more.
 */
static int check_pattern(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_node *b = node->b;
	char *out = b->string;

	if (b->kind != KL_NODE_STRING || !b->is_pattern)
		return kl_complain(c, b->at, "expected a pattern in quotes");
	for (const char *at = b->string; *at; at++) {
		if (*at == '*' && !at[1]) {
			b->is_prefix = true;
			break;
		}
		if (strchr("*?[", *at))
			return kl_complain(
				c, b->at,
				"a pattern can have only one *, at its end, and no ? or [");
		if (*at == '\\' && at[1])
			at++;
		*out++ = *at;
	}
	b->string_bytes = out - b->string;
	node->op = node->op == KL_BINARY_LIKE ? KL_BINARY_EQ : KL_BINARY_NE;
	return 0;
}

/* == and != with a string, which becomes the right operand. */
static int check_text(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype type;

	if (node->a->kind == KL_NODE_STRING) {
		struct kl_node *text = node->a;

		node->a = node->b;
		node->b = text;
	}
	if (node->a->kind == KL_NODE_STRING)
		return kl_complain(c, node->a->at, "cannot compare two strings with each other");
	if (node->op != KL_BINARY_EQ && node->op != KL_BINARY_NE)
		return kl_complain(c, node->at,
				   "strings can only be compared with == and !=, or ~ and !~");
	set_bool(&node->type);
	if (node->a->type.base == KL_BASE_TEXT && !node->a->type.stars)
		return 0;
	if (kl_check_value(c, node->a, &type))
		return -EINVAL;
	if (type.stars != 1 || type.base != KL_BASE_INT || type.bytes != 1 || type.is_bool)
		return kl_complain(c, node->a->at, "this is a %s, not a string",
				   type.stars ? "pointer" : "number");
	if (type.is_user)
		return kl_complain(c, node->a->at,
				   "a string in the task's memory can be recorded, but not "
				   "compared");
	return 0;
}

static int check_pointers(struct kl_compiler *c, struct kl_node *node, const struct kl_ctype *a,
			  const struct kl_ctype *b)
{
	if (node->op == KL_BINARY_ADD && !(a->stars && b->stars)) {
		node->type = a->stars ? *a : *b;
		return 0;
	}
	if (node->op == KL_BINARY_SUB && a->stars) {
		if (b->stars)
			kl_ctype_int(&node->type, 8, true);
		else
			node->type = *a;
		return 0;
	}
	return kl_complain(c, node->at, "one of the two is a pointer: cast it to u64");
}

static int check_binary(struct kl_compiler *c, struct kl_node *node)
{
	bool is_comparison = node->op >= KL_BINARY_LT && node->op <= KL_BINARY_NE;
	struct kl_ctype a, b;

	if ((node->op == KL_BINARY_LIKE || node->op == KL_BINARY_UNLIKE) && check_pattern(c, node))
		return -EINVAL;
	if (node->a->kind == KL_NODE_STRING || node->b->kind == KL_NODE_STRING)
		return check_text(c, node);
	if (kl_check_value(c, node->a, &a) || kl_check_value(c, node->b, &b))
		return -EINVAL;
	if (is_comparison) {
		set_bool(&node->type);
		return 0;
	}
	if (a.stars || b.stars)
		return check_pointers(c, node, &a, &b);
	if (node->op == KL_BINARY_SHL || node->op == KL_BINARY_SHR) {
		if (node->b->kind == KL_NODE_NUMBER && node->b->number > 63)
			return kl_complain(c, node->b->at, "the shift count exceeds 63");
		kl_ctype_int(&node->type, 8, !is_wide_unsigned(&a));
		return 0;
	}
	if ((node->op == KL_BINARY_DIV || node->op == KL_BINARY_MOD) &&
	    node->b->kind == KL_NODE_NUMBER && !node->b->number)
		return kl_complain(c, node->at, "division by 0");
	kl_ctype_int(&node->type, 8, !is_wide_unsigned(&a) && !is_wide_unsigned(&b));
	return 0;
}

static int check_choice(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype a, b, d;

	if (kl_check_value(c, node->a, &a) || kl_check_value(c, node->b, &b) ||
	    kl_check_value(c, node->c, &d))
		return -EINVAL;
	if (b.stars || d.stars) {
		/* NULL is a pointer of any type. */
		node->type = b.stars ? b : d;
		if (b.stars && d.stars && b.is_user != d.is_user)
			return kl_complain(c, node->at,
					   "one of the two is a pointer to user memory, the "
					   "other is not");
		if (b.stars != d.stars && !(node->b->kind == KL_NODE_NUMBER && !node->b->number) &&
		    !(node->c->kind == KL_NODE_NUMBER && !node->c->number))
			return kl_complain(c, node->at, "one of the two is a pointer");
		return 0;
	}
	kl_ctype_int(&node->type, 8, !is_wide_unsigned(&b) && !is_wide_unsigned(&d));
	return 0;
}

static int check_logic(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype type;

	if (kl_check_value(c, node->a, &type) || kl_check_value(c, node->b, &type))
		return -EINVAL;
	set_bool(&node->type);
	return 0;
}

static int check_node(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_ctype type;

	switch (node->kind) {
	case KL_NODE_NUMBER:
		if (node->is_fraction)
			return kl_complain(c, node->at, "this is not a whole number");
		return 0;
	case KL_NODE_NAME:
		return kl_scope_resolve(c, node);
	case KL_NODE_FLAG:
	case KL_NODE_SINCE:
		return kl_scope_flag(c, node);
	case KL_NODE_STRING:
		node->type = (struct kl_ctype){ .base = KL_BASE_TEXT };
		return 0;
	case KL_NODE_MEMBER:
	case KL_NODE_ARROW:
		return check_member(c, node);
	case KL_NODE_INDEX:
		return check_index(c, node);
	case KL_NODE_DEREF:
		return kl_check_value(c, node->a, &type) ? -EINVAL : check_target(c, node, &type);
	case KL_NODE_ADDRESS:
		return check_address(c, node);
	case KL_NODE_USER:
	case KL_NODE_NEGATE:
	case KL_NODE_INVERT:
	case KL_NODE_NOT:
		return check_sign(c, node);
	case KL_NODE_CAST:
		return check_cast(c, node);
	case KL_NODE_BINARY:
		return check_binary(c, node);
	case KL_NODE_AND:
	case KL_NODE_OR:
		return check_logic(c, node);
	case KL_NODE_CHOICE:
		return check_choice(c, node);
	default:
		return 0;
	}
}

int kl_check(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_node *below[] = { node->a, node->b, node->c };
	int ret;

	for (unsigned int i = 0; i < KL_ARRAY_SIZE(below); i++) {
		ret = below[i] ? kl_check(c, below[i]) : 0;
		if (ret)
			return ret;
	}
	ret = check_node(c, node);
	if (ret)
		return ret;
	set_need(c, node);
	kl_fold(node);
	return 0;
}
