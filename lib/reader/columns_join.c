// SPDX-License-Identifier: GPL-2.0
/*
 * Restores the records of blocks from columns, block by block. The columns may be anything: all
 * counts are checked against their size before the first record is restored, so that only strings
 * and the block's end have to be checked for each record.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "columns.h"
#include "frame.h"

#define COPY_BYTES 16u /* values up to this size are copied with as many bytes */

_Static_assert(COPY_BYTES <= KL_JOIN_SLACK, "what is copied too much is not used");

/*
 * @at: the next value
 * @end: of the column
 * @mask: bits of a value that are stored; of values up to KL_SHORT_MAX bytes
 * @width: of a value in the record; 0: strings
 * @step: from one value to the next
 */
struct column {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t mask;
	uint32_t width;
	uint32_t step;
};

/*
 * @changed: with @changed_bytes bytes
 * @bytes: of a record without its strings
 */
struct shape {
	uint8_t changed[KL_CHANGED_BYTES_MAX];
	uint32_t changed_bytes;
	uint32_t bytes;
	struct column *first;
	struct column *end;
	uint32_t records;
	uint16_t id;
};

struct kl_join {
	struct shape *shapes;
	size_t shapes_capacity;
	struct column *columns;
	size_t columns_capacity;
	size_t n_shapes;
	size_t n_columns;
	const uint8_t *index;
	const uint8_t *times;
	struct kl_columns_head head;
	size_t at; /* next record */
};

/* The columns' bytes that have not been taken. */
struct rest {
	const uint8_t *at;
	size_t bytes;
};

struct kl_join *kl_join_create(void)
{
	return calloc(1, sizeof(struct kl_join));
}

void kl_join_destroy(struct kl_join *join)
{
	if (!join)
		return;
	free(join->shapes);
	free(join->columns);
	free(join);
}

static const uint8_t *take(struct rest *rest, size_t bytes)
{
	const uint8_t *at = rest->at;

	if (rest->bytes < bytes)
		return NULL;
	rest->at += bytes;
	rest->bytes -= bytes;
	return at;
}

static int make_room(void **array, size_t *capacity, size_t wanted, size_t size)
{
	void *more;

	if (*array && wanted <= *capacity)
		return 0;
	more = reallocarray(*array, wanted + 1, size);
	if (!more)
		return -ENOMEM;
	*array = more;
	*capacity = wanted;
	return 0;
}

static int take_column(struct column *column, const uint8_t *at)
{
	struct kl_column_head head;

	memcpy(&head, at, sizeof(head));
	*column = (struct column){ .mask = ~0ull, .width = head.width, .step = head.stored };
	if (head.stored == KL_STORED_ONCE && head.width)
		column->step = 0;
	else if (head.stored > head.width)
		return -EINVAL;
	else if (head.stored < head.width && head.width > KL_SHORT_MAX)
		return -EINVAL;
	else if (head.stored < KL_SHORT_MAX)
		column->mask = (1ull << (8 * head.stored)) - 1;
	return 0;
}

static int take_shape(struct kl_join *join, struct rest *rest)
{
	struct shape *shape = &join->shapes[join->n_shapes++];
	struct kl_shape_head head;
	const uint8_t *at = take(rest, sizeof(head)), *columns;
	int ret = 0;

	if (!at)
		return -EINVAL;
	memcpy(&head, at, sizeof(head));
	columns = take(rest, head.columns * sizeof(struct kl_column_head));
	if (!columns || !head.changed_bytes || head.changed_bytes > KL_CHANGED_BYTES_MAX)
		return -EINVAL;
	*shape = (struct shape){
		.changed_bytes = head.changed_bytes,
		.bytes = (uint32_t)sizeof(uint64_t) + head.changed_bytes,
		.id = head.id,
	};
	memcpy(shape->changed, head.changed, sizeof(shape->changed));
	shape->first = &join->columns[join->n_columns];
	for (unsigned int i = 0; i < head.columns && !ret; i++) {
		struct column *column = &join->columns[join->n_columns++];

		ret = take_column(column, columns + i * sizeof(struct kl_column_head));
		shape->bytes += column->width;
	}
	shape->end = &join->columns[join->n_columns];
	return ret;
}

/* The number of columns of all shapes, as far as they are there. */
static size_t count_columns(const struct kl_join *join, struct rest rest)
{
	struct kl_shape_head head;
	const uint8_t *at;
	size_t columns = 0;

	for (size_t i = 0; i < join->head.shapes && (at = take(&rest, sizeof(head))); i++) {
		memcpy(&head, at, sizeof(head));
		if (!take(&rest, head.columns * sizeof(struct kl_column_head)))
			break;
		columns += head.columns;
	}
	return columns;
}

static int take_shapes(struct kl_join *join, struct rest *rest)
{
	int ret = make_room((void **)&join->shapes, &join->shapes_capacity, join->head.shapes,
			    sizeof(*join->shapes));

	if (!ret)
		ret = make_room((void **)&join->columns, &join->columns_capacity,
				count_columns(join, *rest), sizeof(*join->columns));
	join->n_shapes = 0;
	join->n_columns = 0;
	while (!ret && join->n_shapes < join->head.shapes)
		ret = take_shape(join, rest);
	return ret;
}

static inline size_t shape_of(const struct kl_join *join, size_t record)
{
	size_t shape = join->index[record];

	if (join->head.index_bytes == 2)
		shape |= (size_t)join->index[join->head.records + record] << 8;
	return shape;
}

/* Take the records' shapes and times, and count the records of each shape. */
static int take_index(struct kl_join *join, struct rest *rest)
{
	size_t n = join->head.records;

	join->index = take(rest, n * join->head.index_bytes);
	join->times = take(rest, n * join->head.planes);
	if (!join->index || !join->times)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		size_t shape = shape_of(join, i);

		if (shape >= join->n_shapes)
			return -EINVAL;
		join->shapes[shape].records++;
	}
	return 0;
}

static bool is_once(const struct column *column)
{
	return column->width && !column->step && column->mask == ~0ull;
}

/* Neighbors with one value for all records become one column, which is copied at once. */
static void merge_columns(struct shape *shape)
{
	struct column *last = NULL, *to = shape->first;

	for (struct column *column = shape->first; column < shape->end; column++) {
		if (last && is_once(last) && is_once(column) &&
		    last->width + column->width <= COPY_BYTES) {
			last->width += column->width;
			continue;
		}
		last = to++;
		*last = *column;
	}
	shape->end = to;
}

/* Take the columns; @sizes: of those that consist of strings. */
static int take_columns(struct kl_join *join, struct rest *rest, const uint8_t *sizes)
{
	for (size_t i = 0; i < join->n_shapes; i++) {
		struct shape *shape = &join->shapes[i];

		for (struct column *column = shape->first; column < shape->end; column++) {
			size_t bytes = (size_t)column->step * shape->records;

			if (is_once(column))
				bytes = column->width;
			if (!column->width) {
				bytes = kl_get32(sizes);
				sizes += sizeof(uint32_t);
			}
			column->at = take(rest, bytes);
			if (!column->at)
				return -EINVAL;
			column->end = column->at + bytes;
		}
		merge_columns(shape);
	}
	return rest->bytes ? -EINVAL : 0;
}

int kl_join_begin(struct kl_join *join, const uint8_t *columns, size_t bytes)
{
	struct rest rest = { columns, bytes };
	const uint8_t *head = take(&rest, sizeof(join->head)), *sizes;
	size_t strings = 0;
	int ret;

	if (!head)
		return -EINVAL;
	memcpy(&join->head, head, sizeof(join->head));
	join->at = 0;
	if (join->head.records > KL_COLUMN_RECORDS_MAX || join->head.shapes > KL_SHAPES_MAX ||
	    !join->head.index_bytes || join->head.index_bytes > 2 ||
	    join->head.planes > KL_TIME_PLANES_MAX)
		return -EINVAL;
	ret = take_shapes(join, &rest);
	if (ret)
		return ret;
	for (size_t i = 0; i < join->n_columns; i++)
		strings += !join->columns[i].width;
	sizes = take(&rest, strings * sizeof(uint32_t));
	if (!sizes)
		return -EINVAL;
	ret = take_index(join, &rest);
	return ret ? ret : take_columns(join, &rest, sizes);
}

/* Time since the record before. */
static inline uint64_t take_time(const struct kl_join *join, size_t record)
{
	const uint8_t *at = join->times + record;
	uint64_t time = 0;

	for (unsigned int i = 0; i < join->head.planes; i++, at += join->head.records)
		time |= (uint64_t)*at << (8 * i);
	return time;
}

/* Copies a value that is longer than SHORT_BYTES, or a string. NULL: it exceeds @end. */
static uint8_t *copy_long(struct column *column, uint8_t *to, const uint8_t *end)
{
	size_t bytes = column->width;

	if (!bytes) {
		const uint8_t *nul = memchr(column->at, 0, (size_t)(column->end - column->at));

		if (!nul)
			return NULL;
		bytes = (size_t)(nul - column->at) + 1;
	}
	if ((size_t)(end - to) < bytes)
		return NULL;
	memcpy(to, column->at, bytes);
	column->at += column->width ? column->step : bytes;
	return to + bytes;
}

/* Restores the next record at @to; returns its end, or NULL if it exceeds @end or is invalid. */
static inline uint8_t *join_record(struct kl_join *join, uint64_t *time, uint8_t *to,
				   const uint8_t *end)
{
	const struct shape *shape = &join->shapes[shape_of(join, join->at)];
	uint64_t head;

	if (end - to < (long)shape->bytes)
		return NULL;
	*time += take_time(join, join->at++);
	head = *time << KL_RECORD_ID_BITS | shape->id;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	memcpy(to, shape->changed, sizeof(shape->changed));
	to += shape->changed_bytes;
	for (struct column *column = shape->first; column < shape->end; column++) {
		if (column->width - 1 < KL_SHORT_MAX) {
			uint64_t value = kl_get64(column->at) & column->mask;

			memcpy(to, &value, sizeof(value));
			column->at += column->step;
			to += column->width;
		} else if (column->width - 1 < COPY_BYTES) {
			memcpy(to, column->at, COPY_BYTES);
			column->at += column->step;
			to += column->width;
		} else {
			to = copy_long(column, to, end);
			if (!to)
				return NULL;
		}
		if (to > end)
			return NULL;
	}
	return to;
}

int kl_join_block(struct kl_join *join, const struct kl_abi_block *header, uint8_t *block)
{
	uint8_t *to = block + sizeof(*header), *end = block + header->committed;
	size_t size = header->packet_bits / 8;
	uint64_t time = header->timestamp_begin;

	if (header->header_bytes != sizeof(*header) ||
	    header->record_count > join->head.records - join->at)
		return -EINVAL;
	memcpy(block, header, sizeof(*header));
	for (uint32_t i = 0; i < header->record_count && to; i++)
		to = join_record(join, &time, to, end);
	if (to != end)
		return -EINVAL;
	memset(end, 0, size - header->committed);
	return 0;
}
