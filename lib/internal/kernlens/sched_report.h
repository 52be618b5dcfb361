/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long tasks wait for a CPU, once they have been woken or preempted: what runqlat and
 * `perf sched timehist` show.
 */
#ifndef KERNLENS_SCHED_REPORT_H
#define KERNLENS_SCHED_REPORT_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/histogram.h>
#include <kernlens/states_report.h>
#include <kernlens/trace.h>

/**
 * struct kl_sched_row - a task
 * @task: its IDs and latest name; pid 0: unknown
 * @runs: how often it got a CPU
 * @run_ns: time on a CPU
 * @migrations: how often that was another CPU than the time before
 * @wakeups: times from being woken, or created, to running
 * @preempted: times from leaving the CPU although it could run to running again
 * @waiting: it waits for a CPU when the trace ends, for
 * @waiting_ns: time, which is in neither histogram
 * @worst: the longest of both; zeroed if there is none
 */
struct kl_sched_row {
	struct kl_task task;
	uint64_t runs;
	uint64_t run_ns;
	uint64_t migrations;
	struct kl_histogram wakeups;
	struct kl_histogram preempted;
	bool waiting;
	uint64_t waiting_ns;
	struct kl_worst_case worst;
};

/**
 * struct kl_sched_totals - all rows
 * @wakeups, @preempted: as in the rows
 * @worst: the longest of both; @what is KL_RUN_WOKEN or KL_RUN_PREEMPTED, @by has woken it, @other
 *         ran on the CPU before
 * @omitted: tasks without a row, since the session did not record all of their events
 * @dropped: events of tasks for which the table had no room
 * @gaps: how often records were missing; waits across these are not counted
 */
struct kl_sched_totals {
	struct kl_histogram wakeups;
	struct kl_histogram preempted;
	struct kl_worst worst;
	size_t omitted;
	uint64_t dropped;
	uint64_t gaps;
};

struct kl_sched_report;

/**
 * kl_sched_report_create - create an empty report
 * @schema: of the trace; must outlive the report
 * @partial: the trace lacks events of tasks that the session did not record
 * @begin_ns: wall time at which the trace begins; 0: at its first event
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_sched_report *kl_sched_report_create(const struct kl_schema *schema, bool partial,
					       uint64_t begin_ns);

/**
 * kl_sched_report_select - show only one process or thread
 * @report: empty report
 * @pid: of the process, or of the thread; 0: all
 */
void kl_sched_report_select(struct kl_sched_report *report, int32_t pid);

/**
 * kl_sched_report_destroy - free
 * @report: or NULL
 */
void kl_sched_report_destroy(struct kl_sched_report *report);

/**
 * kl_sched_report_add - add an item
 * @report: report
 * @item: any
 *
 * Returns 0 or -ENOMEM.
 */
int kl_sched_report_add(struct kl_sched_report *report, const struct kl_item *item);

/**
 * kl_sched_report_finish - count what is open at the end
 * @report: report, to which everything has been added
 * @end_ns: wall time at which the trace ends; 0: at the last event
 *
 * Returns 0 or -ENOMEM.
 */
int kl_sched_report_finish(struct kl_sched_report *report, uint64_t end_ns);

/**
 * kl_sched_report_rows - the tasks, those that waited longest in all first
 * @report: finished
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report, or NULL with errno ENOMEM.
 */
const struct kl_sched_row *kl_sched_report_rows(struct kl_sched_report *report, size_t *count);

/**
 * kl_sched_report_totals - sums of all rows
 * @report: finished
 */
const struct kl_sched_totals *kl_sched_report_totals(const struct kl_sched_report *report);

/**
 * kl_sched_report_missing - append the names of the needed events that have not occurred
 * @report: report
 * @names: appended to, separated by commas
 */
void kl_sched_report_missing(const struct kl_sched_report *report, struct kl_buffer *names);

#endif /* KERNLENS_SCHED_REPORT_H */
