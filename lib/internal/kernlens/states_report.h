/* SPDX-License-Identifier: GPL-2.0 */
/* How long each task of a trace ran, waited for a CPU and slept, in sums and over time. */
#ifndef KERNLENS_STATES_REPORT_H
#define KERNLENS_STATES_REPORT_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/trace.h>

/* Tasks with a state of their own; the events of others are counted. */
#define KL_TASKS_MAX 16384

/* Equal parts of the time of the trace, at most. */
#define KL_STATES_SLICES 256

enum kl_run_state {
	KL_RUN_RUNNING,
	KL_RUN_WOKEN, /* waits for a CPU after it was woken, or created */
	KL_RUN_PREEMPTED, /* waits for a CPU that it had to leave */
	KL_RUN_SLEEPING, /* interruptible */
	KL_RUN_BLOCKED, /* uninterruptible */
	KL_RUN_STOPPED, /* stopped, traced or parked */
	KL_RUN_STATES,
};

/**
 * struct kl_states_row - a task
 * @task: its IDs and latest name; pid 0: unknown
 * @ns: time by state
 * @n: how often it was in each
 * @slice: time by state in each slice of the report
 */
struct kl_states_row {
	struct kl_task task;
	uint64_t ns[KL_RUN_STATES];
	uint64_t n[KL_RUN_STATES];
	uint64_t (*slice)[KL_RUN_STATES];
};

/**
 * struct kl_states_counts - what the report is about
 * @begin_ns: wall time at which the first slice begins
 * @end_ns: wall time at which the trace ends
 * @slice_ns: how long a slice is
 * @slices: number of slices
 * @omitted: tasks without a row, since the session did not record all of their events
 * @dropped: events of tasks for which the table had no room
 * @gaps: how often records were missing, so that no state was known
 */
struct kl_states_counts {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t slice_ns;
	unsigned int slices;
	size_t omitted;
	uint64_t dropped;
	uint64_t gaps;
};

struct kl_states_report;

/**
 * kl_states_report_create - create an empty report
 * @schema: of the trace; must outlive the report
 * @partial: the trace lacks events of tasks that the session did not record
 * @begin_ns: wall time at which the trace begins; 0: at its first event
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_states_report *kl_states_report_create(const struct kl_schema *schema, bool partial,
						 uint64_t begin_ns);

/**
 * kl_states_report_select - show only one process or thread
 * @report: empty report
 * @pid: of the process, or of the thread; 0: all
 */
void kl_states_report_select(struct kl_states_report *report, int32_t pid);

/**
 * kl_states_report_destroy - free
 * @report: or NULL
 */
void kl_states_report_destroy(struct kl_states_report *report);

/**
 * kl_states_report_add - add an item
 * @report: report
 * @item: any
 *
 * Returns 0 or -ENOMEM.
 */
int kl_states_report_add(struct kl_states_report *report, const struct kl_item *item);

/**
 * kl_states_report_finish - end the states in which tasks still are
 * @report: report, to which everything has been added
 * @end_ns: wall time at which the trace ends; 0: at the last event
 *
 * Returns 0 or -ENOMEM.
 */
int kl_states_report_finish(struct kl_states_report *report, uint64_t end_ns);

/**
 * kl_states_report_rows - the tasks, those that ran longest first
 * @report: finished
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report, or NULL with errno ENOMEM.
 */
const struct kl_states_row *kl_states_report_rows(struct kl_states_report *report, size_t *count);

/**
 * kl_states_report_counts - what the report is about
 * @report: finished
 */
const struct kl_states_counts *kl_states_report_counts(struct kl_states_report *report);

/**
 * kl_states_report_missing - append the names of the needed events that have not occurred
 * @report: report
 * @names: appended to, separated by commas
 */
void kl_states_report_missing(const struct kl_states_report *report, struct kl_buffer *names);

/**
 * kl_run_state_name - "running" ...
 * @state: state
 */
const char *kl_run_state_name(enum kl_run_state state);

/**
 * kl_states_svg - draw rows as SVG
 * @buffer: appended to
 * @counts: of the report
 * @rows: rows to draw, from top to bottom
 * @n: number of @rows
 * @title: title
 *
 * Returns 0 or -ENOMEM.
 */
int kl_states_svg(struct kl_buffer *buffer, const struct kl_states_counts *counts,
		  const struct kl_states_row *rows, size_t n, const char *title);

#endif /* KERNLENS_STATES_REPORT_H */
