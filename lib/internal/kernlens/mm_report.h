/* SPDX-License-Identifier: GPL-2.0 */
/* Page faults, and how long tasks reclaim and compact memory, by process. */
#ifndef KERNLENS_MM_REPORT_H
#define KERNLENS_MM_REPORT_H

#include <stdbool.h>
#include <kernlens/buffer.h>
#include <kernlens/histogram.h>
#include <kernlens/trace.h>

/* Tasks, and processes, that have rows of their own. */
#define KL_MM_TASKS_MAX 16384

/* Tasks that the OOM killer has chosen, of which the first are listed. */
#define KL_MM_VICTIMS_MAX 64

/* What a task does to get memory. */
enum kl_mm_work {
	KL_MM_DIRECT, /* direct reclaim, for an allocation */
	KL_MM_MEMCG, /* reclaim from a memory cgroup that is full */
	KL_MM_NODE, /* reclaim from a nearby NUMA node */
	KL_MM_COMPACTION,
	KL_MM_KSWAPD, /* kswapd is awake */
	KL_MM_WORKS,
};

/**
 * struct kl_mm_row - a process
 * @task: the process, with the ID and name of its task that was last seen
 * @user: page faults in user mode
 * @kernel: page faults in the kernel, such as when it copies to a program's memory
 * @protection: of all faults, those at pages that are there, such as a write to a page to be copied
 * @write: of all faults, writes
 * @counted: the trace has the variables min_faults and maj_faults
 * @minor, @major: by how much these have grown from a task's first to its last record
 * @n: how often it did each work
 * @ns: how long
 * @pages: how many pages that reclaimed
 * @throttled: how often it was throttled in reclaim
 * @throttled_ns: for how long
 */
struct kl_mm_row {
	struct kl_task task;
	uint64_t user;
	uint64_t kernel;
	uint64_t protection;
	uint64_t write;
	bool counted;
	uint64_t minor;
	uint64_t major;
	uint64_t n[KL_MM_WORKS];
	uint64_t ns[KL_MM_WORKS];
	uint64_t pages[KL_MM_WORKS];
	uint64_t throttled;
	uint64_t throttled_ns;
};

/* A task that the OOM killer has chosen. @kb: its memory; @by: the task that ran out of it */
struct kl_mm_victim {
	uint64_t ns;
	struct kl_task task;
	struct kl_task by;
	uint64_t kb;
};

/**
 * struct kl_mm_totals - all processes
 * @time: of each work
 * @pages: that each has reclaimed
 * @worst: the longest work; @what is which, @detail[0] the pages
 * @victim: tasks that the OOM killer has chosen
 * @victims: number of them, which may be more than there is room for
 * @unpaired: ends of work without a begin
 * @unfinished: begins without an end
 * @dropped: events for which a table had no room
 * @gaps: how often records were missing; work in progress there is not counted
 */
struct kl_mm_totals {
	struct kl_histogram time[KL_MM_WORKS];
	uint64_t pages[KL_MM_WORKS];
	struct kl_worst worst;
	struct kl_mm_victim victim[KL_MM_VICTIMS_MAX];
	uint64_t victims;
	uint64_t unpaired;
	uint64_t unfinished;
	uint64_t dropped;
	uint64_t gaps;
};

struct kl_mm_report;

/**
 * kl_mm_report_create - create an empty report
 * @schema: of the trace; must outlive the report
 * @pid: only this process or thread; 0: all
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_mm_report *kl_mm_report_create(const struct kl_schema *schema, int32_t pid);

/**
 * kl_mm_report_destroy - free
 * @report: or NULL
 */
void kl_mm_report_destroy(struct kl_mm_report *report);

/**
 * kl_mm_report_add - add an item
 * @report: report
 * @item: any
 *
 * Returns 0 or -ENOMEM.
 */
int kl_mm_report_add(struct kl_mm_report *report, const struct kl_item *item);

/**
 * kl_mm_report_rows - the processes, those with the most faults first
 * @report: report, to which everything has been added
 * @count: out: number of rows
 *
 * Returns the rows, which belong to the report.
 */
const struct kl_mm_row *kl_mm_report_rows(struct kl_mm_report *report, size_t *count);

/**
 * kl_mm_report_totals - all processes
 * @report: report, to which everything has been added
 */
const struct kl_mm_totals *kl_mm_report_totals(struct kl_mm_report *report);

/**
 * kl_mm_report_missing - if there is nothing to report, append the names of events
 * @report: report
 * @names: appended to, separated by commas
 */
void kl_mm_report_missing(const struct kl_mm_report *report, struct kl_buffer *names);

/**
 * kl_mm_work_name - "direct reclaim" ...
 * @work: work
 */
const char *kl_mm_work_name(enum kl_mm_work work);

#endif /* KERNLENS_MM_REPORT_H */
