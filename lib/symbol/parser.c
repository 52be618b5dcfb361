// SPDX-License-Identifier: GPL-2.0
/*
 * Parses tokens into nodes by precedence, as C does. A name in parentheses may be a type or a
 * value; the scope decides.
 */
#include <errno.h>
#include <stdio.h>

#include "../base/base.h"
#include "expression.h"

static struct kl_node *parse_choice(struct kl_compiler *c);
static struct kl_node *parse_unary(struct kl_compiler *c);

struct kl_node *kl_node_new(struct kl_compiler *c, enum kl_node_kind kind, uint32_t at)
{
	struct kl_node *node;

	if (c->n_nodes == KL_NODES_MAX) {
		kl_complain(c, at, "the expression is too long");
		return NULL;
	}
	node = &c->nodes[c->n_nodes++];
	*node = (struct kl_node){ .kind = kind, .at = at };
	return node;
}

bool kl_token_is(const struct kl_compiler *c, const char *text)
{
	return (c->token.kind == KL_TOKEN_SIGN || c->token.kind == KL_TOKEN_NAME) &&
	       strlen(text) == c->token.length &&
	       !memcmp(c->text + c->token.at, text, c->token.length);
}

/* The token as text, for error messages. */
static const char *token_text(const struct kl_compiler *c, char *text, size_t bytes)
{
	if (c->token.kind == KL_TOKEN_END)
		return "the end";
	snprintf(text, bytes, "\"%.*s\"", c->token.length > 40 ? 40 : (int)c->token.length,
		 c->text + c->token.at);
	return text;
}

static int expect(struct kl_compiler *c, const char *sign)
{
	char text[48];

	if (kl_token_is(c, sign))
		return kl_lex(c);
	return kl_complain(c, c->token.at, "expected \"%s\" before %s", sign,
			   token_text(c, text, sizeof(text)));
}

static void copy_name(const struct kl_compiler *c, char *name, size_t bytes)
{
	size_t length = c->token.length < bytes ? c->token.length : bytes - 1;

	memcpy(name, c->text + c->token.at, length);
	name[length] = 0;
}

/* ------------------------------------------------------------------- types */

static int complain_type(struct kl_compiler *c, const char *word, const char *name, uint32_t kinds)
{
	const struct kl_btf *btf = c->scope->btf;
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	for (uint32_t id = 1; id < kl_btf_types(btf); id++)
		if (kinds & KL_BTF_BIT(kl_btf_kind(btf, id)))
			kl_near_offer(&near, kl_btf_name(btf, id));
	if (!near.best)
		return kl_complain(c, c->token.at, "the kernel has no %s %s", word, name);
	return kl_complain(c, c->token.at, "the kernel has no %s %s; did you mean \"%s\"?", word,
			   name, near.best);
}

/* Parse "struct NAME"; the current token is the first word. */
static int parse_tagged(struct kl_compiler *c, const char *word, uint32_t kinds,
			struct kl_ctype *type)
{
	char name[128];
	int id, ret = kl_lex(c);

	if (ret)
		return ret;
	if (c->token.kind != KL_TOKEN_NAME)
		return kl_complain(c, c->token.at, "expected a name after \"%s\"", word);
	if (!kl_scope_types(c->scope))
		return kl_complain(c, c->token.at,
				   "the kernel's type information (BTF) is not available");
	copy_name(c, name, sizeof(name));
	id = kl_btf_find(c->scope->btf, name, kinds);
	if (id < 0)
		return complain_type(c, word, name, kinds);
	kl_ctype_btf(type, c->scope->btf, id);
	return kl_lex(c);
}

/* Parse "unsigned long" and the like. Returns 1 if the token is not such a word. */
static int parse_words(struct kl_compiler *c, struct kl_ctype *type)
{
	bool is_unsigned = false, any = false, is_char = false, is_bool = false, is_void = false;
	unsigned int bytes = 4;
	int ret;

	for (;; any = true) {
		if (kl_token_is(c, "unsigned"))
			is_unsigned = true;
		else if (kl_token_is(c, "char"))
			is_char = true;
		else if (kl_token_is(c, "short"))
			bytes = 2;
		else if (kl_token_is(c, "long"))
			bytes = 8;
		else if (kl_token_is(c, "bool") || kl_token_is(c, "_Bool"))
			is_bool = true;
		else if (kl_token_is(c, "void"))
			is_void = true;
		else if (!kl_token_is(c, "signed") && !kl_token_is(c, "int") &&
			 !kl_token_is(c, "const") && !kl_token_is(c, "volatile"))
			break;
		ret = kl_lex(c);
		if (ret)
			return ret;
	}
	if (!any)
		return 1;
	if (is_char || is_bool)
		bytes = 1;
	kl_ctype_int(type, bytes, !is_unsigned && !is_bool);
	type->is_char = is_char && !is_unsigned;
	type->is_bool = is_bool;
	if (is_void)
		*type = (struct kl_ctype){ .base = KL_BASE_VOID };
	return 0;
}

/* Parse a typedef, if the name is not used otherwise. Returns 1 if it is not one. */
static int parse_typedef(struct kl_compiler *c, struct kl_ctype *type)
{
	char name[128];
	int id = -ENOENT;

	if (c->token.kind != KL_TOKEN_NAME)
		return 1;
	copy_name(c, name, sizeof(name));
	if (kl_scope_has(c->scope, name))
		return 1;
	if (kl_scope_types(c->scope))
		id = kl_btf_find(c->scope->btf, name, KL_BTF_BIT(KL_BTF_TYPEDEF));
	if (id >= 0)
		kl_ctype_btf(type, c->scope->btf, id);
	else if (!kl_ctype_word(type, name, strlen(name)))
		return 1;
	return kl_lex(c);
}

static int skip_qualifiers(struct kl_compiler *c)
{
	int ret = 0;

	while (!ret && (kl_token_is(c, "const") || kl_token_is(c, "volatile")))
		ret = kl_lex(c);
	return ret;
}

/* Parse a type and its stars. Returns 1 if the token does not begin a type. */
static int parse_type(struct kl_compiler *c, struct kl_ctype *type)
{
	/*
	 * Skip the qualifiers of "const struct x *" here; parse_words() accepts those after a word.
	 */
	bool qualified = kl_token_is(c, "const") || kl_token_is(c, "volatile");
	int ret = skip_qualifiers(c);

	if (ret)
		return ret;
	if (kl_token_is(c, "struct"))
		ret = parse_tagged(c, "struct", KL_BTF_BIT(KL_BTF_STRUCT), type);
	else if (kl_token_is(c, "union"))
		ret = parse_tagged(c, "union", KL_BTF_BIT(KL_BTF_UNION), type);
	else if (kl_token_is(c, "enum"))
		ret = parse_tagged(c, "enum", KL_BTF_ENUMS, type);
	else
		ret = parse_words(c, type);
	if (ret > 0)
		ret = parse_typedef(c, type);
	if (ret > 0 && qualified)
		return kl_complain(c, c->token.at, "expected a type");
	if (!ret)
		ret = skip_qualifiers(c);
	while (!ret && kl_token_is(c, "*")) {
		if (++type->stars > 8)
			return kl_complain(c, c->token.at, "too many levels of pointers");
		type->format = KL_FORMAT_dec;
		ret = kl_lex(c);
		if (!ret)
			ret = skip_qualifiers(c);
	}
	return ret;
}

/* ------------------------------------------------------------- expressions */

/* Parse NAME(x); the token after the name is "(". */
static struct kl_node *parse_call(struct kl_compiler *c, struct kl_node *name)
{
	const char *text = c->text + name->at;

	if (kl_lex(c))
		return NULL;
	if ((name->length == 4 && !memcmp(text, "flag", 4)) ||
	    (name->length == 5 && !memcmp(text, "since", 5))) {
		if (c->token.kind != KL_TOKEN_NAME) {
			kl_complain(c, c->token.at, "expected a flag's name");
			return NULL;
		}
		name->kind = *text == 'f' ? KL_NODE_FLAG : KL_NODE_SINCE;
		name->at = c->token.at;
		name->length = c->token.length;
		if (kl_lex(c))
			return NULL;
	} else if (name->length == 4 && !memcmp(text, "user", 4)) {
		name->kind = KL_NODE_USER;
		name->a = parse_choice(c);
		if (!name->a)
			return NULL;
	} else {
		kl_complain(c, name->at,
			    "unknown function \"%.*s\"; expected flag(), since() or user()",
			    name->length > 40 ? 40 : (int)name->length, text);
		return NULL;
	}
	return expect(c, ")") ? NULL : name;
}

static struct kl_node *parse_primary(struct kl_compiler *c)
{
	struct kl_token token = c->token;
	struct kl_node *node;
	char text[48];

	switch (token.kind) {
	case KL_TOKEN_NUMBER:
		node = kl_node_new(c, KL_NODE_NUMBER, token.at);
		if (!node)
			return NULL;
		node->number = token.number;
		node->plain = token.plain;
		node->unit = token.unit;
		node->is_fraction = token.is_fraction;
		node->length = token.length;
		kl_ctype_int(&node->type, 8, !token.is_unsigned);
		return kl_lex(c) ? NULL : node;
	case KL_TOKEN_STRING:
		node = kl_node_new(c, KL_NODE_STRING, token.at);
		if (!node)
			return NULL;
		node->string = token.string;
		node->string_bytes = token.string_bytes;
		node->is_prefix = token.is_prefix;
		node->is_pattern = token.is_pattern;
		return kl_lex(c) ? NULL : node;
	case KL_TOKEN_NAME:
		node = kl_node_new(c, KL_NODE_NAME, token.at);
		if (!node)
			return NULL;
		node->length = token.length;
		/* What a column may be compared with depends on it. */
		if ((c->scope->columns && kl_scope_resolve(c, node)) || kl_lex(c))
			return NULL;
		return kl_token_is(c, "(") ? parse_call(c, node) : node;
	default:
		if (!kl_token_is(c, "(")) {
			kl_complain(c, token.at, "expected a value before %s",
				    token_text(c, text, sizeof(text)));
			return NULL;
		}
		if (kl_lex(c))
			return NULL;
		node = parse_choice(c);
		return node && !expect(c, ")") ? node : NULL;
	}
}

/* Parse .NAME or ->NAME after @from. */
static struct kl_node *parse_member(struct kl_compiler *c, struct kl_node *from,
				    enum kl_node_kind kind)
{
	struct kl_node *node;

	if (kl_lex(c))
		return NULL;
	if (c->token.kind != KL_TOKEN_NAME) {
		kl_complain(c, c->token.at, "expected a member's name");
		return NULL;
	}
	node = kl_node_new(c, kind, c->token.at);
	if (!node)
		return NULL;
	node->a = from;
	node->length = c->token.length;
	return kl_lex(c) ? NULL : node;
}

static struct kl_node *parse_postfix(struct kl_compiler *c)
{
	struct kl_node *node = parse_primary(c), *index;
	unsigned int links = 0;

	while (node) {
		/*
		 * The compiler recurses along the chain as it does for parentheses, so limit it,
		 * too.
		 */
		if (++links > 2 * KL_NESTING_MAX) {
			kl_complain(c, c->token.at, "the expression is nested too deeply");
			return NULL;
		}
		if (kl_token_is(c, ".")) {
			node = parse_member(c, node, KL_NODE_MEMBER);
		} else if (kl_token_is(c, "->")) {
			node = parse_member(c, node, KL_NODE_ARROW);
		} else if (kl_token_is(c, "[")) {
			index = kl_node_new(c, KL_NODE_INDEX, c->token.at);
			if (!index || kl_lex(c))
				return NULL;
			index->a = node;
			index->b = parse_choice(c);
			node = index->b && !expect(c, "]") ? index : NULL;
		} else {
			break;
		}
	}
	return node;
}

/* Parse (TYPE) and its operand. Returns 0 with a NULL *@node if it is not a type. */
static int parse_cast(struct kl_compiler *c, struct kl_node **node)
{
	struct kl_token token = c->token;
	size_t strings = c->strings_used;
	const char *at = c->at;
	struct kl_ctype type;
	int ret;

	*node = NULL;
	ret = kl_lex(c);
	if (!ret)
		ret = parse_type(c, &type);
	if (ret > 0) {
		c->token = token;
		c->strings_used = strings;
		c->at = at;
		return 0;
	}
	if (ret)
		return ret;
	ret = expect(c, ")");
	if (ret)
		return ret;
	*node = kl_node_new(c, KL_NODE_CAST, token.at);
	if (!*node)
		return -EINVAL;
	(*node)->type = type;
	(*node)->a = parse_unary(c);
	return (*node)->a ? 0 : -EINVAL;
}

static struct kl_node *parse_signed(struct kl_compiler *c)
{
	static const struct {
		const char *sign;
		enum kl_node_kind kind;
	} signs[] = {
		{ "*", KL_NODE_DEREF },	 { "&", KL_NODE_ADDRESS }, { "-", KL_NODE_NEGATE },
		{ "~", KL_NODE_INVERT }, { "!", KL_NODE_NOT },
	};
	struct kl_node *node;

	if (kl_token_is(c, "(")) {
		if (parse_cast(c, &node))
			return NULL;
		if (node)
			return node;
	}
	/* Not the operator, but two in front of a value. */
	if (kl_token_is(c, "!~")) {
		c->token.length = 1;
		c->at--;
	}
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(signs); i++) {
		if (!kl_token_is(c, signs[i].sign))
			continue;
		node = kl_node_new(c, signs[i].kind, c->token.at);
		if (!node || kl_lex(c))
			return NULL;
		node->a = parse_unary(c);
		return node->a ? node : NULL;
	}
	return parse_postfix(c);
}

static struct kl_node *parse_unary(struct kl_compiler *c)
{
	struct kl_node *node = NULL;

	if (++c->nesting > KL_NESTING_MAX)
		kl_complain(c, c->token.at, "the expression is nested too deeply");
	else
		node = parse_signed(c);
	c->nesting--;
	return node;
}

#define NOT_LEVEL 2 /* `not' binds less tightly than these, but more than `and' */

/* Operators, tightest binding first; those of the same level are equal, as in C. */
static const struct sign {
	const char *sign;
	uint8_t level;
	uint8_t kind; /* enum kl_node_kind */
	uint8_t op; /* enum kl_binary */
} operators[] = {
	{ "*", 9, KL_NODE_BINARY, KL_BINARY_MUL },
	{ "/", 9, KL_NODE_BINARY, KL_BINARY_DIV },
	{ "%", 9, KL_NODE_BINARY, KL_BINARY_MOD },
	{ "+", 8, KL_NODE_BINARY, KL_BINARY_ADD },
	{ "-", 8, KL_NODE_BINARY, KL_BINARY_SUB },
	{ "<<", 7, KL_NODE_BINARY, KL_BINARY_SHL },
	{ ">>", 7, KL_NODE_BINARY, KL_BINARY_SHR },
	{ "<", 6, KL_NODE_BINARY, KL_BINARY_LT },
	{ "<=", 6, KL_NODE_BINARY, KL_BINARY_LE },
	{ ">", 6, KL_NODE_BINARY, KL_BINARY_GT },
	{ ">=", 6, KL_NODE_BINARY, KL_BINARY_GE },
	{ "==", 5, KL_NODE_BINARY, KL_BINARY_EQ },
	{ "=", 5, KL_NODE_BINARY, KL_BINARY_EQ }, /* only with columns */
	{ "!=", 5, KL_NODE_BINARY, KL_BINARY_NE },
	{ "~", 5, KL_NODE_BINARY, KL_BINARY_LIKE },
	{ "!~", 5, KL_NODE_BINARY, KL_BINARY_UNLIKE },
	{ "&", 4, KL_NODE_BINARY, KL_BINARY_AND },
	{ "^", 3, KL_NODE_BINARY, KL_BINARY_XOR },
	{ "|", 2, KL_NODE_BINARY, KL_BINARY_OR },
	{ "&&", 1, KL_NODE_AND, 0 },
	{ "and", 1, KL_NODE_AND, 0 },
	{ "||", 0, KL_NODE_OR, 0 },
	{ "or", 0, KL_NODE_OR, 0 },
};

static const struct sign *token_operator(const struct kl_compiler *c)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(operators); i++)
		if (kl_token_is(c, operators[i].sign))
			return &operators[i];
	return NULL;
}

static struct kl_node *parse_operators(struct kl_compiler *c, unsigned int level);

/* A name, if the scope has one. */
static bool is_not(const struct kl_compiler *c)
{
	return kl_token_is(c, "not") && !kl_scope_has(c->scope, "not");
}

static struct kl_node *parse_not(struct kl_compiler *c)
{
	struct kl_node *node = NULL;

	if (++c->nesting > KL_NESTING_MAX)
		kl_complain(c, c->token.at, "the expression is nested too deeply");
	else
		node = kl_node_new(c, KL_NODE_NOT, c->token.at);
	if (node && !kl_lex(c))
		node->a = parse_operators(c, NOT_LEVEL);
	c->nesting--;
	return node && node->a ? node : NULL;
}

/* Read the token after @sign, whose left operand decides whether it needs quotes. */
static int lex_operand(struct kl_compiler *c, const struct kl_node *left, const struct sign *sign)
{
	const struct kl_columns *columns = c->scope->columns;
	bool is_pattern = sign->op == KL_BINARY_LIKE || sign->op == KL_BINARY_UNLIKE;
	bool compares = sign->kind == KL_NODE_BINARY &&
			(is_pattern || (sign->op >= KL_BINARY_LT && sign->op <= KL_BINARY_NE));
	enum kl_words words = compares && columns && left->kind == KL_NODE_COLUMN ?
				      columns->words(columns->data, (int)left->number) :
				      KL_WORDS_NONE;

	return is_pattern ? kl_lex_pattern(c, words) : kl_lex_word(c, words);
}

/* Parse operators of @level and tighter. */
static struct kl_node *parse_operators(struct kl_compiler *c, unsigned int level)
{
	struct kl_node *left = level <= NOT_LEVEL && is_not(c) ? parse_not(c) : parse_unary(c);
	struct kl_node *node;
	const struct sign *sign;

	while (left && (sign = token_operator(c)) && sign->level >= level) {
		node = kl_node_new(c, sign->kind, c->token.at);
		if (!node || lex_operand(c, left, sign))
			return NULL;
		node->op = sign->op;
		node->a = left;
		node->b = parse_operators(c, sign->level + 1);
		left = node->b ? node : NULL;
	}
	return left;
}

static struct kl_node *parse_choice_of(struct kl_compiler *c)
{
	struct kl_node *node = parse_operators(c, 0), *choice;

	if (!node || !kl_token_is(c, "?"))
		return node;
	choice = kl_node_new(c, KL_NODE_CHOICE, c->token.at);
	if (!choice || kl_lex(c))
		return NULL;
	choice->a = node;
	choice->b = parse_choice(c);
	if (!choice->b || expect(c, ":"))
		return NULL;
	choice->c = parse_choice(c);
	return choice->c ? choice : NULL;
}

static struct kl_node *parse_choice(struct kl_compiler *c)
{
	struct kl_node *node = NULL;

	if (++c->nesting > KL_NESTING_MAX)
		kl_complain(c, c->token.at, "the expression is nested too deeply");
	else
		node = parse_choice_of(c);
	c->nesting--;
	return node;
}

struct kl_node *kl_parse_part(struct kl_compiler *c)
{
	return parse_choice(c);
}

struct kl_node *kl_parse(struct kl_compiler *c)
{
	struct kl_node *node;
	char text[48];

	if (kl_lex(c))
		return NULL;
	if (c->token.kind == KL_TOKEN_END) {
		kl_complain(c, c->token.at, "the expression is empty");
		return NULL;
	}
	node = parse_choice(c);
	if (node && c->token.kind != KL_TOKEN_END) {
		kl_complain(c, c->token.at, "expected an operator before %s",
			    token_text(c, text, sizeof(text)));
		return NULL;
	}
	return node;
}
