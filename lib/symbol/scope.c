// SPDX-License-Identifier: GPL-2.0
/* The set of names that an expression may use; the caller fills it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "expression.h"

#define REGISTER_ARGUMENTS 6 /* passed in registers to a function on x86-64 */

struct kl_scope *kl_scope_create(const struct kl_btf *btf, const struct kl_symbols *symbols)
{
	struct kl_scope *scope = calloc(1, sizeof(*scope));

	if (!scope) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	scope->btf = btf;
	scope->symbols = symbols;
	return scope;
}

void kl_scope_set_source(struct kl_scope *scope, const struct kl_scope_source *source)
{
	scope->source = *source;
}

const struct kl_btf *kl_scope_types(struct kl_scope *scope)
{
	if (!scope->btf && scope->source.types) {
		scope->btf = scope->source.types(scope->source.data);
		scope->source.types = NULL;
		kl_error_clear();
	}
	return scope->btf;
}

const struct kl_symbols *kl_scope_symbols(struct kl_scope *scope)
{
	if (!scope->symbols && scope->source.symbols) {
		scope->symbols = scope->source.symbols(scope->source.data);
		scope->source.symbols = NULL;
		kl_error_clear();
	}
	return scope->symbols;
}

void kl_scope_destroy(struct kl_scope *scope)
{
	if (!scope)
		return;
	free(scope->flag);
	free(scope);
}

void kl_scope_set_class(struct kl_scope *scope, const struct kl_class *class)
{
	scope->class = class;
}

void kl_scope_set_recorded(struct kl_scope *scope, const struct kl_schema *schema)
{
	scope->recorded = schema;
}

static struct kl_argument *new_argument(struct kl_scope *scope, const char *name, int index)
{
	struct kl_argument *argument;

	if (scope->n_arguments == KL_ARGUMENTS_MAX)
		return NULL;
	argument = &scope->argument[scope->n_arguments++];
	*argument = (struct kl_argument){ .index = index, .why = "is passed on the stack" };
	snprintf(argument->name, sizeof(argument->name), "%s", name);
	kl_ctype_int(&argument->type, 8, false);
	return argument;
}

void kl_scope_clear_arguments(struct kl_scope *scope)
{
	scope->n_arguments = 0;
	scope->is_return = false;
	scope->is_function = false;
	scope->is_block = false;
	scope->is_trap = false;
	scope->is_usdt = false;
}

void kl_scope_set_trap(struct kl_scope *scope)
{
	kl_scope_clear_arguments(scope);
	scope->is_trap = true;
}

/*
 * Registers that a parameter takes by the x86-64 calling convention: structs of up to 16 bytes are
 * passed in one or two registers, larger ones on the stack.
 */
static unsigned int parameter_registers(const struct kl_btf *btf, uint32_t type)
{
	uint64_t bytes = kl_btf_bytes(btf, type);

	return bytes <= 8 ? 1 : bytes <= 16 ? 2 : 0;
}

/*
 * Add the parameters of @prototype from @first on. @registers: number of argument registers; 0: no
 * limit.
 */
static void add_parameters(struct kl_scope *scope, uint32_t prototype, unsigned int first,
			   unsigned int registers)
{
	struct kl_btf_parameter parameter;
	unsigned int index = 0;

	for (unsigned int i = first; !kl_btf_parameter_at(scope->btf, prototype, i, &parameter);
	     i++) {
		struct kl_argument *argument;
		unsigned int takes = parameter_registers(scope->btf, parameter.type);
		bool fits = !registers || (takes && index + takes <= registers);

		if (!parameter.type)
			break;
		argument = new_argument(scope, parameter.name, fits ? (int)index : -1);
		if (!argument)
			break;
		kl_ctype_btf(&argument->type, scope->btf, parameter.type);
		if (registers && fits)
			index += takes;
		else if (!registers)
			index++;
	}
}

static const char *without_module(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 1 : name;
}

void kl_scope_set_types(struct kl_scope *scope, const struct kl_btf *btf)
{
	kl_scope_clear_arguments(scope);
	scope->btf = btf;
}

int kl_scope_set_function(struct kl_scope *scope, const char *name)
{
	int type = kl_scope_types(scope) ? kl_btf_function(scope->btf, without_module(name)) :
					   -ENOENT;

	kl_scope_clear_arguments(scope);
	scope->is_function = true;
	if (type >= 0) {
		add_parameters(scope, type, 0, REGISTER_ARGUMENTS);
		return 0;
	}
	for (int i = 0; i < REGISTER_ARGUMENTS; i++)
		new_argument(scope, "", i);
	return 1;
}

int kl_scope_set_return(struct kl_scope *scope, const char *name)
{
	int type = kl_scope_types(scope) ? kl_btf_function(scope->btf, without_module(name)) :
					   -ENOENT;
	struct kl_argument *ret;
	struct kl_ctype returns;

	kl_scope_clear_arguments(scope);
	kl_ctype_int(&returns, 8, true);
	if (type >= 0)
		kl_ctype_btf(&returns, scope->btf, kl_btf_target(scope->btf, type));
	if (!returns.stars && returns.base == KL_BASE_VOID)
		return kl_fail(EINVAL, "%s returns nothing", name);
	if (!returns.stars && returns.base != KL_BASE_INT)
		return kl_fail(EINVAL, "%s returns a whole struct", name);
	ret = new_argument(scope, "ret", 0);
	ret->type = returns;
	scope->is_return = true;
	return type < 0;
}

static int fail_tracepoint(const struct kl_scope *scope, const char *name)
{
	static const char prefix[] = "btf_trace_";
	struct kl_near near;

	if (!scope->btf)
		return kl_fail(ENOENT, "the kernel's type information (BTF) is not available");
	kl_near_init(&near, name, strlen(name));
	for (uint32_t id = 1; id < kl_btf_types(scope->btf); id++) {
		const char *known = kl_btf_name(scope->btf, id);

		if (kl_btf_kind(scope->btf, id) == KL_BTF_TYPEDEF &&
		    !strncmp(known, prefix, sizeof(prefix) - 1))
			kl_near_offer(&near, known + sizeof(prefix) - 1);
	}
	if (!near.best)
		return kl_fail(ENOENT, "the kernel has no tracepoint \"%s\"", name);
	return kl_fail(ENOENT, "the kernel has no tracepoint \"%s\"; did you mean \"%s\"?", name,
		       near.best);
}

int kl_scope_set_tracepoint(struct kl_scope *scope, const char *name)
{
	int type = kl_scope_types(scope) ? kl_btf_tracepoint(scope->btf, name) : -ENOENT;

	if (type < 0)
		return fail_tracepoint(scope, name);
	kl_scope_clear_arguments(scope);
	/* The first parameter is the probe's private data. */
	add_parameters(scope, type, 1, 0);
	return 0;
}

int kl_scope_set_registers(struct kl_scope *scope)
{
	/* In the order of their encoding in instructions; see KL_SOURCE_KIND_BLOCK. */
	static const char *const names[KL_BLOCK_ARGUMENTS] = {
		"rax",
		"rcx",
		"rdx",
		"rbx",
		"rsp",
		"rbp",
		"rsi",
		"rdi",
		"r8",
		"r9",
		"r10",
		"r11",
		"r12",
		"r13",
		"r14",
		"r15",
		[KL_BLOCK_FLAGS] = "rflags",
		[KL_BLOCK_IP] = "rip",
	};
	int ret = 0;

	kl_scope_clear_arguments(scope);
	scope->is_block = true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(names) && !ret; i++)
		ret = kl_scope_add_argument(scope, names[i], 0);
	/* The only register that is always a code address. */
	scope->argument[KL_BLOCK_IP].type.format = KL_FORMAT_ptr;
	return ret;
}

void kl_scope_set_usdt(struct kl_scope *scope, const struct kl_usdt_marker *marker,
		       const struct kl_usdt_location *location)
{
	kl_scope_clear_arguments(scope);
	scope->is_usdt = true;
	for (unsigned int i = 0; i < marker->n_arguments; i++) {
		const struct kl_usdt_type *type = &marker->type[i];
		struct kl_argument *argument;
		char name[16];

		snprintf(name, sizeof(name), "arg%u", i + 1);
		argument = new_argument(scope, name, type->why ? -1 : (int)i);
		argument->why = type->why;
		if (type->why)
			continue;
		kl_ctype_int(&argument->type, type->bytes, type->is_signed);
		argument->usdt = location->argument[i];
	}
}

int kl_scope_add_argument(struct kl_scope *scope, const char *name, uint32_t type)
{
	struct kl_argument *argument = new_argument(scope, name, scope->n_arguments);

	if (!argument)
		return kl_fail(ENOSPC, "more than %d arguments", KL_ARGUMENTS_MAX);
	if (type && scope->btf)
		kl_ctype_btf(&argument->type, scope->btf, type);
	return 0;
}

int kl_scope_add_flag(struct kl_scope *scope, const char *name, unsigned int number)
{
	struct kl_flag *flags;

	if (number >= KL_FLAGS_MAX)
		return kl_fail(EINVAL, "flag %s: too many flags (maximum %d)", name, KL_FLAGS_MAX);
	if (!*name || strlen(name) >= sizeof(flags->name))
		return kl_fail(EINVAL, "a flag's name must have 1 to %zu bytes: \"%s\"",
			       sizeof(flags->name) - 1, name);
	for (size_t i = 0; i < scope->n_flags; i++) {
		if (!strcmp(scope->flag[i].name, name)) {
			scope->flag[i].number = number;
			return 0;
		}
	}
	flags = kl_array_grow(scope->flag, scope->n_flags, &scope->flags_capacity, sizeof(*flags));
	if (!flags)
		return -ENOMEM;
	scope->flag = flags;
	strcpy(flags[scope->n_flags].name, name);
	flags[scope->n_flags++].number = number;
	return 0;
}
