// SPDX-License-Identifier: GPL-2.0
/*
 * Figures of processes: those that use most of the CPU, of memory and of storage have series of
 * their own; the others are summed up. A process is identified by its ID and start time, so another
 * one that gets the ID later is another series. Fed by an inspection of all selected processes.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <kernlens/format.h>
#include "../base/base.h"
#include "reader.h"

/* What processes are listed by: CPU time and I/O since the previous read, and memory. */
enum {
	BY_CPU,
	BY_MEMORY,
	BY_STORAGE,
	LISTS,
};

/**
 * struct row - a selected process
 * @row: of the inspection
 * @score: what it is listed by
 * @total: decides between equal scores: the counters themselves
 * @listed: it has series of its own
 */
struct row {
	size_t row;
	int32_t pid;
	uint64_t start;
	double score[LISTS];
	double total[LISTS];
	bool listed;
};

/**
 * struct reading - one read
 * @row: selected processes
 * @growth: of each of these, of each column; 0 for gauges
 */
struct reading {
	struct kl_metrics_reader *r;
	struct row *row;
	size_t n;
	double *growth;
};

static const struct kl_metric_info *info_of(const struct reading *now, size_t column)
{
	return kl_metrics_info(now->r->metrics, now->r->column[column].metric);
}

static double value_of(const struct reading *now, const struct row *row, size_t column)
{
	struct kl_value value =
		kl_inspect_value(now->r->inspect, row->row, now->r->column[column].at);
	double number = value.field->type == KL_TYPE_U64 ? (double)value.number :
							   (double)(int64_t)value.number;

	return kl_metric_scaled(info_of(now, column), number);
}

/* ------------------------------------------------------------------- selection */

static bool is_selected(struct kl_metrics_reader *r, size_t row)
{
	const struct kl_metrics_choice *choice = r->choice;
	struct kl_value comm = kl_inspect_value(r->inspect, row, KL_METRICS_COMM);
	char name[KL_COMM_LEN + 1];

	if (choice->has_uid &&
	    (uint32_t)kl_inspect_value(r->inspect, row, KL_METRICS_UID).number != choice->uid)
		return false;
	if (choice->cgroup &&
	    !kl_cgroup_set_has(&r->cgroups, kl_inspect_value(r->inspect, row, r->cgroup).number))
		return false;
	if (!choice->comm)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)comm.length, comm.bytes);
	return !fnmatch(choice->comm, name, 0);
}

static int select_rows(struct reading *now, size_t n)
{
	struct kl_metrics_reader *r = now->r;
	bool there;

	now->row = calloc(n + 1, sizeof(*now->row));
	now->growth = calloc(n * r->n_columns + 1, sizeof(*now->growth));
	if (!now->row || !now->growth)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int32_t pid = kl_inspect_row(r->inspect, i, &there);

		if (!there || !is_selected(r, i))
			continue;
		now->row[now->n++] = (struct row){
			.row = i,
			.pid = pid,
			.start = kl_inspect_value(r->inspect, i, KL_METRICS_START).number,
		};
	}
	return 0;
}

/* ----------------------------------------------------------------------- lists */

static int take_growth(struct reading *now)
{
	struct kl_metrics_reader *r = now->r;
	double values[KL_METRICS + KL_METRICS_MORE];

	kl_fold_begin(r->fold);
	for (size_t i = 0; i < now->n; i++) {
		struct row *row = &now->row[i];
		uint64_t key = kl_hash_bytes(KL_HASH_START, &row->start, sizeof(row->start));
		int ret;

		key = kl_hash_bytes(key, &row->pid, sizeof(row->pid));
		for (size_t k = 0; k < r->n_columns; k++)
			values[k] = value_of(now, row, k);
		ret = kl_fold_growth(r->fold, key, values, row->start >= r->last_ns,
				     &now->growth[i * r->n_columns]);
		if (ret)
			return ret;
	}
	return 0;
}

static void add_scores(struct reading *now)
{
	for (size_t k = 0; k < now->r->n_columns; k++) {
		size_t metric = now->r->column[k].metric;
		int list = metric == KL_METRIC_process_cpu     ? BY_CPU :
			   metric == KL_METRIC_process_rss     ? BY_MEMORY :
			   metric == KL_METRIC_process_read    ? BY_STORAGE :
			   metric == KL_METRIC_process_written ? BY_STORAGE :
								 -1;

		for (size_t i = 0; list >= 0 && i < now->n; i++) {
			struct row *row = &now->row[i];
			double value = value_of(now, row, k);

			row->total[list] += value;
			row->score[list] +=
				list == BY_MEMORY ? value : now->growth[i * now->r->n_columns + k];
		}
	}
}

static int compare_scores(const void *a, const void *b, void *data)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int list = *(const int *)data;

	if (x->score[list] != y->score[list])
		return x->score[list] < y->score[list] ? 1 : -1;
	if (x->total[list] != y->total[list])
		return x->total[list] < y->total[list] ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int list_rows(struct reading *now)
{
	struct row **order = calloc(now->n + 1, sizeof(struct row *));

	if (!order)
		return kl_fail(ENOMEM, "out of memory");
	for (int list = 0; list < LISTS; list++) {
		for (size_t i = 0; i < now->n; i++)
			order[i] = &now->row[i];
		qsort_r(order, now->n, sizeof(struct row *), compare_scores, &list);
		/* A process that uses none of it need not be listed by it. */
		for (size_t i = 0; i < now->n && i < now->r->choice->top; i++)
			order[i]->listed |= order[i]->total[list] > 0;
	}
	free(order);
	return 0;
}

/* --------------------------------------------------------------------- values */

static void add_listed(struct reading *now, const struct row *row)
{
	struct kl_metrics_reader *r = now->r;
	struct kl_value comm = kl_inspect_value(r->inspect, row->row, KL_METRICS_COMM);
	char pid[16], start[32], name[KL_COMM_LEN + 1];
	const char *const labels[] = { pid, start, name };

	snprintf(pid, sizeof(pid), "%d", row->pid);
	snprintf(start, sizeof(start), "%llu.%03llu",
		 (unsigned long long)(row->start / KL_NS_PER_S),
		 (unsigned long long)(row->start % KL_NS_PER_S / 1000000));
	snprintf(name, sizeof(name), "%.*s", (int)comm.length, comm.bytes);
	for (size_t k = 0; k < r->n_columns; k++)
		kl_metrics_add(r->metrics, r->column[k].metric, value_of(now, row, k), labels);
}

/* A sum of numbers of which nothing is known, such as priorities, means nothing. */
static void add_others(struct reading *now)
{
	static const char *const labels[] = { "other", "other", "other" };
	struct kl_metrics_reader *r = now->r;

	for (size_t k = 0; k < r->n_columns; k++) {
		struct kl_metrics_column *column = &r->column[k];
		bool counts = info_of(now, k)->type == KL_METRIC_counter;

		if (!counts)
			column->other = 0;
		for (size_t i = 0; i < now->n; i++)
			if (!now->row[i].listed)
				column->other += counts ? now->growth[i * r->n_columns + k] :
							  value_of(now, &now->row[i], k);
		if (info_of(now, k)->type != KL_METRIC_unknown)
			kl_metrics_add(r->metrics, column->metric, column->other, labels);
	}
}

static void add_states(struct reading *now)
{
	static const struct {
		char letter;
		const char *name;
	} states[] = {
		{ 'R', "running" }, { 'S', "sleeping" }, { 'D', "blocked" }, { 'I', "idle" },
		{ 'T', "stopped" }, { 't', "stopped" },	 { 'Z', "zombie" },  { 'X', "zombie" },
	};
	struct kl_buffer letters = { 0 };

	for (size_t k = 0; k < KL_ARRAY_SIZE(states); k++)
		kl_metrics_add(now->r->metrics, KL_METRIC_selected, 0, &states[k].name);
	for (size_t i = 0; i < now->n; i++) {
		struct kl_value state =
			kl_inspect_value(now->r->inspect, now->row[i].row, KL_METRICS_STATE);

		kl_buffer_reset(&letters);
		if (!kl_print_meaning(&letters, KL_FORMAT_task_state, state.number) ||
		    letters.error)
			continue;
		for (size_t k = 0; k < KL_ARRAY_SIZE(states); k++)
			if (*letters.data == states[k].letter)
				kl_metrics_add(now->r->metrics, KL_METRIC_selected, 1,
					       &states[k].name);
	}
	kl_buffer_deinit(&letters);
}

static int add_rows(struct reading *now)
{
	double listed = 0;
	int ret = take_growth(now);

	if (ret)
		return ret;
	add_scores(now);
	ret = list_rows(now);
	if (ret)
		return ret;
	for (size_t i = 0; i < now->n; i++)
		if (now->row[i].listed) {
			add_listed(now, &now->row[i]);
			listed++;
		}
	add_others(now);
	add_states(now);
	kl_metrics_add(now->r->metrics, KL_METRIC_listed, listed, NULL);
	return 0;
}

static uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * KL_NS_PER_S + (uint64_t)now.tv_nsec;
}

int kl_metrics_read_processes(struct kl_metrics_reader *r)
{
	struct reading now = { .r = r };
	uint64_t begun_ns = boot_ns();
	int ret = 0;

	if (!r->inspect)
		r->inspect = kl_inspect_create(r->device, r->ids, r->n_ids);
	if (!r->fold)
		r->fold = kl_fold_create(r->n_columns);
	if (!r->inspect || !r->fold)
		return -ENOMEM;
	if (r->choice->cgroup)
		kl_cgroup_set_read(&r->cgroups, r->choice->cgroup);
	ret = kl_inspect_read(r->inspect, r->choice->pids, r->choice->n_pids, 0);
	if (ret >= 0)
		ret = select_rows(&now, (size_t)ret);
	if (ret >= 0)
		ret = add_rows(&now);
	if (ret >= 0)
		r->last_ns = begun_ns;
	free(now.row);
	free(now.growth);
	return ret < 0 ? ret : 0;
}
