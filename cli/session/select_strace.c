// SPDX-License-Identifier: GPL-2.0
/* The events that the format strace needs, and -e as strace's users write it. */
#include <string.h>
#include <kernlens/internal.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "select.h"

/* An item of a list of events, in which strace's users name system calls. */
static char *event_of_call(const struct kl_schema *schema, const char *item)
{
	const char *no = *item == '!' ? "!" : "", *name = item + strlen(no);

	if (kl_schema_find(schema, name) ||
	    !kl_schema_find(schema, cli_format("syscall_entry_%s", name)))
		return cli_format("%s", item);
	return cli_format("%ssyscall_entry_%s,%ssyscall_exit_%s", no, name, no, name);
}

/* The events of a list such as "openat,read" or "trace=openat". */
static char *events_of_calls(const struct kl_schema *schema, const char *list)
{
	char *rest = cli_format("%s", list + (strncmp(list, "trace=", 6) ? 0 : 6)), *item;
	char *events = NULL;

	/* Filters and handlers have commas of their own. */
	if (strpbrk(rest, "/:"))
		return rest;
	while ((item = strsep(&rest, ","))) {
		item = event_of_call(schema, item);
		events = events ? cli_format("%s,%s", events, item) : item;
	}
	return events;
}

static void take_calls(struct cli_select *select, const struct cli_command *command)
{
	struct kl_schema *schema = kl_schema_create();
	unsigned int n = select->n_specs;

	select->events = NULL;
	select->n_specs = 0;
	for (unsigned int i = 0; schema && i < n; i++)
		cli_select_add(select, command, events_of_calls(schema, select->spec[i]));
	kl_schema_destroy(schema);
}

void cli_select_strace(struct cli_select *select, const struct cli_command *command)
{
	take_calls(select, command);
	if (!select->n_specs && select->maskset < 0)
		cli_select_add(select, command, cli_format("syscalls"));
	cli_select_add(select, command, cli_format("strace_*"));
}
