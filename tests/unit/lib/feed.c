// SPDX-License-Identifier: GPL-2.0
/* Makes events and losses from numbers, and passes them to the report that is tested. */
#include <stdlib.h>
#include <string.h>

#include "feed.h"

struct kl_schema *feed_schema;
feed_fn feed_take;
void *feed_to;
const uint8_t *feed_variables;

void feed_event_of(const char *name, unsigned int cpu, uint64_t ns, const struct kl_task *task,
		   const char *text, const uint64_t *number)
{
	const struct kl_class *class = kl_schema_find(feed_schema, name);
	uint8_t payload[512] = { 0 };
	struct kl_event event = {
		.ns = ns,
		.cpu = cpu,
		.id = class->id,
		.event_class = class,
		.task = *task,
		.schema = feed_schema,
		.variables = feed_variables,
		.payload = payload,
		.payload_bytes = sizeof(payload),
	};
	const struct kl_item item = { .kind = KL_ITEM_EVENT, .event = &event };

	for (unsigned int i = 0; i < class->n_fields; i++) {
		const struct kl_field *field = &class->fields[i];
		uint8_t *at = payload + field->offset;

		if (field->anchor)
			break;
		if (field->count > 1 && field->type != KL_TYPE_TEXT)
			continue;
		if (field->type == KL_TYPE_STRING)
			strcpy((char *)at, text);
		else if (field->type == KL_TYPE_TEXT)
			strncpy((char *)at, text, field->count);
		else
			memcpy(at, number++, field->bytes);
	}
	if (feed_take(feed_to, &item))
		abort();
}

void feed_event(const char *name, unsigned int cpu, uint64_t ns, const uint64_t *number)
{
	feed_event_of(name, cpu, ns, &(struct kl_task){ .tid = 7, .pid = 7, .comm = "me" }, "text",
		      number);
}

void feed_loss(enum kl_loss_kind kind, uint32_t cpu)
{
	const struct kl_loss loss = { .kind = kind, .cpu = cpu, .records = 3 };
	const struct kl_item item = { .kind = KL_ITEM_LOSS, .loss = &loss };

	if (feed_take(feed_to, &item))
		abort();
}
