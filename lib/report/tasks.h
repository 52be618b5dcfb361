/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tasks do over time: run, wait for a CPU, sleep, from sched_switch and wakeups. The reports
 * sched and states are made from the spans that this finds.
 */
#ifndef KL_LIB_REPORT_TASKS_H
#define KL_LIB_REPORT_TASKS_H

#include <kernlens/histogram.h>
#include <kernlens/states_report.h>
#include <kernlens/trace.h>
#include "../base/table.h"
#include "events.h"

/**
 * struct kl_tasks_task - a task, by its thread ID
 * @is: its IDs, and its latest name; pid 0: not known
 * @state: what it does
 * @since_ns: wall time since when
 * @known: @state is known
 * @first: nothing is known yet, and nothing is missing since the trace began
 * @followed: the session has recorded all of its events
 * @cpu: where it ran last, or runs; UINT32_MAX: unknown
 * @runs: how often it got a CPU
 * @migrations: how often that was not @cpu
 * @waking_ns: when its waker began to wake it; 0: it does not
 * @waker: by whom
 * @row: what the report keeps of the task, zero at first; freed with the task
 */
struct kl_tasks_task {
	struct kl_task is;
	enum kl_run_state state;
	uint64_t since_ns;
	bool known;
	bool first;
	bool followed;
	uint32_t cpu;
	uint64_t runs;
	uint64_t migrations;
	uint64_t waking_ns;
	struct kl_task waker;
	void *row;
};

/**
 * struct kl_tasks_span - what a task did, and no longer does
 * @state: what
 * @begin_ns, @end_ns: wall times; the end is not before the begin
 * @cpu: where it ran, or runs next; UINT32_MAX: unknown
 * @inferred: the trace does not have the begin: it has been so since the trace began
 * @open: the trace does not have the end
 * @before: the task that leaves the CPU to this one; tid 0: the CPU was idle
 */
struct kl_tasks_span {
	enum kl_run_state state;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t cpu;
	bool inferred;
	bool open;
	struct kl_task before;
};

/* Takes a span. Returns 0 or -ENOMEM. */
typedef int (*kl_tasks_fn)(void *context, const struct kl_tasks_task *task,
			   const struct kl_tasks_span *span);

/**
 * struct kl_tasks - the tasks of a trace
 * @span: takes spans, with @context
 * @row_bytes: size of the @row of each task
 * @partial: the trace lacks events of tasks that were not selected
 * @begin_ns: wall time at which the trace began; 0: not known yet
 * @last_ns: wall time of the latest event
 * @task: in order of their first events; at most KL_TASKS_MAX
 * @sorted: of kl_tasks_rows()
 * @dropped: events about tasks beyond these
 * @losses: how often records were missing, so that no state was known
 */
struct kl_tasks {
	kl_tasks_fn span;
	void *context;
	size_t row_bytes;
	bool partial;
	uint64_t begin_ns;
	uint64_t last_ns;
	struct kl_report_events events;
	struct kl_hash by_tid;
	struct kl_tasks_task **task;
	size_t n;
	size_t room;
	void *sorted;
	uint64_t dropped;
	uint64_t losses;
};

/* Start. @tasks is overwritten; the other arguments are its members. */
void kl_tasks_init(struct kl_tasks *tasks, const struct kl_schema *schema, bool partial,
		   uint64_t begin_ns, size_t row_bytes, kl_tasks_fn span, void *context);
void kl_tasks_deinit(struct kl_tasks *tasks);

/* Add an item of the trace. Returns 0, -ENOMEM, or what @span returned. */
int kl_tasks_add(struct kl_tasks *tasks, const struct kl_item *item);

/* End what is open at @end_ns, or at the last event if that is later. The same. */
int kl_tasks_finish(struct kl_tasks *tasks, uint64_t end_ns);

/* Is enough known about a task to show it? */
static inline bool kl_tasks_is_whole(const struct kl_tasks *tasks, const struct kl_tasks_task *task)
{
	return task->is.tid && (task->followed || !tasks->partial);
}

/* And is it of a process, or this thread? @pid: 0: any */
static inline bool kl_tasks_is_shown(const struct kl_tasks *tasks, const struct kl_tasks_task *task,
				     int32_t pid)
{
	return kl_tasks_is_whole(tasks, task) &&
	       (!pid || task->is.pid == pid || task->is.tid == pid);
}

/*
 * Copies of the rows of the tasks that kl_tasks_is_shown(), sorted; valid until the next call. Sets
 * *@count. Returns NULL with an error text if there is no memory.
 */
const void *kl_tasks_rows(struct kl_tasks *tasks, int32_t pid,
			  int (*compare)(const void *, const void *), size_t *count);

/* How many tasks are not shown because too little is known about them. */
size_t kl_tasks_omitted(const struct kl_tasks *tasks);

/* Append the events without which nothing can be said, separated by commas. */
void kl_tasks_missing(const struct kl_tasks *tasks, struct kl_buffer *names);

#endif /* KL_LIB_REPORT_TASKS_H */
