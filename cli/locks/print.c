// SPDX-License-Identifier: GPL-2.0
/* Prints the waits for locks: a table, with what each row mostly consists of, or stack traces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "../base/rows.h"
#include "print.h"

const char *const cli_locks_keys[KL_LOCKS_KEYS] = {
	[KL_LOCKS_BY_LOCK] = "lock",	     [KL_LOCKS_BY_TYPE] = "type",
	[KL_LOCKS_BY_FUNCTION] = "function", [KL_LOCKS_BY_PROCESS] = "process",
	[KL_LOCKS_BY_OWNER] = "owner",	     [KL_LOCKS_BY_STACK] = "stack",
	[KL_LOCKS_BY_CLASS] = "class",
};

const char *const cli_locks_heads[KL_LOCKS_KEYS] = {
	[KL_LOCKS_BY_LOCK] = "LOCK",	     [KL_LOCKS_BY_TYPE] = "TYPE",
	[KL_LOCKS_BY_FUNCTION] = "TAKEN IN", [KL_LOCKS_BY_PROCESS] = "WAITING",
	[KL_LOCKS_BY_OWNER] = "HELD BY",     [KL_LOCKS_BY_STACK] = "TAKEN IN",
	[KL_LOCKS_BY_CLASS] = "CLASS",
};

/* Whatever is not the key of the rows is a column that says what most of a row's time was. */
static const enum kl_lock_key details[] = { KL_LOCKS_BY_LOCK, KL_LOCKS_BY_FUNCTION,
					    KL_LOCKS_BY_OWNER };

/* --------------------------------------------------------------------- names */

static char *task_name(const struct kl_lock_row *row)
{
	if (!row->id)
		return cli_format("%s", row->name ? "idle" : "-");
	if (!row->name)
		return cli_format("%d", row->id);
	return cli_format("%s-%d", cli_clean_text(row->name, strlen(row->name)), row->id);
}

char *cli_locks_name(const struct kl_lock_row *row, enum kl_lock_key by)
{
	switch (by) {
	case KL_LOCKS_BY_LOCK:
		if (row->name)
			return cli_format("%s (%s)", cli_clean_text(row->name, strlen(row->name)),
					  kl_lock_type_name(row->type, false));
		if (row->address && row->id)
			return cli_format("%s at 0x%llx in process %d",
					  kl_lock_type_name(row->type, false),
					  (unsigned long long)row->address, row->id);
		if (row->member)
			return cli_format("%s at 0x%llx (%s)", kl_lock_type_name(row->type, false),
					  (unsigned long long)row->address, row->member);
		if (row->address)
			return cli_format("%s at 0x%llx", kl_lock_type_name(row->type, false),
					  (unsigned long long)row->address);
		return cli_format("%s", kl_lock_type_name(row->type, false));
	case KL_LOCKS_BY_CLASS:
		return cli_format("%s (%s)",
				  row->name ? cli_clean_text(row->name, strlen(row->name)) :
					      "unknown",
				  kl_lock_type_name(row->type, false));
	case KL_LOCKS_BY_TYPE:
		return cli_format("%s", kl_lock_type_name(row->type, true));
	case KL_LOCKS_BY_PROCESS:
	case KL_LOCKS_BY_OWNER:
		return task_name(row);
	default:
		return cli_format("%s", row->name ? cli_clean_text(row->name, strlen(row->name)) :
						    "unknown");
	}
}

/* ----------------------------------------------------------------- the table */

/* What most of the time of a row was, with its share; to be freed. */
static char *most_of(const struct cli_locks *l, const struct kl_lock_row *row, enum kl_lock_key by)
{
	size_t n;
	struct kl_lock_row *parts = kl_locks_rows(l->locks, by, l->by, row->key, &n);
	char *name, *text;

	if (!parts)
		return cli_format("-");
	name = cli_locks_name(&parts[0], by);
	if (n == 1 || !row->sum.ns)
		text = cli_format("%s", name);
	else
		text = cli_format("%s (%.0f%%)", name,
				  100.0 * (double)parts[0].sum.ns / (double)row->sum.ns);
	free(name);
	free(parts);
	return text;
}

static void add_numbers(struct cli_table *table, const struct kl_lock_sum *sum)
{
	char text[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", cli_print_ns(text, sum->ns));
	cli_table_add(table, "%s", cli_print_count(text, sum->waits));
	cli_table_add(table, "%s", cli_print_ns(text, sum->waits ? sum->ns / sum->waits : 0));
	cli_table_add(table, "%s", cli_print_ns(text, sum->worst_ns));
}

static void print_table(const struct cli_locks *l, const struct kl_lock_row *rows, size_t n,
			FILE *file)
{
	char *columns = cli_format(">TOTAL|>WAITS|>MEAN|>WORST|%s", cli_locks_heads[l->by]), *text;
	struct cli_table *table;

	for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++)
		if (details[i] != l->by) {
			text = cli_format("%s|%s", columns, cli_locks_heads[details[i]]);
			free(columns);
			columns = text;
		}
	table = cli_table_create(columns);
	for (size_t i = 0; i < n; i++) {
		add_numbers(table, &rows[i].sum);
		text = cli_locks_name(&rows[i], l->by);
		cli_table_add(table, "%s", text);
		free(text);
		for (size_t j = 0; j < sizeof(details) / sizeof(*details); j++) {
			if (details[j] == l->by)
				continue;
			text = most_of(l, &rows[i], details[j]);
			cli_table_add(table, "%s", text);
			free(text);
		}
	}
	cli_table_print(table, file, 0);
	free(columns);
}

/* ---------------------------------------------------------- stacks, histogram */

static void print_stacks(const struct cli_locks *l, const struct kl_lock_row *rows, size_t n,
			 FILE *file)
{
	for (size_t i = 0; i < n; i++) {
		char total[CLI_NUMBER_MAX], mean[CLI_NUMBER_MAX], worst[CLI_NUMBER_MAX];
		char waits[CLI_NUMBER_MAX];
		const struct kl_lock_sum *sum = &rows[i].sum;
		char *lock = most_of(l, &rows[i], KL_LOCKS_BY_LOCK);
		char *owner = most_of(l, &rows[i], KL_LOCKS_BY_OWNER);
		struct kl_buffer buffer = { 0 };

		fprintf(file, "%s%s in %s wait%s, mean %s, worst %s: %s, held by %s\n",
			i ? "\n" : "", cli_print_time(total, sum->ns),
			cli_print_count(waits, sum->waits), sum->waits == 1 ? "" : "s",
			cli_print_time(mean, sum->waits ? sum->ns / sum->waits : 0),
			cli_print_time(worst, sum->worst_ns), lock, owner);
		if (rows[i].key)
			kl_print_stack(&buffer, l->stacks, rows[i].key, 4);
		else
			kl_buffer_printf(&buffer, "    no stack trace (table full)\n");
		cli_write_buffer(&buffer, file);
		kl_buffer_deinit(&buffer);
		free(lock);
		free(owner);
	}
}

static void print_histogram(const struct kl_lock_row *rows, size_t n, FILE *file)
{
	static const struct cli_column columns[] = {
		{ "FROM", NULL, CLI_CELL_NS },
		{ "BELOW", NULL, CLI_CELL_NS },
		{ "WAITS", NULL, CLI_CELL_COUNT },
		{ "", NULL, CLI_CELL_BAR },
	};
	struct cli_rows *buckets = cli_rows_create(columns, 4, 0);
	uint64_t sum[KL_LOCK_BUCKETS] = { 0 };
	const uint64_t *const all = sum;

	for (unsigned int i = 0; i < KL_LOCK_BUCKETS; i++)
		for (size_t j = 0; j < n; j++)
			sum[i] += rows[j].sum.bucket[i];
	cli_rows_add_buckets(buckets, &all, 1, KL_LOCK_BUCKETS, 1);
	fprintf(file, "\n");
	cli_rows_print(buckets, file, 0, 0);
	cli_rows_destroy(buckets);
}

/* ------------------------------------------------------------------- results */

static void print_summary(const struct cli_locks *l, const struct kl_lock_row *rows, size_t n,
			  FILE *file)
{
	const struct kl_locks_counts *counts = kl_locks_counts(l->locks);
	char count[CLI_NUMBER_MAX], time[CLI_NUMBER_MAX], length[CLI_NUMBER_MAX];
	uint64_t unfinished = 0, failed = 0;

	for (size_t i = 0; i < n; i++) {
		unfinished += rows[i].sum.unfinished;
		failed += rows[i].sum.failed;
	}
	fprintf(file, "%s wait%s for locks in %s, %s in all\n%s",
		cli_print_count(count, counts->waits), counts->waits == 1 ? "" : "s",
		cli_print_time(length, counts->last_ns - counts->first_ns),
		cli_print_time(time, counts->ns), n ? "\n" : "");
	if (unfinished)
		fprintf(file, "%s of them had not ended\n\n", cli_print_count(count, unfinished));
	if (failed)
		fprintf(file, "%s of them ended without the lock\n\n",
			cli_print_count(count, failed));
}

static void print_missing(const struct cli_locks *l, FILE *file)
{
	const struct kl_locks_counts *counts = kl_locks_counts(l->locks);
	char lost[CLI_NUMBER_MAX], dropped[CLI_NUMBER_MAX], time[CLI_NUMBER_MAX];

	if (counts->conditions)
		fprintf(file,
			"\nnot shown: %s wait%s for conditions, barriers and threads, %s in all "
			"(--conditions)\n",
			cli_print_count(lost, counts->conditions),
			counts->conditions == 1 ? "" : "s",
			cli_print_time(time, counts->conditions_ns));
	if (l->lost)
		fprintf(file,
			"\n%s records are missing; %s waits in progress then are not counted\n",
			cli_print_count(lost, l->lost), cli_print_count(dropped, counts->dropped));
}

int cli_locks_print(const struct cli_locks *l, FILE *file)
{
	size_t n, shown;
	struct kl_lock_row *rows = kl_locks_rows(l->locks, l->by, KL_LOCKS_KEYS, 0, &n);

	if (!rows && errno)
		return cli_library_error(-errno, NULL);
	shown = l->top && l->top < n ? (size_t)l->top : n;
	print_summary(l, rows, n, file);
	if (l->by == KL_LOCKS_BY_STACK)
		print_stacks(l, rows, shown, file);
	else if (n)
		print_table(l, rows, shown, file);
	if (shown < n)
		fprintf(file, "%zu more: --top\n", n - shown);
	if (l->histogram && n)
		print_histogram(rows, n, file);
	print_missing(l, file);
	free(rows);
	return CLI_OK;
}

/* ---------------------------------------------------------------------- JSON */

static json_t *json_numbers(const struct kl_lock_sum *sum)
{
	json_t *buckets = json_array();
	unsigned int n = KL_LOCK_BUCKETS;

	while (n && !sum->bucket[n - 1])
		n--;
	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(buckets, json_integer((json_int_t)sum->bucket[i]));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "waits", (json_int_t)sum->waits,
			 "unfinished", (json_int_t)sum->unfinished, "failed",
			 (json_int_t)sum->failed, "ns", (json_int_t)sum->ns, "worst_ns",
			 (json_int_t)sum->worst_ns, "buckets", buckets);
}

void cli_locks_add_identity(json_t *to, const struct kl_stacks *stacks,
			    const struct kl_lock_row *row, enum kl_lock_key by)
{
	char *text = cli_locks_name(row, by);

	json_object_set_new(to, cli_locks_keys[by], cli_json_text(text));
	free(text);
	if (by == KL_LOCKS_BY_LOCK && row->member)
		json_object_set_new(to, "member", json_string(row->member));
	if (by == KL_LOCKS_BY_LOCK || by == KL_LOCKS_BY_CLASS)
		json_object_set_new(to, "type", json_string(kl_lock_type_name(row->type, false)));
	if (by == KL_LOCKS_BY_LOCK && row->id)
		json_object_set_new(to, "pid", json_integer(row->id));
	if (by == KL_LOCKS_BY_LOCK && row->address) {
		text = cli_format("0x%llx", (unsigned long long)row->address);
		json_object_set_new(to, "address", json_string(text));
		free(text);
	}
	if (by == KL_LOCKS_BY_PROCESS || by == KL_LOCKS_BY_OWNER)
		json_object_set_new(to, by == KL_LOCKS_BY_OWNER ? "owner_tid" : "pid",
				    json_integer(row->id));
	if (by == KL_LOCKS_BY_STACK && row->key)
		json_object_set_new(to, "frames", cli_json_stack(stacks, row->key));
}

/* The parts of a row by another key. */
static json_t *json_parts(const struct cli_locks *l, const struct kl_lock_row *row,
			  enum kl_lock_key by)
{
	size_t n;
	struct kl_lock_row *parts = kl_locks_rows(l->locks, by, l->by, row->key, &n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *part = json_pack("{s:I, s:I}", "waits", (json_int_t)parts[i].sum.waits,
					 "ns", (json_int_t)parts[i].sum.ns);

		cli_locks_add_identity(part, l->stacks, &parts[i], by);
		json_array_append_new(list, part);
	}
	free(parts);
	return list;
}

static json_t *json_row(const struct cli_locks *l, const struct kl_lock_row *row)
{
	json_t *object = json_numbers(&row->sum);

	cli_locks_add_identity(object, l->stacks, row, l->by);
	for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++)
		if (details[i] != l->by) {
			char *name = cli_format("%ss", cli_locks_keys[details[i]]);

			json_object_set_new(object, name, json_parts(l, row, details[i]));
			free(name);
		}
	return object;
}

int cli_locks_write_json(const struct cli_locks *l)
{
	size_t n;
	struct kl_lock_row *rows = kl_locks_rows(l->locks, l->by, KL_LOCKS_KEYS, 0, &n);
	const struct kl_locks_counts *counts = kl_locks_counts(l->locks);
	json_t *list = json_array();

	if (!rows && errno) {
		json_decref(list);
		return cli_library_error(-errno, NULL);
	}
	for (size_t i = 0; i < n && (!l->top || i < l->top); i++)
		json_array_append_new(list, json_row(l, &rows[i]));
	free(rows);
	return cli_json_write(
		json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "by",
			  cli_locks_keys[l->by], "conditions", (json_int_t)counts->conditions,
			  "conditions_ns", (json_int_t)counts->conditions_ns, "elapsed_ns",
			  (json_int_t)(counts->last_ns - counts->first_ns), "waits",
			  (json_int_t)counts->waits, "ns", (json_int_t)counts->ns, "unpaired",
			  (json_int_t)counts->unpaired, "dropped", (json_int_t)counts->dropped,
			  "lost", (json_int_t)l->lost, "rows", list));
}
