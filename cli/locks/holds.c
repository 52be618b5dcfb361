// SPDX-License-Identifier: GPL-2.0
/* Prints how often locks were taken, how long tasks waited for them and held them, and for whom. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../base/rows.h"
#include "holds.h"

/* What has been read from a trace. */
struct report {
	struct kl_lock_holds *holds;
	const struct kl_stacks *stacks;
	const struct cli_locks *how;
	uint64_t lost;
};

/* ----------------------------------------------------------------- selection */

unsigned int cli_lock_holds_kinds(const char *list)
{
	static const struct {
		const char *name;
		unsigned int kinds;
	} known[] = {
		{ "mutex", KL_LOCK_MUTEXES },	  { "rwsem", KL_LOCK_RWSEMS },
		{ "rtmutex", KL_LOCK_RTMUTEXES }, { "spinlock", KL_LOCK_SPINLOCKS },
		{ "rwlock", KL_LOCK_RWLOCKS },	  { "sleeping", KL_LOCK_SLEEPING },
		{ "all", KL_LOCK_ALL_KINDS },
	};
	unsigned int kinds = 0;

	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ","), i = 0;

		while (i < CLI_COUNT(known) &&
		       (strlen(known[i].name) != length || strncmp(known[i].name, at, length)))
			i++;
		if (i == CLI_COUNT(known))
			return 0;
		kinds |= known[i].kinds;
		at += length;
		if (!*at)
			return kinds;
	}
}

int cli_lock_holds_select(struct cli_select *select, const struct cli_command *command,
			  unsigned int kinds)
{
	struct kl_symbols *symbols = kl_symbols_open(NULL);
	struct kl_buffer specs = { 0 };
	size_t n;

	if (!symbols)
		return cli_library_error(-errno, NULL);
	n = kl_lock_holds_specs(&specs, kinds, symbols);
	kl_symbols_close(symbols);
	if (n) {
		cli_select_add(select, command, cli_format("%s", specs.data));
		select->variables = cli_format("%s", KL_LOCK_HOLDS_VARIABLES);
	}
	kl_buffer_deinit(&specs);
	return n ? CLI_OK : cli_error(-ENOENT, "this kernel has no functions for these locks");
}

/* ------------------------------------------------------------------- reading */

static int read_events(struct report *r, struct kl_trace *trace,
		       const struct cli_recording *recording)
{
	struct kl_item item;
	int error = 0;

	while (!error && kl_trace_next(trace, &item) > 0) {
		if (item.kind == KL_ITEM_LOSS) {
			r->lost += item.loss->records;
			kl_lock_holds_add_loss(r->holds);
		} else {
			error = kl_lock_holds_add(r->holds, item.event,
						  recording && cli_recording_is_own(recording,
										    item.event));
		}
	}
	return error;
}

/* ---------------------------------------------------------------------- text */

static char *owner_name(const struct kl_lock_clash *clash)
{
	const struct kl_lock_row row = { .id = clash->owner_tid, .name = clash->owner };

	return cli_locks_name(&row, KL_LOCKS_BY_OWNER);
}

/* Who had the lock in most of the time that was waited for it, with the share; to be freed. */
static char *most_owned(const struct report *r, const struct kl_lock_hold_row *row)
{
	size_t n;
	struct kl_lock_clash *clash = kl_lock_holds_clashes(r->holds, r->how->by, row->row.key, &n);
	uint64_t all = 0, most = 0;
	char *name = NULL, *text;
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t ns = 0;

		all += clash[i].ns;
		for (size_t j = 0; j < n; j++)
			ns += clash[j].owner_tid == clash[i].owner_tid ? clash[j].ns : 0;
		best = ns > most ? i : best;
		most = ns > most ? ns : most;
	}
	if (n && clash[best].owner_tid)
		name = owner_name(&clash[best]);
	free(clash);
	if (!name)
		return cli_format("-");
	if (most == all)
		return name;
	text = cli_format("%s (%.0f%%)", name, 100.0 * (double)most / (double)all);
	free(name);
	return text;
}

/* What most of the time of a row was, or most of its acquisitions; to be freed. */
static char *most_of(const struct report *r, const struct kl_lock_hold_row *row,
		     enum kl_lock_key by)
{
	size_t n;
	struct kl_lock_hold_row *parts =
		kl_lock_holds_rows(r->holds, by, r->how->by, row->row.key, &n);
	char *name, *text;

	if (!parts)
		return cli_format("-");
	name = cli_locks_name(&parts[0].row, by);
	text = n == 1 ? cli_format("%s", name) : cli_format("%s and %zu more", name, n - 1);
	free(name);
	free(parts);
	return text;
}

static void print_table(const struct report *r, const struct kl_lock_hold_row *rows, size_t n,
			FILE *file)
{
	const enum kl_lock_key by = r->how->by;
	const enum kl_lock_key other = by == KL_LOCKS_BY_FUNCTION ? KL_LOCKS_BY_LOCK :
								    KL_LOCKS_BY_FUNCTION;
	const bool owners = by != KL_LOCKS_BY_PROCESS;
	char *columns = cli_format(">TAKEN|>WAITS|>WAITED|>WORST|>HELD|>MEAN|>WORST|%s|%s%s",
				   cli_locks_heads[by], cli_locks_heads[other],
				   owners ? "|HELD BY" : "");
	struct cli_table *table = cli_table_create(columns);
	char text[CLI_NUMBER_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct kl_lock_hold_sum *sum = &rows[i].sum;
		const uint64_t ended = sum->taken - sum->unknown;
		char *names[3];

		names[0] = cli_locks_name(&rows[i].row, by);
		names[1] = most_of(r, &rows[i], other);
		names[2] = owners ? most_owned(r, &rows[i]) : NULL;
		cli_table_add(table, "%s", cli_print_count(text, sum->taken));
		cli_table_add(table, "%s", cli_print_count(text, sum->contended));
		cli_table_add(table, "%s", cli_print_ns(text, sum->waited_ns));
		cli_table_add(table, "%s", cli_print_ns(text, sum->worst_wait_ns));
		cli_table_add(table, "%s", cli_print_ns(text, sum->held_ns));
		cli_table_add(table, "%s", cli_print_ns(text, ended ? sum->held_ns / ended : 0));
		cli_table_add(table, "%s", cli_print_ns(text, sum->worst_held_ns));
		for (size_t j = 0; j < CLI_COUNT(names); j++) {
			if (names[j])
				cli_table_add(table, "%s", names[j]);
			free(names[j]);
		}
	}
	cli_table_print(table, file, 0);
	free(columns);
}

static void print_stack(const struct report *r, uint64_t id, FILE *file)
{
	struct kl_buffer buffer = { 0 };

	kl_print_stack(&buffer, r->stacks, id, 4);
	if (!buffer.length)
		kl_buffer_printf(&buffer, "    no stack trace (table full)\n");
	cli_write_buffer(&buffer, file);
	kl_buffer_deinit(&buffer);
}

/* For whom most of the time was waited that was waited in a place. */
static void print_owner(const struct report *r, uint64_t stack, FILE *file)
{
	size_t n;
	struct kl_lock_clash *clash = kl_lock_holds_clashes(r->holds, KL_LOCKS_BY_STACK, stack, &n);
	char text[CLI_NUMBER_MAX], waits[CLI_NUMBER_MAX];
	char *name;

	if (n) {
		name = owner_name(&clash[0]);
		fprintf(file, "  waited %s in %s wait%s while %s held it%s\n",
			cli_print_time(text, clash[0].ns), cli_print_count(waits, clash[0].waits),
			clash[0].waits == 1 ? "" : "s", name,
			clash[0].owner_stack ? ", which had taken it in" : "");
		free(name);
		if (clash[0].owner_stack)
			print_stack(r, clash[0].owner_stack, file);
	}
	free(clash);
}

static void print_stacks(const struct report *r, const struct kl_lock_hold_row *rows, size_t n,
			 FILE *file)
{
	for (size_t i = 0; i < n; i++) {
		char waited[CLI_NUMBER_MAX], held[CLI_NUMBER_MAX], worst[CLI_NUMBER_MAX];
		char taken[CLI_NUMBER_MAX];
		const struct kl_lock_hold_sum *sum = &rows[i].sum;
		char *lock = most_of(r, &rows[i], KL_LOCKS_BY_LOCK);

		fprintf(file, "%sheld %s, at most %s, waited %s: %s, taken %s time%s\n",
			i ? "\n" : "", cli_print_time(held, sum->held_ns),
			cli_print_time(worst, sum->worst_held_ns),
			cli_print_time(waited, sum->waited_ns), lock,
			cli_print_count(taken, sum->taken), sum->taken == 1 ? "" : "s");
		free(lock);
		print_stack(r, rows[i].row.key, file);
		print_owner(r, rows[i].row.key, file);
	}
}

static void print_histogram(const struct kl_lock_hold_sum *sum, FILE *file)
{
	static const struct cli_column columns[] = {
		{ "FROM", NULL, CLI_CELL_NS },	   { "BELOW", NULL, CLI_CELL_NS },
		{ "WAITS", NULL, CLI_CELL_COUNT }, { "HOLDS", NULL, CLI_CELL_COUNT },
		{ "", NULL, CLI_CELL_BAR },
	};
	const uint64_t *const both[] = { sum->wait, sum->held };
	struct cli_rows *buckets = cli_rows_create(columns, CLI_COUNT(columns), 0);

	cli_rows_add_buckets(buckets, both, 2, KL_LOCK_BUCKETS, 1);
	fprintf(file, "\n");
	cli_rows_print(buckets, file, 0, 0);
	cli_rows_destroy(buckets);
}

static void add_up(struct kl_lock_hold_sum *to, const struct kl_lock_hold_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct kl_lock_hold_sum *sum = &rows[i].sum;

		to->taken += sum->taken;
		to->failed += sum->failed;
		to->contended += sum->contended;
		to->unknown += sum->unknown;
		to->waited_ns += sum->waited_ns;
		to->held_ns += sum->held_ns;
		for (unsigned int j = 0; j < KL_LOCK_BUCKETS; j++) {
			to->wait[j] += sum->wait[j];
			to->held[j] += sum->held[j];
		}
	}
}

static void print_summary(const struct report *r, const struct kl_lock_hold_sum *all, FILE *file)
{
	const struct kl_lock_holds_counts *counts = kl_lock_holds_counts(r->holds);
	char taken[CLI_NUMBER_MAX], length[CLI_NUMBER_MAX], waits[CLI_NUMBER_MAX],
		waited[CLI_NUMBER_MAX], held[CLI_NUMBER_MAX];

	fprintf(file, "locks taken %s time%s in %s, held %s; %s wait%s, %s\n",
		cli_print_count(taken, all->taken), all->taken == 1 ? "" : "s",
		cli_print_time(length, counts->last_ns - counts->first_ns),
		cli_print_time(held, all->held_ns), cli_print_count(waits, all->contended),
		all->contended == 1 ? "" : "s", cli_print_time(waited, all->waited_ns));
	if (all->failed)
		fprintf(file, "%s attempt%s failed\n", cli_print_count(taken, all->failed),
			all->failed == 1 ? "" : "s");
	fprintf(file, "%s", all->taken || all->failed ? "\n" : "");
}

static void print_missing(const struct report *r, const struct kl_lock_hold_sum *all, FILE *file)
{
	const struct kl_lock_holds_counts *counts = kl_lock_holds_counts(r->holds);
	char text[CLI_NUMBER_MAX], dropped[CLI_NUMBER_MAX];

	if (all->unknown)
		fprintf(file, "\nof %s, the release was not seen; their times are not counted\n",
			cli_print_count(text, all->unknown));
	if (counts->unpaired)
		fprintf(file, "\n%s releases of locks that were not seen being taken\n",
			cli_print_count(text, counts->unpaired));
	if (r->lost)
		fprintf(file, "\n%s records are missing; %s locks in use then are not counted\n",
			cli_print_count(text, r->lost), cli_print_count(dropped, counts->dropped));
}

static int print_text(const struct report *r, FILE *file)
{
	const struct cli_locks *how = r->how;
	struct kl_lock_hold_sum all = { 0 };
	size_t n, shown;
	struct kl_lock_hold_row *rows = kl_lock_holds_rows(r->holds, how->by, KL_LOCKS_KEYS, 0, &n);

	if (!rows && errno)
		return cli_library_error(-errno, NULL);
	shown = how->top && how->top < n ? (size_t)how->top : n;
	add_up(&all, rows, n);
	print_summary(r, &all, file);
	if (how->by == KL_LOCKS_BY_STACK)
		print_stacks(r, rows, shown, file);
	else if (n)
		print_table(r, rows, shown, file);
	if (shown < n)
		fprintf(file, "%zu more: --top\n", n - shown);
	if (how->histogram && n)
		print_histogram(&all, file);
	print_missing(r, &all, file);
	free(rows);
	return CLI_OK;
}

/* ---------------------------------------------------------------------- JSON */

static json_t *json_buckets(const uint64_t *bucket)
{
	json_t *list = json_array();
	unsigned int n = KL_LOCK_BUCKETS;

	while (n && !bucket[n - 1])
		n--;
	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(list, json_integer((json_int_t)bucket[i]));
	return list;
}

static json_t *json_numbers(const struct kl_lock_hold_sum *sum)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "taken",
			 (json_int_t)sum->taken, "failed", (json_int_t)sum->failed, "waits",
			 (json_int_t)sum->contended, "unknown", (json_int_t)sum->unknown,
			 "waited_ns", (json_int_t)sum->waited_ns, "worst_wait_ns",
			 (json_int_t)sum->worst_wait_ns, "held_ns", (json_int_t)sum->held_ns,
			 "worst_held_ns", (json_int_t)sum->worst_held_ns, "wait_buckets",
			 json_buckets(sum->wait), "held_buckets", json_buckets(sum->held));
}

static json_t *json_parts(const struct report *r, const struct kl_lock_hold_row *row,
			  enum kl_lock_key by)
{
	size_t n;
	struct kl_lock_hold_row *parts =
		kl_lock_holds_rows(r->holds, by, r->how->by, row->row.key, &n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *part = json_pack("{s:I, s:I, s:I}", "taken", (json_int_t)parts[i].sum.taken,
					 "waited_ns", (json_int_t)parts[i].sum.waited_ns, "held_ns",
					 (json_int_t)parts[i].sum.held_ns);

		cli_locks_add_identity(part, r->stacks, &parts[i].row, by);
		json_array_append_new(list, part);
	}
	free(parts);
	return list;
}

/* The waits of a row, by where they waited and who had the lock. */
static json_t *json_clashes(const struct report *r, const struct kl_lock_hold_row *row)
{
	size_t n;
	struct kl_lock_clash *clash = kl_lock_holds_clashes(r->holds, r->how->by, row->row.key, &n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		char *owner = owner_name(&clash[i]);
		json_t *object = json_pack("{s:I, s:I, s:I, s:i, s:o}", "waits",
					   (json_int_t)clash[i].waits, "ns",
					   (json_int_t)clash[i].ns, "worst_ns",
					   (json_int_t)clash[i].worst_ns, "owner_tid",
					   (int)clash[i].owner_tid, "owner", cli_json_text(owner));

		free(owner);
		json_object_set_new(object, "frames", cli_json_stack(r->stacks, clash[i].stack));
		json_object_set_new(object, "owner_frames",
				    cli_json_stack(r->stacks, clash[i].owner_stack));
		json_array_append_new(list, object);
	}
	free(clash);
	return list;
}

static json_t *json_row(const struct report *r, const struct kl_lock_hold_row *row)
{
	const enum kl_lock_key by = r->how->by;
	json_t *object = json_numbers(&row->sum);

	cli_locks_add_identity(object, r->stacks, &row->row, by);
	if (by != KL_LOCKS_BY_LOCK)
		json_object_set_new(object, "locks", json_parts(r, row, KL_LOCKS_BY_LOCK));
	if (by != KL_LOCKS_BY_FUNCTION)
		json_object_set_new(object, "functions", json_parts(r, row, KL_LOCKS_BY_FUNCTION));
	if (by != KL_LOCKS_BY_PROCESS)
		json_object_set_new(object, "clashes", json_clashes(r, row));
	return object;
}

static int write_json(const struct report *r)
{
	const struct cli_locks *how = r->how;
	struct kl_lock_hold_sum all = { 0 };
	const struct kl_lock_holds_counts *counts = kl_lock_holds_counts(r->holds);
	size_t n;
	struct kl_lock_hold_row *rows = kl_lock_holds_rows(r->holds, how->by, KL_LOCKS_KEYS, 0, &n);
	json_t *list = json_array(), *object;

	if (!rows && errno) {
		json_decref(list);
		return cli_library_error(-errno, NULL);
	}
	add_up(&all, rows, n);
	for (size_t i = 0; i < n && (!how->top || i < how->top); i++)
		json_array_append_new(list, json_row(r, &rows[i]));
	free(rows);
	object = json_numbers(&all);
	json_object_del(object, "worst_wait_ns");
	json_object_del(object, "worst_held_ns");
	json_object_set_new(object, "by", json_string(cli_locks_keys[how->by]));
	json_object_set_new(object, "elapsed_ns",
			    json_integer((json_int_t)(counts->last_ns - counts->first_ns)));
	json_object_set_new(object, "unpaired", json_integer((json_int_t)counts->unpaired));
	json_object_set_new(object, "dropped", json_integer((json_int_t)counts->dropped));
	json_object_set_new(object, "lost", json_integer((json_int_t)r->lost));
	json_object_set_new(object, "rows", list);
	return cli_json_write(object);
}

int cli_lock_holds_print(struct kl_trace *trace, const struct cli_recording *recording,
			 const struct cli_locks *how, FILE *file)
{
	struct report r = { .how = how };
	int error, status;

	if (how->by == KL_LOCKS_BY_OWNER)
		return cli_error(-EINVAL, "--by owner is for waits, not for --holds");
	r.stacks = kl_schema_stacks(kl_trace_schema(trace));
	r.holds = kl_lock_holds_create(kl_trace_schema(trace));
	if (!r.holds)
		return cli_library_error(-errno, NULL);
	if (recording)
		kl_lock_holds_use_memory(r.holds);
	error = read_events(&r, trace, recording);
	if (error)
		status = cli_library_error(error, NULL);
	else
		status = cli_settings.json ? write_json(&r) : print_text(&r, file);
	kl_lock_holds_destroy(r.holds);
	return status;
}
