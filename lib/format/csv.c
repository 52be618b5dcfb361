// SPDX-License-Identifier: GPL-2.0
/* CSV as LKST writes it: one row an event, each argument a quoted "name=value (meaning)". */
#include "../base/base.h"
#include "print.h"
#include "schema.h"

/* Double the quotes in the text from @from on, and close the cell. */
static void close_cell(struct kl_buffer *buffer, size_t from)
{
	size_t quotes = 0;
	char *at;

	if (buffer->error)
		return;
	for (size_t i = from; i < buffer->length; i++)
		quotes += buffer->data[i] == '"';
	if (quotes && kl_buffer_reserve(buffer, quotes)) {
		at = buffer->data + buffer->length + quotes;
		for (size_t i = buffer->length; i-- > from;) {
			*--at = buffer->data[i];
			if (*at == '"')
				*--at = '"';
		}
		buffer->length += quotes;
	}
	kl_buffer_add_char(buffer, '"');
}

/* Print the value's symbolic meaning. Returns false if it has none. */
static bool print_meaning(struct kl_buffer *buffer, const struct kl_schema *schema,
			  const struct kl_value *value)
{
	size_t before = buffer->length;

	if (value->field->format != KL_FORMAT_stack)
		return kl_print_value_meaning(buffer, schema, value);
	kl_print_stack_line(buffer, schema->stacks, value->number);
	return buffer->length > before;
}

static void print_cell(struct kl_buffer *buffer, const char *prefix, const struct kl_schema *schema,
		       const struct kl_value *value)
{
	const struct kl_field *field = value->field;
	size_t from, number;

	kl_buffer_add(buffer, ",\"", 2);
	from = buffer->length;
	kl_buffer_add_string(buffer, prefix);
	kl_buffer_add_string(buffer, field->name);
	kl_buffer_add_char(buffer, '=');
	if (field->type >= KL_TYPE_TEXT) {
		kl_print_plain(buffer, value->bytes, value->length);
	} else if (field->count > 1) {
		kl_print_array(buffer, value);
	} else {
		kl_print_number(buffer, field, value->number);
		number = buffer->length;
		kl_buffer_add(buffer, " (", 2);
		if (print_meaning(buffer, schema, value))
			kl_buffer_add_char(buffer, ')');
		else if (!buffer->error)
			buffer->length = number;
	}
	close_cell(buffer, from);
}

/*
 * A user-defined event may have any name: quote it if necessary, and never let it begin like a
 * spreadsheet formula.
 */
static void print_name(struct kl_buffer *buffer, const char *name)
{
	size_t from;

	if (*name && !strchr("=+-@", *name) && !strpbrk(name, "\",")) {
		kl_buffer_add_string(buffer, name);
		return;
	}
	kl_buffer_add_char(buffer, '"');
	from = buffer->length;
	if (*name && strchr("=+-@", *name))
		kl_buffer_add_char(buffer, '\'');
	kl_buffer_add_string(buffer, name);
	close_cell(buffer, from);
}

static void print_start(struct kl_buffer *buffer, const char *event, uint32_t cpu,
			const struct kl_task *task, uint64_t ns)
{
	print_name(buffer, event);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_unsigned(buffer, cpu, 0);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_signed(buffer, task->pid);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_signed(buffer, task->tid);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_unsigned(buffer, ns / KL_NS_PER_S, 0);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_unsigned(buffer, ns % KL_NS_PER_S, 0);
}

void kl_print_event_csv(struct kl_buffer *buffer, uint64_t ns, const struct kl_event *event)
{
	print_start(buffer, event->event_class->name, event->cpu, &event->task, ns);
	for (unsigned int i = 0; i < event->event_class->n_fields; i++) {
		struct kl_value value = kl_event_value(event, i);

		print_cell(buffer, "", event->schema, &value);
	}
	for (unsigned int i = 0; i < event->schema->n_variables; i++) {
		struct kl_value value = kl_event_variable(event, i);

		print_cell(buffer, "variables.", event->schema, &value);
	}
	if (!event->event_class->n_fields && !event->schema->n_variables)
		kl_buffer_add_char(buffer, ',');
	kl_buffer_add_char(buffer, '\n');
}

void kl_print_loss_csv(struct kl_buffer *buffer, uint64_t ns, const struct kl_loss *loss)
{
	static const struct kl_task none;

	print_start(buffer, "kernlens_loss", loss->cpu, &none, ns);
	kl_buffer_printf(buffer,
			 ",\"kind=%s\",\"records=%llu\",\"blocks=%llu\",\"first_block=%llu\"\n",
			 kl_loss_name(loss->kind), (unsigned long long)loss->records,
			 (unsigned long long)loss->blocks, (unsigned long long)loss->first_block);
}
