// SPDX-License-Identifier: GPL-2.0
/*
 * Finds what tasks do over time. A task waits for a CPU from sched_wakeup on, as in the kernel's
 * own accounting (schedstat) and in runqlat; without that event, from sched_waking on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "states.h"
#include "tasks.h"

enum {
	SWITCH,
	WAKEUP,
	WAKEUP_NEW,
	WAKING,
	FORK,
	EVENTS,
};

enum {
	PREV_COMM,
	PREV_TID,
	PREV_STATE,
	NEXT_COMM,
	NEXT_TID,
	/* of a wakeup */
	COMM = 0,
	TID,
	/* of a fork */
	CHILD_COMM = 0,
	CHILD_TID,
	CHILD_PID,
};

static const struct kl_report_event used[] = {
	[SWITCH] = { "sched_switch",
		     true,
		     { "prev_comm", "prev_tid", "prev_state", "next_comm", "next_tid" } },
	[WAKEUP] = { "sched_wakeup", false, { "comm", "tid" } },
	[WAKEUP_NEW] = { "sched_wakeup_new", false, { "comm", "tid" } },
	[WAKING] = { "sched_waking", false, { "comm", "tid" } },
	[FORK] = { "sched_process_fork", false, { "child_comm", "child_tid", "child_pid" } },
};

/* Key: thread ID + 1. */
struct number_of {
	uint64_t key;
	uint64_t number;
};

void kl_tasks_init(struct kl_tasks *tasks, const struct kl_schema *schema, bool partial,
		   uint64_t begin_ns, size_t row_bytes, kl_tasks_fn span, void *context)
{
	memset(tasks, 0, sizeof(*tasks));
	tasks->partial = partial;
	tasks->begin_ns = begin_ns;
	tasks->row_bytes = row_bytes;
	tasks->span = span;
	tasks->context = context;
	tasks->by_tid.size = sizeof(struct number_of);
	kl_report_events_init(&tasks->events, schema, used, EVENTS);
}

void kl_tasks_deinit(struct kl_tasks *tasks)
{
	for (size_t i = 0; i < tasks->n; i++)
		free(tasks->task[i]);
	free(tasks->task);
	free(tasks->sorted);
	kl_hash_deinit(&tasks->by_tid);
}

/* --------------------------------------------------------------------- tasks */

/* Sets *@task, to NULL if there are too many. Returns 0 or -ENOMEM. */
static int find_task(struct kl_tasks *tasks, int32_t tid, struct kl_tasks_task **task)
{
	const uint64_t key = (uint64_t)(uint32_t)tid + 1;
	struct number_of *entry = kl_hash_find(&tasks->by_tid, key);
	struct kl_tasks_task **grown;

	*task = entry ? tasks->task[entry->number] : NULL;
	if (entry || tasks->n >= KL_TASKS_MAX)
		return 0;
	entry = kl_hash_get(&tasks->by_tid, key);
	grown = entry ? kl_array_grow(tasks->task, tasks->n, &tasks->room, sizeof(*grown)) : NULL;
	if (!grown)
		return -ENOMEM;
	entry->number = tasks->n;
	tasks->task = grown;
	*task = calloc(1, sizeof(**task) + tasks->row_bytes);
	if (!*task) {
		kl_hash_remove(&tasks->by_tid, key);
		return kl_fail(ENOMEM, "out of memory");
	}
	(*task)->row = *task + 1;
	(*task)->is.tid = tid;
	(*task)->first = !tasks->losses;
	(*task)->cpu = UINT32_MAX;
	grown[tasks->n++] = *task;
	return 0;
}

/* The task that a field names, with its command name. */
static int get_task(struct kl_tasks *tasks, const struct kl_event *event, int which,
		    unsigned int tid_field, unsigned int comm_field, struct kl_tasks_task **task)
{
	const int32_t tid = (int32_t)kl_report_number(&tasks->events, event, which, tid_field);
	char comm[KL_COMM_LEN + 1];
	int error;

	*task = NULL;
	/* Every CPU has an idle task, all with this ID. */
	if (!tid)
		return 0;
	error = find_task(tasks, tid, task);
	if (error || !*task) {
		tasks->dropped += !error;
		return error;
	}
	kl_report_text(&tasks->events, event, which, comm_field, comm, sizeof(comm));
	if (*comm)
		memcpy((*task)->is.comm, comm, sizeof(comm));
	return 0;
}

/* --------------------------------------------------------------------- spans */

/* End the span of a task, if there is one, and tell the report. */
static int end_span(struct kl_tasks *tasks, struct kl_tasks_task *task, uint64_t ns,
		    struct kl_tasks_span *span)
{
	if (!task->known)
		return 0;
	task->known = false;
	span->state = task->state;
	span->begin_ns = task->since_ns;
	span->end_ns = ns > task->since_ns ? ns : task->since_ns;
	return tasks->span(tasks->context, task, span);
}

static void begin_span(struct kl_tasks_task *task, enum kl_run_state state, uint64_t ns)
{
	task->first = false;
	task->known = true;
	task->state = state;
	task->since_ns = ns;
}

/* The first event of a task tells what it has done since the trace began. */
static void infer(const struct kl_tasks *tasks, struct kl_tasks_task *task, enum kl_run_state state,
		  struct kl_tasks_span *span)
{
	if (!task->first || !tasks->begin_ns)
		return;
	begin_span(task, state, tasks->begin_ns);
	span->inferred = true;
}

static int add_prev(struct kl_tasks *tasks, const struct kl_event *event, bool to_idle,
		    struct kl_tasks_task *task)
{
	const uint64_t state = kl_report_number(&tasks->events, event, SWITCH, PREV_STATE);
	struct kl_tasks_span span = { .cpu = event->cpu };
	int error;

	/* No session follows an idle task: the switch was recorded because of the other one. */
	task->followed |= to_idle;
	if (event->task.tid == task->is.tid && event->task.pid)
		task->is.pid = event->task.pid;
	infer(tasks, task, KL_RUN_RUNNING, &span);
	/* Records are missing if it did not run. */
	if (task->state != KL_RUN_RUNNING)
		task->known = false;
	error = end_span(tasks, task, event->ns, &span);
	task->cpu = event->cpu;
	task->waking_ns = 0;
	if (state & KL_STATE_DEAD)
		task->first = false;
	else if (!state || state & KL_STATE_PREEMPTED)
		begin_span(task, KL_RUN_PREEMPTED, event->ns);
	else if (state & KL_STATE_STOPPED)
		begin_span(task, KL_RUN_STOPPED, event->ns);
	else
		begin_span(task,
			   state & KL_STATE_UNINTERRUPTIBLE ? KL_RUN_BLOCKED : KL_RUN_SLEEPING,
			   event->ns);
	return error;
}

static bool is_off(const struct kl_tasks_task *task)
{
	return task->state >= KL_RUN_SLEEPING;
}

static int add_next(struct kl_tasks *tasks, const struct kl_event *event,
		    const struct kl_tasks_task *prev, struct kl_tasks_task *task)
{
	struct kl_tasks_span span = { .cpu = event->cpu };
	int error = 0;

	task->followed |= !prev;
	if (prev)
		span.before = prev->is;
	infer(tasks, task, KL_RUN_WOKEN, &span);
	/* Without sched_wakeup, it has waited since sched_waking. */
	if (task->known && is_off(task) && task->waking_ns) {
		error = end_span(tasks, task, task->waking_ns, &span);
		begin_span(task, KL_RUN_WOKEN, task->waking_ns);
	}
	if (task->state == KL_RUN_RUNNING)
		task->known = false;
	error = error ?: end_span(tasks, task, event->ns, &span);
	begin_span(task, KL_RUN_RUNNING, event->ns);
	task->runs++;
	task->migrations += task->cpu != UINT32_MAX && task->cpu != event->cpu;
	task->cpu = event->cpu;
	task->waking_ns = 0;
	return error;
}

static int add_switch(struct kl_tasks *tasks, const struct kl_event *event)
{
	struct kl_tasks_task *prev, *next;
	int error = get_task(tasks, event, SWITCH, PREV_TID, PREV_COMM, &prev);

	error = error ?: get_task(tasks, event, SWITCH, NEXT_TID, NEXT_COMM, &next);
	if (!error && prev)
		error = add_prev(tasks, event,
				 !kl_report_number(&tasks->events, event, SWITCH, NEXT_TID), prev);
	return error || !next ? error : add_next(tasks, event, prev, next);
}

static int add_waking(struct kl_tasks *tasks, const struct kl_event *event)
{
	struct kl_tasks_task *task;
	int error = get_task(tasks, event, WAKING, TID, COMM, &task);

	if (error || !task)
		return error;
	task->waking_ns = event->ns;
	task->waker = event->task;
	return 0;
}

static int add_wakeup(struct kl_tasks *tasks, const struct kl_event *event, int which)
{
	struct kl_tasks_span span = { .cpu = UINT32_MAX };
	struct kl_tasks_task *task;
	int error = get_task(tasks, event, which, TID, COMM, &task);

	if (error || !task)
		return error;
	/* A new task has not slept, and one whose ID was used before is another one. */
	if (which == WAKEUP_NEW) {
		task->first = false;
		task->known = false;
		task->cpu = UINT32_MAX;
	}
	infer(tasks, task, KL_RUN_SLEEPING, &span);
	/* It may be woken before it has left its CPU, which then has no effect. */
	if (task->known && !is_off(task))
		return 0;
	if (!task->waking_ns)
		task->waker = event->task;
	error = end_span(tasks, task, event->ns, &span);
	begin_span(task, KL_RUN_WOKEN, event->ns);
	return error;
}

static int add_fork(struct kl_tasks *tasks, const struct kl_event *event)
{
	struct kl_tasks_task *task;
	int error = get_task(tasks, event, FORK, CHILD_TID, CHILD_COMM, &task);

	if (error || !task)
		return error;
	task->is.pid = (int32_t)kl_report_number(&tasks->events, event, FORK, CHILD_PID);
	task->first = false;
	task->known = false;
	task->cpu = UINT32_MAX;
	return 0;
}

/* Events that are about the running task only are recorded of those that are followed. */
static int note_followed(struct kl_tasks *tasks, const struct kl_event *event)
{
	struct kl_tasks_task *task;
	int error;

	if (event->event_class->syscall < 0 || event->task.tid <= 0)
		return 0;
	error = find_task(tasks, event->task.tid, &task);
	if (error || !task)
		return error;
	task->followed = true;
	if (!*task->is.comm)
		task->is = event->task;
	return 0;
}

/* Nothing is known any more: any of the missing records may have changed it. */
static void add_loss(struct kl_tasks *tasks, const struct kl_loss *loss)
{
	/* These belong to sources that are not of the scheduler. */
	if (loss->kind == KL_LOSS_UNSEEN)
		return;
	tasks->losses++;
	for (size_t i = 0; i < tasks->n; i++) {
		tasks->task[i]->known = false;
		tasks->task[i]->first = false;
		tasks->task[i]->waking_ns = 0;
	}
}

int kl_tasks_add(struct kl_tasks *tasks, const struct kl_item *item)
{
	const struct kl_event *event = item->event;
	int which;

	if (item->kind == KL_ITEM_LOSS) {
		add_loss(tasks, item->loss);
		return 0;
	}
	if (!tasks->begin_ns)
		tasks->begin_ns = event->ns;
	if (event->ns > tasks->last_ns)
		tasks->last_ns = event->ns;
	if (tasks->partial && note_followed(tasks, event))
		return -ENOMEM;
	which = kl_report_event_of(&tasks->events, event);
	switch (which) {
	case SWITCH:
		return add_switch(tasks, event);
	case WAKEUP:
	case WAKEUP_NEW:
		return add_wakeup(tasks, event, which);
	case WAKING:
		return add_waking(tasks, event);
	case FORK:
		return add_fork(tasks, event);
	default:
		return 0;
	}
}

int kl_tasks_finish(struct kl_tasks *tasks, uint64_t end_ns)
{
	int error = 0;

	if (end_ns < tasks->last_ns)
		end_ns = tasks->last_ns;
	for (size_t i = 0; i < tasks->n && !error; i++) {
		struct kl_tasks_span span = { .cpu = tasks->task[i]->cpu, .open = true };

		error = end_span(tasks, tasks->task[i], end_ns, &span);
	}
	return error;
}

size_t kl_tasks_omitted(const struct kl_tasks *tasks)
{
	size_t n = 0;

	for (size_t i = 0; i < tasks->n; i++)
		n += tasks->task[i]->is.tid && !kl_tasks_is_whole(tasks, tasks->task[i]);
	return n;
}

void kl_tasks_missing(const struct kl_tasks *tasks, struct kl_buffer *names)
{
	const uint64_t *seen = tasks->events.seen;

	kl_report_missing(&tasks->events, false, names);
	if (!seen[WAKEUP] && !seen[WAKING])
		kl_buffer_printf(names, "%s%s", names->length ? "," : "", used[WAKEUP].name);
}

const void *kl_tasks_rows(struct kl_tasks *tasks, int32_t pid,
			  int (*compare)(const void *, const void *), size_t *count)
{
	uint8_t *rows = reallocarray(tasks->sorted, tasks->n + 1, tasks->row_bytes);
	size_t n = 0;

	*count = 0;
	if (!rows) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	tasks->sorted = rows;
	for (size_t i = 0; i < tasks->n; i++)
		if (kl_tasks_is_shown(tasks, tasks->task[i], pid))
			memcpy(rows + n++ * tasks->row_bytes, tasks->task[i]->row,
			       tasks->row_bytes);
	qsort(rows, n, tasks->row_bytes, compare);
	*count = n;
	return rows;
}
