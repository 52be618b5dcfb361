// SPDX-License-Identifier: GPL-2.0
/*
 * Rearranges the records of blocks into columns. Records with the same event and the same changed
 * variables have a shape in common, which says of which columns they consist. A first walk over
 * the records finds their shapes and the sizes of all columns, a second one copies the values.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/cursor.h>
#include <kernlens/error.h>
#include "../base/base.h"
#include "columns.h"
#include "frame.h"

#define HASH_SIZE (4 * KL_SHAPES_MAX)
#define COLUMNS_MAX (3 + KL_VARIABLES_MAX + 32) /* of a shape: task, variables, fields */
#define CUT_BYTES 4096u /* parts that are smaller are not worth tables of their own */
#define CUTS_MAX (KL_FRAME_PLAIN_MAX / CUT_BYTES + 2)

_Static_assert(KL_CHANGED_BYTES(KL_VARIABLES_MAX) <= KL_CHANGED_BYTES_MAX, "variables of a shape");
_Static_assert(COLUMNS_MAX <= UINT8_MAX, "the number of a shape's columns is a byte");

struct shape {
	uint64_t changed;
	struct kl_shape_head head;
	uint32_t records;
	size_t first; /* of its columns */
	bool strings;
};

/* @bytes: of all its values; @to: where the next value goes */
struct column {
	struct kl_column_head head;
	size_t bytes;
	uint8_t *to;
};

/* @at: its values, in the blocks */
struct record {
	uint32_t at;
	uint16_t shape;
	uint64_t delta;
};

struct kl_split {
	const struct kl_schema *schema;
	size_t changed_bytes; /* in each record */
	struct shape shapes[KL_SHAPES_MAX];
	size_t n_shapes;
	struct column *columns;
	size_t n_columns;
	size_t columns_capacity;
	struct record records[KL_COLUMN_RECORDS_MAX];
	size_t n_records;
	uint64_t longest; /* time between two records */
	size_t cuts[CUTS_MAX];
	size_t n_cuts;
	uint16_t hash[HASH_SIZE]; /* number of the shape, plus 1; 0: none */
};

struct kl_split *kl_split_create(const struct kl_schema *schema)
{
	struct kl_split *split = calloc(1, sizeof(*split));
	unsigned int variables = 0;

	if (!split)
		return NULL;
	split->schema = schema;
	while (kl_schema_variable(schema, variables))
		variables++;
	split->changed_bytes = KL_CHANGED_BYTES(variables);
	return split;
}

void kl_split_destroy(struct kl_split *split)
{
	if (!split)
		return;
	free(split->columns);
	free(split);
}

/* ------------------------------------------------------------------ shapes */

static int add_column(struct kl_split *split, struct shape *shape, unsigned int width)
{
	struct column *columns = kl_array_grow(split->columns, split->n_columns,
					       &split->columns_capacity, sizeof(*columns));

	if (!columns)
		return -ENOMEM;
	if (width > UINT16_MAX || shape->head.columns == COLUMNS_MAX)
		return -EINVAL;
	split->columns = columns;
	columns[split->n_columns++] = (struct column){
		.head = { .width = (uint16_t)width, .stored = (uint16_t)width },
	};
	shape->head.columns++;
	shape->strings |= !width;
	return 0;
}

static int add_columns(struct kl_split *split, struct shape *shape, const struct kl_class *class)
{
	static const unsigned int task[] = { sizeof(((struct kl_abi_task *)0)->tid),
					     sizeof(((struct kl_abi_task *)0)->pid), KL_COMM_LEN };
	const struct kl_variable *variable;
	int ret = 0;

	for (size_t i = 0; shape->changed & KL_CHANGED_TASK && i < KL_ARRAY_SIZE(task) && !ret; i++)
		ret = add_column(split, shape, task[i]);
	for (unsigned int i = 0; !ret && (variable = kl_schema_variable(split->schema, i)); i++)
		if (shape->changed >> (i + 1) & 1)
			ret = add_column(split, shape,
					 variable->field.bytes * variable->field.count);
	for (unsigned int i = 0; i < class->n_fields && !ret; i++) {
		const struct kl_field *field = &class->fields[i];

		ret = add_column(split, shape,
				 field->type == KL_TYPE_STRING ? 0 : field->bytes * field->count);
	}
	return ret;
}

static int add_shape(struct kl_split *split, const struct kl_event *event, const uint8_t *changed)
{
	struct shape *shape = &split->shapes[split->n_shapes];

	if (split->n_shapes == KL_SHAPES_MAX)
		return -EINVAL;
	*shape = (struct shape){
		.changed = event->changed,
		.head = { .id = event->id, .changed_bytes = (uint8_t)split->changed_bytes },
		.first = split->n_columns,
	};
	memcpy(shape->head.changed, changed, split->changed_bytes);
	split->n_shapes++;
	return add_columns(split, shape, event->event_class);
}

/* The number of the record's shape, which may be new, or a negative errno. */
static int find_shape(struct kl_split *split, const struct kl_event *event, const uint8_t *changed)
{
	uint64_t key = (event->changed << 16 ^ event->id) * 0x9e3779b97f4a7c15ull;
	size_t at = key >> 50;
	int ret;

	_Static_assert(HASH_SIZE == 1u << 14, "the upper 14 bits are an index");
	for (; split->hash[at]; at = (at + 1) % HASH_SIZE) {
		const struct shape *shape = &split->shapes[split->hash[at] - 1];

		if (shape->head.id == event->id && shape->changed == event->changed)
			return split->hash[at] - 1;
	}
	ret = add_shape(split, event, changed);
	if (ret)
		return ret;
	split->hash[at] = (uint16_t)split->n_shapes;
	return (int)split->n_shapes - 1;
}

/* ------------------------------------------------------- first walk: sizes */

/* The size of the column's next value. */
static size_t value_bytes(const struct column *column, const uint8_t *at)
{
	return column->head.width ? column->head.width : strlen((const char *)at) + 1;
}

static void add_sizes(struct kl_split *split, const struct shape *shape, const uint8_t *at)
{
	for (size_t i = 0; i < shape->head.columns; i++) {
		struct column *column = &split->columns[shape->first + i];
		size_t bytes = value_bytes(column, at);

		if (!column->head.width)
			column->bytes += bytes;
		at += bytes;
	}
}

/* @at: the record in the blocks, from @plain on */
static int take_record(struct kl_split *split, const struct kl_event *event, const uint8_t *plain,
		       const uint8_t *at, uint64_t delta)
{
	const uint8_t *changed = at + sizeof(uint64_t), *values = changed + split->changed_bytes;
	int number = find_shape(split, event, changed);
	struct shape *shape;

	if (number < 0)
		return number;
	if (split->n_records == KL_COLUMN_RECORDS_MAX)
		return -EINVAL;
	shape = &split->shapes[number];
	shape->records++;
	if (shape->strings)
		add_sizes(split, shape, values);
	split->records[split->n_records++] = (struct record){
		.at = (uint32_t)(values - plain),
		.shape = (uint16_t)number,
		.delta = delta,
	};
	if (delta > split->longest)
		split->longest = delta;
	return 0;
}

static bool is_zero(const uint8_t *at, size_t bytes)
{
	return !bytes || (!*at && !memcmp(at, at + 1, bytes - 1));
}

static int take_block(struct kl_split *split, const uint8_t *plain,
		      const struct kl_abi_block *block)
{
	const struct kl_timebase timebase = {};
	const uint8_t *bytes = (const uint8_t *)block;
	struct kl_cursor cursor;
	uint64_t time = block->timestamp_begin;
	uint32_t records = 0;
	int ret;

	if (block->header_bytes != KL_BLOCK_HEADER_BYTES ||
	    !is_zero(bytes + block->committed, block->packet_bits / 8 - block->committed))
		return -EINVAL;
	kl_cursor_init(&cursor, split->schema, &timebase, 0);
	kl_cursor_enter(&cursor, block, 0, block->committed);
	for (;;) {
		const uint8_t *at = cursor.at;

		ret = kl_cursor_next(&cursor);
		if (ret <= 0)
			break;
		ret = take_record(split, &cursor.event, plain, at, cursor.event.cycles - time);
		if (ret)
			return ret;
		time = cursor.event.cycles;
		records++;
	}
	return ret || records != block->record_count ? -EINVAL : 0;
}

static int take_blocks(struct kl_split *split, const uint8_t *plain, size_t bytes)
{
	int ret = 0;

	split->n_shapes = 0;
	split->n_columns = 0;
	split->n_records = 0;
	split->longest = 0;
	memset(split->hash, 0, sizeof(split->hash));
	for (size_t at = 0; at < bytes && !ret;) {
		const struct kl_abi_block *block = (const struct kl_abi_block *)(plain + at);

		if (bytes - at < sizeof(*block) || kl_block_check(block, bytes - at, NULL))
			ret = -EINVAL;
		else
			ret = take_block(split, plain, block);
		at += ret ? 0 : block->packet_bits / 8;
	}
	/* The caller stores the blocks in another way. */
	if (ret)
		kl_error_clear();
	return ret;
}

/* ----------------------------------------------------- second walk: values */

static void add_cut(struct kl_split *split, size_t end, size_t length)
{
	size_t before = split->n_cuts ? split->cuts[split->n_cuts - 1] : 0;

	if (end != length && end - before < CUT_BYTES)
		return;
	/* A small rest joins the part before it. */
	if (end == length && split->n_cuts && end - before < CUT_BYTES)
		split->n_cuts--;
	split->cuts[split->n_cuts++] = end;
}

static unsigned int count_planes(const struct kl_split *split)
{
	unsigned int planes = 0;

	while (planes < KL_TIME_PLANES_MAX && split->longest >> (8 * planes))
		planes++;
	return planes;
}

/* Write shapes, their columns' widths and sizes. */
static void write_shapes(const struct kl_split *split, const struct kl_columns_head *head,
			 struct kl_buffer *columns)
{
	kl_buffer_add(columns, head, sizeof(*head));
	for (size_t i = 0; i < split->n_shapes; i++) {
		const struct shape *shape = &split->shapes[i];

		kl_buffer_add(columns, &shape->head, sizeof(shape->head));
		for (size_t k = 0; k < shape->head.columns; k++)
			kl_buffer_add(columns, &split->columns[shape->first + k].head,
				      sizeof(struct kl_column_head));
	}
	for (size_t i = 0; i < split->n_columns; i++) {
		uint32_t bytes = (uint32_t)split->columns[i].bytes;

		if (!split->columns[i].head.width)
			kl_buffer_add(columns, &bytes, sizeof(bytes));
	}
}

static void write_index(const struct kl_split *split, const struct kl_columns_head *head,
			uint8_t *to)
{
	size_t n = split->n_records;

	for (size_t i = 0; i < n; i++) {
		const struct record *record = &split->records[i];
		uint64_t delta = record->delta;
		uint8_t *times = to + head->index_bytes * n + i;

		to[i] = (uint8_t)record->shape;
		if (head->index_bytes == 2)
			to[n + i] = (uint8_t)(record->shape >> 8);
		for (unsigned int k = 0; k < head->planes; k++, delta >>= 8)
			times[k * n] = (uint8_t)delta;
	}
}

static void write_values(struct kl_split *split, const uint8_t *plain)
{
	for (size_t i = 0; i < split->n_records; i++) {
		const struct shape *shape = &split->shapes[split->records[i].shape];
		const uint8_t *at = plain + split->records[i].at;

		for (size_t k = 0; k < shape->head.columns; k++) {
			struct column *column = &split->columns[shape->first + k];
			size_t bytes = value_bytes(column, at);

			memcpy(column->to, at, bytes);
			column->to += bytes;
			at += bytes;
		}
	}
}

/* ------------------------------------------------------ what is not needed */

static uint64_t load(const uint8_t *at, size_t width)
{
	return kl_get64(at) & (width == 8 ? ~0ull : (1ull << (8 * width)) - 1);
}

/*
 * Move the values of a column from @from to @to, which may overlap it, without bytes that are 0 in
 * all of them. They are followed by 8 bytes that can be read.
 */
static void pack_short(struct column *column, uint8_t *to, const uint8_t *from, size_t n)
{
	size_t width = column->head.width, stored = 1;
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= load(from + i * width, width);
	while (stored < width && bits >> (8 * stored))
		stored++;
	column->head.stored = (uint16_t)stored;
	column->bytes = n * stored;
	if (stored == width) {
		memmove(to, from, column->bytes);
		return;
	}
	for (size_t i = 0; i < n; i++, from += width)
		for (size_t k = 0; k < stored; k++)
			*to++ = from[k];
}

/* Move a column; returns the end of what is left of it. */
static uint8_t *pack_column(struct column *column, uint8_t *to, size_t n)
{
	const uint8_t *from = column->to - column->bytes;
	size_t width = column->head.width;

	if (width && n > 1 && !memcmp(from, from + width, (n - 1) * width)) {
		column->head.stored = KL_STORED_ONCE;
		column->bytes = width;
		memmove(to, from, width);
	} else if (width && width <= KL_SHORT_MAX) {
		pack_short(column, to, from, n);
	} else {
		memmove(to, from, column->bytes);
	}
	return to + column->bytes;
}

/* Leave out what all values of a column have in common. Returns the end of the columns. */
static uint8_t *pack_columns(struct kl_split *split, uint8_t *to)
{
	for (size_t i = 0; i < split->n_shapes; i++) {
		const struct shape *shape = &split->shapes[i];

		for (size_t k = 0; k < shape->head.columns; k++)
			to = pack_column(&split->columns[shape->first + k], to, shape->records);
	}
	return to;
}

/* Size of all columns; sets the sizes of those of fixed width. */
static size_t measure_columns(struct kl_split *split)
{
	size_t bytes = 0;

	for (size_t i = 0; i < split->n_shapes; i++) {
		const struct shape *shape = &split->shapes[i];

		for (size_t k = 0; k < shape->head.columns; k++) {
			struct column *column = &split->columns[shape->first + k];

			if (column->head.width)
				column->bytes = (size_t)column->head.width * shape->records;
			bytes += column->bytes;
		}
	}
	return bytes;
}

static void cut_columns(struct kl_split *split, const struct kl_columns_head *head, size_t at,
			size_t length)
{
	split->n_cuts = 0;
	add_cut(split, at, length);
	at += split->n_records * head->index_bytes;
	add_cut(split, at, length);
	for (unsigned int i = 0; i < head->planes; i++) {
		at += split->n_records;
		add_cut(split, at, length);
	}
	for (size_t i = 0; i < split->n_columns; i++) {
		at += split->columns[i].bytes;
		add_cut(split, at, length);
	}
	add_cut(split, at, length);
}

int kl_split(struct kl_split *split, const uint8_t *plain, size_t bytes, struct kl_buffer *columns,
	     const size_t **cuts, size_t *n_cuts)
{
	struct kl_columns_head head;
	size_t values, index, at;
	uint8_t *to, *first;
	int ret = take_blocks(split, plain, bytes);

	if (ret)
		return ret;
	head = (struct kl_columns_head){
		.records = (uint32_t)split->n_records,
		.shapes = (uint16_t)split->n_shapes,
		.index_bytes = split->n_shapes > 256 ? 2 : 1,
		.planes = (uint8_t)count_planes(split),
	};
	values = measure_columns(split);
	kl_buffer_reset(columns);
	write_shapes(split, &head, columns);
	at = columns->length;
	index = split->n_records * (head.index_bytes + head.planes);
	to = (uint8_t *)kl_buffer_reserve(columns, index + values + KL_SHORT_MAX);
	if (!to)
		return -ENOMEM;
	write_index(split, &head, to);
	to += index;
	first = to;
	for (size_t i = 0; i < split->n_columns; i++) {
		split->columns[i].to = to;
		to += split->columns[i].bytes;
	}
	write_values(split, plain);
	values = (size_t)(pack_columns(split, first) - first);
	/* The same once more, with what has become of the columns. */
	columns->length = 0;
	write_shapes(split, &head, columns);
	columns->length += index + values;
	/* Readers have room for as many bytes as the blocks have. */
	if (columns->length > bytes)
		return -EINVAL;
	cut_columns(split, &head, at, columns->length);
	*cuts = split->cuts;
	*n_cuts = split->n_cuts;
	return 0;
}
