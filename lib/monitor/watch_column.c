// SPDX-License-Identifier: GPL-2.0
/*
 * The variables of alarm rules: the columns of tables of processes, by their own names and those of
 * ps, with the units of their numbers.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <kernlens/format.h>
#include "../base/base.h"
#include "../base/names.h"
#include "watch.h"

/* Names used by ps and /proc. */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "majflt", "maj_faults" }, { "maj_flt", "maj_faults" },
	{ "minflt", "min_faults" }, { "min_flt", "min_faults" },
	{ "vsz", "vm_size" },	    { "rssize", "rss" },
	{ "nlwp", "threads" },	    { "ni", "nice" },
	{ "pri", "priority" },	    { "stat", "state" },
	{ "time", "cpu_time" },	    { "pcpu", "cpu%" },
	{ "pmem", "mem%" },	    { "user", "uid" },
	{ "fds", "open_files" },
};

/* Columns that are not variables; "processes" is not a column of the table. */
static const char *const others[] = {
	"cpu%", "mem%", "io/s", "switches/s", "faults/s", "processes"
};

static const char *resolve_alias(const char *name, size_t length)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(aliases); i++)
		if (strlen(aliases[i].alias) == length && !memcmp(aliases[i].alias, name, length))
			return aliases[i].name;
	return NULL;
}

static int fail_unknown(const char *name)
{
	const struct kl_variable *v;
	struct kl_near near;

	kl_near_init(&near, name, strlen(name));
	for (unsigned int i = 0; (v = kl_variable_get(i)); i++)
		if (kl_variable_is_inspected(v))
			kl_near_offer(&near, v->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++)
		kl_near_offer(&near, others[i]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(aliases); i++)
		kl_near_offer(&near, aliases[i].alias);
	if (near.best)
		return kl_fail(EINVAL, "unknown variable \"%s\"; did you mean \"%s\"?", name,
			       near.best);
	return kl_fail(EINVAL, "unknown variable \"%s\" (kernlens list variables shows them)",
		       name);
}

/* Set the unit of a variable's numbers. */
static void set_unit(struct kl_watch_column *column, const struct kl_variable *v)
{
	column->scale = 1;
	column->is_machine = !strcmp(v->scope, "system");
	if (v->field.type == KL_TYPE_TEXT) {
		column->unit = KL_WATCH_TEXT;
	} else if (v->field.format == KL_FORMAT_task_state) {
		column->unit = KL_WATCH_STATE;
	} else if (!strcmp(v->unit, "B")) {
		column->unit = KL_WATCH_BYTES;
	} else if (!strcmp(v->unit, "KiB")) {
		column->unit = KL_WATCH_BYTES;
		column->scale = 1.0 / 1024;
	} else if (!strcmp(v->unit, "pages")) {
		column->unit = KL_WATCH_BYTES;
		column->scale = 1.0 / (double)sysconf(_SC_PAGESIZE);
	} else if (!strcmp(v->unit, "ns")) {
		column->unit = KL_WATCH_TIME;
	} else {
		column->unit = KL_WATCH_COUNT;
		column->scale = !strcmp(v->unit, "1/1000") ? 1000 : 1;
	}
}

/* Find one of the columns that are not variables. */
static bool find_other(struct kl_watch_column *column, const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++) {
		if (strcmp(others[i], name) != 0)
			continue;
		snprintf(column->name, sizeof(column->name), "%s", name);
		column->scale = 1;
		column->is_rate = strcmp(name, "mem%") && strcmp(name, "processes");
		column->unit = strchr(name, '%')     ? KL_WATCH_PERCENT :
			       !strcmp(name, "io/s") ? KL_WATCH_BYTES :
						       KL_WATCH_COUNT;
		return true;
	}
	return false;
}

bool kl_watch_column_is_share(const char *name, size_t length)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++)
		if (strlen(others[i]) == length && !memcmp(others[i], name, length))
			return true;
	return false;
}

int kl_watch_column_find(struct kl_watch_column *column, const char *name)
{
	size_t length = strlen(name);
	bool rate = length > 2 && !strcmp(name + length - 2, "/s");
	const char *alias = resolve_alias(name, rate ? length - 2 : length);
	const struct kl_variable *v;
	char word[64];

	*column = (struct kl_watch_column){ .at = -1 };
	snprintf(word, sizeof(word), "%s%s", alias ? alias : name, alias && rate ? "/s" : "");
	if (find_other(column, word))
		return 0;
	column->is_rate = rate;
	snprintf(column->name, sizeof(column->name), "%s", word);
	if (rate)
		word[strlen(word) - 2] = 0;
	v = kl_variable_find(word);
	if (!v)
		return fail_unknown(name);
	if (!kl_variable_is_inspected(v))
		return kl_fail(EINVAL, "%s is available only when an event fires", word);
	set_unit(column, v);
	if (rate && (column->unit == KL_WATCH_TEXT || column->unit == KL_WATCH_STATE))
		return kl_fail(EINVAL, "%s is not a number: it has no rate", word);
	return 0;
}

/* -------------------------------------------------------------------- text */

static void print_scaled(char text[KL_WATCH_VALUE_MAX], double number, double step,
			 const char *const *units, size_t n)
{
	size_t unit = 0;

	while (unit + 1 < n && fabs(number) >= step) {
		number /= step;
		unit++;
	}
	snprintf(text, KL_WATCH_VALUE_MAX, "%.*f%s", unit ? 1 : 0, number, units[unit]);
}

void kl_watch_print(char text[KL_WATCH_VALUE_MAX], const struct kl_watch_column *column,
		    const struct kl_watch_cell *cell)
{
	static const char *const bytes[] = { "B", "K", "M", "G", "T" };
	static const char *const times[] = { "ns", "us", "ms", "s" };
	double number = cell->number / column->scale;

	if (cell->text)
		snprintf(text, KL_WATCH_VALUE_MAX, "%s", cell->text);
	else if (isnan(number))
		snprintf(text, KL_WATCH_VALUE_MAX, "?");
	else if (column->unit == KL_WATCH_BYTES)
		print_scaled(text, number, 1024, bytes, KL_ARRAY_SIZE(bytes));
	else if (column->unit == KL_WATCH_TIME)
		print_scaled(text, number, 1000, times, KL_ARRAY_SIZE(times));
	else if (column->unit == KL_WATCH_PERCENT)
		snprintf(text, KL_WATCH_VALUE_MAX, "%.1f%%", number);
	else
		snprintf(text, KL_WATCH_VALUE_MAX, "%.*f",
			 column->is_rate || column->scale != 1 ? 2 : 0, number);
}
