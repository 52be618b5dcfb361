// SPDX-License-Identifier: GPL-2.0
/*
 * Writes items in the format of docs/format/kernlens.asn1. A record contains a variable only if it
 * differs from the CPU's previous record in the file, so dropping records by a filter loses no
 * variables.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/ber.h>
#include "../base/base.h"
#include "ber.h"
#include "ber_names.h"
#include "schema.h"

struct kl_ber_writer {
	struct kl_ber_cpus cpus;
	struct kl_ber_names names;
	uint64_t events;
};

/* Control bytes are not allowed in names. */
static void add_text(struct kl_buffer *buffer, uint32_t tag, const char *text)
{
	size_t length = strlen(text);

	kl_ber_add(buffer, tag, text, length);
	for (size_t i = 1; !buffer->error && i <= length; i++) {
		char *c = &buffer->data[buffer->length - i];

		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	}
}

static void add_unsigned(struct kl_buffer *buffer, uint32_t tag, uint64_t number)
{
	kl_ber_add_number(buffer, tag, number, false);
}

static void add_signed(struct kl_buffer *buffer, uint32_t tag, int64_t number)
{
	kl_ber_add_number(buffer, tag, (uint64_t)number, true);
}

/* -------------------------------------------------------------- schema */

static void add_clock(struct kl_buffer *buffer, const struct kl_timebase *base)
{
	size_t from = buffer->length;

	add_unsigned(buffer, KL_BER_ENUMERATED, base->clock);
	add_unsigned(buffer, KL_BER_INTEGER, base->hz);
	add_signed(buffer, KL_BER_INTEGER, base->offset_s);
	add_unsigned(buffer, KL_BER_INTEGER, base->offset);
	add_unsigned(buffer, KL_BER_INTEGER, base->precision);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_variable_class(struct kl_buffer *buffer, unsigned int number,
			       const struct kl_variable *variable)
{
	size_t from = buffer->length;

	add_unsigned(buffer, KL_BER_INTEGER, number);
	add_text(buffer, KL_BER_UTF8, variable->name);
	add_text(buffer, KL_BER_UTF8, variable->scope);
	add_text(buffer, KL_BER_UTF8, variable->type);
	add_text(buffer, KL_BER_UTF8, kl_format_name(variable->field.format));
	add_text(buffer, KL_BER_UTF8, variable->unit);
	add_text(buffer, KL_BER_UTF8, variable->help);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

/* The variables that the trace's records carry: the task, then the schema's. */
static void add_variable_classes(struct kl_buffer *buffer, const struct kl_schema *schema)
{
	size_t from = buffer->length;

	add_variable_class(buffer, KL_BER_VARIABLE_TASK, kl_variable_get(KL_BER_VARIABLE_TASK));
	for (unsigned int i = 0; i < schema->n_variables; i++)
		add_variable_class(buffer, KL_BER_VARIABLE(i), schema->variables[i]);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_field_class(struct kl_buffer *buffer, const struct kl_field *field)
{
	size_t from = buffer->length;

	add_text(buffer, KL_BER_UTF8, field->name);
	add_unsigned(buffer, KL_BER_ENUMERATED, field->type);
	add_text(buffer, KL_BER_UTF8, kl_format_name(field->format));
	if (field->count != 1)
		add_unsigned(buffer, KL_BER_CONTEXT(0), field->count);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_event_class(struct kl_buffer *buffer, const struct kl_class *class)
{
	size_t from = buffer->length, fields;

	add_unsigned(buffer, KL_BER_INTEGER, class->id);
	add_text(buffer, KL_BER_UTF8, class->name);
	add_text(buffer, KL_BER_UTF8, class->group);
	add_text(buffer, KL_BER_UTF8, class->help);
	add_unsigned(buffer, KL_BER_ENUMERATED, class->kind);
	if (class->syscall >= 0)
		add_signed(buffer, KL_BER_CONTEXT(0), class->syscall);
	add_unsigned(buffer, KL_BER_ENUMERATED, class->set);
	add_unsigned(buffer, KL_BER_ENUMERATED, class->access);
	fields = buffer->length;
	for (unsigned int i = 0; i < class->n_fields; i++)
		add_field_class(buffer, &class->fields[i]);
	kl_ber_wrap(buffer, fields, KL_BER_SEQUENCE);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_trace(struct kl_buffer *buffer, const struct kl_schema *schema,
		      const struct kl_trace_info *info, uint64_t begin_ns)
{
	size_t from = buffer->length, events;
	const struct kl_class *class = NULL;
	uint8_t hash[8];

	for (int i = 0; i < 8; i++)
		hash[i] = info->schema_hash >> (56 - 8 * i);
	add_unsigned(buffer, KL_BER_INTEGER, KL_BER_FORMAT);
	add_text(buffer, KL_BER_OCTETS, info->version);
	kl_ber_add(buffer, KL_BER_OCTETS, info->uuid, sizeof(info->uuid));
	add_text(buffer, KL_BER_OCTETS, info->trace_name);
	add_text(buffer, KL_BER_OCTETS, info->hostname);
	add_text(buffer, KL_BER_OCTETS, info->kernel_release);
	add_text(buffer, KL_BER_OCTETS, info->kernel_version);
	add_text(buffer, KL_BER_OCTETS, info->boot_id);
	kl_ber_add(buffer, KL_BER_OCTETS, hash, sizeof(hash));
	add_clock(buffer, &info->timebase);
	if (begin_ns)
		add_unsigned(buffer, KL_BER_CONTEXT(0), begin_ns);
	if (*info->scope)
		add_text(buffer, KL_BER_CONTEXT(1), info->scope);
	add_variable_classes(buffer, schema);
	events = buffer->length;
	while ((class = kl_schema_next(schema, class)))
		add_event_class(buffer, class);
	kl_ber_wrap(buffer, events, KL_BER_SEQUENCE);
	kl_ber_wrap(buffer, from, KL_BER_TRACE);
}

/* ------------------------------------------------------------- records */

static void add_value(struct kl_buffer *buffer, const struct kl_value *value)
{
	const struct kl_field *field = value->field;
	bool is_signed = kl_type_is_signed(field->type);
	size_t from = buffer->length;

	if (field->type >= KL_TYPE_TEXT || (field->count > 1 && field->bytes == 1)) {
		kl_ber_add(buffer, KL_BER_OCTETS, value->bytes, value->length);
		return;
	}
	if (field->count == 1) {
		kl_ber_add_number(buffer, KL_BER_INTEGER, value->number, is_signed);
		return;
	}
	for (unsigned int i = 0; i < field->count; i++)
		kl_ber_add_number(buffer, KL_BER_INTEGER, kl_value_element(value, i), is_signed);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_task(struct kl_buffer *buffer, const struct kl_task *task)
{
	size_t from = buffer->length, value;

	add_unsigned(buffer, KL_BER_INTEGER, KL_BER_VARIABLE_TASK);
	value = buffer->length;
	add_signed(buffer, KL_BER_INTEGER, task->tid);
	add_signed(buffer, KL_BER_INTEGER, task->pid);
	kl_ber_add(buffer, KL_BER_OCTETS, task->comm, strlen(task->comm));
	kl_ber_wrap(buffer, value, KL_BER_TASK);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

static void add_variable(struct kl_buffer *buffer, unsigned int number,
			 const struct kl_value *value)
{
	size_t from = buffer->length;

	add_unsigned(buffer, KL_BER_INTEGER, number);
	add_value(buffer, value);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
}

/* Write the variables that differ from this CPU's previous record in the file. */
static void add_variables(struct kl_buffer *buffer, struct kl_ber_cpu *cpu,
			  const struct kl_event *event)
{
	const struct kl_task *task = &event->task;
	size_t from = buffer->length;

	if (!cpu->any || task->tid != cpu->task.tid || task->pid != cpu->task.pid ||
	    strcmp(task->comm, cpu->task.comm))
		add_task(buffer, task);
	for (unsigned int i = 0; i < event->schema->n_variables; i++) {
		struct kl_value value = kl_event_variable(event, i);
		uint8_t *last = cpu->variables + value.field->offset;
		size_t bytes = (size_t)value.field->bytes * value.field->count;

		if (cpu->any && !memcmp(last, value.bytes, bytes))
			continue;
		add_variable(buffer, KL_BER_VARIABLE(i), &value);
		memcpy(last, value.bytes, bytes);
	}
	cpu->any = true;
	cpu->task = *task;
	if (buffer->length > from)
		kl_ber_wrap(buffer, from, KL_BER_VARIABLES);
}

static void add_event(struct kl_ber_writer *writer, struct kl_buffer *buffer,
		      const struct kl_event *event)
{
	struct kl_ber_cpu *cpu = kl_ber_cpu(&writer->cpus, event->cpu);
	size_t from, fields;

	if (!cpu) {
		buffer->error = -ENOMEM;
		return;
	}
	kl_ber_names_add(&writer->names, buffer, event);
	from = buffer->length;
	add_unsigned(buffer, KL_BER_INTEGER, event->cycles);
	add_unsigned(buffer, KL_BER_INTEGER, event->cpu);
	add_variables(buffer, cpu, event);
	fields = buffer->length;
	for (unsigned int i = 0; i < event->event_class->n_fields; i++) {
		struct kl_value value = kl_event_value(event, i);

		add_value(buffer, &value);
	}
	kl_ber_wrap(buffer, fields, KL_BER_SEQUENCE);
	kl_ber_wrap(buffer, from, KL_BER_SEQUENCE);
	kl_ber_wrap(buffer, from, KL_BER_PRIVATE(event->id));
	writer->events++;
}

static void add_loss(struct kl_buffer *buffer, const struct kl_loss *loss)
{
	size_t from = buffer->length;

	add_unsigned(buffer, KL_BER_ENUMERATED, loss->kind);
	add_unsigned(buffer, KL_BER_INTEGER, loss->cpu);
	add_unsigned(buffer, KL_BER_INTEGER, loss->records);
	add_unsigned(buffer, KL_BER_INTEGER, loss->blocks);
	if (loss->begin_ns)
		add_unsigned(buffer, KL_BER_CONTEXT(0), loss->begin_ns);
	if (loss->end_ns)
		add_unsigned(buffer, KL_BER_CONTEXT(1), loss->end_ns);
	if (loss->first_block)
		add_unsigned(buffer, KL_BER_CONTEXT(2), loss->first_block);
	kl_ber_wrap(buffer, from, KL_BER_LOSS);
}

struct kl_ber_writer *kl_ber_writer_create(struct kl_buffer *buffer, const struct kl_schema *schema,
					   const struct kl_trace_info *info, uint64_t begin_ns)
{
	struct kl_ber_writer *writer = calloc(1, sizeof(*writer));

	if (writer)
		add_trace(buffer, schema, info, begin_ns);
	if (writer && !buffer->error)
		return writer;
	free(writer);
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

void kl_ber_writer_add(struct kl_ber_writer *writer, struct kl_buffer *buffer,
		       const struct kl_item *item)
{
	if (item->kind == KL_ITEM_EVENT)
		add_event(writer, buffer, item->event);
	else
		add_loss(buffer, item->loss);
}

void kl_ber_writer_finish(const struct kl_ber_writer *writer, struct kl_buffer *buffer,
			  const struct kl_trace_counts *counts)
{
	size_t from = buffer->length;

	add_unsigned(buffer, KL_BER_INTEGER, writer->events);
	add_unsigned(buffer, KL_BER_INTEGER, counts ? counts->blocks : 0);
	add_unsigned(buffer, KL_BER_INTEGER, counts ? counts->corrupt : 0);
	add_unsigned(buffer, KL_BER_INTEGER, counts ? counts->cut_bytes : 0);
	kl_ber_wrap(buffer, from, KL_BER_END);
}

void kl_ber_writer_destroy(struct kl_ber_writer *writer)
{
	if (!writer)
		return;
	kl_ber_names_deinit(&writer->names);
	free(writer->cpus.cpu);
	free(writer);
}
