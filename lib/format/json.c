// SPDX-License-Identifier: GPL-2.0
/* JSON: one object a line. Written by hand for speed; any bytes give valid JSON. */
#include "../base/base.h"
#include "../base/plain.h"
#include "print.h"
#include "schema.h"

void kl_print_json_string(struct kl_buffer *buffer, const void *bytes, size_t length)
{
	const unsigned char *at = bytes, *end = at + length;

	kl_buffer_add_char(buffer, '"');
	while (at < end) {
		const unsigned char *plain = at;
		size_t step;

		while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
			at++;
		kl_buffer_add(buffer, plain, at - plain);
		if (at == end)
			break;
		step = kl_utf8_length(at, end);
		if (!step) {
			kl_buffer_add_string(buffer, "\\ufffd");
			step = 1;
		} else if (*at == '"' || *at == '\\') {
			kl_buffer_add_char(buffer, '\\');
			kl_buffer_add(buffer, at, 1);
		} else if (!kl_plain_length(at, end)) {
			/* A control character; the two-byte ones are U+0080 to U+009F. */
			kl_buffer_printf(buffer, "\\u%04x", at[step - 1]);
		} else {
			kl_buffer_add(buffer, at, step);
		}
		at += step;
	}
	kl_buffer_add_char(buffer, '"');
}

static void print_key(struct kl_buffer *buffer, const char *name)
{
	kl_buffer_add_char(buffer, '"');
	kl_buffer_add_string(buffer, name);
	kl_buffer_add(buffer, "\":", 2);
}

void kl_print_json_value(struct kl_buffer *buffer, const struct kl_value *value)
{
	static const struct kl_field as_signed = { .type = KL_TYPE_S64, .bytes = 8 };
	static const struct kl_field as_unsigned = { .type = KL_TYPE_U64, .bytes = 8 };
	const struct kl_field *field = value->field;
	bool is_signed = field->type == KL_TYPE_S8 || field->type == KL_TYPE_S16 ||
			 field->type == KL_TYPE_S32 || field->type == KL_TYPE_S64;
	const struct kl_field *plain = is_signed ? &as_signed : &as_unsigned;

	if (field->type >= KL_TYPE_TEXT) {
		kl_print_json_string(buffer, value->bytes, value->length);
	} else if (field->format == KL_FORMAT_ipv6 && value->length == 16) {
		kl_buffer_add_char(buffer, '"');
		kl_print_array(buffer, value);
		kl_buffer_add_char(buffer, '"');
	} else if (field->count > 1) {
		kl_buffer_add_char(buffer, '[');
		for (unsigned int i = 0; i < field->count; i++) {
			if (i)
				kl_buffer_add_char(buffer, ',');
			kl_print_number(buffer, plain, kl_value_element(value, i));
		}
		kl_buffer_add_char(buffer, ']');
	} else if (field->format == KL_FORMAT_ptr) {
		kl_buffer_add_char(buffer, '"');
		kl_buffer_add_hex(buffer, value->number);
		kl_buffer_add_char(buffer, '"');
	} else {
		kl_print_number(buffer, plain, value->number);
	}
}

/* Gets a value of an event by its index: a field's or a variable's. */
typedef struct kl_value (*value_fn)(const struct kl_event *event, unsigned int index);

/* Prints ,"fields":{...} and the like. */
static void print_values(struct kl_buffer *buffer, const struct kl_event *event, const char *name,
			 value_fn get, unsigned int n)
{
	kl_buffer_add_char(buffer, ',');
	print_key(buffer, name);
	for (unsigned int i = 0; i < n; i++) {
		struct kl_value value = get(event, i);

		kl_buffer_add_char(buffer, i ? ',' : '{');
		print_key(buffer, value.field->name);
		kl_print_json_value(buffer, &value);
	}
	kl_buffer_add_string(buffer, n ? "}" : "{}");
}

/*
 * End a string that begins at @from and is printable already. Symbols may contain quotes, so escape
 * these.
 */
static void close_string(struct kl_buffer *buffer, size_t from)
{
	size_t escapes = 0;
	char *at;

	if (buffer->error)
		return;
	for (size_t i = from; i < buffer->length; i++)
		escapes += buffer->data[i] == '"' || buffer->data[i] == '\\';
	if (escapes && kl_buffer_reserve(buffer, escapes)) {
		at = buffer->data + buffer->length + escapes;
		for (size_t i = buffer->length; i-- > from;) {
			*--at = buffer->data[i];
			if (*at == '"' || *at == '\\')
				*--at = '\\';
		}
		buffer->length += escapes;
	}
	kl_buffer_add_char(buffer, '"');
}

/* Prints ,"meanings":{...} and the like, for those values that have a symbolic meaning. */
static void print_meanings(struct kl_buffer *buffer, const struct kl_event *event, const char *name,
			   value_fn get, unsigned int n)
{
	bool any = false;

	for (unsigned int i = 0; i < n; i++) {
		struct kl_value value = get(event, i);
		size_t before = buffer->length, from;

		if (value.field->type >= KL_TYPE_TEXT || value.field->count > 1 ||
		    value.field->format == KL_FORMAT_dec)
			continue;
		kl_buffer_add_char(buffer, ',');
		if (!any) {
			print_key(buffer, name);
			kl_buffer_add_char(buffer, '{');
		}
		print_key(buffer, value.field->name);
		kl_buffer_add_char(buffer, '"');
		from = buffer->length;
		if (kl_print_value_meaning(buffer, event->schema, &value)) {
			close_string(buffer, from);
			any = true;
		} else if (!buffer->error) {
			buffer->length = before;
		}
	}
	if (any)
		kl_buffer_add_char(buffer, '}');
}

static void print_time(struct kl_buffer *buffer, uint64_t ns)
{
	kl_buffer_add_string(buffer, "\"seconds\":");
	kl_buffer_add_unsigned(buffer, ns / KL_NS_PER_S, 0);
	kl_buffer_add_string(buffer, ",\"nanoseconds\":");
	kl_buffer_add_unsigned(buffer, ns % KL_NS_PER_S, 0);
}

void kl_print_event_json(struct kl_buffer *buffer, const struct kl_event *event)
{
	unsigned int n = event->schema->n_variables;

	kl_buffer_add_string(buffer, "{\"event\":");
	kl_print_json_string(buffer, event->event_class->name, strlen(event->event_class->name));
	kl_buffer_add_string(buffer, ",\"cpu\":");
	kl_buffer_add_unsigned(buffer, event->cpu, 0);
	kl_buffer_add_char(buffer, ',');
	print_time(buffer, event->ns);
	kl_buffer_add_string(buffer, ",\"since_ns\":");
	kl_buffer_add_unsigned(buffer, event->since_ns, 0);
	kl_buffer_add_string(buffer, ",\"tid\":");
	kl_buffer_add_signed(buffer, event->task.tid);
	kl_buffer_add_string(buffer, ",\"pid\":");
	kl_buffer_add_signed(buffer, event->task.pid);
	kl_buffer_add_string(buffer, ",\"comm\":");
	kl_print_json_string(buffer, event->task.comm, strlen(event->task.comm));
	print_values(buffer, event, "fields", kl_event_value, event->event_class->n_fields);
	print_meanings(buffer, event, "meanings", kl_event_value, event->event_class->n_fields);
	if (n) {
		print_values(buffer, event, "variables", kl_event_variable, n);
		print_meanings(buffer, event, "variable_meanings", kl_event_variable, n);
		kl_print_event_stacks_json(buffer, event);
	}
	kl_buffer_add(buffer, "}\n", 2);
}

void kl_print_loss_json(struct kl_buffer *buffer, const struct kl_loss *loss)
{
	kl_buffer_printf(buffer, "{\"loss\":\"%s\",\"cpu\":%u,", kl_loss_name(loss->kind),
			 loss->cpu);
	print_time(buffer, loss->end_ns);
	kl_buffer_printf(buffer,
			 ",\"records\":%llu,\"blocks\":%llu,\"first_block\":%llu,"
			 "\"begin_ns\":%llu}\n",
			 (unsigned long long)loss->records, (unsigned long long)loss->blocks,
			 (unsigned long long)loss->first_block, (unsigned long long)loss->begin_ns);
}
