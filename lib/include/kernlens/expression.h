/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Expressions as in C, compiled to programs of the contract (struct kl_abi_op):
 * filters, keys, sums, variables and fields of defined events. The grammar is
 * in the manual page kernlens-expressions(7).
 */
#ifndef KERNLENS_EXPRESSION_H
#define KERNLENS_EXPRESSION_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/btf.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/symbols.h>

KL_PUBLIC_BEGIN

/* How the value of an expression is meant. */
enum kl_result_kind {
	KL_RESULT_NUMBER,
	KL_RESULT_POINTER, /* to something of the type btf_type, if that is not 0 */
	KL_RESULT_ENUM, /* a constant of the enum btf_type */
	KL_RESULT_STRING, /* only with KL_EXPRESSION_RECORD */
};

/**
 * struct kl_result - what a program gives
 * @kind: how it is meant
 * @type: how it is stored: of a number its width and sign, KL_TYPE_STRING
 * @format: how it is printed
 * @btf_type: the enum, or what a pointer points to; else 0
 */
struct kl_result {
	enum kl_result_kind kind;
	enum kl_type type;
	enum kl_format format;
	uint32_t btf_type;
};

/**
 * struct kl_code - a program, and what is to be known of it
 * @ops: operations; the last one is KL_OP_END
 * @n_ops: number of them
 * @data: texts that it compares with
 * @data_bytes: of them
 * @out_bytes: that it writes at most (KL_OP_PUT and the like)
 * @may: rights that its maker needs, KL_MAY_*
 * @result: of the expression
 * @note: what was assumed, in a sentence; empty: nothing
 *
 * Holds no memory: it may be copied and forgotten.
 */
struct kl_code {
	struct kl_abi_op ops[KL_PROGRAM_OPS_MAX];
	unsigned int n_ops;
	uint8_t data[KL_PROGRAM_DATA_MAX];
	unsigned int data_bytes;
	unsigned int out_bytes;
	uint32_t may;
	struct kl_result result;
	char note[128];
};

struct kl_scope;

/**
 * kl_scope_create - the names that an expression may use
 * @btf: the kernel's types; NULL: none (no members, no `current`, no constants)
 * @symbols: the kernel's symbols; NULL: none (no global variables)
 *
 * At first these are the kernel's global variables, constants of its enums,
 * `current`, and the rows of variables.def. @btf and @symbols must outlive the
 * scope. Returns NULL with errno ENOMEM.
 */
struct kl_scope *kl_scope_create(const struct kl_btf *btf, const struct kl_symbols *symbols);

/**
 * kl_scope_destroy - free a scope
 * @scope: or NULL
 */
void kl_scope_destroy(struct kl_scope *scope);

/**
 * kl_scope_set_types - other types, such as a module's on top of the kernel's
 * @scope: changed; has no arguments any more
 * @btf: as for kl_scope_create()
 */
void kl_scope_set_types(struct kl_scope *scope, const struct kl_btf *btf);

/**
 * kl_scope_set_class - the fields of an event
 * @scope: changed
 * @event_class: must outlive the scope; NULL: no fields
 */
void kl_scope_set_class(struct kl_scope *scope, const struct kl_class *event_class);

/**
 * kl_scope_set_function - the arguments of a function
 * @scope: changed; has no arguments of another source any more
 * @name: the function, or MODULE:FUNCTION
 *
 * They have the names of the function's definition, and arg1 and on. If BTF
 * does not know the function, six arguments arg1 to arg6 are there as unsigned
 * numbers of 64 bits. Returns 0, or 1 in that case. Never fails.
 */
int kl_scope_set_function(struct kl_scope *scope, const char *name);

/**
 * kl_scope_set_return - what a function returns: `ret`
 * @scope: changed; has no arguments of another source any more
 * @name: the function, or MODULE:FUNCTION
 *
 * Returns 0; 1 if BTF does not know the function, and `ret` is then a signed
 * number of 64 bits; or -EINVAL with an error text if the function returns
 * nothing, or a struct.
 */
int kl_scope_set_return(struct kl_scope *scope, const char *name);

/**
 * kl_scope_set_tracepoint - the arguments of a tracepoint
 * @scope: changed; has no arguments of another source any more
 * @name: tracepoint
 *
 * They have the names of the tracepoint's declaration, and arg1 and on. Returns
 * -ENOENT with an error text if BTF has no such tracepoint.
 */
int kl_scope_set_tracepoint(struct kl_scope *scope, const char *name);

/**
 * kl_scope_set_trap - the same names for the registers of a program that fires an event itself
 * @scope: changed; has no arguments of another source any more
 *
 * They are variables, which need no privilege.
 */
void kl_scope_set_trap(struct kl_scope *scope);

/**
 * kl_scope_set_registers - the registers of a basic block's place: rax, ..., r15, rflags, rip
 * @scope: changed; has no arguments of another source any more
 *
 * Unsigned numbers of 64 bits. Returns 0. Never fails.
 */
int kl_scope_set_registers(struct kl_scope *scope);

/**
 * kl_scope_clear_arguments - no arguments, for a source that BTF does not know
 * @scope: changed
 */
void kl_scope_clear_arguments(struct kl_scope *scope);

/**
 * kl_scope_add_argument - one more argument, for sources that BTF does not know
 * @scope: changed
 * @name: its name beside argN, or ""
 * @type: BTF type; 0: an unsigned number of 64 bits
 *
 * Returns -ENOSPC with an error text if there are too many.
 */
int kl_scope_add_argument(struct kl_scope *scope, const char *name, uint32_t type);

/**
 * kl_scope_add_flag - a flag of the session, for `flag(NAME)`
 * @scope: changed
 * @name: copied
 * @number: as the rules of the session have it, below KL_FLAGS_MAX
 *
 * A name that is there already gets the new number. Returns -EINVAL or -ENOMEM
 * with an error text.
 */
int kl_scope_add_flag(struct kl_scope *scope, const char *name, unsigned int number);

/**
 * kl_scope_add_variable - a variable beside the rows of variables.def
 * @scope: changed
 * @variable: type "s8" to "u64" for numbers, "text" or "comm" for text, others
 *            cannot be used; must outlive the scope
 *
 * Returns -ENOMEM with an error text.
 */
int kl_scope_add_variable(struct kl_scope *scope, const struct kl_variable *variable);

/* The value is what the program writes (KL_OP_PUT...), not what it ends with. */
#define KL_EXPRESSION_RECORD 0x1u

/**
 * kl_expression_compile - an expression to a program
 * @scope: names
 * @what: what it is, for the error text: "filter", "key"
 * @text: the expression
 * @flags: KL_EXPRESSION_*
 * @code: out; undefined on failure
 *
 * Returns -EINVAL for what cannot be understood, -EACCES for a symbol whose
 * address is hidden, -E2BIG for what is too long for a program; the error text
 * is then "WHAT:LINE:COLUMN: message", a line of the expression and a line with
 * a caret below it.
 */
int kl_expression_compile(const struct kl_scope *scope, const char *what, const char *text,
			  unsigned int flags, struct kl_code *code);

#define KL_CAPTURE_FIELDS_MAX 32

/**
 * struct kl_capture - a defined event: its fields and the program that writes them
 * @event_class: the event; its strings and fields are in this struct
 * @code: the program for struct kl_abi_event
 * @fields: of the class
 * @btf_type: of each field: an enum, or what a pointer points to; else 0
 * @names: what the class and its fields are called
 * @names_bytes: of them
 * @note: what was left out, in a sentence; empty: nothing
 *
 * Is not to be copied: it points into itself.
 */
struct kl_capture {
	struct kl_class event_class;
	struct kl_code code;
	struct kl_field fields[KL_CAPTURE_FIELDS_MAX];
	uint32_t btf_type[KL_CAPTURE_FIELDS_MAX];
	char names[2048];
	unsigned int names_bytes;
	char note[256];
};

/**
 * kl_capture_init - begin a defined event, without fields
 * @capture: any memory
 * @id: of the class: KL_EV_DYNAMIC and up
 * @name: copied; such as "fn:vfs_read"
 * @group: copied
 * @help: copied; one sentence
 *
 * Returns -E2BIG with an error text if the strings are too long.
 */
int kl_capture_init(struct kl_capture *capture, unsigned int id, const char *name,
		    const char *group, const char *help);

/**
 * kl_capture_arguments - a field for each argument that the scope has
 * @capture: gets the fields, and notes for arguments that are left out
 * @scope: with the arguments of a function or tracepoint, or `ret`
 *
 * Numbers have their width, enums and known typedefs their format, other
 * pointers than strings are recorded as their address. A tracepoint's char * is
 * a string; a function's is one if it is const, else a buffer to be filled. The
 * string may be the kernel's or, of a function, the task's. Structs by value are
 * left out. Returns -E2BIG with an error text if there are too many.
 */
int kl_capture_arguments(struct kl_capture *capture, const struct kl_scope *scope);

/**
 * kl_capture_add - a field whose value is an expression
 * @capture: gets the field
 * @scope: names
 * @name: of the field
 * @text: the expression
 *
 * Returns a negative errno with an error text, as kl_expression_compile(), and
 * -EEXIST if there is a field of that name; @capture is then as it was.
 */
int kl_capture_add(struct kl_capture *capture, const struct kl_scope *scope, const char *name,
		   const char *text);

KL_PUBLIC_END

#endif /* KERNLENS_EXPRESSION_H */
