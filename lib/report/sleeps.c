// SPDX-License-Identifier: GPL-2.0
/*
 * Where tasks spend their time: running, ready but waiting for a CPU, or asleep. Uses sched_switch,
 * and wakeups for the transition from sleeping to waiting.
 */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/analysis.h>
#include "../base/base.h"
#include "../base/table.h"
#include "states.h"

enum where {
	UNKNOWN,
	RUNNING,
	READY,
	ASLEEP,
};

/* Key: tid + 1. */
struct task {
	uint64_t key;
	enum where where;
	uint64_t since_ns;
	bool followed; /* by the session: it has all events of this task */
	struct kl_sleep_row row;
};

struct kl_sleep_report {
	struct kl_hash tasks;
	bool partial;
	struct kl_sleep_row *rows;
};

struct kl_sleep_report *kl_sleep_report_create(void)
{
	struct kl_sleep_report *report = calloc(1, sizeof(*report));

	if (!report) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	report->tasks.size = sizeof(struct task);
	return report;
}

void kl_sleep_report_destroy(struct kl_sleep_report *report)
{
	if (!report)
		return;
	kl_hash_deinit(&report->tasks);
	free(report->rows);
	free(report);
}

void kl_sleep_report_set_partial(struct kl_sleep_report *report)
{
	report->partial = true;
}

static bool has_row(const struct kl_sleep_report *report, const struct task *task)
{
	return task->row.tid && (task->followed || !report->partial);
}

size_t kl_sleep_report_omitted(const struct kl_sleep_report *report)
{
	const struct task *task = NULL;
	size_t n = 0;

	while ((task = kl_hash_next(&report->tasks, task)))
		n += task->row.tid && !has_row(report, task);
	return n;
}

static struct task *find_task(struct kl_sleep_report *report, int64_t tid)
{
	return kl_hash_get(&report->tasks, (uint64_t)(uint32_t)tid + 1);
}

static struct task *get_task(struct kl_sleep_report *report, const struct kl_event *event,
			     const char *tid_name, const char *comm_name)
{
	struct kl_value tid, comm;
	struct task *task;

	if (kl_event_field(event, tid_name, &tid))
		return NULL;
	task = find_task(report, tid.number);
	if (!task)
		return NULL;
	task->row.tid = tid.number;
	if (!kl_event_field(event, comm_name, &comm) && comm.length <= KL_COMM_LEN) {
		memcpy(task->row.comm, comm.bytes, comm.length);
		task->row.comm[comm.length] = 0;
	}
	return task;
}

static void end_sleep(struct task *task, uint64_t now)
{
	uint64_t ns = now - task->since_ns;

	task->row.sleeps++;
	task->row.sleep_ns += ns;
	if (ns > task->row.sleep_max_ns)
		task->row.sleep_max_ns = ns;
}

static void end_ready(struct task *task, uint64_t now)
{
	uint64_t ns = now - task->since_ns;

	task->row.runnable_ns += ns;
	if (ns > task->row.runnable_max_ns)
		task->row.runnable_max_ns = ns;
}

static void go(struct task *task, enum where where, uint64_t now)
{
	task->where = where;
	task->since_ns = now;
}

/*
 * tid 0 is each CPU's idle task, which is not counted. No session follows it, so a switch between
 * it and a task has been recorded because of that task.
 */
static int add_switch(struct kl_sleep_report *report, const struct kl_event *event)
{
	struct kl_value state, next_tid;
	struct task *task;
	bool from_idle;

	task = get_task(report, event, "prev_tid", "prev_comm");
	if (!task || kl_event_field(event, "prev_state", &state) ||
	    kl_event_field(event, "next_tid", &next_tid))
		return -errno;
	from_idle = !task->row.tid;
	task->followed |= !next_tid.number;
	if (task->row.tid) {
		bool ready = !state.number || state.number & KL_STATE_PREEMPTED;

		if (task->where == RUNNING)
			task->row.run_ns += event->ns - task->since_ns;
		go(task, ready ? READY : ASLEEP, event->ns);
	}
	task = get_task(report, event, "next_tid", "next_comm");
	if (!task)
		return -errno;
	task->followed |= from_idle;
	if (task->row.tid) {
		if (task->where == ASLEEP)
			end_sleep(task, event->ns);
		else if (task->where == READY)
			end_ready(task, event->ns);
		go(task, RUNNING, event->ns);
	}
	return 0;
}

static int add_wakeup(struct kl_sleep_report *report, const struct kl_event *event)
{
	struct task *task = get_task(report, event, "tid", "comm");

	if (!task)
		return -errno;
	if (task->where == ASLEEP) {
		end_sleep(task, event->ns);
		go(task, READY, event->ns);
	} else if (task->where == UNKNOWN) {
		go(task, READY, event->ns);
	}
	return 0;
}

/* System calls are recorded of the tasks that are followed only. */
static int note_followed(struct kl_sleep_report *report, const struct kl_event *event)
{
	struct task *task;

	if (event->event_class->syscall < 0 || event->task.tid <= 0)
		return 0;
	task = find_task(report, event->task.tid);
	if (!task)
		return -errno;
	task->followed = true;
	return 0;
}

int kl_sleep_report_add(struct kl_sleep_report *report, const struct kl_item *item)
{
	struct task *task = NULL;
	const char *name;

	if (item->kind == KL_ITEM_LOSS) {
		while ((task = kl_hash_next(&report->tasks, task)))
			task->where = UNKNOWN;
		return 0;
	}
	errno = 0;
	if (report->partial && note_followed(report, item->event))
		return -errno;
	name = item->event->event_class->name;
	if (strncmp(name, "sched_", 6))
		return 0;
	if (!strcmp(name, "sched_switch"))
		return add_switch(report, item->event);
	/* sched_waking comes first, so the following sched_wakeup finds a task that is ready. */
	if (!strcmp(name, "sched_waking") || !strcmp(name, "sched_wakeup") ||
	    !strcmp(name, "sched_wakeup_new"))
		return add_wakeup(report, item->event);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct kl_sleep_row *first = a, *second = b;

	if (first->sleep_ns != second->sleep_ns)
		return first->sleep_ns < second->sleep_ns ? 1 : -1;
	return first->tid < second->tid ? -1 : first->tid > second->tid;
}

const struct kl_sleep_row *kl_sleep_report_rows(struct kl_sleep_report *report, size_t *count)
{
	const struct task *task = NULL;
	struct kl_sleep_row *rows;
	size_t n = 0;

	rows = reallocarray(report->rows, report->tasks.count + 1, sizeof(*rows));
	if (!rows) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	report->rows = rows;
	while ((task = kl_hash_next(&report->tasks, task))) {
		if (!has_row(report, task))
			continue;
		rows[n] = task->row;
		rows[n++].open = task->where == ASLEEP || task->where == READY;
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	*count = n;
	return rows;
}
