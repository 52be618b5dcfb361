// SPDX-License-Identifier: GPL-2.0
/* Copies items out of the blocks that they are decoded from. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include <kernlens/trace_items.h>
#include "../base/base.h"
#include "trace.h"

/**
 * struct copies - what the items point to
 * @items: the first member
 * @variable_bytes: size of an event's variables
 * @bytes: variables and payload of each event, in this order
 */
struct copies {
	struct kl_items items;
	size_t variable_bytes;
	struct kl_event event[KL_ITEMS_MAX];
	struct kl_loss loss[KL_ITEMS_MAX];
	struct kl_buffer bytes;
};

static struct copies *copies_of(struct kl_items *items)
{
	return (struct copies *)items;
}

struct kl_items *kl_items_create(void)
{
	struct copies *copies = calloc(1, sizeof(*copies));

	if (!copies) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	return &copies->items;
}

void kl_items_destroy(struct kl_items *items)
{
	struct copies *copies = items ? copies_of(items) : NULL;

	if (!copies)
		return;
	kl_buffer_deinit(&copies->bytes);
	free(copies);
}

size_t kl_items_variable_bytes(const struct kl_schema *schema)
{
	const struct kl_variable *variable;
	size_t bytes = 0;

	for (unsigned int i = 0; (variable = kl_schema_variable(schema, i)); i++)
		bytes = variable->field.offset +
			(size_t)variable->field.bytes * variable->field.count;
	return bytes;
}

static void add(struct copies *copies, const struct kl_item *item)
{
	const size_t n = copies->items.n++;

	copies->items.item[n] = (struct kl_item){ .kind = item->kind };
	if (item->kind == KL_ITEM_LOSS) {
		copies->loss[n] = *item->loss;
		copies->items.item[n].loss = &copies->loss[n];
		return;
	}
	copies->event[n] = *item->event;
	copies->items.item[n].event = &copies->event[n];
	kl_buffer_add(&copies->bytes, item->event->variables, copies->variable_bytes);
	kl_buffer_add(&copies->bytes, item->event->payload, item->event->payload_bytes);
}

/* Only now do the bytes have their place. */
static void set_pointers(struct copies *copies)
{
	const uint8_t *at = (const uint8_t *)copies->bytes.data;

	for (size_t i = 0; i < copies->items.n; i++) {
		struct kl_event *event = &copies->event[i];

		if (copies->items.item[i].kind != KL_ITEM_EVENT)
			continue;
		event->variables = at;
		event->payload = at + copies->variable_bytes;
		at = event->payload + event->payload_bytes;
	}
}

int kl_items_read(struct kl_items *items, struct kl_trace *trace,
		  bool (*is_wanted)(void *context, const struct kl_item *item), void *context)
{
	struct copies *copies = copies_of(items);
	struct kl_item item;
	int more = 1;

	items->n = 0;
	copies->variable_bytes = kl_items_variable_bytes(kl_trace_schema(trace));
	kl_buffer_reset(&copies->bytes);
	while (items->n < KL_ITEMS_MAX && (more = kl_trace_next(trace, &item)) > 0)
		if (is_wanted(context, &item))
			add(copies, &item);
	if (copies->bytes.error)
		return copies->bytes.error;
	set_pointers(copies);
	return more;
}

bool kl_trace_is_complete(const struct kl_trace *trace)
{
	return !trace->ber;
}
