/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the wall time of a task went, and what was behind each wait: the chain of tasks, timers and
 * devices that it waited for. From the switches and wakeups of all tasks in a trace.
 */
#ifndef KERNLENS_WHY_H
#define KERNLENS_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/event.h>
#include <kernlens/schema.h>

struct kl_why;

/* Text of a node of kind KL_WHY_UNKNOWN: the wait has not ended. */
#define KL_WHY_NOT_OVER "not over"

/* What a node of the explanation stands for. */
enum kl_why_kind {
	KL_WHY_TASK, /* a task, by command name; its time is that of its children */
	KL_WHY_RUNNING,
	KL_WHY_RUNNABLE, /* not running; below it, who had the CPU */
	KL_WHY_WAIT, /* for what `text` says; below it, what ended the wait */
	KL_WHY_TIMER,
	KL_WHY_IRQ, /* a device, by the name of its interrupt */
	KL_WHY_SOFTIRQ,
	KL_WHY_DISK, /* by its number; completed a request in a softirq or timer */
	KL_WHY_IDLE, /* the CPU was idle, or about to switch */
	KL_WHY_STOPPED,
	KL_WHY_FUNCTION, /* below KL_WHY_RUNNING, estimated from ticks; "FUNCTION (FILE)" */
	KL_WHY_UNKNOWN, /* the trace does not have it */
};

/**
 * kl_why_kind_name - name of a kind, such as "task"
 * @kind: kind
 */
const char *kl_why_kind_name(enum kl_why_kind kind);

/**
 * struct kl_why_node - a part of the time
 * @kind: what it is
 * @text: command name, what is waited for, device; or ""
 * @ns: wall time
 * @uncertain_ns: the part of it that is attributed to @child with doubt
 * @count: how many intervals it consists of
 * @at_ns: wall time at which the longest of them begins
 * @longest_ns: length of that
 * @at_tid: whose it is, for KL_WHY_TASK
 * @tid: of the first task, for KL_WHY_TASK
 * @child: parts, longest first, which add up to @ns if there are any
 * @n: number of parts
 */
struct kl_why_node {
	enum kl_why_kind kind;
	const char *text;
	uint64_t ns;
	uint64_t uncertain_ns;
	uint64_t count;
	uint64_t at_ns;
	uint64_t longest_ns;
	int32_t at_tid;
	int32_t tid;
	struct kl_why_node **child;
	size_t n;
	size_t room;
};

/**
 * struct kl_why_task - a task of the trace
 * @tid: thread ID
 * @pid: process ID; 0: unknown
 * @comm: its last command name
 * @begin_ns: wall time of its creation, or of the first event of the trace
 * @end_ns: of its end, or of the last event of the trace
 */
struct kl_why_task {
	int32_t tid;
	int32_t pid;
	const char *comm;
	uint64_t begin_ns;
	uint64_t end_ns;
};

/**
 * kl_why_create - collect the timelines of all tasks
 * @schema: of the trace; must outlive the result
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_why *kl_why_create(const struct kl_schema *schema);

/**
 * kl_why_destroy - free the timelines
 * @why: or NULL
 */
void kl_why_destroy(struct kl_why *why);

/**
 * kl_why_add - add an event
 * @why: timelines
 * @event: the next event of the trace
 *
 * Returns 0 or -ENOMEM.
 */
int kl_why_add(struct kl_why *why, const struct kl_event *event);

/**
 * kl_why_advance - note that nothing else has happened up to a time
 * @why: timelines
 * @ns: wall time, such as that of reading a session that still runs
 */
void kl_why_advance(struct kl_why *why, uint64_t ns);

/**
 * kl_why_forget - drop what happened before a time: a running session needs no more
 * @why: timelines
 * @ns: wall time
 *
 * What tasks, CPUs and work items were doing at that time is kept; time from then on is explained
 * as before. Tasks that had exited are dropped, and the indices of others change. Returns 0 or
 * -ENOMEM; the timelines are valid in any case.
 */
int kl_why_forget(struct kl_why *why, uint64_t ns);

/**
 * kl_why_tasks - the tasks of the trace
 * @why: timelines
 * @count: out: their number
 *
 * Returns an array in the order of their appearance, valid until the next call of a function.
 */
const struct kl_why_task *kl_why_tasks(struct kl_why *why, size_t *count);

/**
 * kl_why_find - the latest task with a thread ID
 * @why: timelines
 * @tid: thread ID
 * @task: out: its index among kl_why_tasks()
 *
 * Returns false if there is none.
 */
bool kl_why_find(const struct kl_why *why, int32_t tid, size_t *task);

/**
 * kl_why_knows_interrupts - are wakeups by interrupts distinguished from those by tasks?
 * @why: timelines, complete
 *
 * The trace has the variable in_irq, or events of interrupts. Otherwise, what interrupts wake is
 * attributed to the tasks that they interrupt.
 */
bool kl_why_knows_interrupts(const struct kl_why *why);

/**
 * kl_why_explain - where the time of a task went
 * @why: timelines, complete
 * @task: index of a task
 * @from_ns: begin of the time to explain
 * @to_ns: its end
 *
 * Every nanosecond between the two that the task existed is in exactly one leaf. Returns the node
 * of the task, to be freed with kl_why_node_destroy(), or NULL with errno ENOMEM.
 */
struct kl_why_node *kl_why_explain(struct kl_why *why, size_t task, uint64_t from_ns,
				   uint64_t to_ns);

/**
 * kl_why_node_destroy - free an explanation
 * @node: or NULL
 */
void kl_why_node_destroy(struct kl_why_node *node);

#endif /* KERNLENS_WHY_H */
