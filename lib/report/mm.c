// SPDX-License-Identifier: GPL-2.0
/* Page faults, reclaim and compaction by process. Begin and end of work are paired by task. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/mm_report.h>
#include "../base/base.h"
#include "../base/table.h"
#include "events.h"
#include "values.h"

#define NS_PER_US 1000

/* Bits of the error code of a page fault. */
#define FAULT_PROTECTION 1u
#define FAULT_WRITE 2u

/* Begins and ends of work, in the order of enum kl_mm_work, are first. */
enum {
	WORK,
	FAULT_USER = WORK + 2 * KL_MM_WORKS,
	FAULT_KERNEL,
	THROTTLED,
	VICTIM,
	EVENTS,
};

static const struct kl_report_event used[EVENTS] = {
	[WORK + 2 * KL_MM_DIRECT] = { "mm_vmscan_direct_reclaim_begin", false, { NULL } },
	{ "mm_vmscan_direct_reclaim_end", false, { "nr_reclaimed" } },
	[WORK + 2 * KL_MM_MEMCG] = { "mm_vmscan_memcg_reclaim_begin", false, { NULL } },
	{ "mm_vmscan_memcg_reclaim_end", false, { "nr_reclaimed" } },
	[WORK + 2 * KL_MM_NODE] = { "mm_vmscan_node_reclaim_begin", false, { NULL } },
	{ "mm_vmscan_node_reclaim_end", false, { "nr_reclaimed" } },
	[WORK + 2 * KL_MM_COMPACTION] = { "mm_compaction_begin", false, { NULL } },
	{ "mm_compaction_end", false, { NULL } },
	[WORK + 2 * KL_MM_KSWAPD] = { "mm_vmscan_kswapd_wake", false, { NULL } },
	{ "mm_vmscan_kswapd_sleep", false, { NULL } },
	[FAULT_USER] = { "x86_exceptions_page_fault_user", true, { "error_code" } },
	[FAULT_KERNEL] = { "x86_exceptions_page_fault_kernel", false, { "error_code" } },
	[THROTTLED] = { "mm_vmscan_throttled", false, { "usec_delayed" } },
	[VICTIM] = { "mark_victim", false, { "tid", "comm", "anon_rss", "file_rss", "shmem_rss" } },
};

/*
 * A task. Key: thread ID, plus 1. @row: the number of its process's; @since: begin of each work in
 * progress, 0: none
 */
struct task {
	uint64_t key;
	size_t row;
	uint64_t since_ns[KL_MM_WORKS];
	bool counted;
	uint64_t minor;
	uint64_t major;
};

/* Key: process ID, plus 1. */
struct row_of {
	uint64_t key;
	size_t number;
};

struct kl_mm_report {
	struct kl_report_events events;
	struct kl_hash tasks;
	struct kl_hash rows_by_pid;
	struct kl_mm_row *row;
	size_t n;
	size_t room;
	struct kl_mm_totals totals;
	int min_faults;
	int maj_faults;
	int32_t pid;
	bool any;
};

const char *kl_mm_work_name(enum kl_mm_work work)
{
	static const char *const names[KL_MM_WORKS] = {
		[KL_MM_DIRECT] = "direct reclaim", [KL_MM_MEMCG] = "cgroup reclaim",
		[KL_MM_NODE] = "node reclaim",	   [KL_MM_COMPACTION] = "compaction",
		[KL_MM_KSWAPD] = "kswapd awake",
	};

	return work < KL_MM_WORKS ? names[work] : "";
}

/* --------------------------------------------------------------------- tasks */

/* The number of a process's row, or -ENOMEM. There is room. */
static int64_t get_row(struct kl_mm_report *report, int32_t pid)
{
	struct row_of *entry = kl_hash_find(&report->rows_by_pid, (uint64_t)(uint32_t)pid + 1);
	struct kl_mm_row *grown;

	if (entry)
		return (int64_t)entry->number;
	grown = kl_array_grow(report->row, report->n, &report->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	report->row = grown;
	entry = kl_hash_get(&report->rows_by_pid, (uint64_t)(uint32_t)pid + 1);
	if (!entry)
		return -ENOMEM;
	memset(&grown[report->n], 0, sizeof(*grown));
	entry->number = report->n++;
	return (int64_t)entry->number;
}

/* Sets *@task to the task that runs, or to NULL if there are too many. Returns 0 or -ENOMEM. */
static int get_task(struct kl_mm_report *report, const struct kl_event *event, struct task **task)
{
	const uint64_t key = (uint64_t)(uint32_t)event->task.tid + 1;
	int64_t row;

	*task = kl_hash_find(&report->tasks, key);
	if (*task || report->tasks.count >= KL_MM_TASKS_MAX)
		return 0;
	row = get_row(report, event->task.pid);
	*task = row < 0 ? NULL : kl_hash_get(&report->tasks, key);
	if (!*task)
		return -ENOMEM;
	(*task)->row = (size_t)row;
	return 0;
}

/* What the task's own counts have grown by since its last record. */
static void count_faults(struct kl_mm_report *report, const struct kl_event *event,
			 struct task *task, struct kl_mm_row *row)
{
	const uint64_t minor = kl_variable_of(event, report->min_faults);
	const uint64_t major = kl_variable_of(event, report->maj_faults);

	if (report->min_faults < 0 || report->maj_faults < 0)
		return;
	/* A task whose ID was used before starts with less. */
	if (task->counted && minor >= task->minor && major >= task->major) {
		row->minor += minor - task->minor;
		row->major += major - task->major;
	}
	row->counted = true;
	task->counted = true;
	task->minor = minor;
	task->major = major;
}

/* ---------------------------------------------------------------------- work */

static int end_work(struct kl_mm_report *report, const struct kl_event *event, enum kl_mm_work work,
		    struct task *task, struct kl_mm_row *row)
{
	const uint64_t pages =
		kl_report_number(&report->events, event, WORK + 2 * (int)work + 1, 0);
	const uint64_t since = task->since_ns[work];
	const uint64_t ns = event->ns > since ? event->ns - since : 0;
	struct kl_worst_case *worst;

	if (!since) {
		/* kswapd goes to sleep several times after it was woken once. */
		report->totals.unpaired += work != KL_MM_KSWAPD;
		return 0;
	}
	task->since_ns[work] = 0;
	row->n[work]++;
	row->ns[work] += ns;
	row->pages[work] += pages;
	report->totals.pages[work] += pages;
	worst = work == KL_MM_KSWAPD ? NULL : kl_worst_place(&report->totals.worst, ns);
	if (worst) {
		worst->end_ns = event->ns;
		worst->cpu = event->cpu;
		worst->task = event->task;
		worst->what = work;
		worst->detail[0] = pages;
	}
	return kl_histogram_add(&report->totals.time[work], ns);
}

static void begin_work(struct kl_mm_report *report, const struct kl_event *event,
		       enum kl_mm_work work, struct task *task)
{
	/* kswapd is woken again while it works. */
	if (task->since_ns[work] && work == KL_MM_KSWAPD)
		return;
	report->totals.unfinished += task->since_ns[work] != 0;
	task->since_ns[work] = event->ns;
}

static void add_victim(struct kl_mm_report *report, const struct kl_event *event)
{
	struct kl_mm_totals *totals = &report->totals;
	struct kl_mm_victim *victim = &totals->victim[totals->victims % KL_MM_VICTIMS_MAX];

	if (totals->victims++ >= KL_MM_VICTIMS_MAX)
		return;
	victim->ns = event->ns;
	victim->by = event->task;
	victim->task.tid = (int32_t)kl_report_number(&report->events, event, VICTIM, 0);
	kl_report_text(&report->events, event, VICTIM, 1, victim->task.comm,
		       sizeof(victim->task.comm));
	for (unsigned int i = 2; i < 5; i++)
		victim->kb += kl_report_number(&report->events, event, VICTIM, i);
}

static void add_fault(struct kl_mm_report *report, const struct kl_event *event, int which,
		      struct kl_mm_row *row)
{
	const uint64_t code = kl_report_number(&report->events, event, which, 0);

	row->user += which == FAULT_USER;
	row->kernel += which == FAULT_KERNEL;
	row->protection += (code & FAULT_PROTECTION) != 0;
	row->write += (code & FAULT_WRITE) != 0;
}

static int add_event(struct kl_mm_report *report, const struct kl_event *event, int which,
		     struct task *task, struct kl_mm_row *row)
{
	switch (which) {
	case FAULT_USER:
	case FAULT_KERNEL:
		add_fault(report, event, which, row);
		return 0;
	case THROTTLED:
		row->throttled++;
		row->throttled_ns +=
			NS_PER_US *
			(uint64_t)(uint32_t)kl_report_number(&report->events, event, which, 0);
		return 0;
	case VICTIM:
		add_victim(report, event);
		return 0;
	}
	if ((which - WORK) % 2)
		return end_work(report, event, (enum kl_mm_work)((which - WORK) / 2), task, row);
	begin_work(report, event, (enum kl_mm_work)((which - WORK) / 2), task);
	return 0;
}

/* ----------------------------------------------------------------- interface */

struct kl_mm_report *kl_mm_report_create(const struct kl_schema *schema, int32_t pid)
{
	struct kl_mm_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	kl_report_events_init(&report->events, schema, used, EVENTS);
	report->tasks.size = sizeof(struct task);
	report->rows_by_pid.size = sizeof(struct row_of);
	report->min_faults = kl_schema_find_variable(schema, "min_faults");
	report->maj_faults = kl_schema_find_variable(schema, "maj_faults");
	report->pid = pid;
	for (unsigned int i = 0; i < KL_MM_WORKS; i++)
		kl_histogram_init(&report->totals.time[i], NS_PER_US);
	return report;
}

void kl_mm_report_destroy(struct kl_mm_report *report)
{
	if (!report)
		return;
	for (unsigned int i = 0; i < KL_MM_WORKS; i++)
		kl_histogram_deinit(&report->totals.time[i]);
	kl_hash_deinit(&report->tasks);
	kl_hash_deinit(&report->rows_by_pid);
	free(report->row);
	free(report);
}

/* Work in progress may have ended. */
static void add_loss(struct kl_mm_report *report, const struct kl_loss *loss)
{
	struct task *task = NULL;

	if (loss->kind == KL_LOSS_UNSEEN)
		return;
	report->totals.gaps++;
	while ((task = kl_hash_next(&report->tasks, task)))
		memset(task->since_ns, 0, sizeof(task->since_ns));
}

int kl_mm_report_add(struct kl_mm_report *report, const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	struct kl_mm_row *row;
	struct task *task;
	int error, which;

	if (item->kind == KL_ITEM_LOSS) {
		add_loss(report, item->loss);
		return 0;
	}
	which = kl_report_event_of(&report->events, event);
	report->any |= which >= 0;
	if ((which < 0 && report->min_faults < 0) || !event->task.tid)
		return 0;
	if (report->pid && event->task.pid != report->pid && event->task.tid != report->pid)
		return 0;
	error = get_task(report, event, &task);
	if (error || !task) {
		report->totals.dropped += !error;
		return error;
	}
	row = &report->row[task->row];
	row->task = event->task;
	count_faults(report, event, task, row);
	return which < 0 ? 0 : add_event(report, event, which, task, row);
}

static int compare(const void *a, const void *b)
{
	const struct kl_mm_row *x = a, *y = b;
	const uint64_t first = x->user + x->kernel, second = y->user + y->kernel;

	if (first != second)
		return first < second ? 1 : -1;
	return x->task.pid < y->task.pid ? -1 : x->task.pid > y->task.pid;
}

const struct kl_mm_row *kl_mm_report_rows(struct kl_mm_report *report, size_t *count)
{
	*count = report->n;
	/* Nothing can be added any more: the numbers of the rows change. */
	if (report->n)
		qsort(report->row, report->n, sizeof(*report->row), compare);
	return report->row;
}

const struct kl_mm_totals *kl_mm_report_totals(struct kl_mm_report *report)
{
	struct task *task = NULL;

	while ((task = kl_hash_next(&report->tasks, task))) {
		for (unsigned int i = 0; i < KL_MM_KSWAPD; i++)
			report->totals.unfinished += task->since_ns[i] != 0;
		memset(task->since_ns, 0, sizeof(task->since_ns));
	}
	return &report->totals;
}

void kl_mm_report_missing(const struct kl_mm_report *report, struct kl_buffer *names)
{
	if (!report->any)
		kl_report_missing(&report->events, false, names);
}
