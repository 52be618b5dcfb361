// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of a latency profile: where tasks spent their time, and their waits by process, thread,
 * stack trace, reason or waker.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "print.h"

/**
 * struct group - waits that share a row
 * @key: what they have in common
 * @longest: entry with the largest sum
 */
struct group {
	const char *key;
	const struct kl_abi_latency_entry *longest;
	struct kl_abi_latency_sum sum;
};

/* Times of a process or thread. */
struct row {
	int id;
	const char *comm;
	unsigned int threads;
	struct kl_abi_latency_sum in[KL_LATENCY_STATES];
};

static void add_sum(struct kl_abi_latency_sum *to, const struct kl_abi_latency_sum *sum)
{
	to->count += sum->count;
	to->sum += sum->sum;
	if (sum->worst > to->worst)
		to->worst = sum->worst;
}

/* ------------------------------------------------------------------- times */

static int by_id(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sort key: time spent running or held up. Voluntary sleep does not count. */
static uint64_t weight(const struct row *row)
{
	return row->in[KL_LATENCY_RUNNING].sum + row->in[KL_LATENCY_RUNNABLE].sum +
	       row->in[KL_LATENCY_PREEMPTED].sum + row->in[KL_LATENCY_UNINTERRUPTIBLE].sum +
	       row->in[KL_LATENCY_IO].sum;
}

static int by_weight(const void *a, const void *b)
{
	uint64_t x = weight(a), y = weight(b);

	return x != y ? (x < y ? 1 : -1) : by_id(a, b);
}

/* One row per process, or per thread. */
static struct row *make_rows(const struct cli_latency *r, size_t *n)
{
	const struct kl_latency *l = r->latency;
	struct row *rows = cli_alloc((l->n_tasks + 1) * sizeof(*rows));
	bool threads = r->by == CLI_LATENCY_THREAD;
	size_t all = 0;

	*n = 0;
	for (size_t i = 0; i < l->n_tasks; i++) {
		const struct kl_abi_latency_task *t = &l->task[i];

		if (t->flags & KL_LATENCY_TASK_OUTSIDE)
			continue;
		rows[all] = (struct row){ threads ? t->tid : t->pid, t->comm, 1, {} };
		memcpy(rows[all++].in, t->in, sizeof(t->in));
	}
	qsort(rows, all, sizeof(*rows), by_id);
	for (size_t i = 0; i < all; i++) {
		if (!*n || threads || rows[*n - 1].id != rows[i].id) {
			rows[(*n)++] = rows[i];
			continue;
		}
		rows[*n - 1].threads++;
		for (unsigned int s = 0; s < KL_LATENCY_STATES; s++)
			add_sum(&rows[*n - 1].in[s], &rows[i].in[s]);
	}
	qsort(rows, *n, sizeof(*rows), by_weight);
	return rows;
}

static void add_time(struct cli_table *table, uint64_t ns)
{
	char text[CLI_NUMBER_MAX];

	cli_table_add(table, "%s", ns ? cli_print_ns(text, ns) : "-");
}

static void add_row(struct cli_table *table, const struct row *row)
{
	struct kl_abi_latency_sum wait = row->in[KL_LATENCY_RUNNABLE];

	add_sum(&wait, &row->in[KL_LATENCY_PREEMPTED]);
	cli_table_add(table, "%d", row->id);
	cli_table_add(table, "%.16s", row->comm);
	add_time(table, row->in[KL_LATENCY_RUNNING].sum);
	add_time(table, wait.sum);
	add_time(table, wait.worst);
	add_time(table, row->in[KL_LATENCY_IO].sum);
	add_time(table, row->in[KL_LATENCY_IO].worst);
	add_time(table, row->in[KL_LATENCY_UNINTERRUPTIBLE].sum);
	add_time(table, row->in[KL_LATENCY_UNINTERRUPTIBLE].worst);
	add_time(table, row->in[KL_LATENCY_INTERRUPTIBLE].sum);
	add_time(table, row->in[KL_LATENCY_IDLE].sum + row->in[KL_LATENCY_STOPPED].sum);
}

static void print_times(const struct cli_latency *r, FILE *file)
{
	struct cli_table *table = cli_table_create(cli_format(
		"%s|>running|>runnable|>worst|>I/O|>worst|>blocked|>worst|>sleeping|>idle",
		r->by == CLI_LATENCY_THREAD ? ">tid|thread" : ">pid|process"));
	size_t n, shown = 0;
	struct row *rows = make_rows(r, &n);

	for (size_t i = 0; i < n && shown < r->top; i++) {
		if (!weight(&rows[i]) && shown)
			break;
		add_row(table, &rows[i]);
		shown++;
	}
	cli_table_print(table, file, 2);
	if (n > shown)
		fprintf(file, "  ... and %zu more\n", n - shown);
	free(rows);
}

/* ------------------------------------------------------------------- waits */

static const char *task_name(const struct cli_latency *r, const struct kl_abi_latency_entry *e)
{
	const struct kl_abi_latency_task *t = kl_latency_task(r->latency, e->task);

	return t ? t->comm : "[ended]";
}

static const char *reason_of(const struct cli_latency *r, const struct kl_abi_latency_entry *e)
{
	return kl_latency_reason(kl_record_names_stacks(r->session->names), r->session->schema, e);
}

static char *chain_of(const struct cli_latency *r, const struct kl_abi_latency_entry *e)
{
	struct kl_buffer buffer = { 0 };
	char *text;

	kl_latency_print_chain(&buffer, r->latency, e);
	text = cli_format("%.*s", (int)buffer.length, buffer.length ? buffer.data : "");
	kl_buffer_deinit(&buffer);
	return text;
}

/* Waits with the same key share a row; to be freed. */
static char *key_of(const struct cli_latency *r, const struct kl_abi_latency_entry *e)
{
	struct kl_buffer buffer = { 0 };
	char *text;

	switch (r->by) {
	case CLI_LATENCY_STACK:
		return cli_format("%.16s %u %u", task_name(r, e), e->kstack, e->ustack);
	case CLI_LATENCY_REASON:
		return cli_format("%s", reason_of(r, e));
	case CLI_LATENCY_WAKER:
		kl_latency_print_hop(&buffer, r->latency, &e->hop[0]);
		text = cli_format("%.*s", (int)buffer.length, buffer.length ? buffer.data : "");
		kl_buffer_deinit(&buffer);
		return text;
	default:
		text = chain_of(r, e);
		return cli_format("%u %s %s", e->task, reason_of(r, e), text);
	}
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct group *)a)->key, ((const struct group *)b)->key);
}

static int by_sum(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->sum.sum != y->sum.sum)
		return x->sum.sum < y->sum.sum ? 1 : -1;
	return by_key(a, b);
}

/* Is a wait shown at all? */
static bool is_shown(const struct cli_latency *r, const struct kl_abi_latency_entry *e)
{
	return r->idle || (e->state != KL_LATENCY_IDLE && e->state != KL_LATENCY_STOPPED &&
			   strcmp(reason_of(r, e), KL_LATENCY_NO_WORK) != 0);
}

static struct group *make_groups(const struct cli_latency *r, size_t *n)
{
	const struct kl_latency *l = r->latency;
	struct group *groups = cli_alloc((l->n_entries + 1) * sizeof(*groups));
	size_t all = 0;

	*n = 0;
	for (size_t i = 0; i < l->n_entries; i++)
		if (is_shown(r, &l->entry[i]))
			groups[all++] = (struct group){ key_of(r, &l->entry[i]), &l->entry[i],
							l->entry[i].asleep };
	qsort(groups, all, sizeof(*groups), by_key);
	for (size_t i = 0; i < all; i++) {
		struct group *last = *n ? &groups[*n - 1] : NULL;

		if (!last || strcmp(last->key, groups[i].key) != 0) {
			groups[(*n)++] = groups[i];
			continue;
		}
		if (groups[i].longest->asleep.sum > last->longest->asleep.sum)
			last->longest = groups[i].longest;
		add_sum(&last->sum, &groups[i].sum);
	}
	qsort(groups, *n, sizeof(*groups), by_sum);
	return groups;
}

static void print_stack(const struct cli_latency *r, uint32_t id, FILE *file)
{
	struct kl_buffer buffer = { 0 };

	if (id == KL_STACK_NO_ROOM)
		kl_buffer_printf(&buffer, "        no stack trace (table full)\n");
	kl_print_stack(&buffer, kl_record_names_stacks(r->session->names), id, 8);
	if (buffer.length)
		fwrite(buffer.data, 1, buffer.length, file);
	kl_buffer_deinit(&buffer);
}

/* Print a line for each group of waits, followed by the stack traces of its longest one. */
static void print_traces(const struct cli_latency *r, const struct group *groups, size_t n,
			 FILE *file)
{
	char sum[CLI_NUMBER_MAX], worst[CLI_NUMBER_MAX];

	for (size_t i = 0; i < n && i < r->top; i++) {
		const struct kl_abi_latency_entry *e = groups[i].longest;

		fprintf(file, "%s  %s%s%s in %llu waits, worst %s: %.16s, %s; woken by %s\n",
			i ? "\n" : "", cli_style(file, CLI_BOLD),
			cli_print_ns(sum, groups[i].sum.sum), cli_style(file, CLI_PLAIN),
			(unsigned long long)groups[i].sum.count,
			cli_print_ns(worst, groups[i].sum.worst), task_name(r, e), reason_of(r, e),
			e->hop[0].kind ? chain_of(r, e) : "?");
		print_stack(r, e->kstack, file);
		print_stack(r, e->ustack, file);
		if (!e->waker_kstack && !e->waker_ustack)
			continue;
		fprintf(file, "      woken at\n");
		print_stack(r, e->waker_kstack, file);
		print_stack(r, e->waker_ustack, file);
	}
}

static void add_wait(struct cli_table *table, const struct cli_latency *r, const struct group *g)
{
	const struct kl_abi_latency_task *owner = kl_latency_task(r->latency, g->longest->owner);
	const struct kl_abi_latency_task *task = kl_latency_task(r->latency, g->longest->task);
	char text[CLI_NUMBER_MAX];

	add_time(table, g->sum.sum);
	cli_table_add(table, "%s", cli_print_count(text, g->sum.count));
	add_time(table, g->sum.worst);
	if (r->by == CLI_LATENCY_REASON) {
		cli_table_add(table, "%s", g->key);
		cli_table_add(table, "%.16s", task_name(r, g->longest));
		return;
	}
	if (r->by == CLI_LATENCY_WAKER) {
		cli_table_add(table, "%s", *g->key ? g->key : "unknown");
		cli_table_add(table, "%.16s", task_name(r, g->longest));
		cli_table_add(table, "%s", reason_of(r, g->longest));
		return;
	}
	cli_table_add(table, "%.16s/%d", task_name(r, g->longest), task ? task->tid : 0);
	cli_table_add(table, "%s", reason_of(r, g->longest));
	if (owner)
		cli_table_add(table, "%s (lock: %.16s/%d)", chain_of(r, g->longest), owner->comm,
			      owner->tid);
	else
		cli_table_add(table, "%s", chain_of(r, g->longest));
}

static void print_waits(const struct cli_latency *r, FILE *file)
{
	static const char *const heads[] = {
		[CLI_LATENCY_PROCESS] = ">asleep|>times|>worst|task|for|woken by",
		[CLI_LATENCY_THREAD] = ">asleep|>times|>worst|task|for|woken by",
		[CLI_LATENCY_REASON] = ">asleep|>times|>worst|for|longest",
		[CLI_LATENCY_WAKER] = ">asleep|>times|>worst|woken by|longest|for",
	};
	size_t n;
	struct group *groups = make_groups(r, &n);
	struct cli_table *table;

	if (r->by == CLI_LATENCY_STACK) {
		print_traces(r, groups, n, file);
	} else if (n) {
		table = cli_table_create(heads[r->by]);
		for (size_t i = 0; i < n && i < r->top; i++)
			add_wait(table, r, &groups[i]);
		cli_table_print(table, file, 2);
	}
	if (n > r->top)
		fprintf(file, "  ... and %zu more\n", n - r->top);
	free(groups);
}

void cli_latency_print_lost(const struct kl_latency *l, FILE *file)
{
	static const struct {
		size_t at;
		const char *text;
	} lines[] = {
		{ offsetof(struct kl_abi_latency_read, evicted_tasks),
		  "ended tasks dropped (table full)" },
		{ offsetof(struct kl_abi_latency_read, evicted_entries),
		  "kinds of waits dropped (table full); their time is included in the tasks' "
		  "sums" },
		{ offsetof(struct kl_abi_latency_read, no_entry),
		  "waits dropped (table full); their time is included in the tasks' sums" },
		{ offsetof(struct kl_abi_latency_read, missed),
		  "events dropped (task table full)" },
		{ offsetof(struct kl_abi_latency_read, unpaired),
		  "sleeps whose end was detected late" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		uint64_t number;
		char text[CLI_NUMBER_MAX];

		memcpy(&number, (const char *)&l->about + lines[i].at, sizeof(number));
		if (number)
			fprintf(file, "  %s %s\n", cli_print_count(text, number), lines[i].text);
	}
}

void cli_latency_print(const struct cli_latency *r, FILE *file)
{
	fputc('\n', file);
	if (r->by == CLI_LATENCY_PROCESS || r->by == CLI_LATENCY_THREAD) {
		print_times(r, file);
		fputc('\n', file);
	}
	print_waits(r, file);
	cli_latency_print_asleep(r, file);
	fprintf(file, "\n  %.6f seconds\n",
		(double)(r->latency->about.until - r->latency->about.start) / 1e9);
	cli_latency_print_lost(r->latency, file);
}
