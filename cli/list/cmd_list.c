// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens list: list what can be traced. The rows come from the library's tables; the module
 * reports which events are available.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/common.h"
#include "../base/output.h"
#include "list.h"

enum {
	KEY_NAMES = CLI_KEY_OWN,
};

static const struct cli_option options[] = {
	{ 'v', "verbose", NULL, "also list system calls and the fields of events" },
	{ KEY_NAMES, "names", NULL, "print only the names, one per line" },
	{},
};

#define USDT "usdt:"

static const char *const kinds[] = {
	"events", "groups", "variables", "handlers", "masksets", NULL,
};

/* Does a row of a table other than events match? */
static bool is_like(const struct cli_list *list, const char *name)
{
	return !list->pattern || strcasestr(name, list->pattern);
}

static void add_row(struct cli_list *list, const char *name, const char *extra, const char *help,
		    json_t *row)
{
	if (list->names) {
		puts(name);
	} else if (cli_settings.json) {
		json_array_append(list->rows, row);
	} else {
		cli_table_add(list->table, "%s", name);
		cli_table_add(list->table, "%s", extra);
		cli_table_add(list->table, "%s", help);
	}
	list->n++;
	json_decref(row);
}

static json_t *make_row(const char *name, const char *group, const char *help)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", name, "group", group, "help", help,
			 "available", 1, "reason", "");
}

/* A handler of another module that is currently loaded. */
static void add_external(struct cli_list *list, const struct kl_abi_handler_info *info)
{
	bool denied = info->absent != KL_PRESENT;
	json_t *row = make_row(info->name, "handlers", info->help);
	char *help = denied ? cli_format("%s [needs CAP_SYS_ADMIN]", info->help) :
			      cli_format("%s", info->help);

	json_object_set_new(row, "module", json_string(info->module));
	json_object_set_new(row, "available", json_boolean(!denied));
	if (denied)
		json_object_set_new(row, "reason", json_string("needs CAP_SYS_ADMIN"));
	add_row(list, info->name, info->module, help, row);
	free(help);
}

static void list_handlers(struct cli_list *list)
{
	struct kl_abi_handler_info info;
	const char *name;

	list->table = cli_table_create("handler|module|action on an event");
	for (unsigned int id = 0; id < KL_ACTION_RULE; id++) {
		name = kl_handler_name(id);
		/* Handlers of other modules have names of their own. */
		if (name && id != KL_HANDLER_external && is_like(list, name))
			add_row(list, name, "", kl_handler_help(id),
				make_row(name, "handlers", kl_handler_help(id)));
	}
	list->device = kl_device_open(NULL);
	for (unsigned int i = 0; list->device && !kl_device_handler(list->device, i, &info); i++)
		if (is_like(list, info.name))
			add_external(list, &info);
	kl_device_close(list->device);
}

/* Number of events in a built-in maskset; a session leaves out those that are unavailable. */
static unsigned int count_set(const struct kl_schema *schema, unsigned int id)
{
	const struct kl_class *class = NULL;
	unsigned int n = 0;

	while ((class = kl_schema_next(schema, class)))
		n += (id == KL_MASKSET_RALL && class->set != KL_SET_REQUEST) ||
		     (id == KL_MASKSET_RDEFAULT && class->set == KL_SET_DEFAULT);
	return n;
}

static void list_masksets(struct cli_list *list)
{
	char number[CLI_NUMBER_MAX];

	list->table = cli_table_create("maskset|>events|contents");
	for (unsigned int id = 0; id < KL_MASKSET_FIRST_USER; id++) {
		const char *name = cli_maskset_name(id), *help = cli_maskset_help(id);
		json_t *row;

		if (!is_like(list, name))
			continue;
		row = make_row(name, "masksets", help);
		json_object_set_new(row, "events", json_integer(count_set(list->schema, id)));
		add_row(list, name, cli_print_count(number, count_set(list->schema, id)), help,
			row);
	}
}

static void list_groups(struct cli_list *list)
{
	const struct kl_class *class = NULL;
	char text[CLI_NUMBER_MAX];

	list->table = cli_table_create("group|>events|examples");
	while ((class = kl_schema_next(list->schema, class))) {
		const struct kl_class *other = NULL;
		unsigned int n = 0;
		json_t *row;

		other = cli_list_first_of(list->schema, class->group);
		if (other != class || !is_like(list, class->group))
			continue;
		for (other = class; other; other = kl_schema_next(list->schema, other))
			n += !strcmp(other->group, class->group);
		row = make_row(class->group, "groups", class->help);
		json_object_set_new(row, "events", json_integer(n));
		add_row(list, class->group, cli_print_count(text, n), class->name, row);
	}
}

static int finish_rows(struct cli_list *list, const char *kind)
{
	if (!list->n && list->pattern)
		return cli_error(-ENOENT, "no %.*s matches \"%s\"", (int)strlen(kind) - 1, kind,
				 list->pattern);
	if (cli_settings.json && !list->names)
		return cli_json_write(list->rows);
	if (list->table && !list->names)
		cli_table_print(list->table, stdout, 0);
	return CLI_OK;
}

/* Select the table; a first word that names no table is a pattern of events. */
static const char *take_words(struct cli_list *list, const struct cli_parser *parser)
{
	int n = parser->n_words;
	char **words = parser->words;

	for (const char *const *kind = kinds; n && *kind; kind++) {
		/* The singular, such as `variable', is accepted too. */
		if (strncmp(*kind, words[0], strlen(*kind) - 1) ||
		    strlen(words[0]) < strlen(*kind) - 1)
			continue;
		if (strcmp(*kind, words[0]) && strlen(words[0]) != strlen(*kind) - 1)
			continue;
		if (n > 2)
			cli_usage_error(parser->command, "too many patterns; separate patterns "
							 "with commas");
		list->pattern = n > 1 ? words[1] : NULL;
		return *kind;
	}
	if (n > 1)
		cli_usage_error(parser->command,
				"unknown list \"%s\"; expected events, groups, variables, "
				"handlers or masksets",
				words[0]);
	list->pattern = n ? words[0] : NULL;
	return kinds[0];
}

static int exec_list(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list list = {};
	struct cli_parser parser;
	const char *kind;
	int key;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		list.verbose |= key == 'v';
		list.names |= key == KEY_NAMES;
	}
	kind = take_words(&list, &parser);
	list.schema = kl_schema_create();
	if (!list.schema)
		return cli_library_error(-errno, NULL);
	list.rows = json_array();
	if (!cli_settings.json)
		cli_start_pager();
	if (list.pattern && !strncmp(list.pattern, USDT, strlen(USDT)))
		return cli_list_usdt(&list, list.pattern + strlen(USDT));
	if (!strcmp(kind, "events"))
		return cli_list_events(&list);
	if (!strcmp(kind, "variables"))
		return cli_list_variables(&list);
	if (!strcmp(kind, "handlers"))
		list_handlers(&list);
	else if (!strcmp(kind, "masksets"))
		list_masksets(&list);
	else
		list_groups(&list);
	return finish_rows(&list, kind);
}

const struct cli_command_ops cmd_list = {
	.options = options,
	.text = "PATTERN is a name, a glob, a group, a comma-separated list of these, or part of\n"
		"a name. If it is the name of one event, the fields of that event are shown.\n"
		"System calls are summarized unless PATTERN selects them.\n"
		"The letter before an event shows which masksets contain it: D RDEFAULT and RALL,\n"
		"A only RALL, R none (it must be requested by name). Unavailable events have a -\n"
		"instead, and the reason. Variables are the values that record -v accepts.\n"
		"usdt:FILE lists the USDT markers of a program or library, and usdt:PID those of\n"
		"all files that a process has mapped; :PROVIDER:NAME, which may be patterns, select\n"
		"some of them. With -v, each location and its arguments are listed, too.\n"
		"\n"
		"  kernlens list\n"
		"  kernlens list sched,'irq_*'\n"
		"  kernlens list sched_switch\n"
		"  kernlens list syscall_entry_openat --json\n"
		"  kernlens list variables rss\n"
		"  kernlens list usdt:/usr/bin/python3\n",
	.exec = exec_list,
};
