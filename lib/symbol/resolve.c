// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves a name in an expression: a column, if the scope has columns. Otherwise, in order of
 * precedence: fields of the event, arguments of the source, the running task, variables, constants
 * of the kernel's enums, the kernel's global variables and functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/base.h"
#include "expression.h"

#define SESSION "session" /* since(session) */

/* Kernel variables that BTF does not describe, with their types in the kernel. */
static const struct {
	const char *name;
	const char *structure;
	uint8_t bytes;
	bool is_signed;
} known[] = {
	{ "jiffies", NULL, 8, false },
	{ "jiffies_64", NULL, 8, false },
	{ "total_forks", NULL, 8, false },
	{ "nr_threads", NULL, 4, true },
	{ "nr_cpu_ids", NULL, 4, false },
	{ "max_pfn", NULL, 8, false },
	{ "tainted_mask", NULL, 8, false },
	{ "panic_timeout", NULL, 4, true },
	{ "oops_in_progress", NULL, 4, true },
	{ "system_state", NULL, 4, false },
	{ "init_task", "task_struct", 0, false },
	{ "init_net", "net", 0, false },
	{ "init_mm", "mm_struct", 0, false },
};

/* Map a register's name to its variable: rdi to user_di, r8 to user_r8. */
static const struct kl_variable *find_register(const struct kl_scope *scope, const char *name)
{
	char variable[64];

	if (!scope->is_trap || name[0] != 'r')
		return NULL;
	snprintf(variable, sizeof(variable), "user_%.32s",
		 name[1] >= '0' && name[1] <= '9' ? name : name + 1);
	return kl_variable_find(variable);
}

/* Find an argument by its name or as argN. */
static const struct kl_argument *find_argument(const struct kl_scope *scope, const char *name)
{
	for (unsigned int i = 0; i < scope->n_arguments; i++)
		if (!strcmp(scope->argument[i].name, name))
			return &scope->argument[i];
	if (!scope->is_return && !scope->is_block && !strncmp(name, "arg", 3) && name[3] >= '1' &&
	    name[3] <= '9' && strlen(name) <= 5) {
		unsigned long number = strtoul(name + 3, NULL, 10);

		if (number <= scope->n_arguments)
			return &scope->argument[number - 1];
	}
	return NULL;
}

bool kl_scope_has(const struct kl_scope *scope, const char *name)
{
	return (scope->class && kl_class_field(scope->class, name) >= 0) ||
	       find_argument(scope, name) || !strcmp(name, "current") || kl_variable_find(name) ||
	       find_register(scope, name) ||
	       (scope->recorded && kl_schema_find_variable(scope->recorded, name) >= 0);
}

static void resolve_field(struct kl_node *node, const struct kl_field *field, unsigned int index)
{
	node->kind = KL_NODE_FIELD;
	node->number = index;
	if (field->type == KL_TYPE_TEXT || field->type == KL_TYPE_STRING) {
		node->type = (struct kl_ctype){ .base = KL_BASE_TEXT };
	} else {
		kl_ctype_int(&node->type, field->bytes, !(field->type & 1));
		node->type.format = field->format;
		if (field->count > 1)
			node->type.base = KL_BASE_NUMBERS;
	}
}

static int resolve_argument(struct kl_compiler *c, struct kl_node *node,
			    const struct kl_argument *argument)
{
	const char *name = *argument->name ? argument->name : "this argument";

	if (!argument->type.stars && argument->type.base != KL_BASE_INT)
		return kl_complain(c, node->at, "%s is passed as a whole struct", name);
	if (argument->index < 0)
		return kl_complain(c, node->at, "%s %s", name, argument->why);
	node->kind = KL_NODE_ARGUMENT;
	node->number = argument->index;
	node->type = argument->type;
	return 0;
}

static int resolve_variable(struct kl_compiler *c, struct kl_node *node,
			    const struct kl_variable *variable)
{
	node->kind = KL_NODE_VARIABLE;
	node->number = variable->id;
	if (kl_ctype_word(&node->type, variable->type, strlen(variable->type))) {
		node->type.format = variable->field.format;
		return 0;
	}
	if (strcmp(variable->type, "text") != 0 && strcmp(variable->type, "comm") != 0)
		return kl_complain(c, node->at, "the variable %s is neither a number nor a string",
				   variable->name);
	node->type = (struct kl_ctype){ .base = KL_BASE_TEXT };
	return 0;
}

static void resolve_current(struct kl_compiler *c, struct kl_node *node)
{
	int type = kl_scope_types(c->scope) ?
			   kl_btf_find(c->scope->btf, "task_struct", KL_BTF_BIT(KL_BTF_STRUCT)) :
			   -ENOENT;

	node->kind = KL_NODE_CURRENT;
	node->type = (struct kl_ctype){ .base = KL_BASE_VOID };
	if (type >= 0)
		kl_ctype_btf(&node->type, c->scope->btf, type);
	node->type.stars = 1;
}

/* Set the type of a global that BTF does not describe. */
static void guess_type(struct kl_compiler *c, struct kl_node *node, const char *name)
{
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(known); i++) {
		int type;

		if (strcmp(known[i].name, name) != 0)
			continue;
		if (!known[i].structure) {
			kl_ctype_int(&node->type, known[i].bytes, known[i].is_signed);
			return;
		}
		type = kl_scope_types(c->scope) ? kl_btf_find(c->scope->btf, known[i].structure,
							      KL_BTF_BIT(KL_BTF_STRUCT)) :
						  -ENOENT;
		if (type < 0)
			break;
		kl_ctype_btf(&node->type, c->scope->btf, type);
		return;
	}
	kl_ctype_int(&node->type, 8, false);
	snprintf(c->code->note, sizeof(c->code->note),
		 "the type of %.60s is unknown: assuming unsigned long", name);
}

static int resolve_symbol(struct kl_compiler *c, struct kl_node *node, const char *name)
{
	struct kl_btf_variable variable = { 0 };
	struct kl_symbol symbol;
	int ret = kl_symbols_find(kl_scope_symbols(c->scope), name, &symbol);

	if (ret < 0)
		return kl_complain_again(c, node->at, ret);
	node->number = symbol.address;
	if ((symbol.type | 0x20) == 't') {
		node->kind = KL_NODE_NUMBER;
		node->type = (struct kl_ctype){ .base = KL_BASE_FUNCTION, .stars = 1 };
		return 0;
	}
	node->kind = KL_NODE_GLOBAL;
	node->is_place = true;
	if (kl_scope_types(c->scope) && !kl_btf_variable_find(c->scope->btf, name, &variable)) {
		kl_ctype_btf(&node->type, c->scope->btf, variable.type);
		node->is_percpu = variable.is_percpu;
		return 0;
	}
	guess_type(c, node, name);
	return 0;
}

static int complain_name(struct kl_compiler *c, const struct kl_node *node, const char *name)
{
	struct kl_scope *scope = c->scope;
	const struct kl_variable *variable;
	struct kl_near near;

	if (scope->is_function && !kl_scope_types(scope))
		return kl_complain(c, node->at,
				   "unknown name \"%s\": names of a function's arguments come from "
				   "the kernel's type information (BTF), which is not available",
				   name);
	kl_near_init(&near, name, strlen(name));
	for (unsigned int i = 0; scope->class && i < scope->class->n_fields; i++)
		kl_near_offer(&near, scope->class->fields[i].name);
	for (unsigned int i = 0; i < scope->n_arguments; i++)
		kl_near_offer(&near, scope->argument[i].name);
	if (kl_scope_types(scope))
		kl_near_offer(&near, "current");
	for (unsigned int i = 0; (variable = kl_variable_get(i)); i++)
		kl_near_offer(&near, variable->name);
	if (!near.best && kl_scope_symbols(scope)) {
		struct kl_symbol symbol;
		size_t position = 0;

		while (kl_symbols_next(scope->symbols, NULL, false, &position, &symbol))
			kl_near_offer(&near, symbol.name);
	}
	if (near.best)
		return kl_complain(c, node->at, "unknown name \"%s\"; did you mean \"%s\"?", name,
				   near.best);
	return kl_complain(c, node->at, "unknown name \"%s\"", name);
}

static int resolve_column(struct kl_compiler *c, struct kl_node *node, const char *name)
{
	int index = c->scope->columns->find(c->scope->columns->data, name);

	if (index < 0)
		return kl_complain_again(c, node->at, index);
	node->kind = KL_NODE_COLUMN;
	node->number = (uint64_t)index;
	return 0;
}

/* What every recorded event has. */
static const struct {
	const char *name;
	int number;
} recorded[] = {
	{ "tid", KL_RECORDED_TID },
	{ "pid", KL_RECORDED_PID },
	{ "comm", KL_RECORDED_COMM },
	{ "cpu", KL_RECORDED_CPU },
};

static void set_recorded(struct kl_node *node, int number, const struct kl_field *field)
{
	node->kind = KL_NODE_VARIABLE;
	node->number = (uint64_t)number;
	node->type = (struct kl_ctype){ .base = KL_BASE_TEXT };
	if (field->type == KL_TYPE_TEXT)
		return;
	kl_ctype_int(&node->type, field->bytes, !(field->type & 1));
	node->type.format = field->format;
}

static int complain_recorded(struct kl_compiler *c, const struct kl_node *node, const char *name)
{
	const struct kl_variable *variable;
	struct kl_near near;

	if (kl_variable_find(name))
		return kl_complain(c, node->at,
				   "the variable %s has not been recorded (record -v %s)", name,
				   name);
	kl_near_init(&near, name, strlen(name));
	for (unsigned int i = 0; c->scope->class && i < c->scope->class->n_fields; i++)
		kl_near_offer(&near, c->scope->class->fields[i].name);
	for (unsigned int i = 0; (variable = kl_schema_variable(c->scope->recorded, i)); i++)
		kl_near_offer(&near, variable->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(recorded); i++)
		kl_near_offer(&near, recorded[i].name);
	if (near.best)
		return kl_complain(c, node->at, "unknown name \"%s\"; did you mean \"%s\"?", name,
				   near.best);
	return kl_complain(c, node->at, "unknown name \"%s\"", name);
}

/* Besides fields, only what each record carries. */
static int resolve_recorded(struct kl_compiler *c, struct kl_node *node, const char *name)
{
	static const struct kl_field number = { .type = KL_TYPE_S32, .bytes = 4 };
	static const struct kl_field text = { .type = KL_TYPE_TEXT };
	int index = kl_schema_find_variable(c->scope->recorded, name);

	if (index >= 0) {
		set_recorded(node, index,
			     &kl_schema_variable(c->scope->recorded, (unsigned int)index)->field);
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(recorded); i++) {
		if (strcmp(recorded[i].name, name) != 0)
			continue;
		set_recorded(node, recorded[i].number,
			     recorded[i].number == KL_RECORDED_COMM ? &text : &number);
		return 0;
	}
	return complain_recorded(c, node, name);
}

int kl_scope_resolve(struct kl_compiler *c, struct kl_node *node)
{
	struct kl_scope *scope = c->scope;
	const struct kl_variable *variable;
	const struct kl_argument *argument;
	struct kl_btf_value value;
	struct kl_symbol symbol;
	char name[128];
	int field;

	if (node->length >= sizeof(name))
		return kl_complain(c, node->at, "the name is too long");
	memcpy(name, c->text + node->at, node->length);
	name[node->length] = 0;
	if (scope->columns)
		return resolve_column(c, node, name);
	field = scope->class ? kl_class_field(scope->class, name) : -ENOENT;
	if (field >= 0) {
		resolve_field(node, &scope->class->fields[field], field);
		return 0;
	}
	if (scope->recorded)
		return resolve_recorded(c, node, name);
	argument = find_argument(scope, name);
	if (argument)
		return resolve_argument(c, node, argument);
	if (!strcmp(name, "current")) {
		resolve_current(c, node);
		return 0;
	}
	variable = kl_variable_find(name);
	if (!variable)
		variable = find_register(scope, name);
	if (variable)
		return resolve_variable(c, node, variable);
	if (kl_scope_types(scope) && !kl_btf_value_find(scope->btf, name, &value)) {
		node->kind = KL_NODE_NUMBER;
		node->number = value.value;
		kl_ctype_int(&node->type, 8, value.is_signed || value.value >= 0);
		return 0;
	}
	if (kl_scope_symbols(scope) && kl_symbols_find(scope->symbols, name, &symbol) != -ENOENT)
		return resolve_symbol(c, node, name);
	return complain_name(c, node, name);
}

int kl_scope_flag(struct kl_compiler *c, struct kl_node *node)
{
	const struct kl_scope *scope = c->scope;
	struct kl_near near;

	/* since() is a number of nanoseconds. */
	kl_ctype_int(&node->type, node->kind == KL_NODE_SINCE ? 8 : 1, false);
	node->type.is_bool = node->kind == KL_NODE_FLAG;
	if (node->kind == KL_NODE_SINCE && node->length == strlen(SESSION) &&
	    !memcmp(SESSION, c->text + node->at, node->length)) {
		node->number = KL_SINCE_SESSION;
		return 0;
	}
	kl_near_init(&near, c->text + node->at, node->length);
	for (size_t i = 0; i < scope->n_flags; i++) {
		if (strlen(scope->flag[i].name) == node->length &&
		    !memcmp(scope->flag[i].name, c->text + node->at, node->length)) {
			node->number = scope->flag[i].number;
			return 0;
		}
		kl_near_offer(&near, scope->flag[i].name);
	}
	if (near.best)
		return kl_complain(c, node->at, "unknown flag \"%.*s\"; did you mean \"%s\"?",
				   (int)node->length, c->text + node->at, near.best);
	return kl_complain(c, node->at, "unknown flag \"%.*s\"", (int)node->length,
			   c->text + node->at);
}
