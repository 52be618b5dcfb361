// SPDX-License-Identifier: GPL-2.0
/* List events by group and whether they are available here; or one event with its fields. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../base/common.h"
#include "../base/output.h"
#include "list.h"

enum {
	NAME_COLUMNS = 34
};

/* Is an event available, and if not, why? */
struct can {
	enum {
		CAN_YES,
		CAN_NO,
		CAN_UNKNOWN
	} can;
	uint32_t sessions;
	char reason[KL_ERROR_TEXT_MAX];
};

static void ask(const struct cli_list *list, const struct kl_class *class, struct can *can)
{
	struct kl_abi_event_info info;

	*can = (struct can){ .can = CAN_UNKNOWN };
	if (!list->device) {
		snprintf(can->reason, sizeof(can->reason), "the kernlens module is not loaded");
		return;
	}
	if (kl_device_event(list->device, class->id, &info)) {
		snprintf(can->reason, sizeof(can->reason), "%.*s", (int)sizeof(can->reason) - 1,
			 kl_error_text());
		return;
	}
	can->can = info.absent == KL_PRESENT ? CAN_YES : CAN_NO;
	can->sessions = info.sessions;
	memcpy(can->reason, info.reason, sizeof(can->reason));
	can->reason[sizeof(can->reason) - 1] = 0;
}

static const char *set_name(const struct kl_class *class)
{
	return class->set == KL_SET_DEFAULT ? "default" :
	       class->set == KL_SET_ALL	    ? "all" :
					      "request";
}

static json_t *list_fields(const struct kl_class *class)
{
	json_t *fields = json_array(), *field;

	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_field *f = &class->fields[i];

		field = json_pack("{s:s, s:s, s:s}", "name", f->name, "type", kl_type_name(f->type),
				  "format", kl_format_name(f->format));
		if (f->count > 1)
			json_object_set_new(field, "count", json_integer(f->count));
		json_array_append_new(fields, field);
	}
	return fields;
}

static json_t *event_json(const struct kl_class *class, const struct can *can)
{
	json_t *available = can->can == CAN_UNKNOWN ? json_null() :
						      json_boolean(can->can == CAN_YES);

	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:i, s:s, s:o}", "name", class->name, "group",
			 class->group, "help", class->help, "available", available, "reason",
			 can->reason, "id", class->id, "set", set_name(class), "fields",
			 list_fields(class));
}

static void print_type(const struct kl_field *field, struct cli_table *table)
{
	if (field->count > 1 && field->type != KL_TYPE_TEXT)
		cli_table_add(table, "%s[%u]", kl_type_name(field->type), field->count);
	else
		cli_table_add(table, "%s", kl_type_name(field->type));
}

static void print_fields(const struct kl_class *class, unsigned int indent)
{
	struct cli_table *table = cli_table_create("field|type|format|meaning");

	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_field *field = &class->fields[i];

		cli_table_add(table, "%s", field->name);
		print_type(field, table);
		cli_table_add(table, "%s", kl_format_name(field->format));
		cli_table_add(table, "%s", kl_format_help(field->format));
	}
	if (class->n_fields)
		cli_table_print(table, stdout, indent);
	else
		printf("%*sno fields\n", (int)indent, "");
}

/* What a user without privilege sees of the event. */
static const char *access_text(const struct kl_class *class)
{
	switch (class->access) {
	case KL_ACCESS_SELF:
		return "see it only for their own tasks";
	case KL_ACCESS_ABOUT:
	case KL_ACCESS_ABOUT2:
		return "see it only for their own tasks; fields about other tasks are blank";
	}
	return "cannot see it: it describes the whole machine";
}

static int print_one(const struct cli_list *list, const struct kl_class *class)
{
	static const char *const sets[] = { "RDEFAULT and RALL", "RALL",
					    "none: request it by name" };
	struct can can;

	ask(list, class, &can);
	printf("%s%s%s\n  %s.\n\n", cli_style(stdout, CLI_BOLD), class->name,
	       cli_style(stdout, CLI_PLAIN), class->help);
	printf("  group      %s\n  masksets   %s\n", class->group, sets[class->set]);
	printf("  available  %s%s%s\n",
	       can.can == CAN_YES ? "yes" :
	       can.can == CAN_NO  ? "no" :
				    "unknown",
	       *can.reason ? ": " : "", can.reason);
	if (can.sessions)
		printf("  in use     by %u session%s\n", can.sessions, can.sessions > 1 ? "s" : "");
	printf("  unprivileged users %s\n\n", access_text(class));
	print_fields(class, 2);
	return CLI_OK;
}

static void print_event(const struct cli_list *list, const struct kl_class *class)
{
	static const char letters[] = { 'D', 'A', 'R' };
	struct can can;
	bool no;

	ask(list, class, &can);
	no = can.can == CAN_NO;
	printf("  %s%c %-*s %s%s%s%s%s\n", no ? cli_style(stdout, CLI_DIM) : "",
	       no ? '-' : letters[class->set], NAME_COLUMNS, class->name, class->help,
	       no ? " [" : "", no ? can.reason : "", no ? "]" : "",
	       no ? cli_style(stdout, CLI_PLAIN) : "");
	if (list->verbose)
		print_fields(class, 6);
}

/* There are many system calls: print only how many, and how to list them. */
static void print_syscalls(const struct cli_list *list)
{
	const struct kl_class *class = NULL;
	unsigned int calls = 0, absent = 0;
	struct can can;

	while ((class = kl_schema_next(list->schema, class))) {
		if (class->kind != KL_CLASS_SYSCALL_ENTRY)
			continue;
		ask(list, class, &can);
		calls++;
		absent += can.can == CAN_NO;
	}
	printf("  syscall_entry_NAME, syscall_exit_NAME: arguments and result of %u calls", calls);
	if (absent)
		printf(" (%u not in this kernel)", absent);
	puts("\n  kernlens list syscalls shows all of them; kernlens list syscall_entry_openat "
	     "shows one");
}

static void print_group(const struct cli_list *list, const char *group, const uint8_t *map)
{
	const struct kl_class *class = NULL;
	bool summary = !list->pattern && !list->verbose && !strcmp(group, "syscalls");

	while ((class = kl_schema_next(list->schema, class)))
		if (map[class->id] && !strcmp(class->group, group))
			break;
	if (!class)
		return;
	printf("%s%s:%s\n", cli_style(stdout, CLI_BOLD), group, cli_style(stdout, CLI_PLAIN));
	if (summary)
		print_syscalls(list);
	for (; class && !summary; class = kl_schema_next(list->schema, class))
		if (map[class->id] && !strcmp(class->group, group))
			print_event(list, class);
	putchar('\n');
}

const struct kl_class *cli_list_first_of(const struct kl_schema *schema, const char *group)
{
	const struct kl_class *class = NULL;

	while ((class = kl_schema_next(schema, class)))
		if (!strcmp(class->group, group))
			return class;
	return NULL;
}

static int print_all(struct cli_list *list, const uint8_t *map)
{
	const struct kl_class *class = NULL;
	struct can can;

	while ((class = kl_schema_next(list->schema, class))) {
		if (list->names && map[class->id]) {
			puts(class->name);
		} else if (cli_settings.json && map[class->id]) {
			ask(list, class, &can);
			json_array_append_new(list->rows, event_json(class, &can));
		} else if (!list->names && !cli_settings.json &&
			   cli_list_first_of(list->schema, class->group) == class) {
			print_group(list, class->group, map);
		}
	}
	if (cli_settings.json && !list->names)
		return cli_json_write(list->rows);
	if (!list->names && !list->device)
		puts("The kernlens module is not loaded, so event availability is unknown.");
	return CLI_OK;
}

/* Match like -e, or else a part of the names. Returns false if nothing matches. */
static bool find_events(struct cli_list *list, uint8_t *map)
{
	const struct kl_class *class = NULL;
	bool any = false;

	if (kl_events_match(list->schema, list->pattern ? list->pattern : "*", KL_HANDLER_log,
			    map) > 0)
		return true;
	while ((class = kl_schema_next(list->schema, class))) {
		if (strcasestr(class->name, list->pattern)) {
			map[class->id] = KL_HANDLER_log;
			any = true;
		}
	}
	return any;
}

int cli_list_events(struct cli_list *list)
{
	const struct kl_class *one;
	uint8_t map[KL_EV_IDS] = {};
	int status;

	if (!find_events(list, map)) {
		kl_events_match(list->schema, list->pattern, KL_HANDLER_log, map);
		return cli_library_error(-ENOENT, NULL);
	}
	if (!list->names)
		list->device = kl_device_open(NULL);
	one = list->pattern ? kl_schema_find(list->schema, list->pattern) : NULL;
	if (one && !cli_settings.json && !list->names)
		status = print_one(list, one);
	else
		status = print_all(list, map);
	kl_device_close(list->device);
	return status;
}
