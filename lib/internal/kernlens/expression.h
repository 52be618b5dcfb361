/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compiles C-like expressions to programs that the module runs (struct kl_abi_op): filters, keys,
 * sums, variables and fields of defined events. The grammar is in the manual page
 * kernlens-expressions(7).
 */
#ifndef KERNLENS_EXPRESSION_H
#define KERNLENS_EXPRESSION_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/btf.h>
#include <kernlens/result.h>
#include <kernlens/schema.h>
#include <kernlens/symbols.h>
#include <kernlens/usdt.h>

/**
 * struct kl_code - a compiled program and its properties
 * @ops: operations; the last one is KL_OP_END
 * @n_ops: number of operations
 * @data: texts that the program compares with
 * @data_bytes: size of @data
 * @out_bytes: maximum number of bytes that it outputs (KL_OP_PUT and similar)
 * @may: rights that loading it requires, KL_MAY_*
 * @result: result of the expression
 * @note: what was assumed, in one sentence; empty: nothing
 *
 * Owns no memory: it can be copied and discarded freely.
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
 * kl_scope_create - create the set of names that an expression may use
 * @btf: the kernel's types; NULL: none (no members, no `current`, no constants)
 * @symbols: the kernel's symbols; NULL: none (no global variables)
 *
 * Initially these are the kernel's global variables, the constants of its enums, `current`, and
 * the rows of variables.def. @btf and @symbols must outlive the scope. Returns NULL with errno
 * ENOMEM.
 */
struct kl_scope *kl_scope_create(const struct kl_btf *btf, const struct kl_symbols *symbols);

/**
 * struct kl_scope_source - where a scope gets types and symbols that it was created without
 * @types: returns the kernel's types, which must outlive the scope; NULL if there are none
 * @symbols: returns the kernel's symbols, likewise
 * @data: passed to both
 */
struct kl_scope_source {
	const struct kl_btf *(*types)(void *data);
	const struct kl_symbols *(*symbols)(void *data);
	void *data;
};

/**
 * kl_scope_set_source - read types and symbols only if an expression needs them
 * @scope: changed
 * @source: each function is called at most once, at the first name that is no field, argument or
 *          variable; what it leaves in kl_error_text() is cleared
 */
void kl_scope_set_source(struct kl_scope *scope, const struct kl_scope_source *source);

/**
 * kl_scope_destroy - free a scope
 * @scope: or NULL
 */
void kl_scope_destroy(struct kl_scope *scope);

/**
 * kl_scope_set_types - use other types, such as a module's on top of the kernel's
 * @scope: changed; its arguments are removed
 * @btf: as for kl_scope_create()
 */
void kl_scope_set_types(struct kl_scope *scope, const struct kl_btf *btf);

/**
 * kl_scope_set_class - add the fields of an event
 * @scope: changed; fields of another event are replaced
 * @event_class: must outlive the scope; NULL: no fields
 */
void kl_scope_set_class(struct kl_scope *scope, const struct kl_class *event_class);

/* Variables of a recorded event that are in no list, after those of its schema. */
enum {
	KL_RECORDED_TID = KL_VARIABLES_MAX,
	KL_RECORDED_PID,
	KL_RECORDED_COMM,
	KL_RECORDED_CPU,
};

/**
 * kl_scope_set_recorded - use only what a recorded event contains
 * @scope: changed
 * @schema: of the trace; must outlive the scope
 *
 * Besides fields, names are then those of the schema's variables, and `tid`, `pid`, `comm` and
 * `cpu`. KL_OP_VARIABLE and KL_OP_VARIABLE_TEXT contain the index in the schema, or KL_RECORDED_*.
 */
void kl_scope_set_recorded(struct kl_scope *scope, const struct kl_schema *schema);

/**
 * kl_scope_set_function - add the arguments of a function
 * @scope: changed; arguments of another source are replaced
 * @name: the function, or MODULE:FUNCTION
 *
 * Arguments have the names in the function's definition, and also arg1, arg2, and so on. If BTF
 * does not describe the function, there are six arguments arg1 to arg6 of type unsigned 64-bit.
 * Returns 0, or 1 in that case. Never fails.
 */
int kl_scope_set_function(struct kl_scope *scope, const char *name);

/**
 * kl_scope_set_return - add the return value of a function, `ret`
 * @scope: changed; arguments of another source are replaced
 * @name: the function, or MODULE:FUNCTION
 *
 * Returns 0; 1 if BTF does not describe the function, in which case `ret` is a signed 64-bit
 * number; or -EINVAL with an error text if the function returns void or a struct.
 */
int kl_scope_set_return(struct kl_scope *scope, const char *name);

/**
 * kl_scope_set_tracepoint - add the arguments of a tracepoint
 * @scope: changed; arguments of another source are replaced
 * @name: tracepoint
 *
 * Arguments have the names in the tracepoint's declaration, and also arg1, arg2, and so on.
 * Returns 0, or -ENOENT with an error text if BTF does not describe the tracepoint.
 */
int kl_scope_set_tracepoint(struct kl_scope *scope, const char *name);

/**
 * kl_scope_set_trap - add the registers of a program that fires an event itself
 * @scope: changed; arguments of another source are replaced
 *
 * They have the same names as those of kl_scope_set_registers(), but are variables, which require
 * no privileges.
 */
void kl_scope_set_trap(struct kl_scope *scope);

/**
 * kl_scope_set_registers - add the registers at a point in a basic block
 * @scope: changed; arguments of another source are replaced
 *
 * They are rax, ..., r15, rflags and rip, as unsigned 64-bit numbers. Returns 0. Never fails.
 */
int kl_scope_set_registers(struct kl_scope *scope);

/**
 * kl_scope_set_usdt - add the arguments at a location of a USDT marker
 * @scope: changed; arguments of another source are replaced
 * @marker: marker
 * @location: one of its locations
 *
 * They are arg1, arg2 and so on, with the types that they have at all locations of the marker.
 */
void kl_scope_set_usdt(struct kl_scope *scope, const struct kl_usdt_marker *marker,
		       const struct kl_usdt_location *location);

/**
 * kl_scope_clear_arguments - remove all arguments
 * @scope: changed
 */
void kl_scope_clear_arguments(struct kl_scope *scope);

/**
 * kl_scope_add_argument - add an argument, for a source that BTF does not describe
 * @scope: changed
 * @name: its name in addition to argN, or ""
 * @type: BTF type; 0: an unsigned 64-bit number
 *
 * Returns 0, or -ENOSPC with an error text if there are too many.
 */
int kl_scope_add_argument(struct kl_scope *scope, const char *name, uint32_t type);

/**
 * kl_scope_add_flag - add a flag of the session, for `flag(NAME)`
 * @scope: changed
 * @name: copied
 * @number: as in the session's rules, less than KL_FLAGS_MAX
 *
 * An existing name gets the new number. Returns 0, -EINVAL or -ENOMEM with an error text.
 */
int kl_scope_add_flag(struct kl_scope *scope, const char *name, unsigned int number);

/* The value is what the program outputs (KL_OP_PUT...), not its result. */
#define KL_EXPRESSION_RECORD 0x1u

/**
 * kl_expression_compile - compile an expression to a program
 * @scope: names
 * @what: what it is used for, for the error text: "filter", "key"
 * @text: the expression
 * @flags: KL_EXPRESSION_*
 * @code: out: undefined on failure
 *
 * Returns 0, -EINVAL for an invalid expression, -EACCES for a symbol whose address is hidden, or
 * -E2BIG if it is too long for a program. The error text then consists of "WHAT:LINE:COLUMN:
 * message", a line of the expression, and a line with a caret below it.
 */
int kl_expression_compile(struct kl_scope *scope, const char *what, const char *text,
			  unsigned int flags, struct kl_code *code);

#define KL_CAPTURE_FIELDS_MAX 32

/**
 * struct kl_capture - a defined event: its fields and the program that writes them
 * @event_class: the event; its strings and fields are stored in this struct
 * @code: the program for struct kl_abi_event
 * @fields: of the class
 * @btf_type: for each field: the enum, or the type that a pointer points to; else 0
 * @names: names of the class and its fields
 * @names_bytes: size of @names in use
 * @note: what was left out, in one sentence; empty: nothing
 *
 * Must not be copied: it points into itself.
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
 * kl_capture_init - start a defined event without fields
 * @capture: overwritten
 * @id: of the class: KL_EV_DYNAMIC and up
 * @name: copied; such as "fn:vfs_read"
 * @group: copied
 * @help: copied; one sentence
 *
 * Returns 0, or -E2BIG with an error text if the strings are too long.
 */
int kl_capture_init(struct kl_capture *capture, unsigned int id, const char *name,
		    const char *group, const char *help);

/**
 * kl_capture_arguments - add a field for each argument in the scope
 * @capture: the fields are added to it, and notes for arguments that are left out
 * @scope: with the arguments of a function or tracepoint, or `ret`
 *
 * Numbers keep their width; enums and known typedefs get their format; pointers other than
 * strings are recorded as addresses. A char * is a string if it is an argument of a tracepoint,
 * or if it is const; other char * arguments of functions are buffers to be filled. The string may
 * be in kernel memory or, for a function, in that of the task. Structs passed by value are left
 * out. Returns 0, or -E2BIG with an error text if there are too many fields.
 */
int kl_capture_arguments(struct kl_capture *capture, struct kl_scope *scope);

/**
 * kl_capture_add - add a field whose value is an expression
 * @capture: the field is added to it
 * @scope: names
 * @name: of the field
 * @text: the expression
 *
 * Returns 0, or a negative errno with an error text: as kl_expression_compile() does, and -EEXIST
 * if there is a field of that name. @capture is unchanged on failure.
 */
int kl_capture_add(struct kl_capture *capture, struct kl_scope *scope, const char *name,
		   const char *text);

#endif /* KERNLENS_EXPRESSION_H */
