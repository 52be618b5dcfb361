/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows of a result with typed columns, which are written as a table for people, as JSON or as CSV,
 * so that all three have the same values.
 */
#ifndef KL_CLI_BASE_ROWS_H
#define KL_CLI_BASE_ROWS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cli_cell {
	CLI_CELL_TEXT,
	CLI_CELL_COUNT, /* 1,234 */
	CLI_CELL_ID, /* 1234 */
	CLI_CELL_NS, /* a length of time */
	CLI_CELL_BYTES,
	CLI_CELL_MEMORY, /* the same in KiB, MiB ... */
	CLI_CELL_POWER, /* a power of two of bytes: 64 KiB */
	CLI_CELL_TIME, /* a wall time; for people, in seconds since the begin */
	CLI_CELL_BAR, /* of the largest count in the column; only for people */
};

/**
 * struct cli_column - a column of rows
 * @head: for people; NULL: they do not see it
 * @name: in JSON and CSV; NULL: it is not there
 * @kind: what its cells are
 */
struct cli_column {
	const char *head;
	const char *name;
	enum cli_cell kind;
};

struct cli_rows;

/* Number of elements. */
#define CLI_COUNT(array) (sizeof(array) / sizeof(*(array)))

/**
 * cli_rows_create - create an empty list of rows
 * @columns: columns; must outlive the rows
 * @n: number of @columns
 * @begin_ns: wall time that CLI_CELL_TIME counts from
 */
struct cli_rows *cli_rows_create(const struct cli_column *columns, unsigned int n,
				 uint64_t begin_ns);
void cli_rows_destroy(struct cli_rows *rows);

/* Add the next cell; the next row starts when all columns are filled. The text is copied. */
void cli_rows_add_text(struct cli_rows *rows, const char *text);
void cli_rows_add_number(struct cli_rows *rows, uint64_t number);
/* One without a value: "-", null, or nothing. */
void cli_rows_add_none(struct cli_rows *rows);
/* @number if it is @known. */
void cli_rows_add_optional(struct cli_rows *rows, bool known, uint64_t number);

/* Number of whole rows. */
size_t cli_rows_count(const struct cli_rows *rows);

/**
 * cli_rows_print - print rows as a table
 * @rows: rows
 * @file: output
 * @indent: spaces before each row
 * @top: number of rows to print; 0: all. A line says how many were left out
 */
void cli_rows_print(const struct cli_rows *rows, FILE *file, unsigned int indent, size_t top);

/* The first @top rows as an array of objects; 0: all. */
json_t *cli_rows_json(const struct cli_rows *rows, size_t top);

/* Write the first @top rows to stdout as CSV; 0: all. Returns CLI_OK or CLI_FAILED. */
int cli_rows_write_csv(const struct cli_rows *rows, size_t top);

/**
 * cli_rows_add_buckets - make rows of one or two histograms with the same buckets
 * @rows: with the columns: from, below, a count for each histogram, a bar
 * @bucket: their counts; bucket i has values below @unit << i, the last all others
 * @n: 1 or 2
 * @buckets: number of buckets
 * @unit: of the values
 *
 * Buckets before the first and after the last that has any values are left out.
 */
void cli_rows_add_buckets(struct cli_rows *rows, const uint64_t *const *bucket, unsigned int n,
			  unsigned int buckets, uint64_t unit);

#endif /* KL_CLI_BASE_ROWS_H */
