/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stages of the expression compiler:
 *
 *   text --lexer.c--> tokens --parser.c--> nodes --check.c--> nodes with types
 *        --generate.c (values, places), emit.c (registers, operations)--> program
 *
 * Alarm rules (lib/monitor) share the lexer, the parser and the nodes; their scope has columns, and
 * they check and evaluate the nodes themselves.
 *
 * resolve.c resolves names, scope.c collects them, ctype.c converts BTF's types. Only the first
 * error is reported, at the column of its node or token.
 */
#ifndef KL_LIB_SYMBOL_EXPRESSION_H
#define KL_LIB_SYMBOL_EXPRESSION_H

#include <kernlens/expression.h>
#include <kernlens/usdt.h>
#include "../base/names.h"

#define KL_ARGUMENTS_MAX KL_BLOCK_ARGUMENTS /* no other source has more */
#define KL_NODES_MAX 1024
#define KL_NESTING_MAX 64

/* ------------------------------------------------------------------- types */

enum kl_base {
	KL_BASE_VOID,
	KL_BASE_INT, /* includes enums and bool */
	KL_BASE_STRUCT, /* or union */
	KL_BASE_ARRAY,
	KL_BASE_FUNCTION,
	KL_BASE_TEXT, /* text of a field or variable, or a literal: has no address */
	KL_BASE_NUMBERS, /* a field that is an array of numbers: has no address */
};

/* A type: @stars pointers to @base. The rest describes the base. */
struct kl_ctype {
	enum kl_base base;
	uint8_t stars;
	uint8_t bytes; /* size of an int */
	bool is_signed;
	bool is_char;
	bool is_byte; /* unsigned char by that name: may be text */
	bool is_bool;
	bool is_const; /* the pointer's target */
	bool is_user; /* a pointer to user memory */
	uint32_t id; /* BTF id of an enum, struct or array; 0: none */
	enum kl_format format;
};

void kl_ctype_int(struct kl_ctype *type, unsigned int bytes, bool is_signed);
/* The BTF type @id. */
void kl_ctype_btf(struct kl_ctype *type, const struct kl_btf *btf, uint32_t id);
/* The target of a pointer, or the element of an array. */
void kl_ctype_target(struct kl_ctype *target, const struct kl_ctype *type,
		     const struct kl_btf *btf);
/* An array as a value is a pointer to its first element. */
void kl_ctype_decay(struct kl_ctype *type, const struct kl_btf *btf);
uint64_t kl_ctype_bytes(const struct kl_ctype *type, const struct kl_btf *btf);
void kl_ctype_describe(const struct kl_ctype *type, const struct kl_btf *btf,
		       struct kl_buffer *buffer);
void kl_ctype_result(const struct kl_ctype *type, struct kl_result *result);
/* Parse "u32" and the like. Returns false for other names. */
bool kl_ctype_word(struct kl_ctype *type, const char *name, size_t length);

static inline bool kl_ctype_is_int(const struct kl_ctype *type)
{
	return !type->stars && type->base == KL_BASE_INT;
}

static inline bool kl_ctype_is_array(const struct kl_ctype *type)
{
	return !type->stars && type->base == KL_BASE_ARRAY;
}

/* Is it a char *? */
static inline bool kl_ctype_is_string(const struct kl_ctype *type)
{
	return type->stars == 1 && type->base == KL_BASE_INT && (type->is_char || type->is_byte);
}

/* ------------------------------------------------------------------- names */

struct kl_argument {
	char name[64];
	struct kl_ctype type;
	int index; /* of KL_OP_ARG, or in the scope if it is a marker's; -1: unavailable */
	const char *why; /* it is unavailable */
	struct kl_usdt_argument usdt; /* where a marker's argument is */
};

struct kl_flag {
	char name[KL_NAME_MAX];
	unsigned int number;
};

/* May the right operand of a comparison be a string without quotes? */
enum kl_words {
	KL_WORDS_NONE,
	KL_WORDS_NAMES, /* if it begins with a letter */
	KL_WORDS_ALL,
};

/**
 * struct kl_columns - the only names of a scope whose expressions are evaluated over rows
 * @data: passed to the functions
 * @find: index of a column, or a negative errno with an error text; may add columns
 * @is_share: is this, which ends in a percent sign, the name of a column?
 * @words: what the column may be compared with
 *
 * Names may end in "/s", and = is the same as ==.
 */
struct kl_columns {
	void *data;
	int (*find)(void *data, const char *name);
	bool (*is_share)(const char *name, size_t length);
	enum kl_words (*words)(void *data, int column);
};

struct kl_scope {
	const struct kl_columns *columns; /* NULL: what follows has the names */
	const struct kl_btf *btf;
	const struct kl_symbols *symbols;
	struct kl_scope_source source; /* of those that are NULL; has no function that was called */
	const struct kl_class *class;
	const struct kl_schema *recorded; /* NULL: the event happens now */
	struct kl_argument argument[KL_ARGUMENTS_MAX];
	unsigned int n_arguments;
	bool is_return; /* the only argument is a function's return value */
	bool is_function; /* arguments may point to user memory without their types showing it */
	bool is_block; /* arguments are registers, and have no argN names */
	bool is_trap; /* register names refer to variables */
	bool is_usdt; /* arguments are those of a marker */
	struct kl_flag *flag;
	size_t n_flags;
	size_t flags_capacity;
};

/* ------------------------------------------------------------------- nodes */

enum kl_node_kind {
	KL_NODE_NUMBER,
	KL_NODE_STRING,
	KL_NODE_NAME, /* resolved to one of the following */
	KL_NODE_FIELD,
	KL_NODE_ARGUMENT,
	KL_NODE_COLUMN, /* number: its index */
	KL_NODE_VARIABLE,
	KL_NODE_CURRENT,
	KL_NODE_GLOBAL, /* number: the global's address */
	KL_NODE_FLAG,
	KL_NODE_SINCE, /* since(flag) */
	KL_NODE_MEMBER, /* a.name */
	KL_NODE_ARROW, /* a->name */
	KL_NODE_INDEX, /* a[b] */
	KL_NODE_DEREF,
	KL_NODE_ADDRESS,
	KL_NODE_USER, /* user(a) */
	KL_NODE_NEGATE,
	KL_NODE_INVERT,
	KL_NODE_NOT,
	KL_NODE_CAST,
	KL_NODE_BINARY, /* op */
	KL_NODE_AND,
	KL_NODE_OR,
	KL_NODE_CHOICE, /* a ? b : c */
};

enum kl_token_kind {
	KL_TOKEN_END,
	KL_TOKEN_NUMBER,
	KL_TOKEN_STRING,
	KL_TOKEN_NAME,
	KL_TOKEN_SIGN, /* of one to three characters */
};

/* Operators of two operands. */
enum kl_binary {
	KL_BINARY_MUL,
	KL_BINARY_DIV,
	KL_BINARY_MOD,
	KL_BINARY_ADD,
	KL_BINARY_SUB,
	KL_BINARY_SHL,
	KL_BINARY_SHR,
	KL_BINARY_LT,
	KL_BINARY_LE,
	KL_BINARY_GT,
	KL_BINARY_GE,
	KL_BINARY_EQ,
	KL_BINARY_NE,
	KL_BINARY_AND,
	KL_BINARY_XOR,
	KL_BINARY_OR,
	KL_BINARY_LIKE, /* a string and a shell pattern */
	KL_BINARY_UNLIKE,
};

enum kl_measure {
	KL_MEASURE_BYTES,
	KL_MEASURE_TIME, /* in ns */
	KL_MEASURE_SHARE, /* only in scopes with columns */
};

/**
 * struct kl_unit - the suffix of a number
 * @factor: what the number is multiplied by
 * @count: the same if the number turns out to be a count; 0: it cannot be one
 */
struct kl_unit {
	char name[4];
	enum kl_measure measure;
	uint64_t factor;
	uint64_t count;
};

struct kl_token {
	enum kl_token_kind kind;
	uint32_t at; /* offset in the text */
	uint32_t length;
	uint64_t number; /* with its unit, rounded down */
	double plain; /* without its unit */
	const struct kl_unit *unit; /* or NULL */
	bool is_unsigned;
	bool is_fraction; /* the number was rounded */
	bool is_prefix; /* a string that ends with an asterisk */
	bool is_pattern; /* a string in which \ precedes special characters that are literal */
	char *string; /* unescaped, and terminated by NUL */
	uint32_t string_bytes;
};

struct kl_node {
	enum kl_node_kind kind;
	uint8_t op; /* enum kl_binary */
	uint8_t need; /* approximate number of registers needed */
	bool is_place; /* has an address */
	bool is_user; /* the place is in user memory */
	bool is_percpu; /* of a global */
	bool is_prefix; /* of a string */
	bool is_pattern;
	bool is_fraction; /* of a number */
	uint8_t bits; /* of a bitfield; else 0 */
	uint8_t bit; /* the first bit */
	uint32_t at; /* offset in the text */
	uint32_t length;
	struct kl_node *a, *b, *c;
	uint64_t number; /* also the index of fields and arguments, and the offset of members */
	double plain; /* of a number */
	const struct kl_unit *unit;
	char *string;
	uint32_t string_bytes;
	struct kl_ctype type;
};

struct kl_operand {
	int reg;
	int64_t offset;
};

struct kl_compiler {
	struct kl_scope *scope;
	const char *what;
	const char *text;
	unsigned int line; /* number of lines that precede the text */
	struct kl_code *code;
	struct kl_token token;
	const char *at; /* after the token */
	char *strings; /* unescaped strings: never longer than the text */
	size_t strings_used;
	struct kl_node *nodes;
	unsigned int n_nodes;
	unsigned int nesting;
	unsigned int registers; /* bit mask of those in use */
	int error; /* first failure while emitting: negative errno */
};

/* Report an error in the text at @at. Returns -EINVAL. */
int kl_complain(const struct kl_compiler *c, uint32_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with the current kl_error_text(), and @error. */
int kl_complain_again(const struct kl_compiler *c, uint32_t at, int error);

/* lexer.c: read the next token into @c->token. */
int kl_lex(struct kl_compiler *c);
/* The same, but a string may be without quotes: it ends at a blank or parenthesis. */
int kl_lex_word(struct kl_compiler *c, enum kl_words words);
/* The same, but a string is a pattern. */
int kl_lex_pattern(struct kl_compiler *c, enum kl_words words);
/* Is the token this sign or name? */
bool kl_token_is(const struct kl_compiler *c, const char *text);
/* parser.c: parse the whole text; NULL with an error. */
struct kl_node *kl_parse(struct kl_compiler *c);
/* Parse an expression that begins with the current token, which is then the one after it. */
struct kl_node *kl_parse_part(struct kl_compiler *c);
struct kl_node *kl_node_new(struct kl_compiler *c, enum kl_node_kind kind, uint32_t at);
/* check.c: compute the types of @node and all nodes below it. */
int kl_check(struct kl_compiler *c, struct kl_node *node);
/* The type of @node as a value; -EINVAL if it is neither a number nor a pointer. */
int kl_check_value(struct kl_compiler *c, const struct kl_node *node, struct kl_ctype *type);
/* fold.c: turn a node whose operands are numbers into a number. */
void kl_fold(struct kl_node *node);
/* The result of a binary operation. No division by 0, no matching of patterns. */
uint64_t kl_calculate(enum kl_binary op, uint64_t a, uint64_t b, bool no_sign, bool left_no_sign);
/* resolve.c: find what the name @node refers to. */
int kl_scope_resolve(struct kl_compiler *c, struct kl_node *node);
/* The types and symbols of a scope, which are read at the first call; NULL: there are none. */
const struct kl_btf *kl_scope_types(struct kl_scope *scope);
const struct kl_symbols *kl_scope_symbols(struct kl_scope *scope);
/* Does the name refer to something other than a type? */
bool kl_scope_has(const struct kl_scope *scope, const char *name);
int kl_scope_flag(struct kl_compiler *c, struct kl_node *node);
/* generate.c: generate the program for @node. */
int kl_generate(struct kl_compiler *c, struct kl_node *node, unsigned int flags);
/* emit.c */
int kl_emit_register(struct kl_compiler *c, const struct kl_node *node);
void kl_emit_free(struct kl_compiler *c, int reg);
struct kl_abi_op *kl_emit(struct kl_compiler *c, enum kl_op_code op, int dst, int a, int b,
			  int64_t imm);
void kl_emit_const(struct kl_compiler *c, int dst, uint64_t value);
void kl_emit_alu(struct kl_compiler *c, enum kl_alu alu, int dst, int a);
void kl_emit_alu_const(struct kl_compiler *c, const struct kl_node *node, enum kl_alu alu, int dst,
		       uint64_t value);
/* Emit a jump; kl_emit_land() sets its target. */
unsigned int kl_emit_jump(struct kl_compiler *c, enum kl_op_code op, int a);
void kl_emit_land(struct kl_compiler *c, unsigned int jump);
/* Emit what reads an argument of the scope into a new register. */
int kl_emit_argument(struct kl_compiler *c, const struct kl_node *node, unsigned int index);
void kl_emit_data(struct kl_compiler *c, struct kl_abi_op *op, const struct kl_node *string);

/* The contract's number type, for capture.c and generate.c. */
static inline enum kl_number kl_number_of(unsigned int bytes, bool is_signed)
{
	unsigned int log2 = bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;

	return 2 * log2 + !is_signed;
}

#endif /* KL_LIB_SYMBOL_EXPRESSION_H */
