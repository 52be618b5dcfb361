/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timelines of tasks and CPUs: why.c and why_later.c collect them, why_explain.c walks them,
 * why_forget.c drops their beginnings.
 */
#ifndef KL_LIB_REPORT_WHY_H
#define KL_LIB_REPORT_WHY_H

#include <kernlens/why.h>
#include "../base/table.h"
#include "../base/texts.h"
#include "values.h"

#define KL_WHY_NO_TASK UINT32_MAX

enum kl_why_state {
	KL_WHY_STATE_RUNNING,
	KL_WHY_STATE_RUNNABLE,
	KL_WHY_STATE_ASLEEP,
	KL_WHY_STATE_STOPPED,
};

/**
 * struct kl_why_cause - who did something, such as waking a task
 * @ns: when; 0: there is no cause
 * @kind: KL_WHY_TASK, or the kind of the leaf
 * @thread: index of the task, or KL_WHY_NO_TASK
 * @text: name of the leaf; KL_WHY_TASK: the softirq that delivered a packet of the task, or NULL
 */
struct kl_why_cause {
	uint64_t ns;
	enum kl_why_kind kind;
	uint32_t thread;
	const char *text;
};

/**
 * struct kl_why_segment - what a task did from @ns to the begin of the next segment
 * @comm: its command name at the end
 * @cpu: where it runs; KL_WHY_STATE_RUNNABLE: where it ran next
 * @reason: KL_WHY_STATE_ASLEEP: what it waited for
 * @by: and what ended that
 */
struct kl_why_segment {
	uint64_t ns;
	enum kl_why_state state;
	uint32_t cpu;
	const char *comm;
	const char *reason;
	struct kl_why_cause by;
};

/**
 * struct kl_why_work - a work item that a kernel thread executed
 * @ns: from when on
 * @end_ns: to when; 0: to the end of the trace
 * @function: its name
 * @by: who has queued it, and when
 */
struct kl_why_work {
	uint64_t ns;
	uint64_t end_ns;
	const char *function;
	struct kl_why_cause by;
};

/* A tick of the profile: a task was in a function. */
struct kl_why_sample {
	uint64_t ns;
	const char *function;
};

/**
 * struct kl_why_thread - a task and its timeline
 * @parent: who has created it, or KL_WHY_NO_TASK if that was before the trace
 * @call: the system call that it is in, by its number, or -1: unknown or none
 * @woken: it has been woken since it began to run. Either it did not sleep then, or it does from
 *         the next switch on, and the wakeup has come before that
 */
struct kl_why_thread {
	struct kl_why_task is;
	uint32_t parent;
	int32_t call;
	bool woken;
	struct kl_why_segment *segment;
	size_t n;
	size_t room;
	struct kl_why_work *work;
	size_t n_works;
	size_t works_room;
	struct kl_why_sample *sample;
	size_t n_samples;
	size_t samples_room;
};

/* From @ns on, a CPU ran a task; @thread is KL_WHY_NO_TASK for its idle task. */
struct kl_why_turn {
	uint64_t ns;
	const char *comm;
	uint32_t thread;
};

/**
 * struct kl_why_cpu - what a CPU did
 * @irq: name of the device whose interrupt is handled, or NULL
 * @vectors: how many interrupts without a device are handled, such as those of other CPUs
 * @softirq: name of the softirq that runs, or NULL
 * @timer: the functions of how many timers run
 * @disk: number of the disk that has completed a request in this softirq or timer, or NULL
 * @sender: who has sent the packet that is being received, if that is known
 */
struct kl_why_cpu {
	struct kl_why_turn *turn;
	size_t n;
	size_t room;
	const char *irq;
	const char *softirq;
	const char *disk;
	unsigned int timer;
	unsigned int vectors;
	struct kl_why_cause sender;
};

/* Who is to be asked about a packet or a work item. @key: its address */
struct kl_why_request {
	uint64_t key;
	struct kl_why_cause by;
};

/* Key: thread ID + 1. @number: index of the thread + 1; 0: new */
struct kl_why_number {
	uint64_t key;
	uint64_t number;
};

struct kl_why;
typedef int (*kl_why_add_fn)(struct kl_why *why, const struct kl_event *event);

/* What adds the events with a name. */
struct kl_why_adder {
	const char *name;
	kl_why_add_fn add;
};

/**
 * struct kl_why - timelines
 * @add: what adds an event, by the ID of its class
 * @by_tid: the latest thread with an ID
 * @packets: who has sent a packet that is on its way, by its address
 * @works: who has queued a work item, by its address
 * @task: for kl_why_tasks()
 * @in_irq: index of this variable; less than 0: the trace does not have it
 * @interrupts: the trace has events of interrupts
 * @first_ns: time of the first event
 * @last_ns: time of the last event
 */
struct kl_why {
	const struct kl_schema *schema;
	kl_why_add_fn add[KL_EV_IDS];
	struct kl_texts texts;
	struct kl_hash by_tid;
	struct kl_hash packets;
	struct kl_hash works;
	struct kl_why_thread *thread;
	size_t n;
	size_t room;
	struct kl_why_cpu *cpu;
	uint32_t n_cpus;
	struct kl_why_task *task;
	int kstack;
	int ustack;
	int wchan;
	int syscall;
	int in_irq;
	bool interrupts;
	uint64_t first_ns;
	uint64_t last_ns;
};

/* What a CPU does, or NULL if there is no memory. */
struct kl_why_cpu *kl_why_cpu(struct kl_why *why, uint32_t cpu);

/* The thread in which an event occurred, or NULL if there is no memory. It may move later. */
struct kl_why_thread *kl_why_running(struct kl_why *why, const struct kl_event *event, int64_t tid);

/* Set a text to that of a field, which stays as it is if the event does not have it. */
int kl_why_keep_text(struct kl_why *why, const struct kl_event *event, const char *field,
		     const char **text);

/* What did the thing that an event reports: a task, or an interrupt. */
int kl_why_cause_of(struct kl_why *why, const struct kl_event *event, struct kl_why_cause *cause);

/* At a switch of tasks. */
int kl_why_leave_interrupts(struct kl_why *why, const struct kl_event *event);

/* Have the events of the schema that are among @n adders added by them. */
void kl_why_choose(struct kl_why *why, const struct kl_why_adder *adder, size_t n);

/* The index of a thread, which stays the same. */
static inline uint32_t kl_why_index(const struct kl_why *why, const struct kl_why_thread *thread)
{
	return (uint32_t)(thread - why->thread);
}

/* Free what a thread did; the thread is still there. */
void kl_why_free_timeline(struct kl_why_thread *thread);

/*
 * The number of elements of an array, in order of time, that begin at @ns or before. Their first
 * member is the time.
 */
size_t kl_why_count_until(const void *array, size_t n, size_t size, uint64_t ns);

/* Choose what adds interrupts, packets, work items and ticks (why_later.c). */
void kl_why_choose_later(struct kl_why *why);

#endif /* KL_LIB_REPORT_WHY_H */
