// SPDX-License-Identifier: GPL-2.0
/*
 * Stack traces and symbolic names of addresses in a BER file. They are items of their own, each
 * before the first record that refers to it. Readers that do not know these items skip them.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/texts.h"
#include "ber_names.h"
#include "schema.h"

#define TEXT_BYTES 8192

enum frame_tag {
	FRAME_SYMBOL,
	FRAME_OFFSET,
	FRAME_OBJECT,
	FRAME_BUILD_ID,
	FRAME_PLACE,
	FRAME_SOURCE,
	FRAME_LINE,
	FRAME_INLINED,
};

void kl_ber_names_deinit(struct kl_ber_names *names)
{
	kl_addresses_destroy(names->addresses);
	free(names->stacks);
}

/* ------------------------------------------------------------- writing */

static void add_text(struct kl_buffer *buffer, uint32_t tag, const char *text)
{
	if (text)
		kl_ber_add(buffer, tag, text, strlen(text));
}

static void add_optional(struct kl_buffer *buffer, uint32_t tag, uint64_t number)
{
	if (number)
		kl_ber_add_number(buffer, tag, number, false);
}

static void add_frame(struct kl_buffer *buffer, const struct kl_frame *frame)
{
	size_t from = buffer->length;

	kl_ber_add_number(buffer, KL_BER_INTEGER, frame->address, false);
	add_text(buffer, KL_BER_CONTEXT(FRAME_SYMBOL), frame->symbol);
	add_optional(buffer, KL_BER_CONTEXT(FRAME_OFFSET), frame->offset);
	add_text(buffer, KL_BER_CONTEXT(FRAME_OBJECT), frame->object);
	add_text(buffer, KL_BER_CONTEXT(FRAME_BUILD_ID), frame->build_id);
	add_optional(buffer, KL_BER_CONTEXT(FRAME_PLACE), frame->place);
	add_text(buffer, KL_BER_CONTEXT(FRAME_SOURCE), frame->source);
	add_optional(buffer, KL_BER_CONTEXT(FRAME_LINE), frame->line);
	if (frame->inlined)
		kl_ber_add(buffer, KL_BER_CONTEXT(FRAME_INLINED), "", 0);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_stack(struct kl_buffer *buffer, const struct kl_stack *stack)
{
	size_t from = buffer->length, frames;

	kl_ber_add_number(buffer, KL_BER_INTEGER, stack->id, false);
	kl_ber_add_number(buffer, KL_BER_ENUMERATED, stack->kind, false);
	kl_ber_add_number(buffer, KL_BER_INTEGER, stack->flags, false);
	kl_ber_add_number(buffer, KL_BER_INTEGER, (uint64_t)(int64_t)stack->pid, true);
	frames = buffer->length;
	for (unsigned int i = 0; i < stack->n; i++)
		add_frame(buffer, &stack->frame[i]);
	kl_ber_wrap(buffer, frames, KL_BER_SEQUENCE);
	/* Readers reject longer items. */
	if (!buffer->error && buffer->length - from > KL_BER_RECORD_MAX / 2)
		buffer->length = from;
	else
		kl_ber_wrap(buffer, from, KL_BER_STACK);
}

/* Mark a stack as written; false if it already was. */
static bool is_new(struct kl_ber_names *names, uint32_t id)
{
	size_t at = id / 8, bytes = 2 * at + 64;

	if (at >= names->bytes) {
		uint8_t *grown = realloc(names->stacks, bytes);

		if (!grown)
			return false;
		memset(grown + names->bytes, 0, bytes - names->bytes);
		names->stacks = grown;
		names->bytes = bytes;
	}
	if (names->stacks[at] >> id % 8 & 1)
		return false;
	names->stacks[at] |= 1u << id % 8;
	return true;
}

static void add_address(struct kl_ber_names *names, struct kl_buffer *buffer,
			struct kl_addresses *all, uint64_t address)
{
	const struct kl_address *what = kl_addresses_get(all, address);
	size_t from = buffer->length;

	if (!what)
		return;
	if (!names->addresses)
		names->addresses = kl_addresses_create();
	if (!names->addresses || kl_addresses_get(names->addresses, address) ||
	    kl_addresses_add(names->addresses, address, what))
		return;
	kl_ber_add_number(buffer, KL_BER_INTEGER, address, false);
	kl_ber_add(buffer, KL_BER_OCTETS, what->symbol, strlen(what->symbol));
	kl_ber_add_number(buffer, KL_BER_INTEGER, what->offset, false);
	add_text(buffer, KL_BER_CONTEXT(0), what->module);
	kl_ber_wrap(buffer, from, KL_BER_SYMBOL);
}

static void add_value(struct kl_ber_names *names, struct kl_buffer *buffer,
		      const struct kl_schema *schema, const struct kl_value *value)
{
	const struct kl_stack *stack;

	if (value->field->count > 1)
		return;
	if (value->field->format == KL_FORMAT_ptr)
		add_address(names, buffer, schema->addresses, value->number);
	if (value->field->format != KL_FORMAT_stack)
		return;
	stack = kl_stacks_get(schema->stacks, value->number);
	if (stack && is_new(names, stack->id))
		add_stack(buffer, stack);
}

void kl_ber_names_add(struct kl_ber_names *names, struct kl_buffer *buffer,
		      const struct kl_event *event)
{
	const struct kl_schema *schema = event->schema;

	for (unsigned int i = 0; schema->addresses && i < event->event_class->n_fields; i++) {
		struct kl_value value;

		if (event->event_class->fields[i].format != KL_FORMAT_ptr)
			continue;
		value = kl_event_value(event, i);
		add_value(names, buffer, schema, &value);
	}
	for (unsigned int i = 0; i < schema->n_variables; i++) {
		struct kl_value value = kl_event_variable(event, i);

		add_value(names, buffer, schema, &value);
	}
}

/* ------------------------------------------------------------- reading */

struct reading {
	struct kl_texts texts;
	struct kl_stacks *stacks;
	struct kl_addresses *addresses;
};

/* Returns NULL if there is no text, or on an error, which sets @from->bad. */
static const char *take_text(struct reading *r, struct kl_ber *from, uint32_t tag)
{
	char copy[TEXT_BYTES];
	const char *text = copy;
	struct kl_ber octets;
	size_t length;

	if (!kl_ber_next_is(from, tag))
		return NULL;
	octets = kl_ber_take_tag(from, tag);
	length = kl_ber_length(&octets);
	if (length >= sizeof(copy) || memchr(octets.at, 0, length)) {
		from->bad = true;
		return NULL;
	}
	memcpy(copy, octets.at, length);
	copy[length] = 0;
	return kl_texts_keep(&r->texts, &text) ? NULL : text;
}

static uint64_t take_optional(struct kl_ber *from, uint32_t tag, uint64_t most)
{
	return kl_ber_next_is(from, tag) ? kl_ber_take_unsigned(from, tag, most) : 0;
}

static void take_frame(struct reading *r, struct kl_ber *from, struct kl_frame *frame)
{
	struct kl_ber value = kl_ber_take_tag(from, KL_BER_SEQUENCE);

	*frame = (struct kl_frame){ .address = kl_ber_take_unsigned(&value, KL_BER_INTEGER,
								    UINT64_MAX) };
	frame->symbol = take_text(r, &value, KL_BER_CONTEXT(FRAME_SYMBOL));
	frame->offset = take_optional(&value, KL_BER_CONTEXT(FRAME_OFFSET), UINT64_MAX);
	frame->object = take_text(r, &value, KL_BER_CONTEXT(FRAME_OBJECT));
	frame->build_id = take_text(r, &value, KL_BER_CONTEXT(FRAME_BUILD_ID));
	frame->place = take_optional(&value, KL_BER_CONTEXT(FRAME_PLACE), UINT64_MAX);
	frame->source = take_text(r, &value, KL_BER_CONTEXT(FRAME_SOURCE));
	frame->line = (uint32_t)take_optional(&value, KL_BER_CONTEXT(FRAME_LINE), UINT32_MAX);
	frame->inlined = kl_ber_next_is(&value, KL_BER_CONTEXT(FRAME_INLINED));
	from->bad |= value.bad;
}

static int take_stack(struct reading *r, struct kl_ber value)
{
	struct kl_frame frames[KL_FRAMES_MAX];
	struct kl_stack stack = { .frame = frames };
	struct kl_ber list;

	stack.id = (uint32_t)kl_ber_take_unsigned(&value, KL_BER_INTEGER, KL_STACK_TRACES_MAX);
	stack.kind =
		(enum kl_stack_kind)kl_ber_take_unsigned(&value, KL_BER_ENUMERATED, KL_STACK_USER);
	stack.flags = (unsigned int)kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT8_MAX);
	stack.pid = (int32_t)kl_ber_take_signed(&value, KL_BER_INTEGER, INT32_MIN, INT32_MAX);
	list = kl_ber_take_tag(&value, KL_BER_SEQUENCE);
	while (!list.bad && !kl_ber_is_empty(&list) && stack.n < KL_FRAMES_MAX)
		take_frame(r, &list, &frames[stack.n++]);
	if (value.bad || list.bad || !stack.id || !stack.n)
		return 0;
	return kl_stacks_add(r->stacks, &stack) == -ENOMEM ? -ENOMEM : 0;
}

static int take_symbol(struct reading *r, struct kl_ber value)
{
	uint64_t address = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	struct kl_address what = { .symbol = take_text(r, &value, KL_BER_OCTETS) };

	what.offset = kl_ber_take_unsigned(&value, KL_BER_INTEGER, UINT64_MAX);
	what.module = take_text(r, &value, KL_BER_CONTEXT(0));
	if (value.bad || !what.symbol)
		return 0;
	return kl_addresses_add(r->addresses, address, &what) == -ENOMEM ? -ENOMEM : 0;
}

int kl_ber_names_read(struct kl_window *file, uint64_t at, struct kl_stacks *stacks,
		      struct kl_addresses *addresses)
{
	struct reading r = { .stacks = stacks, .addresses = addresses };
	struct kl_ber value;
	uint32_t tag;
	int ret = 0;

	/* Stop at an item that is damaged or larger than a record may be. */
	while (!ret && !kl_ber_item(file, &at, KL_BER_RECORD_MAX, &tag, &value)) {
		if (tag == KL_BER_STACK)
			ret = take_stack(&r, value);
		else if (tag == KL_BER_SYMBOL)
			ret = take_symbol(&r, value);
	}
	kl_texts_deinit(&r.texts);
	return ret;
}
