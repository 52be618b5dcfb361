// SPDX-License-Identifier: GPL-2.0
/* Prints values, implements the text style, and dispatches to the styles. */
#include <arpa/inet.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "print.h"
#include "schema.h"

void kl_print_plain(struct kl_buffer *buffer, const void *bytes, size_t length)
{
	char *at = kl_buffer_reserve(buffer, length);

	if (!at)
		return;
	if (length)
		memcpy(at, bytes, length);
	kl_make_plain(at, length);
	at[length] = 0;
	buffer->length += length;
}

void kl_print_quoted(struct kl_buffer *buffer, const void *bytes, size_t length)
{
	static const char escapes[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
	const unsigned char *from = bytes;
	size_t step;

	kl_buffer_add_char(buffer, '"');
	for (size_t i = 0; i < length; i += step) {
		unsigned char c = from[i];
		const char *escape = NULL;

		step = 1;

		for (size_t k = 0; k < sizeof(escapes) - 1 && !escape; k += 2)
			if ((unsigned char)escapes[k] == c)
				escape = &escapes[k + 1];
		if (escape) {
			char both[2] = { '\\', *escape };

			kl_buffer_add(buffer, both, 2);
		} else if (!kl_plain_length(from + i, from + length)) {
			kl_buffer_printf(buffer, "\\%03o", c);
		} else {
			step = kl_plain_length(from + i, from + length);
			kl_buffer_add(buffer, from + i, step);
		}
	}
	kl_buffer_add_char(buffer, '"');
}

void kl_print_number(struct kl_buffer *buffer, const struct kl_field *field, uint64_t number)
{
	uint64_t bits = number;

	if (field->bytes < 8)
		bits &= (1ull << (field->bytes * 8)) - 1;
	switch (kl_format_base(field->format)) {
	case 16:
		kl_buffer_add_hex(buffer, bits);
		break;
	case 8:
		kl_buffer_printf(buffer, "%#llo", (unsigned long long)bits);
		break;
	default:
		if (kl_type_is_signed(field->type))
			kl_buffer_add_signed(buffer, number);
		else
			kl_buffer_add_unsigned(buffer, number, 0);
	}
}

void kl_print_array(struct kl_buffer *buffer, const struct kl_value *value)
{
	const struct kl_field *field = value->field;
	char text[INET6_ADDRSTRLEN];

	if (field->format == KL_FORMAT_ipv6 && value->length == 16) {
		kl_buffer_add_string(buffer, inet_ntop(AF_INET6, value->bytes, text, sizeof(text)));
		return;
	}
	if (field->format == KL_FORMAT_ipv4 && value->length == 4) {
		kl_buffer_add_string(buffer, inet_ntop(AF_INET, value->bytes, text, sizeof(text)));
		return;
	}
	kl_buffer_add_char(buffer, '[');
	for (unsigned int i = 0; i < field->count; i++) {
		if (i)
			kl_buffer_add_char(buffer, ',');
		kl_print_number(buffer, field, kl_value_element(value, i));
	}
	kl_buffer_add_char(buffer, ']');
}

static void print_value(struct kl_buffer *buffer, const struct kl_schema *schema,
			const struct kl_value *value)
{
	const struct kl_field *field = value->field;

	if (field->type == KL_TYPE_STRING)
		kl_print_quoted(buffer, value->bytes, value->length);
	else if (field->type == KL_TYPE_TEXT)
		kl_print_plain(buffer, value->bytes, value->length);
	else if (field->count > 1)
		kl_print_array(buffer, value);
	else if (!(schema ? kl_print_value_meaning(buffer, schema, value) :
			    kl_print_meaning(buffer, field->format, value->number)))
		kl_print_number(buffer, field, value->number);
}

void kl_print_value(struct kl_buffer *buffer, const struct kl_value *value)
{
	print_value(buffer, NULL, value);
}

static void print_time(struct kl_buffer *buffer, uint64_t ns)
{
	kl_buffer_add_char(buffer, '[');
	kl_buffer_add_unsigned(buffer, ns / KL_NS_PER_S, 0);
	kl_buffer_add_char(buffer, '.');
	kl_buffer_add_unsigned(buffer, ns % KL_NS_PER_S, 9);
	kl_buffer_add(buffer, "] ", 2);
}

/*
 * Print all variables, not only those that changed with this record, so that each line is complete.
 */
static void print_variables(struct kl_buffer *buffer, const struct kl_event *event)
{
	for (unsigned int i = 0; i < event->schema->n_variables; i++) {
		struct kl_value value = kl_event_variable(event, i);

		kl_buffer_add_string(buffer, i ? " " : " {");
		kl_buffer_add_string(buffer, value.field->name);
		kl_buffer_add_char(buffer, '=');
		print_value(buffer, event->schema, &value);
	}
	if (event->schema->n_variables)
		kl_buffer_add_char(buffer, '}');
}

void kl_print_event_fields(struct kl_buffer *buffer, const struct kl_event *event)
{
	for (unsigned int i = 0; i < event->event_class->n_fields; i++) {
		struct kl_value value = kl_event_value(event, i);

		if (i)
			kl_buffer_add_char(buffer, ' ');
		kl_buffer_add_string(buffer, value.field->name);
		kl_buffer_add_char(buffer, '=');
		print_value(buffer, event->schema, &value);
	}
	print_variables(buffer, event);
}

static void print_event_text(struct kl_buffer *buffer, uint64_t ns, const struct kl_event *event)
{
	print_time(buffer, ns);
	kl_buffer_add_unsigned(buffer, event->cpu, 3);
	kl_buffer_add_char(buffer, ' ');
	kl_print_plain(buffer, event->task.comm, strlen(event->task.comm));
	kl_buffer_add_char(buffer, '-');
	kl_buffer_add_signed(buffer, event->task.tid);
	kl_buffer_add_char(buffer, ' ');
	kl_buffer_add_string(buffer, event->event_class->name);
	kl_buffer_add_string(buffer, event->event_class->n_fields ? ": " : ":");
	kl_print_event_fields(buffer, event);
	kl_buffer_add_char(buffer, '\n');
	kl_print_event_stacks(buffer, event);
}

const char *kl_loss_name(enum kl_loss_kind kind)
{
	static const char *const names[] = {
		[KL_LOSS_DISCARDED] = "discarded", [KL_LOSS_OVERWRITTEN] = "overwritten",
		[KL_LOSS_BEFORE] = "before",	   [KL_LOSS_CORRUPT] = "corrupt",
		[KL_LOSS_UNSTORED] = "unstored",   [KL_LOSS_UNSEEN] = "unseen",
	};

	return names[kind];
}

/* Print a time as in the lines of events. Times before the first event are negative. */
static void add_time(struct kl_buffer *buffer, unsigned int flags, uint64_t ns,
		     const struct kl_loss *loss)
{
	if (flags & KL_SHOW_RELATIVE && ns < loss->origin_ns) {
		kl_buffer_add_char(buffer, '-');
		ns = loss->origin_ns - ns;
	} else if (flags & KL_SHOW_RELATIVE) {
		ns -= loss->origin_ns;
	}
	kl_buffer_add_unsigned(buffer, ns / KL_NS_PER_S, 0);
	kl_buffer_add_char(buffer, '.');
	kl_buffer_add_unsigned(buffer, ns % KL_NS_PER_S, 9);
}

static void add_loss_times(struct kl_buffer *buffer, unsigned int flags, const struct kl_loss *loss)
{
	if (loss->begin_ns) {
		kl_buffer_add_string(buffer, loss->end_ns ? ", between " : ", after ");
		add_time(buffer, flags, loss->begin_ns, loss);
	}
	if (loss->end_ns) {
		kl_buffer_add_string(buffer, loss->begin_ns ? " and " : ", before ");
		add_time(buffer, flags, loss->end_ns, loss);
	}
}

/* Is the number of lost records unknown? */
static bool is_unknown(const struct kl_loss *loss)
{
	return !loss->records &&
	       (loss->kind == KL_LOSS_CORRUPT || loss->kind == KL_LOSS_UNSTORED) && !loss->blocks;
}

static void print_loss_text(struct kl_buffer *buffer, unsigned int flags,
			    const struct kl_loss *loss)
{
	static const char *const sentences[KL_LOSS_KINDS] = {
		[KL_LOSS_DISCARDED] = "events were lost: the buffer was full",
		[KL_LOSS_OVERWRITTEN] = "events were overwritten before they were read",
		[KL_LOSS_BEFORE] = "events preceded the oldest remaining block",
		[KL_LOSS_CORRUPT] = "events are in damaged or missing blocks",
		[KL_LOSS_UNSTORED] = "events were not stored",
		[KL_LOSS_UNSEEN] = "events were missed by their sources",
	};

	if (loss->kind == KL_LOSS_UNSEEN)
		kl_buffer_add_string(buffer, "all CPUs: ");
	else
		kl_buffer_printf(buffer, "CPU %u: ", loss->cpu);
	if (is_unknown(loss))
		kl_buffer_add_string(buffer, "an unknown number of ");
	else
		kl_buffer_printf(buffer, "%llu ", (unsigned long long)loss->records);
	kl_buffer_add_string(buffer, sentences[loss->kind]);
	if (loss->blocks == 1)
		kl_buffer_printf(buffer, " (block %llu)", (unsigned long long)loss->first_block);
	else if (loss->blocks)
		kl_buffer_printf(buffer, " (%llu blocks, starting at %llu)",
				 (unsigned long long)loss->blocks,
				 (unsigned long long)loss->first_block);
	add_loss_times(buffer, flags, loss);
	kl_buffer_add_char(buffer, '\n');
}

void kl_print_event(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		    const struct kl_event *event)
{
	uint64_t ns = flags & KL_SHOW_RELATIVE ? event->since_ns : event->ns;

	if (style == KL_STYLE_TEXT)
		print_event_text(buffer, ns, event);
	else
		kl_print_event_json(buffer, event);
}

void kl_print_loss(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		   const struct kl_loss *loss)
{
	if (style == KL_STYLE_TEXT)
		print_loss_text(buffer, flags, loss);
	else
		kl_print_loss_json(buffer, loss);
}

void kl_print_item(struct kl_buffer *buffer, enum kl_style style, unsigned int flags,
		   const struct kl_item *item)
{
	if (item->kind == KL_ITEM_EVENT)
		kl_print_event(buffer, style, flags, item->event);
	else
		kl_print_loss(buffer, style, flags, item->loss);
}
