// SPDX-License-Identifier: GPL-2.0
/* Format `text`: a line an event; on a terminal, with dim times, bold names, and losses in red. */
#include <ctype.h>
#include <string.h>

#include "../base/output.h"
#include "format.h"

static void add_styled(struct kl_buffer *buffer, FILE *file, enum cli_style style, const char *text,
		       size_t length)
{
	kl_buffer_add_string(buffer, cli_style(file, style));
	kl_buffer_add(buffer, text, length);
	kl_buffer_add_string(buffer, cli_style(file, CLI_PLAIN));
}

/*
 * Where the event's name is in "[time] cpu comm-tid name: ...". The command's name, whose length is
 * known, may contain anything.
 */
static const char *find_name(const char *line, const struct kl_event *event)
{
	const char *at = strchr(line, ']');

	if (!at || at[1] != ' ')
		return NULL;
	for (at += 2; isdigit((unsigned char)*at); at++)
		;
	if (*at != ' ' || strlen(at) < strlen(event->task.comm) + 2)
		return NULL;
	at = strchr(at + 1 + strlen(event->task.comm), ' ');
	return at ? at + 1 : NULL;
}

static void add_event(struct cli_printer *printer, const struct kl_item *item)
{
	size_t length = strlen(item->event->event_class->name);
	struct kl_buffer plain = {};
	const char *name, *time;

	kl_print_item(&plain, KL_STYLE_TEXT,
		      printer->time == CLI_TIME_RELATIVE ? KL_SHOW_RELATIVE : 0, item);
	name = plain.error ? NULL : find_name(plain.data, item->event);
	if (!name) {
		kl_buffer_add(&printer->buffer, plain.data, plain.length);
	} else {
		time = strchr(plain.data, ' ');
		add_styled(&printer->buffer, printer->file, CLI_DIM, plain.data,
			   (size_t)(time - plain.data));
		kl_buffer_add(&printer->buffer, time, (size_t)(name - time));
		add_styled(&printer->buffer, printer->file, CLI_BOLD, name, length);
		kl_buffer_add(&printer->buffer, name + length,
			      plain.length - (size_t)(name + length - plain.data));
	}
	kl_buffer_deinit(&plain);
}

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	if (!printer->has_colors) {
		cli_format_add(printer, KL_STYLE_TEXT, item);
	} else if (item->kind == KL_ITEM_EVENT) {
		add_event(printer, item);
	} else {
		kl_buffer_add_string(&printer->buffer, cli_style(printer->file, CLI_RED));
		cli_format_add(printer, KL_STYLE_TEXT, item);
		kl_buffer_add_string(&printer->buffer, cli_style(printer->file, CLI_PLAIN));
	}
}

const struct cli_format cli_format_text = {
	.name = "text",
	.is_relative = true,
	.has_colors = true,
	.is_independent = true,
	.add = add,
};
