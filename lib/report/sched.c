// SPDX-License-Identifier: GPL-2.0
/* How long tasks wait for a CPU, from the spans of tasks.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/sched_report.h>
#include "../base/base.h"
#include "tasks.h"

#define NS_PER_US 1000

struct kl_sched_report {
	struct kl_tasks tasks;
	struct kl_sched_totals totals;
	int32_t pid; /* of kl_sched_report_select() */
};

/* -------------------------------------------------------------------- spans */

static void fill(struct kl_worst_case *worst, const struct kl_tasks_task *task,
		 const struct kl_tasks_span *span)
{
	worst->end_ns = span->end_ns;
	worst->cpu = span->cpu;
	worst->task = task->is;
	if (span->state == KL_RUN_WOKEN)
		worst->by = task->waker;
	worst->other = span->before;
	worst->what = span->state;
}

static int add_wait(struct kl_sched_report *report, const struct kl_tasks_task *task,
		    const struct kl_tasks_span *span, struct kl_sched_row *row)
{
	const uint64_t ns = span->end_ns - span->begin_ns;
	struct kl_worst_case *worst;

	if (span->open) {
		row->waiting = true;
		row->waiting_ns = ns;
		return 0;
	}
	/* Since when is not known. */
	if (span->inferred)
		return 0;
	if (ns > row->worst.ns || !row->worst.end_ns) {
		row->worst = (struct kl_worst_case){ .ns = ns };
		fill(&row->worst, task, span);
	}
	worst = kl_tasks_is_shown(&report->tasks, task, report->pid) ?
			kl_worst_place(&report->totals.worst, ns) :
			NULL;
	if (worst)
		fill(worst, task, span);
	return kl_histogram_add(span->state == KL_RUN_WOKEN ? &row->wakeups : &row->preempted, ns);
}

static int add_span(void *context, const struct kl_tasks_task *task,
		    const struct kl_tasks_span *span)
{
	struct kl_sched_report *report = context;
	struct kl_sched_row *row = task->row;

	row->wakeups.unit = NS_PER_US;
	row->preempted.unit = NS_PER_US;
	if (span->state == KL_RUN_RUNNING)
		row->run_ns += span->end_ns - span->begin_ns;
	else if (span->state <= KL_RUN_PREEMPTED)
		return add_wait(report, task, span, row);
	return 0;
}

/* ----------------------------------------------------------------- interface */

struct kl_sched_report *kl_sched_report_create(const struct kl_schema *schema, bool partial,
					       uint64_t begin_ns)
{
	struct kl_sched_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kl_tasks_init(&report->tasks, schema, partial, begin_ns, sizeof(struct kl_sched_row),
		      add_span, report);
	kl_histogram_init(&report->totals.wakeups, NS_PER_US);
	kl_histogram_init(&report->totals.preempted, NS_PER_US);
	return report;
}

void kl_sched_report_select(struct kl_sched_report *report, int32_t pid)
{
	report->pid = pid;
}

void kl_sched_report_destroy(struct kl_sched_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->tasks.n; i++) {
		struct kl_sched_row *row = report->tasks.task[i]->row;

		kl_histogram_deinit(&row->wakeups);
		kl_histogram_deinit(&row->preempted);
	}
	kl_histogram_deinit(&report->totals.wakeups);
	kl_histogram_deinit(&report->totals.preempted);
	kl_tasks_deinit(&report->tasks);
	free(report);
}

int kl_sched_report_add(struct kl_sched_report *report, const struct kl_item *item)
{
	return kl_tasks_add(&report->tasks, item);
}

int kl_sched_report_finish(struct kl_sched_report *report, uint64_t end_ns)
{
	struct kl_sched_totals *totals = &report->totals;
	int error = kl_tasks_finish(&report->tasks, end_ns);

	for (size_t i = 0; i < report->tasks.n && !error; i++) {
		const struct kl_tasks_task *task = report->tasks.task[i];
		struct kl_sched_row *row = task->row;

		row->task = task->is;
		row->runs = task->runs;
		row->migrations = task->migrations;
		if (!kl_tasks_is_shown(&report->tasks, task, report->pid))
			continue;
		error = kl_histogram_merge(&totals->wakeups, &row->wakeups);
		error = error ?: kl_histogram_merge(&totals->preempted, &row->preempted);
	}
	totals->omitted = kl_tasks_omitted(&report->tasks);
	totals->dropped = report->tasks.dropped;
	totals->gaps = report->tasks.losses;
	return error;
}

static uint64_t waited(const struct kl_sched_row *row)
{
	return row->wakeups.sum + row->preempted.sum;
}

static int compare(const void *a, const void *b)
{
	const struct kl_sched_row *x = a, *y = b;

	if (waited(x) != waited(y))
		return waited(x) < waited(y) ? 1 : -1;
	if (x->run_ns != y->run_ns)
		return x->run_ns < y->run_ns ? 1 : -1;
	return x->task.tid < y->task.tid ? -1 : x->task.tid > y->task.tid;
}

const struct kl_sched_row *kl_sched_report_rows(struct kl_sched_report *report, size_t *count)
{
	return kl_tasks_rows(&report->tasks, report->pid, compare, count);
}

const struct kl_sched_totals *kl_sched_report_totals(const struct kl_sched_report *report)
{
	return &report->totals;
}

void kl_sched_report_missing(const struct kl_sched_report *report, struct kl_buffer *names)
{
	kl_tasks_missing(&report->tasks, names);
}
