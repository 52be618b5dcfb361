// SPDX-License-Identifier: GPL-2.0
/* The events that a report uses, and their fields, as a trace has them. */
#include <string.h>

#include "events.h"
#include "values.h"

void kl_report_events_init(struct kl_report_events *events, const struct kl_schema *schema,
			   const struct kl_report_event *row, unsigned int n)
{
	memset(events, 0, sizeof(*events));
	events->row = row;
	events->n = n;
	for (unsigned int i = 0; i < n; i++) {
		const struct kl_class *class = kl_schema_find(schema, row[i].name);

		for (unsigned int j = 0; j < KL_REPORT_FIELDS_MAX; j++)
			events->field[i][j] = class && row[i].fields[j] ?
						      kl_class_field(class, row[i].fields[j]) :
						      -1;
		if (class && class->id < KL_EV_IDS)
			events->which[class->id] = (uint8_t)(i + 1);
	}
}

uint64_t kl_report_number(const struct kl_report_events *events, const struct kl_event *event,
			  int which, unsigned int field)
{
	return kl_field_of(event, events->field[which][field]);
}

void kl_report_text(const struct kl_report_events *events, const struct kl_event *event, int which,
		    unsigned int field, char *text, size_t bytes)
{
	const int index = events->field[which][field];
	struct kl_value value = { .length = 0 };

	if (index >= 0)
		value = kl_event_value(event, (unsigned int)index);
	if (!value.bytes || !value.field ||
	    (value.field->type != KL_TYPE_TEXT && value.field->type != KL_TYPE_STRING))
		value.length = 0;
	if (value.length >= bytes)
		value.length = (uint32_t)bytes - 1;
	if (value.length)
		memcpy(text, value.bytes, value.length);
	text[value.length] = 0;
}

void kl_report_bytes(const struct kl_report_events *events, const struct kl_event *event, int which,
		     unsigned int field, void *to, size_t bytes)
{
	const int index = events->field[which][field];
	struct kl_value value = { .length = 0 };

	if (index >= 0)
		value = kl_event_value(event, (unsigned int)index);
	if (value.bytes && value.length == bytes)
		memcpy(to, value.bytes, bytes);
	else
		memset(to, 0, bytes);
}

void kl_report_missing(const struct kl_report_events *events, bool all, struct kl_buffer *names)
{
	for (unsigned int i = 0; i < events->n; i++) {
		if (events->seen[i] || (!all && !events->row[i].needed))
			continue;
		if (names->length)
			kl_buffer_add_char(names, ',');
		kl_buffer_add_string(names, events->row[i].name);
	}
}
