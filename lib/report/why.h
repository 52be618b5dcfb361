/* SPDX-License-Identifier: GPL-2.0 */
/* The timelines of tasks and CPUs: why.c collects them, why_explain.c walks them. */
#ifndef KL_LIB_REPORT_WHY_H
#define KL_LIB_REPORT_WHY_H

#include <kernlens/why.h>
#include "../base/table.h"
#include "../base/texts.h"

#define KL_WHY_NO_TASK UINT32_MAX

enum kl_why_state {
	KL_WHY_STATE_RUNNING,
	KL_WHY_STATE_RUNNABLE,
	KL_WHY_STATE_ASLEEP,
	KL_WHY_STATE_STOPPED,
};

/**
 * struct kl_why_segment - what a task did from @ns to the begin of the next segment
 * @comm: its command name at the end
 * @cpu: where it runs; KL_WHY_STATE_RUNNABLE: where it ran next
 * @reason: KL_WHY_STATE_ASLEEP: what it waited for
 * @waker: and what ended that: the kind of the leaf, or KL_WHY_TASK
 * @waker_text: name of a leaf
 * @waker_task: index of the task, or KL_WHY_NO_TASK
 */
struct kl_why_segment {
	uint64_t ns;
	enum kl_why_state state;
	uint32_t cpu;
	const char *comm;
	const char *reason;
	enum kl_why_kind waker;
	const char *waker_text;
	uint32_t waker_task;
};

/**
 * struct kl_why_thread - a task and its timeline
 * @parent: who has created it, or KL_WHY_NO_TASK if that was before the trace
 * @woken: since it began to run, it has been woken: it was about to sleep, and will not
 */
struct kl_why_thread {
	struct kl_why_task is;
	uint32_t parent;
	bool woken;
	struct kl_why_segment *segment;
	size_t n;
	size_t room;
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
 * @softirq: name of the softirq that runs, or NULL
 * @timer: the functions of how many timers run
 */
struct kl_why_cpu {
	struct kl_why_turn *turn;
	size_t n;
	size_t room;
	const char *irq;
	const char *softirq;
	unsigned int timer;
};

/**
 * struct kl_why - timelines
 * @by_tid: the latest thread with an ID
 * @task: for kl_why_tasks()
 * @first_ns: time of the first event
 * @last_ns: time of the last event
 */
struct kl_why {
	const struct kl_schema *schema;
	struct kl_texts texts;
	struct kl_hash by_tid;
	struct kl_why_thread *thread;
	size_t n;
	size_t room;
	struct kl_why_cpu *cpu;
	uint32_t n_cpus;
	struct kl_why_task *task;
	int kstack;
	int wchan;
	int syscall;
	int in_irq;
	uint64_t first_ns;
	uint64_t last_ns;
};

#endif /* KL_LIB_REPORT_WHY_H */
