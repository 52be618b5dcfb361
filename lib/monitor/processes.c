// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of processes. Fed by the device's answers; read by the command's lists, the full-screen
 * view and alarms. Rates are differences to the previous answer for the same process: same id, and
 * same start time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/processes.h>
#include "../base/base.h"
#include "processes.h"

static const char *const hidden[KL_HIDDEN_COUNT] = { "tid", "pid", "ppid", "start_time" };

/* The sum of two variables, or its rate. */
static const struct {
	const char *name, *variable, *other;
	enum kl_process_kind kind;
} sums[] = {
	{ "shared", "rss_file", "rss_shmem", KL_PROCESS_SUM },
	{ "io_bytes", "io_read_bytes", "io_write_bytes", KL_PROCESS_SUM },
	{ "io/s", "io_read_bytes", "io_write_bytes", KL_PROCESS_RATE },
	{ "switches/s", "nvcsw", "nivcsw", KL_PROCESS_RATE },
	{ "faults/s", "min_faults", "maj_faults", KL_PROCESS_RATE },
};

struct kl_processes *kl_processes_create(struct kl_device *device)
{
	struct kl_processes *p = calloc(1, sizeof(*p));

	if (p)
		p->device = device;
	else
		kl_fail(ENOMEM, "out of memory");
	return p;
}

void kl_processes_destroy(struct kl_processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_columns; i++)
		free(p->columns[i].public.name);
	kl_inspect_destroy(p->inspect);
	free(p->columns);
	free(p->ids);
	free(p->order);
	free(p->depth);
	free(p->rates);
	free(p->old);
	free(p->old_numbers);
	free(p);
}

/* ---------------------------------------------------------------- columns */

/* Index of a variable in the inspection; adds it if necessary. */
static int ask_for(struct kl_processes *p, const struct kl_variable *variable)
{
	uint32_t *ids;

	for (size_t i = 0; i < p->n_ids; i++)
		if (p->ids[i] == variable->id)
			return (int)i;
	ids = kl_array_grow(p->ids, p->n_ids, &p->ids_room, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	p->ids = ids;
	p->ids[p->n_ids] = variable->id;
	return (int)p->n_ids++;
}

static int ask_for_hidden(struct kl_processes *p)
{
	for (size_t i = 0; i < KL_HIDDEN_COUNT; i++)
		if (ask_for(p, kl_variable_find(hidden[i])) < 0)
			return -ENOMEM;
	return 0;
}

/* Parse the name of a variable, or of its rate. */
static const struct kl_variable *parse_variable(const char *name, enum kl_process_kind *kind)
{
	size_t length = strlen(name);
	const struct kl_variable *v;
	char *of;

	*kind = length > 2 && !strcmp(name + length - 2, "/s") ? KL_PROCESS_RATE : KL_PROCESS_VALUE;
	of = strndupa(name, *kind == KL_PROCESS_RATE ? length - 2 : length);
	v = kl_variable_find(of);
	if (!v)
		kl_fail(EINVAL, "unknown variable \"%s\" (kernlens list variables shows them)", of);
	else if (!kl_variable_is_inspected(v))
		kl_fail(EINVAL, "%s is available only when an event fires", of);
	else if (*kind == KL_PROCESS_RATE && v->field.type == KL_TYPE_TEXT)
		kl_fail(EINVAL, "%s is a string: it has no rate", of);
	else
		return v;
	return NULL;
}

/* Resolve a column's name. @other: the second variable of the column, or NULL. */
static const struct kl_variable *parse(const char *name, struct kl_column_data *column,
				       const struct kl_variable **other)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(sums); i++)
		if (!strcmp(sums[i].name, name)) {
			column->public.kind = sums[i].kind;
			column->is_sum = true;
			*other = kl_variable_find(sums[i].other);
			return kl_variable_find(sums[i].variable);
		}
	if (!strcmp(name, "cpu%")) {
		column->public.kind = KL_PROCESS_CPU;
		return kl_variable_find("cpu_time");
	}
	if (!strcmp(name, "mem%")) {
		column->public.kind = KL_PROCESS_MEMORY;
		*other = kl_variable_find("total_memory");
		return kl_variable_find("rss");
	}
	return parse_variable(name, &column->public.kind);
}

int kl_processes_add(struct kl_processes *p, const char *name)
{
	const struct kl_variable *other = NULL;
	struct kl_column_data column = { 0 }, *columns;
	int at, more;

	for (size_t i = 0; i < p->n_columns; i++)
		if (!strcmp(p->columns[i].public.name, name))
			return (int)i;
	if (ask_for_hidden(p))
		return -ENOMEM;
	column.public.variable = parse(name, &column, &other);
	if (!column.public.variable)
		return -EINVAL;
	columns = kl_array_grow(p->columns, p->n_columns, &p->columns_room, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	p->columns = columns;
	at = ask_for(p, column.public.variable);
	more = other ? ask_for(p, other) : 0;
	column.public.name = strdup(name);
	if (at < 0 || more < 0 || !column.public.name) {
		free(column.public.name);
		return kl_fail(ENOMEM, "out of memory");
	}
	column.at = (size_t)at;
	column.other = (size_t)more;
	p->columns[p->n_columns] = column;
	return (int)p->n_columns++;
}

const struct kl_process_column *kl_processes_column(const struct kl_processes *p, size_t column)
{
	return column < p->n_columns ? &p->columns[column].public : NULL;
}

/* ------------------------------------------------------------------- rates */

static double as_number(const struct kl_value *value)
{
	enum kl_type type = value->field->type;

	if (type == KL_TYPE_TEXT)
		return NAN;
	return type == KL_TYPE_U64 ? (double)value->number : (double)(int64_t)value->number;
}

static double plain(const struct kl_processes *p, size_t row, const struct kl_column_data *column)
{
	struct kl_value value = kl_inspect_value(p->inspect, row, column->at);
	struct kl_value other;

	if (!column->is_sum)
		return as_number(&value);
	other = kl_inspect_value(p->inspect, row, column->other);
	return as_number(&value) + as_number(&other);
}

int kl_process_old_compare(const void *a, const void *b)
{
	const struct kl_process_old *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Store the current values, to compare the next answer with. */
static int keep_old(struct kl_processes *p)
{
	struct kl_process_old *old = calloc(p->there + 1, sizeof(*old));
	double *numbers = calloc(p->there * p->n_columns + 1, sizeof(*numbers));

	if (!old || !numbers) {
		free(old);
		free(numbers);
		return kl_fail(ENOMEM, "out of memory");
	}
	free(p->old);
	free(p->old_numbers);
	p->old = old;
	p->old_numbers = numbers;
	p->n_old = 0;
	for (size_t row = 0; row < p->there; row++) {
		bool there;
		int32_t id = kl_inspect_row(p->inspect, row, &there);

		if (!there)
			continue;
		for (size_t i = 0; i < p->n_columns; i++)
			numbers[p->n_old * p->n_columns + i] = plain(p, row, &p->columns[i]);
		old[p->n_old] =
			(struct kl_process_old){ id, kl_processes_hidden(p, row, KL_HIDDEN_START),
						 p->n_old };
		p->n_old++;
	}
	qsort(old, p->n_old, sizeof(*old), kl_process_old_compare);
	p->old_ns = kl_inspect_time_ns(p->inspect);
	return 0;
}

/* The previous values of the process in @row. */
static const struct kl_process_old *find_old(const struct kl_processes *p, size_t row)
{
	struct kl_process_old key = { 0 };
	const struct kl_process_old *found;
	bool there;

	key.id = kl_inspect_row(p->inspect, row, &there);
	if (!there || !p->n_old)
		return NULL;
	found = bsearch(&key, p->old, p->n_old, sizeof(key), kl_process_old_compare);
	return found && found->start == kl_processes_hidden(p, row, KL_HIDDEN_START) ? found : NULL;
}

static double rate(const struct kl_processes *p, size_t row, const struct kl_process_old *old,
		   size_t i)
{
	double before = p->old_numbers[old->row * p->n_columns + i];
	double seconds = (double)(kl_inspect_time_ns(p->inspect) - p->old_ns) / 1e9;
	double grown = plain(p, row, &p->columns[i]) - before;

	if (seconds <= 0)
		return NAN;
	/* 100 % is one second of CPU time (in ns) per second. */
	return p->columns[i].public.kind == KL_PROCESS_CPU ? grown / seconds / 1e7 :
							     grown / seconds;
}

static bool has_rate(const struct kl_column_data *column)
{
	return column->public.kind == KL_PROCESS_RATE || column->public.kind == KL_PROCESS_CPU;
}

static int make_rates(struct kl_processes *p)
{
	double *rates = calloc(p->there * p->n_columns + 1, sizeof(*rates));

	if (!rates)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t row = 0; row < p->there; row++) {
		const struct kl_process_old *old = find_old(p, row);

		for (size_t i = 0; i < p->n_columns; i++)
			rates[row * p->n_columns + i] =
				old && has_rate(&p->columns[i]) ? rate(p, row, old, i) : NAN;
	}
	free(p->rates);
	p->rates = rates;
	return 0;
}

/* ------------------------------------------------------------------ reading */

static int reset_order(struct kl_processes *p)
{
	size_t *order = calloc(p->there + 1, sizeof(*order));

	if (!order)
		return kl_fail(ENOMEM, "out of memory");
	free(p->order);
	free(p->depth);
	p->order = order;
	p->depth = NULL;
	p->n = p->there;
	for (size_t i = 0; i < p->n; i++)
		order[i] = i;
	return 0;
}

int kl_processes_read(struct kl_processes *p, const int32_t *ids, size_t n, unsigned int flags)
{
	int ret = ask_for_hidden(p);

	if (!ret && !p->inspect) {
		p->inspect = kl_inspect_create(p->device, p->ids, p->n_ids);
		ret = p->inspect ? 0 : -ENOMEM;
	} else if (!ret) {
		ret = keep_old(p);
	}
	if (ret)
		return ret;
	p->n = 0;
	p->there = 0;
	ret = kl_inspect_read(p->inspect, ids, n, flags);
	if (ret < 0)
		return ret;
	p->there = (size_t)ret;
	ret = make_rates(p);
	if (!ret)
		ret = reset_order(p);
	return ret ? ret : (int)p->n;
}

size_t kl_processes_count(const struct kl_processes *p)
{
	return p->n;
}

uint64_t kl_processes_time_ns(const struct kl_processes *p)
{
	return kl_inspect_time_ns(p->inspect);
}

int32_t kl_processes_row(const struct kl_processes *p, size_t row, bool *there)
{
	return kl_inspect_row(p->inspect, p->order[row], there);
}

struct kl_value kl_processes_value(const struct kl_processes *p, size_t row, size_t column)
{
	return kl_inspect_value(p->inspect, p->order[row], p->columns[column].at);
}

/* The number in a row of the inspection. */
static double number(const struct kl_processes *p, size_t row, size_t i)
{
	const struct kl_column_data *column = &p->columns[i];
	bool there;

	kl_inspect_row(p->inspect, row, &there);
	if (!there)
		return NAN;
	if (has_rate(column))
		return p->rates[row * p->n_columns + i];
	if (column->public.kind == KL_PROCESS_MEMORY)
		return 100 * plain(p, row, column) /
		       (double)kl_inspect_value(p->inspect, row, column->other).number;
	return plain(p, row, column);
}

double kl_processes_number(const struct kl_processes *p, size_t row, size_t column)
{
	return number(p, p->order[row], column);
}

unsigned int kl_processes_depth(const struct kl_processes *p, size_t row)
{
	return p->depth ? p->depth[row] : 0;
}

/* ------------------------------------------------------------------- order */

size_t kl_processes_keep(struct kl_processes *p,
			 bool (*keep)(const struct kl_processes *processes, size_t row, void *data),
			 void *data)
{
	size_t n = 0;

	for (size_t row = 0; row < p->n; row++)
		if (keep(p, row, data))
			p->order[n++] = p->order[row];
	p->n = n;
	return n;
}

struct sorting {
	const struct kl_processes *p;
	size_t column;
	bool descending;
};

static int compare_cells(const struct sorting *s, size_t x, size_t y)
{
	size_t at = s->p->columns[s->column].at;
	double a, b;

	if (s->p->columns[s->column].public.variable->field.type == KL_TYPE_TEXT)
		return strncmp((const char *)kl_inspect_value(s->p->inspect, x, at).bytes,
			       (const char *)kl_inspect_value(s->p->inspect, y, at).bytes,
			       KL_COMM_LEN);
	a = number(s->p, x, s->column);
	b = number(s->p, y, s->column);
	return (a > b) - (a < b);
}

static bool is_unknown(const struct sorting *s, size_t row)
{
	return s->p->columns[s->column].public.variable->field.type != KL_TYPE_TEXT &&
	       isnan(number(s->p, row, s->column));
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct sorting *s = data;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int difference = is_unknown(s, x) - is_unknown(s, y);
	bool there;

	if (!difference)
		difference = s->descending ? compare_cells(s, y, x) : compare_cells(s, x, y);
	return difference ? difference :
			    kl_inspect_row(s->p->inspect, x, &there) -
				    kl_inspect_row(s->p->inspect, y, &there);
}

void kl_processes_sort(struct kl_processes *p, size_t column, bool descending)
{
	struct sorting s = { p, column, descending };

	free(p->depth);
	p->depth = NULL;
	qsort_r(p->order, p->n, sizeof(*p->order), compare_rows, &s);
}
