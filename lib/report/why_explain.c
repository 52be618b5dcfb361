// SPDX-License-Identifier: GPL-2.0
/* Explains where the time of a task went, by following its waits to what ended them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "why.h"

/* Tasks behind each other; what is behind more is not followed. */
#define DEPTH_MAX 64

/* A task that sleeps again after so short a time, for the same reason, had been woken in vain. */
#define IN_VAIN_NS 100000

static int explain(struct kl_why *why, uint32_t index, uint64_t from, uint64_t to,
		   struct kl_why_node *node, unsigned int depth);
static int follow(struct kl_why *why, uint32_t index, uint64_t from, uint64_t to,
		  struct kl_why_node *node, unsigned int depth);

/* --------------------------------------------------------------------- nodes */

static void free_children(struct kl_why_node *node)
{
	for (size_t i = 0; i < node->n; i++)
		kl_why_node_destroy(node->child[i]);
	free(node->child);
}

void kl_why_node_destroy(struct kl_why_node *node)
{
	if (!node)
		return;
	free_children(node);
	free(node);
}

const char *kl_why_kind_name(enum kl_why_kind kind)
{
	static const char *const names[] = {
		[KL_WHY_TASK] = "task",		[KL_WHY_RUNNING] = "running",
		[KL_WHY_RUNNABLE] = "runnable", [KL_WHY_WAIT] = "wait",
		[KL_WHY_TIMER] = "timer",	[KL_WHY_IRQ] = "irq",
		[KL_WHY_SOFTIRQ] = "softirq",	[KL_WHY_DISK] = "disk",
		[KL_WHY_IDLE] = "idle",		[KL_WHY_STOPPED] = "stopped",
		[KL_WHY_FUNCTION] = "function", [KL_WHY_UNKNOWN] = "unknown",
	};

	return names[kind];
}

/* The part of a node that stands for something, with the time from @from to @to more. */
static struct kl_why_node *part(struct kl_why_node *node, enum kl_why_kind kind, const char *text,
				uint64_t from, uint64_t to)
{
	struct kl_why_node **grown, *child = NULL;

	for (size_t i = 0; i < node->n && !child; i++)
		if (node->child[i]->kind == kind && !strcmp(node->child[i]->text, text))
			child = node->child[i];
	if (!child) {
		grown = kl_array_grow(node->child, node->n, &node->room,
				      sizeof(struct kl_why_node *));
		if (grown)
			node->child = grown;
		child = grown ? calloc(1, sizeof(*child)) : NULL;
		if (!child) {
			kl_fail(ENOMEM, "out of memory");
			return NULL;
		}
		child->kind = kind;
		child->text = text;
		node->child[node->n++] = child;
	}
	if (!child->count || to - from > child->longest_ns) {
		child->longest_ns = to - from;
		child->at_ns = from;
	}
	child->ns += to - from;
	child->count++;
	return child;
}

/* Whose time a node is from a time on. @node: NULL: out of memory */
static int set_task(struct kl_why_node *node, const struct kl_why_thread *thread, uint64_t from)
{
	if (!node)
		return -ENOMEM;
	if (!node->tid)
		node->tid = thread->is.tid;
	if (node->at_ns == from)
		node->at_tid = thread->is.tid;
	return 0;
}

static int leaf(struct kl_why_node *node, enum kl_why_kind kind, const char *text, uint64_t from,
		uint64_t to)
{
	return part(node, kind, text, from, to) ? 0 : -ENOMEM;
}

static int by_time(const void *a, const void *b)
{
	const struct kl_why_node *x = *(struct kl_why_node *const *)a;
	const struct kl_why_node *y = *(struct kl_why_node *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->text, y->text);
}

static void sort(struct kl_why_node *node)
{
	if (node->n)
		qsort(node->child, node->n, sizeof(struct kl_why_node *), by_time);
	for (size_t i = 0; i < node->n; i++)
		sort(node->child[i]);
}

/* ---------------------------------------------------------------------- times */

size_t kl_why_count_until(const void *array, size_t n, size_t size, uint64_t ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const uint64_t *begin = (const void *)((const char *)array + middle * size);

		if (*begin <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The segment of a thread at a time; the first one before that. */
static size_t segment_at(const struct kl_why_thread *thread, uint64_t ns)
{
	size_t n = kl_why_count_until(thread->segment, thread->n, sizeof(*thread->segment), ns);

	return n ? n - 1 : 0;
}

/* --------------------------------------------------------------- who had the CPU */

static int explain_runnable(const struct kl_why *why, const struct kl_why_segment *segment,
			    uint64_t from, uint64_t to, struct kl_why_node *node)
{
	const struct kl_why_cpu *cpu = segment->cpu < why->n_cpus ? &why->cpu[segment->cpu] : NULL;
	size_t at = cpu ? kl_why_count_until(cpu->turn, cpu->n, sizeof(*cpu->turn), from) : 0;
	int error = 0;

	if (!at)
		return leaf(node, KL_WHY_UNKNOWN, "", from, to);
	for (at--; from < to && !error; at++) {
		const uint32_t thread = cpu->turn[at].thread;
		struct kl_why_node *task;
		uint64_t end = at + 1 < cpu->n && cpu->turn[at + 1].ns < to ? cpu->turn[at + 1].ns :
									      to;

		if (end <= from)
			continue;
		if (thread == KL_WHY_NO_TASK) {
			error = leaf(node, KL_WHY_IDLE, "", from, end);
		} else {
			task = part(node, KL_WHY_TASK, cpu->turn[at].comm, from, end);
			error = set_task(task, &why->thread[thread], from);
		}
		from = end;
	}
	return error;
}

/* --------------------------------------------------------------------- waits */

/*
 * Was the wakeup at the end of a segment in vain: the task sleeps again for the same reason? What
 * ends a wait for a child or a futex ends the system call, too. Who waits for a page is woken only
 * if it can go on, and may then wait for the next page, as fsync() does.
 */
static bool is_in_vain(const struct kl_why_thread *thread, size_t at)
{
	const struct kl_why_segment *wait = &thread->segment[at];
	uint64_t ran = 0;

	if (!strcmp(wait->reason, "child") || !strcmp(wait->reason, "futex") ||
	    !strcmp(wait->reason, "page") || !strcmp(wait->reason, KL_LATENCY_FSYNC))
		return false;
	for (size_t i = at + 1; i < thread->n; i++) {
		const struct kl_why_segment *segment = &thread->segment[i];

		if (segment->state == KL_WHY_STATE_ASLEEP)
			return ran < IN_VAIN_NS && !strcmp(segment->reason, wait->reason);
		if (segment->state == KL_WHY_STATE_RUNNING && i + 1 < thread->n)
			ran += thread->segment[i + 1].ns - segment->ns;
	}
	return false;
}

static const char *comm_at(const struct kl_why_thread *thread, uint64_t ns)
{
	return thread->n ? thread->segment[segment_at(thread, ns)].comm : thread->is.comm;
}

/* The work item that a thread executed at a time, or NULL. */
static const struct kl_why_work *work_at(const struct kl_why_thread *thread, uint64_t ns)
{
	size_t n = kl_why_count_until(thread->work, thread->n_works, sizeof(*thread->work), ns);
	const struct kl_why_work *work = n ? &thread->work[n - 1] : NULL;

	return work && (!work->end_ns || work->end_ns >= ns) ? work : NULL;
}

/* Who did something: from a time to another, until it was done and it took effect. */
static int explain_cause(struct kl_why *why, const struct kl_why_cause *by, uint64_t from,
			 uint64_t to, struct kl_why_node *node, unsigned int depth)
{
	uint64_t done = by->ns && by->ns < to ? by->ns : to;
	int error = 0;

	if (by->kind != KL_WHY_TASK)
		return leaf(node, by->kind, by->text ? by->text : "", from, to);
	if (from < done)
		error = follow(why, by->thread, from, done, node, depth);
	else
		done = from;
	if (!error && done < to)
		error = leaf(node, KL_WHY_SOFTIRQ, by->text ? by->text : "", done, to);
	return error;
}

/* What a kernel thread did for a work item: before somebody had queued it, the time is theirs. */
static int explain_work(struct kl_why *why, uint32_t index, const struct kl_why_work *work,
			uint64_t from, uint64_t to, struct kl_why_node *node, unsigned int depth)
{
	uint64_t queued = work->by.ns < to ? work->by.ns : to;
	struct kl_why_node *wait;
	int error = 0;

	if (from < queued) {
		wait = part(node, KL_WHY_WAIT, "work", from, queued);
		error = wait ? explain_cause(why, &work->by, from, queued, wait, depth) : -ENOMEM;
		from = queued;
	}
	return error || from == to ? error : explain(why, index, from, to, node, depth);
}

/* Goes on with what another task did in the time. */
static int follow(struct kl_why *why, uint32_t index, uint64_t from, uint64_t to,
		  struct kl_why_node *node, unsigned int depth)
{
	const struct kl_why_thread *thread = &why->thread[index];
	const struct kl_why_work *work = work_at(thread, to);
	const char *name = comm_at(thread, to);
	struct kl_why_node *task;
	char text[256];

	if (work && *work->function) {
		snprintf(text, sizeof(text), "kworker (%s)", work->function);
		name = text;
		if (kl_texts_keep(&why->texts, &name))
			return -ENOMEM;
	}
	task = part(node, KL_WHY_TASK, name, from, to);
	if (set_task(task, thread, from))
		return -ENOMEM;
	if (depth == DEPTH_MAX)
		return leaf(task, KL_WHY_UNKNOWN, "", from, to);
	if (work && work->by.ns)
		return explain_work(why, index, work, from, to, task, depth + 1);
	return explain(why, index, from, to, task, depth + 1);
}

static int explain_wait(struct kl_why *why, const struct kl_why_thread *thread, size_t at,
			uint64_t from, uint64_t to, struct kl_why_node *node, unsigned int depth)
{
	const struct kl_why_segment *wait = &thread->segment[at];
	struct kl_why_node *sleep = part(node, KL_WHY_WAIT, wait->reason, from, to);

	if (!sleep)
		return -ENOMEM;
	if (!wait->by.ns && at + 1 == thread->n)
		return leaf(sleep, KL_WHY_UNKNOWN, KL_WHY_NOT_OVER, from, to);
	if (wait->by.kind == KL_WHY_TASK && is_in_vain(thread, at))
		sleep->uncertain_ns += to - from;
	return explain_cause(why, &wait->by, from, to, sleep, depth);
}

/* ------------------------------------------------------------------- running */

/* Counts the ticks in each function; share_out() turns them into times. */
static int explain_running(const struct kl_why_thread *thread, uint64_t from, uint64_t to,
			   struct kl_why_node *node)
{
	struct kl_why_node *running = part(node, KL_WHY_RUNNING, "", from, to);
	const struct kl_why_sample *sample = thread->sample;
	size_t at = kl_why_count_until(sample, thread->n_samples, sizeof(*sample), from);
	int error = running ? 0 : -ENOMEM;

	for (; !error && at < thread->n_samples && sample[at].ns <= to; at++)
		error = leaf(running, KL_WHY_FUNCTION, sample[at].function, sample[at].ns,
			     sample[at].ns);
	return error;
}

/* Gives each function a part of the time in which its task ran, in proportion to its ticks. */
static void share_out(struct kl_why_node *node)
{
	uint64_t ticks = 0, counted = 0, given = 0, until;

	for (size_t i = 0; i < node->n; i++) {
		if (node->kind == KL_WHY_RUNNING)
			ticks += node->child[i]->count;
		else
			share_out(node->child[i]);
	}
	for (size_t i = 0; ticks && i < node->n; i++) {
		counted += node->child[i]->count;
		until = (uint64_t)((__uint128_t)node->ns * counted / ticks);
		node->child[i]->ns = until - given;
		given = until;
	}
}

/* ---------------------------------------------------------------- timelines */

static int explain_segment(struct kl_why *why, const struct kl_why_thread *thread, size_t at,
			   uint64_t from, uint64_t to, struct kl_why_node *node, unsigned int depth)
{
	const struct kl_why_segment *segment = &thread->segment[at];
	struct kl_why_node *runnable;

	switch (segment->state) {
	case KL_WHY_STATE_RUNNING:
		return explain_running(thread, from, to, node);
	case KL_WHY_STATE_RUNNABLE:
		runnable = part(node, KL_WHY_RUNNABLE, "", from, to);
		return runnable ? explain_runnable(why, segment, from, to, runnable) : -ENOMEM;
	case KL_WHY_STATE_ASLEEP:
		return explain_wait(why, thread, at, from, to, node, depth);
	default:
		return leaf(node, KL_WHY_STOPPED, "", from, to);
	}
}

/* Before it existed, its time is that of the task that was to create it. */
static int explain_before(struct kl_why *why, const struct kl_why_thread *thread, uint64_t from,
			  uint64_t to, struct kl_why_node *node, unsigned int depth)
{
	if (thread->parent == KL_WHY_NO_TASK)
		return leaf(node, KL_WHY_UNKNOWN, "", from, to);
	return follow(why, thread->parent, from, to, node, depth);
}

static int explain(struct kl_why *why, uint32_t index, uint64_t from, uint64_t to,
		   struct kl_why_node *node, unsigned int depth)
{
	const struct kl_why_thread *thread = &why->thread[index];
	uint64_t first = thread->n ? thread->segment[0].ns : to;
	int error = 0;

	if (from < first) {
		uint64_t end = first < to ? first : to;

		error = explain_before(why, thread, from, end, node, depth);
		from = end;
	}
	for (size_t at = segment_at(thread, from); from < to && !error; at++) {
		uint64_t end = at + 1 < thread->n && thread->segment[at + 1].ns < to ?
				       thread->segment[at + 1].ns :
				       to;

		if (end > from)
			error = explain_segment(why, thread, at, from, end, node, depth);
		from = end;
	}
	return error;
}

struct kl_why_node *kl_why_explain(struct kl_why *why, size_t index, uint64_t from_ns,
				   uint64_t to_ns)
{
	const struct kl_why_thread *thread = &why->thread[index];
	struct kl_why_node *node = calloc(1, sizeof(*node));
	int error = 0;

	if (!node) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (from_ns < thread->is.begin_ns)
		from_ns = thread->is.begin_ns;
	if (thread->is.end_ns && to_ns > thread->is.end_ns)
		to_ns = thread->is.end_ns;
	if (to_ns > why->last_ns)
		to_ns = why->last_ns;
	node->kind = KL_WHY_TASK;
	node->text = thread->is.comm;
	node->tid = thread->is.tid;
	node->at_tid = thread->is.tid;
	node->count = 1;
	if (from_ns < to_ns) {
		node->ns = to_ns - from_ns;
		node->at_ns = from_ns;
		error = explain(why, (uint32_t)index, from_ns, to_ns, node, 0);
	}
	if (error) {
		kl_why_node_destroy(node);
		errno = -error;
		return NULL;
	}
	share_out(node);
	sort(node);
	return node;
}
