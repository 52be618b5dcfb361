// SPDX-License-Identifier: GPL-2.0
/*
 * The values that -v requests: rows of variables.def, or expressions, which the plan compiles. Fed
 * by select.c.
 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "../base/common.h"
#include "select.h"
#include "select_variables.h"

static bool has_variable(const struct kl_abi_variables *list, uint32_t id)
{
	for (unsigned int i = 0; i < list->n; i++)
		if (list->variable[i].variable == id)
			return true;
	return false;
}

/*
 * Add matching variables, except the task, which records always have. Globs skip unavailable ones.
 */
static int add_matching(struct cli_session *s, const char *word)
{
	struct kl_abi_variables *list = &s->variables;
	bool glob = strpbrk(word, "*?[");
	struct kl_abi_variable_info info;
	const struct kl_variable *v;
	int error;

	for (unsigned int i = 1; (v = kl_variable_get(i)); i++) {
		if (fnmatch(word, v->name, 0) || (glob && has_variable(list, i)))
			continue;
		error = kl_device_variable(s->device, v->id, &info);
		if (error)
			return cli_library_error(error, "%s", v->name);
		if (info.absent != KL_PRESENT && glob)
			continue;
		if (info.absent != KL_PRESENT)
			return cli_error(info.absent == KL_ABSENT_DENIED ? -EPERM : -ENOENT,
					 "%s is not available here: %s", v->name, info.reason);
		if (list->n == KL_VARIABLES_MAX)
			return cli_error(-E2BIG, "too many variables (maximum %d)",
					 KL_VARIABLES_MAX);
		list->variable[list->n++].variable = v->id;
	}
	return CLI_OK;
}

/* Does the word name or match rows of the table? */
static bool is_of_table(const char *word)
{
	const struct kl_variable *v;

	for (unsigned int i = 1; (v = kl_variable_get(i)); i++)
		if (!fnmatch(word, v->name, 0))
			return true;
	return false;
}

static int add_expression(struct cli_session *s, const char *text)
{
	struct kl_abi_variables *list = &s->variables;
	int index = kl_plan_add_variable(s->plan, text);

	if (index < 0)
		return cli_library_error(index, NULL);
	if (list->n == KL_VARIABLES_MAX)
		return cli_error(-E2BIG, "too many variables (maximum %d)", KL_VARIABLES_MAX);
	list->variable[list->n++] = (struct kl_abi_variable){
		.variable = KL_VARIABLE_PROGRAM,
		.program = (uint32_t)index,
	};
	return CLI_OK;
}

/* Bytes up to the next comma outside parentheses and strings. */
static size_t word_length(const char *text)
{
	unsigned int depth = 0;
	char quote = 0;
	size_t n = 0;

	for (; text[n] && (quote || depth || text[n] != ','); n++) {
		char c = text[n];

		if (quote && c == '\\' && text[n + 1])
			n++;
		else if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '(' || c == '[')
			depth++;
		else if ((c == ')' || c == ']') && depth)
			depth--;
	}
	return n;
}

int cli_take_variables(struct cli_session *s)
{
	const char *at = s->select.variables;
	int status = CLI_OK;

	while (!status && at) {
		size_t length = word_length(at);
		char *word = strndupa(at, length);

		if (!*word)
			cli_usage_error(s->command, "-v contains an empty name");
		status = is_of_table(word) ? add_matching(s, word) : add_expression(s, word);
		at = at[length] ? at + length + 1 : NULL;
	}
	return status;
}

int cli_use_variables(struct cli_session *s)
{
	const struct kl_record_source source = cli_session_source(s);
	int error = kl_record_apply_variables(&source, s->plan, &s->variables);

	return error ? cli_library_error(error, NULL) : CLI_OK;
}
