// SPDX-License-Identifier: GPL-2.0
/* Rows of a result, written as a table, as JSON or as CSV. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common.h"
#include "output.h"
#include "rows.h"

/* @text: NULL: a number, or with @none nothing */
struct cell {
	char *text;
	uint64_t number;
	bool none;
};

struct cli_rows {
	const struct cli_column *column;
	unsigned int columns;
	uint64_t begin_ns;
	struct cell *cell;
	size_t n;
	size_t room;
};

struct cli_rows *cli_rows_create(const struct cli_column *columns, unsigned int n,
				 uint64_t begin_ns)
{
	struct cli_rows *rows = cli_alloc(sizeof(*rows));

	rows->column = columns;
	rows->columns = n;
	rows->begin_ns = begin_ns;
	return rows;
}

void cli_rows_destroy(struct cli_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->n; i++)
		free(rows->cell[i].text);
	free(rows->cell);
	free(rows);
}

static struct cell *add(struct cli_rows *rows)
{
	if (rows->n == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 64;
		rows->cell = reallocarray(rows->cell, rows->room, sizeof(*rows->cell));
		if (!rows->cell)
			abort();
	}
	rows->cell[rows->n] = (struct cell){ .text = NULL };
	return &rows->cell[rows->n++];
}

void cli_rows_add_text(struct cli_rows *rows, const char *text)
{
	add(rows)->text = cli_format("%s", text);
}

void cli_rows_add_number(struct cli_rows *rows, uint64_t number)
{
	add(rows)->number = number;
}

void cli_rows_add_none(struct cli_rows *rows)
{
	add(rows)->none = true;
}

void cli_rows_add_optional(struct cli_rows *rows, bool known, uint64_t number)
{
	if (known)
		cli_rows_add_number(rows, number);
	else
		cli_rows_add_none(rows);
}

size_t cli_rows_count(const struct cli_rows *rows)
{
	return rows->n / rows->columns;
}

static size_t limit(const struct cli_rows *rows, size_t top)
{
	const size_t n = cli_rows_count(rows);

	return top && n > top ? top : n;
}

static const struct cell *cell_at(const struct cli_rows *rows, size_t row, unsigned int column)
{
	return &rows->cell[row * rows->columns + column];
}

/* -------------------------------------------------------------------- table */

static uint64_t most_of(const struct cli_rows *rows, unsigned int column, size_t n)
{
	uint64_t most = 1;

	for (size_t i = 0; i < n; i++)
		if (cell_at(rows, i, column)->number > most)
			most = cell_at(rows, i, column)->number;
	return most;
}

static void print_number(struct cli_table *table, const struct cli_rows *rows, enum cli_cell kind,
			 uint64_t number)
{
	char text[CLI_NUMBER_MAX];

	switch (kind) {
	case CLI_CELL_COUNT:
		cli_table_add(table, "%s", cli_print_count(text, number));
		break;
	case CLI_CELL_NS:
		cli_table_add(table, "%s", cli_print_ns(text, number));
		break;
	case CLI_CELL_BYTES:
		cli_table_add(table, "%s", cli_print_bytes(text, number));
		break;
	case CLI_CELL_MEMORY:
		cli_table_add(table, "%s", number ? cli_print_memory(text, number) : "0");
		break;
	case CLI_CELL_POWER:
		cli_table_add(table, "%s", number ? cli_print_size(text, number) : "0 KiB");
		break;
	case CLI_CELL_TIME:
		number = number > rows->begin_ns ? number - rows->begin_ns : 0;
		cli_table_add(table, "%.6f s", (double)number / 1e9);
		break;
	default:
		cli_table_add(table, "%llu", (unsigned long long)number);
	}
}

static char *heads_of(const struct cli_rows *rows)
{
	char *heads = NULL, *longer;

	for (unsigned int i = 0; i < rows->columns; i++) {
		const struct cli_column *column = &rows->column[i];
		const bool left = column->kind == CLI_CELL_TEXT || column->kind == CLI_CELL_BAR;

		if (!column->head)
			continue;
		longer = cli_format("%s%s%s%s", heads ? heads : "", heads ? "|" : "",
				    left ? "" : ">", column->head);
		free(heads);
		heads = longer;
	}
	return heads;
}

void cli_rows_print(const struct cli_rows *rows, FILE *file, unsigned int indent, size_t top)
{
	const size_t n = limit(rows, top);
	char *heads = heads_of(rows);
	struct cli_table *table = cli_table_create(heads);

	for (size_t i = 0; i < n; i++)
		for (unsigned int j = 0; j < rows->columns; j++) {
			const struct cell *cell = cell_at(rows, i, j);

			if (!rows->column[j].head)
				continue;
			if (cell->none || cell->text)
				cli_table_add(table, "%s", cell->none ? "-" : cell->text);
			else if (rows->column[j].kind == CLI_CELL_BAR)
				cli_table_add_bar(table, cell->number, most_of(rows, j, n));
			else
				print_number(table, rows, rows->column[j].kind, cell->number);
		}
	cli_table_print(table, file, indent);
	if (n < cli_rows_count(rows))
		fprintf(file, "%*s... and %zu more (--top 0 shows all)\n", (int)indent, "",
			cli_rows_count(rows) - n);
	free(heads);
}

/* ---------------------------------------------------------------- JSON, CSV */

json_t *cli_rows_json(const struct cli_rows *rows, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < limit(rows, top); i++) {
		json_t *object = json_object();

		for (unsigned int j = 0; j < rows->columns; j++) {
			const struct cell *cell = cell_at(rows, i, j);

			if (!rows->column[j].name)
				continue;
			json_object_set_new(object, rows->column[j].name,
					    cell->none ? json_null() :
					    cell->text ? cli_json_text(cell->text) :
							 json_integer((json_int_t)cell->number));
		}
		json_array_append_new(array, object);
	}
	return array;
}

int cli_rows_write_csv(const struct cli_rows *rows, size_t top)
{
	struct kl_buffer line = {};
	bool written = true;

	for (size_t i = 0; written && i <= limit(rows, top); i++) {
		const char *comma = "";

		for (unsigned int j = 0; j < rows->columns; j++) {
			const struct cell *cell = i ? cell_at(rows, i - 1, j) : NULL;

			if (!rows->column[j].name)
				continue;
			kl_buffer_add_string(&line, comma);
			comma = ",";
			if (!cell)
				kl_buffer_add_string(&line, rows->column[j].name);
			else if (cell->text)
				cli_print_csv_text(&line, cell->text, strlen(cell->text));
			else if (!cell->none)
				kl_buffer_add_unsigned(&line, cell->number, 0);
		}
		kl_buffer_add_char(&line, '\n');
		written = cli_write_buffer(&line, stdout);
	}
	kl_buffer_deinit(&line);
	return written ? CLI_OK : CLI_FAILED;
}

/* --------------------------------------------------------------- histograms */

void cli_rows_add_buckets(struct cli_rows *rows, const uint64_t *const *bucket, unsigned int n,
			  unsigned int buckets, uint64_t unit)
{
	unsigned int first = buckets, last = 0;

	for (unsigned int i = 0; i < buckets; i++)
		for (unsigned int j = 0; j < n; j++) {
			if (!bucket[j][i])
				continue;
			first = first < i ? first : i;
			last = i;
		}
	for (unsigned int i = first; i <= last && first < buckets; i++) {
		uint64_t sum = 0;

		cli_rows_add_number(rows, i ? unit << (i - 1) : 0);
		if (i < buckets - 1)
			cli_rows_add_number(rows, unit << i);
		else
			cli_rows_add_none(rows);
		for (unsigned int j = 0; j < n; j++) {
			cli_rows_add_number(rows, bucket[j][i]);
			sum += bucket[j][i];
		}
		cli_rows_add_number(rows, sum);
	}
}
