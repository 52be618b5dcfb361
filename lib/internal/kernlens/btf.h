/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's own description of its types (BTF): the members of a struct and their offsets, the
 * parameters of a function. The format is described in the kernel's Documentation/bpf/btf.rst.
 * Types are numbers; 0 is void.
 */
#ifndef KERNLENS_BTF_H
#define KERNLENS_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/buffer.h>

/* As in the format; kinds unknown to this library are KL_BTF_COUNT. */
enum kl_btf_kind {
	KL_BTF_VOID = 0,
	KL_BTF_INT = 1,
	KL_BTF_PTR = 2,
	KL_BTF_ARRAY = 3,
	KL_BTF_STRUCT = 4,
	KL_BTF_UNION = 5,
	KL_BTF_ENUM = 6,
	KL_BTF_FWD = 7,
	KL_BTF_TYPEDEF = 8,
	KL_BTF_VOLATILE = 9,
	KL_BTF_CONST = 10,
	KL_BTF_RESTRICT = 11,
	KL_BTF_FUNC = 12,
	KL_BTF_FUNC_PROTO = 13,
	KL_BTF_VAR = 14,
	KL_BTF_DATASEC = 15,
	KL_BTF_FLOAT = 16,
	KL_BTF_DECL_TAG = 17,
	KL_BTF_TYPE_TAG = 18,
	KL_BTF_ENUM64 = 19,
	KL_BTF_COUNT
};

#define KL_BTF_BIT(kind) (1u << (kind))
#define KL_BTF_ENUMS (KL_BTF_BIT(KL_BTF_ENUM) | KL_BTF_BIT(KL_BTF_ENUM64))
#define KL_BTF_STRUCTS (KL_BTF_BIT(KL_BTF_STRUCT) | KL_BTF_BIT(KL_BTF_UNION))

#define KL_BTF_KERNEL_PATH "/sys/kernel/btf/vmlinux"

struct kl_btf;

/**
 * struct kl_btf_member - a member of a struct or union
 * @name: empty for an anonymous struct or union
 * @type: its type
 * @bit_offset: from the start of the outermost struct that was queried
 * @bits: width of a bitfield; else 0
 */
struct kl_btf_member {
	const char *name;
	uint32_t type;
	uint32_t bit_offset;
	uint32_t bits;
};

/**
 * struct kl_btf_value - a constant of an enum
 * @name: name
 * @type: the enum
 * @value: sign-extended if @is_signed
 * @is_signed: whether the enum is signed
 */
struct kl_btf_value {
	const char *name;
	uint32_t type;
	int64_t value;
	bool is_signed;
};

/**
 * struct kl_btf_parameter - a parameter of a function
 * @name: empty if the prototype does not name it, and for "..."
 * @type: its type; 0 for "..."
 */
struct kl_btf_parameter {
	const char *name;
	uint32_t type;
};

/**
 * struct kl_btf_variable - a variable of the kernel
 * @type: its type
 * @section: such as ".data..percpu"; empty if it is in none
 * @is_percpu: each CPU has its own
 */
struct kl_btf_variable {
	uint32_t type;
	const char *section;
	bool is_percpu;
};

/**
 * kl_btf_open - read the types of a kernel
 * @path: a BTF file, or an ELF file with a .BTF section; NULL: those of the running kernel
 *
 * Takes some milliseconds, and about twice the file's size in memory. Returns NULL with errno:
 * ENOENT if there is no such file or section, EINVAL if it is damaged, ENOMEM.
 */
struct kl_btf *kl_btf_open(const char *path);

/**
 * kl_btf_open_module - read the types of a module on top of those of its kernel
 * @base: of the kernel; must outlive the result, which includes all its types
 * @path: as for kl_btf_open(); a name without a slash is that of a loaded module
 *
 * Returns NULL with errno, as kl_btf_open().
 */
struct kl_btf *kl_btf_open_module(const struct kl_btf *base, const char *path);

/**
 * kl_btf_parse - parse types in memory
 * @data: copied
 * @bytes: size of @data
 * @base: types that it builds upon, or NULL; must outlive the result
 *
 * Returns NULL with errno, as kl_btf_open().
 */
struct kl_btf *kl_btf_parse(const void *data, size_t bytes, const struct kl_btf *base);

/**
 * kl_btf_close - free types
 * @btf: or NULL
 */
void kl_btf_close(struct kl_btf *btf);

/**
 * kl_btf_types - number of types, including void and those of the base
 * @btf: types
 */
uint32_t kl_btf_types(const struct kl_btf *btf);

/**
 * kl_btf_kind - kind of a type
 * @btf: types
 * @type: any number; invalid ones are KL_BTF_VOID
 */
enum kl_btf_kind kl_btf_kind(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_name - name of a type, empty if it has none
 * @btf: types
 * @type: any number
 */
const char *kl_btf_name(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_find - a type by its name
 * @btf: types
 * @name: such as "task_struct"
 * @kinds: KL_BTF_BIT() of the acceptable kinds
 *
 * Returns the first type of that name and kind, or -ENOENT. Sets no error text.
 */
int kl_btf_find(const struct kl_btf *btf, const char *name, uint32_t kinds);

/**
 * kl_btf_target - the type that a type refers to
 * @btf: types
 * @type: any number
 *
 * Returns what a pointer points to, what a typedef or qualifier applies to, the element type of
 * an array, the return type of a prototype, or the prototype of a function; 0 for types that
 * refer to nothing.
 */
uint32_t kl_btf_target(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_resolve - skip typedefs, const, volatile, restrict and type tags
 * @btf: types
 * @type: any number
 *
 * Returns the underlying type, or 0 if they are nested too deeply.
 */
uint32_t kl_btf_resolve(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_bytes - sizeof
 * @btf: types
 * @type: any number
 *
 * Returns bytes; 0 for void, functions and forward declarations.
 */
uint64_t kl_btf_bytes(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_is_signed - is an integer or enum signed?
 * @btf: types
 * @type: any number; typedefs are resolved
 */
bool kl_btf_is_signed(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_elements - number of elements of an array
 * @btf: types
 * @type: any number; typedefs are resolved; 0 for other types
 */
uint32_t kl_btf_elements(const struct kl_btf *btf, uint32_t type);

/**
 * kl_btf_member_at - a member by its index
 * @btf: types
 * @type: struct or union
 * @index: from 0
 * @member: out
 *
 * Returns 0, or -ENOENT if there is none. Sets no error text.
 */
int kl_btf_member_at(const struct kl_btf *btf, uint32_t type, unsigned int index,
		     struct kl_btf_member *member);

/**
 * kl_btf_member_find - a member by its name, also in anonymous structs and unions
 * @btf: types
 * @type: struct or union; typedefs are resolved
 * @name: one name
 * @member: out
 *
 * Returns 0, or -ENOENT if there is none. Sets no error text.
 */
int kl_btf_member_find(const struct kl_btf *btf, uint32_t type, const char *name,
		       struct kl_btf_member *member);

/**
 * kl_btf_value_at - a constant of an enum by its index
 * @btf: types
 * @type: enum
 * @index: from 0
 * @value: out
 *
 * Returns 0, or -ENOENT if there is none. Sets no error text.
 */
int kl_btf_value_at(const struct kl_btf *btf, uint32_t type, unsigned int index,
		    struct kl_btf_value *value);

/**
 * kl_btf_value_find - a constant of any enum by its name
 * @btf: types
 * @name: such as "PIDTYPE_TGID"
 * @value: out
 *
 * Returns 0, or -ENOENT if there is none. Sets no error text.
 */
int kl_btf_value_find(const struct kl_btf *btf, const char *name, struct kl_btf_value *value);

/**
 * kl_btf_parameter_at - a parameter of a prototype by its index
 * @btf: types
 * @type: prototype
 * @index: from 0
 * @parameter: out
 *
 * Returns 0, or -ENOENT if there is none. Sets no error text.
 */
int kl_btf_parameter_at(const struct kl_btf *btf, uint32_t type, unsigned int index,
			struct kl_btf_parameter *parameter);

/**
 * kl_btf_function - the prototype of a function
 * @btf: types
 * @name: the function
 *
 * Returns the type, or -ENOENT if BTF has no function of that name. Sets no error text.
 */
int kl_btf_function(const struct kl_btf *btf, const char *name);

/**
 * kl_btf_tracepoint - the prototype of a tracepoint's probes
 * @btf: types
 * @name: the tracepoint, such as "sched_switch"
 *
 * The first parameter is the probe's private void pointer; the arguments of the tracepoint
 * follow. They have names if BTF describes the function __traceiter_NAME; the typedef
 * btf_trace_NAME has only types. Returns the type, or -ENOENT if BTF has neither. Sets no error
 * text.
 */
int kl_btf_tracepoint(const struct kl_btf *btf, const char *name);

/**
 * kl_btf_variable_find - a variable of the kernel
 * @btf: types
 * @name: such as "runqueues"
 * @variable: out
 *
 * The BTF of most kernels describes only per-CPU variables. Returns 0, or -ENOENT if there is
 * none. Sets no error text.
 */
int kl_btf_variable_find(const struct kl_btf *btf, const char *name,
			 struct kl_btf_variable *variable);

/**
 * kl_btf_describe - print a type as in C, such as "struct task_struct *"
 * @btf: types
 * @type: any number
 * @buffer: appended to
 */
void kl_btf_describe(const struct kl_btf *btf, uint32_t type, struct kl_buffer *buffer);

#endif /* KERNLENS_BTF_H */
