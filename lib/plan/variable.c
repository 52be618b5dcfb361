// SPDX-License-Identifier: GPL-2.0
/*
 * Expressions as variables. One that needs only the running task and the kernel becomes a variable
 * of the session. One that refers to arguments becomes an additional field of the defined events
 * that have them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/define.h>
#include <kernlens/error.h>
#include "../base/base.h"
#include "../format/schema.h"
#include "plan.h"

/* Length of NAME in NAME=EXPRESSION; 0: there is none. */
static size_t name_length(const char *text)
{
	size_t n = 0;

	if (isdigit((unsigned char)*text))
		return 0;
	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return text[n] == '=' && text[n + 1] != '=' ? n : 0;
}

static bool is_taken(const struct kl_plan *plan, const char *name)
{
	for (unsigned int i = 0; i < plan->n_variables; i++)
		if (!strcmp(plan->variables[i].shown.name, name))
			return true;
	return kl_variable_find(name);
}

/* Make a name from the words of an expression, joined with _. */
static void make_name(const struct kl_plan *plan, const char *text, char name[KL_PLAN_NAME_MAX])
{
	size_t n = 0;
	unsigned int more = 1;

	for (; *text && n < KL_PLAN_NAME_MAX - 4; text++) {
		if (isalnum((unsigned char)*text) || *text == '_')
			name[n++] = *text;
		else if (n && name[n - 1] != '_')
			name[n++] = '_';
		if (n == 1 && isdigit((unsigned char)*name))
			name[0] = '_';
	}
	while (n && name[n - 1] == '_')
		n--;
	if (!n)
		name[n++] = 'v';
	name[n] = 0;
	while (is_taken(plan, name) && ++more < 100)
		snprintf(name + n, KL_PLAN_NAME_MAX - n, "_%u", more);
}

/* Use the expression as help text, with anything that would end a comment removed. */
static char *make_help(const char *text)
{
	char *help = strdup(text);

	if (!help) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (char *at = help; *at; at++)
		if (iscntrl((unsigned char)*at) || (*at == '*' && at[1] == '/'))
			*at = ' ';
	return help;
}

int kl_plan_add_variable(struct kl_plan *plan, const char *text)
{
	size_t length = name_length(text);
	struct kl_plan_expression *v = &plan->variables[plan->n_variables];

	if (plan->n_variables == KL_VARIABLES_MAX)
		return kl_fail(E2BIG, "too many expressions (maximum %d)", KL_VARIABLES_MAX);
	if (length >= KL_PLAN_NAME_MAX)
		return kl_fail(EINVAL, "a variable's name must not exceed %d bytes",
			       KL_PLAN_NAME_MAX - 1);
	if (length) {
		memcpy(v->shown.name, text, length);
		v->shown.name[length] = 0;
		text += length + 1;
	} else {
		make_name(plan, text, v->shown.name);
	}
	v->shown.help = make_help(text);
	v->text = strdup(text);
	if (!v->shown.help || !v->text) {
		free(v->shown.help);
		free(v->text);
		memset(v, 0, sizeof(*v));
		return kl_fail(ENOMEM, "out of memory");
	}
	return (int)plan->n_variables++;
}

void kl_plan_free_variables(struct kl_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_variables; i++) {
		free(plan->variables[i].shown.help);
		free(plan->variables[i].text);
		free(plan->variables[i].why);
	}
}

/* The program outputs text; limit it to the size of a variable. */
static void shorten_text(struct kl_code *code)
{
	for (unsigned int i = 0; i < code->n_ops; i++)
		if (code->ops[i].code == KL_OP_PUT_STRING ||
		    code->ops[i].code == KL_OP_PUT_USER_STRING)
			code->ops[i].imm = KL_COMM_LEN;
}

/* Compile in a scope without fields and arguments. */
static int compile_variable(struct kl_plan *plan, struct kl_plan_expression *v)
{
	int ret = kl_expression_compile(plan->scope, "variable", v->text, KL_EXPRESSION_RECORD,
					&plan->code);
	bool is_text = !ret && plan->code.result.kind == KL_RESULT_STRING;

	if (is_text)
		shorten_text(&plan->code);
	else if (!ret)
		ret = kl_expression_compile(plan->scope, "variable", v->text, 0, &plan->code);
	if (ret)
		return ret;
	v->shown.type = is_text ? KL_TYPE_TEXT : plan->code.result.type;
	v->shown.format = is_text ? KL_FORMAT_comm : plan->code.result.format;
	v->shown.is_of_session = true;
	if (plan->code.note[0])
		kl_buffer_printf(&plan->note, "%s\n", plan->code.note);
	ret = kl_plan_store_program(plan, &plan->code);
	if (ret < 0)
		return ret;
	v->program = (unsigned int)ret;
	return 0;
}

int kl_plan_compile_variables(struct kl_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_variables; i++) {
		struct kl_plan_expression *v = &plan->variables[i];
		int ret = compile_variable(plan, v);

		/* An event may have what it refers to. */
		if (ret == -EINVAL) {
			v->why = strdup(kl_error_text());
			ret = v->why ? 0 : kl_fail(ENOMEM, "out of memory");
		}
		if (ret)
			return ret;
	}
	return 0;
}

int kl_plan_add_fields(struct kl_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_variables; i++) {
		struct kl_plan_expression *v = &plan->variables[i];
		int ret;

		if (v->shown.is_of_session)
			continue;
		ret = kl_capture_add(&plan->capture, plan->scope, v->shown.name, v->text);
		/* An argument is a field anyway. */
		if (ret == -EEXIST && !strcmp(v->shown.name, v->text))
			ret = 0;
		if (!ret) {
			v->is_field = true;
		} else if (ret == -EINVAL) {
			/* The error in an event's scope says more than the one without an event. */
			free(v->why);
			v->why = strdup(kl_error_text());
			ret = v->why ? 0 : kl_fail(ENOMEM, "out of memory");
		}
		if (ret)
			return ret;
	}
	return 0;
}

int kl_plan_check_fields(struct kl_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_variables; i++)
		if (!plan->variables[i].shown.is_of_session && !plan->variables[i].is_field)
			return kl_fail(EINVAL, "%s", plan->variables[i].why);
	kl_error_clear();
	return 0;
}

const struct kl_plan_variable *kl_plan_variable(const struct kl_plan *plan, unsigned int index)
{
	return index < plan->n_variables ? &plan->variables[index].shown : NULL;
}

int kl_plan_apply_variables(struct kl_plan *plan, struct kl_session *session,
			    struct kl_abi_variables *list)
{
	int ret = kl_plan_apply_programs(plan, session);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < list->n; i++) {
		struct kl_abi_variable *params = &list->variable[i];
		const struct kl_plan_expression *v;

		if (params->variable != KL_VARIABLE_PROGRAM)
			continue;
		v = &plan->variables[params->program];
		params->program = (uint32_t)plan->programs[v->program - 1].id;
		params->type = v->shown.type == KL_TYPE_TEXT ? KL_VARIABLE_TYPE_TEXT :
							       v->shown.type;
	}
	return kl_session_variables(session, list);
}
