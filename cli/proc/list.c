// SPDX-License-Identifier: GPL-2.0
/* Print lists of processes with the requested columns, as text, CSV and JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/output.h"
#include "list.h"

#define USER "user"

static const struct kl_process_column *column_of(const struct cli_proc_list *list, size_t i)
{
	return kl_processes_column(list->table, (size_t)list->column[i]);
}

/* A cgroup is shown by its path. */
static bool is_cgroup(const struct cli_proc_list *list, size_t i)
{
	const struct kl_process_column *column = column_of(list, i);

	return column->kind == KL_PROCESS_VALUE &&
	       column->variable->field.format == KL_FORMAT_cgroup;
}

int cli_proc_add_column(struct cli_proc_list *list, const char *name)
{
	int column = kl_processes_add(list->table, strcmp(name, USER) ? name : "uid");

	if (column < 0) {
		cli_error(column, "%s", kl_error_text());
		return CLI_USAGE;
	}
	list->column = reallocarray(list->column, list->n + 1, sizeof(*list->column));
	list->name = reallocarray(list->name, list->n + 1, sizeof(*list->name));
	if (!list->column || !list->name)
		abort();
	list->column[list->n] = column;
	list->name[list->n++] = cli_format("%s", name);
	if (is_cgroup(list, list->n - 1) && !list->cgroups)
		list->cgroups = kl_cgroups_of_system();
	return CLI_OK;
}

void cli_proc_deinit(struct cli_proc_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->name[i]);
	free(list->name);
	free(list->column);
	kl_cgroups_destroy(list->cgroups);
	kl_processes_destroy(list->table);
}

/**
 * struct cell - contents of a cell
 * @user: name of the user, in the column `user`; NULL: none
 * @number: NAN: there is none
 */
struct cell {
	const struct kl_process_column *column;
	struct kl_value value;
	double number;
	const char *user;
};

static bool is_user(const struct cli_proc_list *list, size_t i)
{
	return !strcmp(list->name[i], USER);
}

static bool is_value(const struct kl_process_column *column)
{
	return column->kind == KL_PROCESS_VALUE;
}

bool cli_proc_has_rates(const struct cli_proc_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (column_of(list, i)->kind == KL_PROCESS_RATE ||
		    column_of(list, i)->kind == KL_PROCESS_CPU)
			return true;
	return false;
}

static struct cell cell_of(const struct cli_proc_list *list, size_t row, size_t i)
{
	size_t column = (size_t)list->column[i];
	struct cell cell = {
		.column = column_of(list, i),
		.value = kl_processes_value(list->table, row, column),
		.number = kl_processes_number(list->table, row, column),
	};

	if (is_user(list, i))
		cell.user = cli_user_name((uint32_t)cell.value.number);
	return cell;
}

/* ------------------------------------------------------------------- text */

static void print_number(struct kl_buffer *buffer, const struct kl_process_column *column,
			 double number)
{
	const char *unit = column->variable->unit;
	const char *second = column->kind == KL_PROCESS_RATE ? "/s" : "";
	char text[CLI_NUMBER_MAX];

	if (column->kind == KL_PROCESS_CPU || column->kind == KL_PROCESS_MEMORY)
		kl_buffer_printf(buffer, "%.1f", number);
	else if (!strcmp(unit, "B") && number >= 0)
		kl_buffer_printf(buffer, "%s%s", cli_print_bytes(text, (uint64_t)number), second);
	else if (!strcmp(unit, "ns") && number >= 0)
		kl_buffer_printf(buffer, "%s%s", cli_print_ns(text, (uint64_t)number), second);
	else if (column->kind == KL_PROCESS_RATE)
		kl_buffer_printf(buffer, "%.1f", number);
	else
		kl_buffer_printf(buffer, "%.0f", number);
}

/* Append a cell in human-readable form. */
static void print_cell(struct kl_buffer *buffer, const struct cli_proc_list *list, size_t row,
		       size_t i)
{
	struct cell cell = cell_of(list, row, i);

	if (is_cgroup(list, i) && kl_print_cgroup(buffer, list->cgroups, cell.value.number)) {
		kl_buffer_add_char(buffer, 0);
		return;
	}
	if (cell.user)
		kl_buffer_add_string(buffer, cell.user);
	else if (cell.value.field->type == KL_TYPE_TEXT)
		kl_buffer_add(buffer, cell.value.bytes, cell.value.length);
	else if (isnan(cell.number))
		kl_buffer_add_char(buffer, '-');
	else if (is_value(cell.column) && !*cell.column->variable->unit)
		kl_print_value(buffer, &cell.value);
	else
		print_number(buffer, cell.column, cell.number);
	kl_buffer_add_char(buffer, 0);
}

static bool is_left(const struct cli_proc_list *list, size_t i)
{
	const struct kl_variable *v = column_of(list, i)->variable;

	return is_user(list, i) || is_cgroup(list, i) || v->field.type == KL_TYPE_TEXT ||
	       v->field.format == KL_FORMAT_task_state;
}

static char *make_heads(const struct cli_proc_list *list)
{
	char *heads = cli_format("%s", "");

	for (size_t i = 0; i < list->n; i++) {
		char *more = cli_format("%s%s%s%s", heads, i ? "|" : "",
					is_left(list, i) ? "" : ">", list->name[i]);

		free(heads);
		heads = more;
	}
	return heads;
}

static void add_row(const struct cli_proc_list *list, struct cli_table *table, size_t row)
{
	int depth = (int)kl_processes_depth(list->table, row);
	struct kl_buffer cell = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		bool stands = !strcmp(list->name[i], "comm") && depth;

		kl_buffer_reset(&cell);
		print_cell(&cell, list, row, i);
		cli_table_add(table, "%*s%s%s", stands ? 2 * (depth - 1) : 0, "",
			      stands ? "\\_ " : "", cell.data);
	}
	kl_buffer_deinit(&cell);
}

static size_t rows_of(const struct cli_proc_list *list)
{
	size_t rows = kl_processes_count(list->table);

	return list->rows && list->rows < rows ? list->rows : rows;
}

static void print_text(const struct cli_proc_list *list)
{
	char *heads = make_heads(list);
	struct cli_table *table = cli_table_create(heads);
	bool there;

	for (size_t row = 0; row < rows_of(list); row++)
		if (kl_processes_row(list->table, row, &there), there)
			add_row(list, table, row);
	cli_table_print(table, stdout, 0);
	free(heads);
}

/* -------------------------------------------------------------------- data */

/* Numbers without units, texts in quotes. */
static void print_data(struct kl_buffer *buffer, struct cell cell)
{
	if (cell.user)
		cli_print_csv_text(buffer, cell.user, strlen(cell.user));
	else if (cell.value.field->type == KL_TYPE_TEXT)
		cli_print_csv_text(buffer, (const char *)cell.value.bytes, cell.value.length);
	else if (is_value(cell.column) && cell.value.field->type == KL_TYPE_U64)
		kl_buffer_add_unsigned(buffer, cell.value.number, 1);
	else if (is_value(cell.column))
		kl_buffer_add_signed(buffer, (long long)cell.value.number);
	else if (!isnan(cell.number))
		kl_buffer_printf(buffer, "%.3f", cell.number);
}

static void print_csv(const struct cli_proc_list *list)
{
	struct kl_buffer line = { 0 };
	bool there;

	kl_buffer_add_string(&line, "id");
	for (size_t i = 0; i < list->n; i++)
		kl_buffer_printf(&line, ",%s", list->name[i]);
	kl_buffer_add_char(&line, '\n');
	for (size_t row = 0; row < rows_of(list); row++) {
		kl_buffer_add_signed(&line, kl_processes_row(list->table, row, &there));
		for (size_t i = 0; i < list->n; i++) {
			kl_buffer_add_char(&line, ',');
			if (there)
				print_data(&line, cell_of(list, row, i));
		}
		kl_buffer_add_char(&line, '\n');
	}
	cli_write_buffer(&line, stdout);
	kl_buffer_deinit(&line);
}

static void print_json_cell(struct kl_buffer *buffer, struct cell cell)
{
	if (cell.user)
		kl_print_json_string(buffer, cell.user, strlen(cell.user));
	else if (is_value(cell.column))
		kl_print_json_value(buffer, &cell.value);
	else if (isnan(cell.number))
		kl_buffer_add_string(buffer, "null");
	else
		kl_buffer_printf(buffer, "%.3f", cell.number);
}

static void print_json_row(struct kl_buffer *buffer, const struct cli_proc_list *list, size_t row)
{
	bool there;

	kl_buffer_printf(buffer, "{\"id\":%d", kl_processes_row(list->table, row, &there));
	kl_buffer_printf(buffer, ",\"there\":%s", there ? "true" : "false");
	for (size_t i = 0; i < list->n && there; i++) {
		kl_buffer_printf(buffer, ",\"%s\":", list->name[i]);
		print_json_cell(buffer, cell_of(list, row, i));
	}
	kl_buffer_add_char(buffer, '}');
}

/* Written by hand: the JSON library has no unsigned 64-bit integers. */
static void print_json(const struct cli_proc_list *list)
{
	struct kl_buffer buffer = { 0 };

	kl_buffer_printf(&buffer, "{\"monotonic_ns\":%llu,\"processes\":[",
			 (unsigned long long)kl_processes_time_ns(list->table));
	for (size_t row = 0; row < rows_of(list); row++) {
		kl_buffer_add_string(&buffer, row ? ",\n" : "\n");
		print_json_row(&buffer, list, row);
	}
	kl_buffer_add_string(&buffer, "\n]}\n");
	cli_write_buffer(&buffer, stdout);
	kl_buffer_deinit(&buffer);
}

void cli_proc_print(const struct cli_proc_list *list, enum cli_proc_style style)
{
	switch (style) {
	case CLI_PROC_TEXT:
		print_text(list);
		break;
	case CLI_PROC_CSV:
		print_csv(list);
		break;
	case CLI_PROC_JSON:
		print_json(list);
		break;
	}
}
