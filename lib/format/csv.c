// SPDX-License-Identifier: GPL-2.0
/*
 * CSV with one table for all events. The columns are chosen once, and for each event the order in
 * which its fields fill them, so that a row is written from left to right.
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <kernlens/csv.h>
#include <kernlens/format.h>

#include "../base/base.h"
#include "print.h"
#include "schema.h"

enum {
	NAME_MAX_BYTES = 128,
	FIXED = 8,
};

static const char *const fixed[FIXED] = {
	"time_ns", "event", "cpu", "pid", "tid", "comm", "loss", "lost",
};

/* A column. @field: name of the fields that it is for, or NULL. */
struct column {
	char name[NAME_MAX_BYTES];
	const char *field;
	uint32_t number;
};

/* Where a field of an event goes. */
struct place {
	uint32_t column;
	uint32_t field;
};

struct layout {
	uint32_t n;
	struct place place[]; /* by column */
};

struct kl_csv {
	const struct kl_schema *schema;
	struct column **column;
	size_t n;
	size_t capacity;
	void *names; /* of tsearch(): the columns by name, without case */
	struct layout *layout[KL_EV_IDS];
	uint32_t variable[KL_VARIABLES_MAX];
};

/* ------------------------------------------------------------------ the columns */

static int compare_names(const void *left, const void *right)
{
	const struct column *a = left, *b = right;

	return strcasecmp(a->name, b->name);
}

static void keep_node(void *node)
{
	(void)node;
}

static struct column *find(const struct kl_csv *csv, const char *name)
{
	struct column key;
	struct column **found;

	snprintf(key.name, sizeof(key.name), "%s", name);
	found = tfind(&key, &csv->names, compare_names);
	return found ? *found : NULL;
}

static struct column *append(struct kl_csv *csv, const char *name, const char *field)
{
	struct column **grown =
		kl_array_grow(csv->column, csv->n, &csv->capacity, sizeof(*csv->column));
	struct column *column;

	if (!grown)
		return NULL;
	csv->column = grown;
	column = calloc(1, sizeof(*column));
	if (!column)
		return NULL;
	snprintf(column->name, sizeof(column->name), "%s", name);
	column->field = field;
	column->number = (uint32_t)csv->n;
	if (!tsearch(column, &csv->names, compare_names)) {
		free(column);
		return NULL;
	}
	csv->column[csv->n++] = column;
	return column;
}

/*
 * The column of a field or variable: a field's name, or one with a prefix, or with a number, too,
 * whichever is free. Fields of several events share one. NULL without memory.
 */
static struct column *take(struct kl_csv *csv, const char *source, bool is_field)
{
	const char *prefix = is_field ? "field_" : "variable_";
	char name[NAME_MAX_BYTES], number[16] = "";

	for (unsigned int i = !is_field;; i++) {
		struct column *column;

		if (i > 1)
			snprintf(number, sizeof(number), "_%u", i);
		snprintf(name, sizeof(name), "%s%.90s%s", i ? prefix : "", source, number);
		column = find(csv, name);
		if (!column)
			return append(csv, name, is_field ? source : NULL);
		if (is_field && column->field && !strcmp(column->field, source))
			return column;
	}
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return (a->column > b->column) - (a->column < b->column);
}

static int add_event(struct kl_csv *csv, const struct kl_class *class)
{
	struct layout *layout = malloc(sizeof(*layout) + class->n_fields * sizeof(*layout->place));

	if (!layout)
		return -ENOMEM;
	csv->layout[class->id] = layout;
	layout->n = class->n_fields;
	for (unsigned int i = 0; i < class->n_fields; i++) {
		struct column *column = take(csv, class->fields[i].name, true);

		if (!column)
			return -ENOMEM;
		layout->place[i] = (struct place){ column->number, i };
	}
	qsort(layout->place, layout->n, sizeof(*layout->place), compare_places);
	return 0;
}

static int choose(struct kl_csv *csv, const uint8_t *events)
{
	const struct kl_class *class = NULL;
	int error = 0;

	for (unsigned int i = 0; i < FIXED; i++)
		if (!append(csv, fixed[i], NULL))
			return -ENOMEM;
	while (!error && (class = kl_schema_next(csv->schema, class)))
		if (!events || events[class->id])
			error = add_event(csv, class);
	for (unsigned int i = 0; !error && i < csv->schema->n_variables; i++) {
		struct column *column = take(csv, csv->schema->variables[i]->name, false);

		error = column ? 0 : -ENOMEM;
		csv->variable[i] = column ? column->number : 0;
	}
	return error;
}

struct kl_csv *kl_csv_create(const struct kl_schema *schema, const uint8_t *events)
{
	struct kl_csv *csv = calloc(1, sizeof(*csv));

	if (csv) {
		csv->schema = schema;
		if (!choose(csv, events))
			return csv;
		kl_csv_destroy(csv);
	}
	errno = ENOMEM;
	return NULL;
}

void kl_csv_destroy(struct kl_csv *csv)
{
	if (!csv)
		return;
	tdestroy(csv->names, keep_node);
	for (size_t i = 0; i < csv->n; i++)
		free(csv->column[i]);
	free(csv->column);
	for (unsigned int i = 0; i < KL_EV_IDS; i++)
		free(csv->layout[i]);
	free(csv);
}

/* -------------------------------------------------------------------- the cells */

/* Quote the text from @from on if it contains what ends a cell, and disarm a formula. */
static void close_text(struct kl_buffer *buffer, size_t from)
{
	size_t more, quotes = 0;
	bool formula, special = false;
	char *at;

	if (buffer->error || buffer->length == from)
		return;
	formula = !!strchr("=+-@", buffer->data[from]);
	for (size_t i = from; i < buffer->length; i++) {
		quotes += buffer->data[i] == '"';
		special |= !!strchr("\",", buffer->data[i]);
	}
	if (!formula && !special)
		return;
	more = formula + quotes + 2 * special;
	if (!kl_buffer_reserve(buffer, more))
		return;
	at = buffer->data + buffer->length + more - special;
	for (size_t i = buffer->length; i-- > from;) {
		*--at = buffer->data[i];
		if (*at == '"')
			*--at = '"';
	}
	if (formula)
		*--at = '\'';
	if (special) {
		*--at = '"';
		buffer->data[buffer->length + more - 1] = '"';
	}
	buffer->length += more;
	buffer->data[buffer->length] = 0;
}

static void add_text(struct kl_buffer *buffer, const void *bytes, size_t length)
{
	size_t from = buffer->length;

	kl_print_plain(buffer, bytes, length);
	close_text(buffer, from);
}

static void add_number(struct kl_buffer *buffer, const struct kl_field *field, uint64_t number)
{
	if (field->format == KL_FORMAT_counter && number == UINT64_MAX)
		return;
	if (kl_type_is_signed(field->type))
		kl_buffer_add_signed(buffer, (int64_t)number);
	else
		kl_buffer_add_unsigned(buffer, number, 0);
}

/* Print what nobody calculates with: addresses, and stack traces, whose ids mean nothing. */
static bool add_name(struct kl_buffer *buffer, const struct kl_schema *schema,
		     const struct kl_value *value)
{
	size_t from = buffer->length;

	switch (value->field->format) {
	case KL_FORMAT_stack:
		kl_print_stack_line(buffer, schema->stacks, value->number);
		break;
	case KL_FORMAT_ptr:
	case KL_FORMAT_ipv4:
		if (!kl_print_value_meaning(buffer, schema, value))
			kl_buffer_add_hex(buffer, value->number);
		break;
	default:
		return false;
	}
	close_text(buffer, from);
	return true;
}

static void add_value(struct kl_buffer *buffer, const struct kl_schema *schema,
		      const struct kl_value *value)
{
	const struct kl_field *field = value->field;
	size_t from = buffer->length;

	if (field->type >= KL_TYPE_TEXT) {
		add_text(buffer, value->bytes, value->length);
	} else if (field->count > 1) {
		kl_print_array(buffer, value);
		close_text(buffer, from);
	} else if (!add_name(buffer, schema, value)) {
		add_number(buffer, field, value->number);
	}
}

/* --------------------------------------------------------------------- the rows */

static void skip_to(struct kl_buffer *buffer, size_t *at, size_t column)
{
	for (; *at < column; ++*at)
		kl_buffer_add_char(buffer, ',');
}

void kl_csv_print_header(const struct kl_csv *csv, struct kl_buffer *buffer)
{
	for (size_t i = 0; i < csv->n; i++) {
		if (i)
			kl_buffer_add_char(buffer, ',');
		add_text(buffer, csv->column[i]->name, strlen(csv->column[i]->name));
	}
	kl_buffer_add_char(buffer, '\n');
}

static bool print_event(const struct kl_csv *csv, struct kl_buffer *buffer, uint64_t ns,
			const struct kl_event *event)
{
	const struct layout *layout = csv->layout[event->id];
	size_t at = FIXED - 1;

	kl_buffer_add_unsigned(buffer, ns, 0);
	kl_buffer_add_char(buffer, ',');
	add_text(buffer, event->event_class->name, strlen(event->event_class->name));
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_unsigned(buffer, event->cpu, 0);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_signed(buffer, event->task.pid);
	kl_buffer_add_char(buffer, ',');
	kl_buffer_add_signed(buffer, event->task.tid);
	kl_buffer_add_char(buffer, ',');
	add_text(buffer, event->task.comm, strlen(event->task.comm));
	kl_buffer_add_string(buffer, ",,");
	for (uint32_t i = 0; layout && i < layout->n; i++) {
		struct kl_value value = kl_event_value(event, layout->place[i].field);

		skip_to(buffer, &at, layout->place[i].column);
		add_value(buffer, csv->schema, &value);
	}
	for (unsigned int i = 0; i < csv->schema->n_variables; i++) {
		struct kl_value value = kl_event_variable(event, i);

		skip_to(buffer, &at, csv->variable[i]);
		add_value(buffer, csv->schema, &value);
	}
	skip_to(buffer, &at, csv->n - 1);
	kl_buffer_add_char(buffer, '\n');
	return layout || !event->event_class->n_fields;
}

static void print_loss(const struct kl_csv *csv, struct kl_buffer *buffer, unsigned int flags,
		       const struct kl_loss *loss)
{
	uint64_t ns = loss->end_ns ? loss->end_ns : loss->begin_ns;
	size_t at = FIXED - 1;

	if (flags & KL_SHOW_RELATIVE)
		ns = ns > loss->origin_ns ? ns - loss->origin_ns : 0;
	kl_buffer_add_unsigned(buffer, ns, 0);
	kl_buffer_add_string(buffer, ",kernlens_loss,");
	if (loss->kind != KL_LOSS_UNSEEN)
		kl_buffer_add_unsigned(buffer, loss->cpu, 0);
	kl_buffer_printf(buffer, ",,,,%s,%llu", kl_loss_name(loss->kind),
			 (unsigned long long)loss->records);
	skip_to(buffer, &at, csv->n - 1);
	kl_buffer_add_char(buffer, '\n');
}

bool kl_csv_print(const struct kl_csv *csv, struct kl_buffer *buffer, unsigned int flags,
		  const struct kl_item *item)
{
	const struct kl_event *event = item->event;

	if (item->kind == KL_ITEM_EVENT)
		return print_event(csv, buffer,
				   flags & KL_SHOW_RELATIVE ? event->since_ns : event->ns, event);
	print_loss(csv, buffer, flags, item->loss);
	return true;
}
