/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout of the columns that the records of some blocks are rearranged into: the value of each
 * field from all records in a row, which compresses far better than records do. Written by
 * columns_split.c, read by columns_join.c; docs/format/pack.md describes it.
 *
 *	struct kl_columns_head
 *	struct kl_shape_head, struct kl_column_head[columns]	for each shape
 *	u32 bytes					of each column of strings
 *	shape of each record				1 byte, or low bytes, then high bytes
 *	time since the record before			lowest bytes, next bytes ...
 *	columns						those of each shape
 */
#ifndef KL_LIB_READER_COLUMNS_H
#define KL_LIB_READER_COLUMNS_H

#include <kernlens/abi.h>

#define KL_SHAPES_MAX 4096u
#define KL_TIME_PLANES_MAX (KL_RECORD_TIME_BITS / 8)
#define KL_CHANGED_BYTES_MAX 8u

/* Maximum number of records in a frame. */
#define KL_COLUMN_RECORDS_MAX (KL_FRAME_PLAIN_MAX / KL_RECORD_PREFIX_BYTES)

/*
 * @records: in all blocks
 * @shapes: number of shapes
 * @index_bytes: 1 or 2: size of a record's shape
 * @planes: bytes of a time
 */
struct kl_columns_head {
	uint32_t records;
	uint16_t shapes;
	uint8_t index_bytes;
	uint8_t planes;
};

/*
 * What records have in common that consist of the same columns.
 * @id: event
 * @changed_bytes: number of bytes in use of @changed
 * @columns: number of columns, whose heads follow
 */
struct kl_shape_head {
	uint16_t id;
	uint8_t changed_bytes;
	uint8_t columns;
	uint8_t changed[KL_CHANGED_BYTES_MAX];
};

#define KL_STORED_ONCE UINT16_MAX
#define KL_SHORT_MAX 8u

/*
 * @width: bytes of a value in the record; 0: strings, each with its NUL
 * @stored: bytes of a value in the column. Fewer than @width, which is then up to KL_SHORT_MAX: the
 *          others are 0. KL_STORED_ONCE: there is one value, of @width bytes, for all records
 */
struct kl_column_head {
	uint16_t width;
	uint16_t stored;
};

#endif /* KL_LIB_READER_COLUMNS_H */
