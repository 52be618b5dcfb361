// SPDX-License-Identifier: GPL-2.0
/*
 * How long each task ran, waited and slept, from the spans of tasks.c. Time is cut into slices of
 * equal length, which are merged in pairs whenever the trace turns out to be longer than they are,
 * so that memory does not depend on its length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/states_report.h>
#include "../base/base.h"
#include "tasks.h"

#define FIRST_SLICE_NS 100000ull

/* Time by state of a slice. */
typedef uint64_t slice_ns[KL_RUN_STATES];

struct kl_states_report {
	struct kl_tasks tasks;
	struct kl_states_counts counts;
	int32_t pid; /* of kl_states_report_select() */
};

const char *kl_run_state_name(enum kl_run_state state)
{
	static const char *const names[KL_RUN_STATES] = {
		[KL_RUN_RUNNING] = "running",	  [KL_RUN_WOKEN] = "woken",
		[KL_RUN_PREEMPTED] = "preempted", [KL_RUN_SLEEPING] = "sleeping",
		[KL_RUN_BLOCKED] = "blocked",	  [KL_RUN_STOPPED] = "stopped",
	};

	return state < KL_RUN_STATES ? names[state] : "unknown";
}

/* -------------------------------------------------------------------- slices */

static void halve(slice_ns *slice)
{
	for (unsigned int i = 0; i < KL_STATES_SLICES; i++)
		for (unsigned int j = 0; j < KL_RUN_STATES; j++) {
			const uint64_t ns = slice[i][j];

			slice[i][j] = 0;
			slice[i / 2][j] += ns;
		}
}

/* Make slices longer until they reach to @end, in ns since the begin. */
static void reach(struct kl_states_report *report, uint64_t end)
{
	while (end / KL_STATES_SLICES >= report->counts.slice_ns &&
	       report->counts.slice_ns <= UINT64_MAX / 2) {
		report->counts.slice_ns *= 2;
		for (size_t i = 0; i < report->tasks.n; i++) {
			const struct kl_states_row *row = report->tasks.task[i]->row;

			if (row->slice)
				halve(row->slice);
		}
	}
}

static void add_time(struct kl_states_report *report, struct kl_states_row *row,
		     enum kl_run_state state, uint64_t begin, uint64_t end)
{
	const uint64_t slice_ns = report->counts.slice_ns;

	while (begin < end) {
		const uint64_t at = begin / slice_ns;
		const uint64_t next = (at + 1) * slice_ns;
		/* The end of the last slice may be more than 64 bits have room for. */
		const uint64_t until = next > begin && next < end ? next : end;

		row->slice[at][state] += until - begin;
		begin = until;
	}
}

/* Allocate the slices of a task when they are first needed. */
static int need_slices(struct kl_states_row *row)
{
	if (!row->slice)
		row->slice = calloc(KL_STATES_SLICES, sizeof(*row->slice));
	return row->slice ? 0 : kl_fail(ENOMEM, "out of memory");
}

static int add_span(void *context, const struct kl_tasks_task *task,
		    const struct kl_tasks_span *span)
{
	struct kl_states_report *report = context;
	struct kl_states_row *row = task->row;
	const uint64_t begin_ns = report->tasks.begin_ns;
	uint64_t begin, end;

	if (need_slices(row))
		return -ENOMEM;
	/* The clocks of CPUs may differ a little. */
	begin = span->begin_ns > begin_ns ? span->begin_ns - begin_ns : 0;
	end = span->end_ns > begin_ns ? span->end_ns - begin_ns : 0;
	row->ns[span->state] += end - begin;
	row->n[span->state]++;
	reach(report, end);
	add_time(report, row, span->state, begin, end);
	return 0;
}

/* ----------------------------------------------------------------- interface */

struct kl_states_report *kl_states_report_create(const struct kl_schema *schema, bool partial,
						 uint64_t begin_ns)
{
	struct kl_states_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kl_tasks_init(&report->tasks, schema, partial, begin_ns, sizeof(struct kl_states_row),
		      add_span, report);
	report->counts.slice_ns = FIRST_SLICE_NS;
	return report;
}

void kl_states_report_select(struct kl_states_report *report, int32_t pid)
{
	report->pid = pid;
}

void kl_states_report_destroy(struct kl_states_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->tasks.n; i++)
		free(((struct kl_states_row *)report->tasks.task[i]->row)->slice);
	kl_tasks_deinit(&report->tasks);
	free(report);
}

int kl_states_report_add(struct kl_states_report *report, const struct kl_item *item)
{
	return kl_tasks_add(&report->tasks, item);
}

int kl_states_report_finish(struct kl_states_report *report, uint64_t end_ns)
{
	struct kl_states_counts *counts = &report->counts;
	int error = kl_tasks_finish(&report->tasks, end_ns);
	uint64_t length;

	for (size_t i = 0; i < report->tasks.n && !error; i++) {
		struct kl_states_row *row = report->tasks.task[i]->row;

		row->task = report->tasks.task[i]->is;
		error = need_slices(row);
	}
	counts->begin_ns = report->tasks.begin_ns;
	counts->end_ns = end_ns > report->tasks.last_ns ? end_ns : report->tasks.last_ns;
	length = counts->end_ns > counts->begin_ns ? counts->end_ns - counts->begin_ns : 0;
	reach(report, length);
	counts->slices = (unsigned int)((length + counts->slice_ns - 1) / counts->slice_ns);
	counts->omitted = kl_tasks_omitted(&report->tasks);
	counts->dropped = report->tasks.dropped;
	counts->gaps = report->tasks.losses;
	return error;
}

static int compare(const void *a, const void *b)
{
	static const enum kl_run_state by[] = { KL_RUN_RUNNING, KL_RUN_WOKEN, KL_RUN_BLOCKED };
	const struct kl_states_row *x = a, *y = b;

	for (size_t i = 0; i < KL_ARRAY_SIZE(by); i++)
		if (x->ns[by[i]] != y->ns[by[i]])
			return x->ns[by[i]] < y->ns[by[i]] ? 1 : -1;
	return x->task.tid < y->task.tid ? -1 : x->task.tid > y->task.tid;
}

const struct kl_states_row *kl_states_report_rows(struct kl_states_report *report, size_t *count)
{
	return kl_tasks_rows(&report->tasks, report->pid, compare, count);
}

const struct kl_states_counts *kl_states_report_counts(struct kl_states_report *report)
{
	return &report->counts;
}

void kl_states_report_missing(const struct kl_states_report *report, struct kl_buffer *names)
{
	kl_tasks_missing(&report->tasks, names);
}
