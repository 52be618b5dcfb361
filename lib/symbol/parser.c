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

static struct kl_node *new_node(struct kl_compiler *c, enum kl_node_kind kind, uint32_t at)
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

static bool is_sign(const struct kl_compiler *c, const char *sign)
{
	return c->token.kind == KL_TOKEN_SIGN && strlen(sign) == c->token.length &&
	       !memcmp(c->text + c->token.at, sign, c->token.length);
}

static bool is_word(const struct kl_compiler *c, const char *word)
{
	return c->token.kind == KL_TOKEN_NAME && strlen(word) == c->token.length &&
	       !memcmp(c->text + c->token.at, word, c->token.length);
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

	if (is_sign(c, sign))
		return kl_lex(c);
	return kl_complain(c, c->token.at, "\"%s\" is missing before %s", sign,
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
		return kl_complain(c, c->token.at, "a name is missing after \"%s\"", word);
	if (!c->scope->btf)
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
		if (is_word(c, "unsigned"))
			is_unsigned = true;
		else if (is_word(c, "char"))
			is_char = true;
		else if (is_word(c, "short"))
			bytes = 2;
		else if (is_word(c, "long"))
			bytes = 8;
		else if (is_word(c, "bool") || is_word(c, "_Bool"))
			is_bool = true;
		else if (is_word(c, "void"))
			is_void = true;
		else if (!is_word(c, "signed") && !is_word(c, "int") && !is_word(c, "const") &&
			 !is_word(c, "volatile"))
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
	if (c->scope->btf)
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

	while (!ret && (is_word(c, "const") || is_word(c, "volatile")))
		ret = kl_lex(c);
	return ret;
}

/* Parse a type and its stars. Returns 1 if the token does not begin a type. */
static int parse_type(struct kl_compiler *c, struct kl_ctype *type)
{
	/*
	 * Skip the qualifiers of "const struct x *" here; parse_words() accepts those after a word.
	 */
	bool qualified = is_word(c, "const") || is_word(c, "volatile");
	int ret = skip_qualifiers(c);

	if (ret)
		return ret;
	if (is_word(c, "struct"))
		ret = parse_tagged(c, "struct", KL_BTF_BIT(KL_BTF_STRUCT), type);
	else if (is_word(c, "union"))
		ret = parse_tagged(c, "union", KL_BTF_BIT(KL_BTF_UNION), type);
	else if (is_word(c, "enum"))
		ret = parse_tagged(c, "enum", KL_BTF_ENUMS, type);
	else
		ret = parse_words(c, type);
	if (ret > 0)
		ret = parse_typedef(c, type);
	if (ret > 0 && qualified)
		return kl_complain(c, c->token.at, "a type is missing");
	if (!ret)
		ret = skip_qualifiers(c);
	while (!ret && is_sign(c, "*")) {
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
			kl_complain(c, c->token.at, "the name of a flag is missing");
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
		node = new_node(c, KL_NODE_NUMBER, token.at);
		if (!node)
			return NULL;
		node->number = token.number;
		kl_ctype_int(&node->type, 8, !token.is_unsigned);
		return kl_lex(c) ? NULL : node;
	case KL_TOKEN_STRING:
		node = new_node(c, KL_NODE_STRING, token.at);
		if (!node)
			return NULL;
		node->string = token.string;
		node->string_bytes = token.string_bytes;
		node->is_prefix = token.is_prefix;
		return kl_lex(c) ? NULL : node;
	case KL_TOKEN_NAME:
		node = new_node(c, KL_NODE_NAME, token.at);
		if (!node || kl_lex(c))
			return NULL;
		node->length = token.length;
		return is_sign(c, "(") ? parse_call(c, node) : node;
	default:
		if (!is_sign(c, "(")) {
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
		kl_complain(c, c->token.at, "a member's name is missing");
		return NULL;
	}
	node = new_node(c, kind, c->token.at);
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
		if (is_sign(c, ".")) {
			node = parse_member(c, node, KL_NODE_MEMBER);
		} else if (is_sign(c, "->")) {
			node = parse_member(c, node, KL_NODE_ARROW);
		} else if (is_sign(c, "[")) {
			index = new_node(c, KL_NODE_INDEX, c->token.at);
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
	*node = new_node(c, KL_NODE_CAST, token.at);
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

	if (is_sign(c, "(")) {
		if (parse_cast(c, &node))
			return NULL;
		if (node)
			return node;
	}
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(signs); i++) {
		if (!is_sign(c, signs[i].sign))
			continue;
		node = new_node(c, signs[i].kind, c->token.at);
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
	{ "!=", 5, KL_NODE_BINARY, KL_BINARY_NE },
	{ "&", 4, KL_NODE_BINARY, KL_BINARY_AND },
	{ "^", 3, KL_NODE_BINARY, KL_BINARY_XOR },
	{ "|", 2, KL_NODE_BINARY, KL_BINARY_OR },
	{ "&&", 1, KL_NODE_AND, 0 },
	{ "||", 0, KL_NODE_OR, 0 },
};

static const struct sign *token_operator(const struct kl_compiler *c)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(operators); i++)
		if (is_sign(c, operators[i].sign))
			return &operators[i];
	return NULL;
}

/* Parse operators of @level and tighter. */
static struct kl_node *parse_operators(struct kl_compiler *c, unsigned int level)
{
	struct kl_node *left = parse_unary(c), *node;
	const struct sign *sign;

	while (left && (sign = token_operator(c)) && sign->level >= level) {
		node = new_node(c, sign->kind, c->token.at);
		if (!node || kl_lex(c))
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

	if (!node || !is_sign(c, "?"))
		return node;
	choice = new_node(c, KL_NODE_CHOICE, c->token.at);
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
