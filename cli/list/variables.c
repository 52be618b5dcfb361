// SPDX-License-Identifier: GPL-2.0
/* List the variables that -v takes: what each is, what it costs, whether it is available. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../base/common.h"
#include "../base/output.h"
#include "list.h"

/* Is a variable available here? -1: unknown. */
static int ask(const struct cli_list *list, const struct kl_variable *v,
	       char reason[KL_ERROR_TEXT_MAX])
{
	struct kl_abi_variable_info info;

	reason[0] = 0;
	if (!list->device) {
		snprintf(reason, KL_ERROR_TEXT_MAX, "the kernlens module is not loaded");
		return -1;
	}
	if (kl_device_variable(list->device, v->id, &info)) {
		snprintf(reason, KL_ERROR_TEXT_MAX, "%.*s", KL_ERROR_TEXT_MAX - 1, kl_error_text());
		return -1;
	}
	snprintf(reason, KL_ERROR_TEXT_MAX, "%.*s", KL_ERROR_TEXT_MAX - 1, info.reason);
	return info.absent == KL_PRESENT;
}

static const char *access_text(const struct kl_variable *v)
{
	if (!strcmp(v->access, "own"))
		return "see it only for their own tasks";
	if (!strcmp(v->access, "parent"))
		return "see it only for their own tasks whose parent is also theirs";
	if (!strcmp(v->access, "any"))
		return "see it without restriction: /proc shows it to all users";
	return "cannot see it: it describes the whole machine";
}

static void add_json(struct cli_list *list, const struct kl_variable *v, int can,
		     const char *reason)
{
	json_t *available = can < 0 ? json_null() : json_boolean(can);

	json_array_append_new(list->rows,
			      json_pack("{s:s, s:s, s:s, s:o, s:s, s:i, s:s, s:s, s:s, s:s, s:s}",
					"name", v->name, "group", v->scope, "help", v->help,
					"available", available, "reason", reason, "id", (int)v->id,
					"type", v->type, "unit", v->unit, "format",
					kl_format_name(v->field.format), "access", v->access,
					"cost", v->cost));
}

static void add_line(struct cli_list *list, const struct kl_variable *v, int can,
		     const char *reason)
{
	cli_table_add(list->table, "%c %s", can == 0 ? '-' : ' ', v->name);
	cli_table_add(list->table, "%s", v->scope);
	cli_table_add(list->table, "%s", v->unit);
	if (can == 0)
		cli_table_add(list->table, "%s [%s]", v->help, reason);
	else if (*v->cost)
		cli_table_add(list->table, "%s (%s)", v->help, v->cost);
	else
		cli_table_add(list->table, "%s", v->help);
}

static void add(struct cli_list *list, const struct kl_variable *v)
{
	char reason[KL_ERROR_TEXT_MAX];
	int can;

	list->n++;
	if (list->names) {
		puts(v->name);
		return;
	}
	can = ask(list, v, reason);
	if (cli_settings.json)
		add_json(list, v, can, reason);
	else
		add_line(list, v, can, reason);
}

static int print_one(const struct cli_list *list, const struct kl_variable *v)
{
	char reason[KL_ERROR_TEXT_MAX];
	int can = ask(list, v, reason);

	printf("%s%s%s\n  %s.\n\n", cli_style(stdout, CLI_BOLD), v->name,
	       cli_style(stdout, CLI_PLAIN), v->help);
	printf("  scope      %s\n  type       %s%s%s, printed as %s\n", v->scope, v->type,
	       *v->unit ? " in " : "", v->unit, kl_format_name(v->field.format));
	printf("  cost       %s\n", *v->cost ? v->cost : "a few instructions per record");
	printf("  available  %s%s%s\n",
	       can < 0 ? "unknown" :
	       can     ? "yes" :
			 "no",
	       *reason ? ": " : "", reason);
	printf("  unprivileged users %s\n", access_text(v));
	return CLI_OK;
}

int cli_list_variables(struct cli_list *list)
{
	const struct kl_variable *v = list->pattern ? kl_variable_find(list->pattern) : NULL;
	int status = CLI_OK;

	if (!list->names)
		list->device = kl_device_open(NULL);
	if (v && !list->names && !cli_settings.json) {
		status = print_one(list, v);
		goto close;
	}
	list->table = cli_table_create("  variable|scope|unit|description");
	for (unsigned int i = 0; !v && kl_variable_get(i); i++)
		if (!list->pattern || strcasestr(kl_variable_get(i)->name, list->pattern))
			add(list, kl_variable_get(i));
	if (v)
		add(list, v);
	if (!list->n)
		status = cli_error(-ENOENT, "no variable matches \"%s\"", list->pattern);
	else if (cli_settings.json && !list->names)
		status = cli_json_write(list->rows);
	else if (!list->names)
		cli_table_print(list->table, stdout, 0);
close:
	kl_device_close(list->device);
	return status;
}
