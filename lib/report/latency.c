// SPDX-License-Identifier: GPL-2.0
/*
 * A latency profile as text and as a flame graph: names of states and wakers, and the code paths
 * that lead to waits. Fed by lib/client/latency.c, read by the command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include <kernlens/latency.h>
#include <kernlens/stack_store.h>
#include <kernlens/symbols.h>
#include "../base/base.h"

#define FRAMES_MAX (2 * KL_STACK_FRAMES_MAX + 4)
#define NAME_BYTES 64

const char *kl_latency_state_name(unsigned int state)
{
	static const char *const names[KL_LATENCY_STATES] = {
		[KL_LATENCY_RUNNING] = "running",
		[KL_LATENCY_RUNNABLE] = "runnable",
		[KL_LATENCY_PREEMPTED] = "preempted",
		[KL_LATENCY_INTERRUPTIBLE] = "interruptible",
		[KL_LATENCY_UNINTERRUPTIBLE] = "uninterruptible",
		[KL_LATENCY_IO] = "io",
		[KL_LATENCY_IDLE] = "idle",
		[KL_LATENCY_STOPPED] = "stopped",
	};

	return state < KL_LATENCY_STATES ? names[state] : "unknown";
}

/* ----------------------------------------------------------------- wakers */

static void print_task(struct kl_buffer *buffer, const struct kl_latency *latency, uint32_t id)
{
	const struct kl_abi_latency_task *task = kl_latency_task(latency, id);

	if (task)
		kl_buffer_printf(buffer, "%.16s/%d", task->comm, task->tid);
	else
		kl_buffer_printf(buffer, "an exited task");
}

static void print_timer(struct kl_buffer *buffer, struct kl_latency *latency, uint64_t function)
{
	struct kl_symbol symbol;
	uint64_t offset;

	kl_buffer_printf(buffer, "timer");
	if (function && !latency->symbols)
		latency->symbols = kl_symbols_open(NULL);
	if (function && latency->symbols &&
	    !kl_symbols_at(latency->symbols, function, &symbol, &offset))
		kl_buffer_printf(buffer, " %s", symbol.name);
	kl_error_clear();
}

static void print_source(struct kl_buffer *buffer, struct kl_latency *latency, uint32_t id)
{
	const struct kl_abi_latency_source *source = NULL;

	for (size_t i = 0; i < latency->n_sources; i++)
		if (latency->source[i].id == id)
			source = &latency->source[i];
	if (!source)
		kl_buffer_printf(buffer, "interrupt");
	else if (source->kind == KL_LATENCY_WAKER_TIMER)
		print_timer(buffer, latency, source->number);
	else if (source->kind == KL_LATENCY_WAKER_SOFTIRQ)
		kl_buffer_printf(buffer, "softirq %.24s", source->name);
	else
		kl_buffer_printf(buffer, "irq %llu (%.24s)", (unsigned long long)source->number,
				 source->name);
}

void kl_latency_print_hop(struct kl_buffer *buffer, struct kl_latency *latency,
			  const struct kl_abi_latency_hop *hop)
{
	switch (hop->kind) {
	case KL_LATENCY_WAKER_NONE:
		return;
	case KL_LATENCY_WAKER_TASK:
		print_task(buffer, latency, hop->id);
		break;
	case KL_LATENCY_WAKER_HIDDEN:
		kl_buffer_printf(buffer, "another user's process");
		break;
	case KL_LATENCY_WAKER_INTERRUPT:
		kl_buffer_printf(buffer, "interrupt");
		break;
	case KL_LATENCY_WAKER_UNKNOWN:
		kl_buffer_printf(buffer, "a task (name unknown, table full)");
		break;
	default:
		print_source(buffer, latency, hop->id);
	}
}

void kl_latency_print_chain(struct kl_buffer *buffer, struct kl_latency *latency,
			    const struct kl_abi_latency_entry *entry)
{
	for (unsigned int i = 0; i < KL_LATENCY_HOPS && entry->hop[i].kind; i++) {
		if (i)
			kl_buffer_printf(buffer, " < ");
		kl_latency_print_hop(buffer, latency, &entry->hop[i]);
		if (entry->hop[i].flags & KL_LATENCY_HOP_UNCERTAIN)
			kl_buffer_printf(buffer, "?");
	}
}

/* ------------------------------------------------------------ flame graph */

/* The frames of one trace, and the texts of frames without a name. */
struct path {
	struct kl_flame_frame frame[FRAMES_MAX];
	char text[FRAMES_MAX][NAME_BYTES];
	size_t n;
};

static void add_name(struct path *path, const char *name, enum kl_flame_kind kind)
{
	if (path->n < FRAMES_MAX)
		path->frame[path->n++] = (struct kl_flame_frame){ name, kind };
}

static void add_frames(struct path *path, const struct kl_stack *stack, enum kl_flame_kind kind)
{
	for (unsigned int i = stack ? stack->n : 0; i--;) {
		const struct kl_frame *frame = &stack->frame[i];
		char *text = path->text[path->n < FRAMES_MAX ? path->n : 0];

		if (kl_frame_is_tracing(frame))
			continue;
		add_name(path, kl_frame_label(frame, text, NAME_BYTES), kind);
	}
}

static int add_entry(struct kl_flame *flame, struct path *path, const struct kl_latency *latency,
		     const struct kl_stacks *stacks, const struct kl_schema *schema,
		     const struct kl_abi_latency_entry *entry)
{
	const struct kl_abi_latency_task *task = kl_latency_task(latency, entry->task);
	const struct kl_stack *user = kl_stacks_get(stacks, entry->ustack);
	const struct kl_stack *kernel = kl_stacks_get(stacks, entry->kstack);
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%.16s", task ? task->comm : "[ended]");
	path->n = 0;
	add_name(path, name, KL_FLAME_TASK);
	add_frames(path, user, KL_FLAME_USER);
	add_frames(path, kernel, KL_FLAME_KERNEL);
	if (!kernel)
		add_name(path, kl_latency_reason(stacks, schema, entry), KL_FLAME_STATE);
	return kl_flame_add(flame, path->frame, path->n, entry->asleep.sum / 1000);
}

static int add_waits(struct kl_flame *flame, struct path *path,
		     const struct kl_abi_latency_task *task)
{
	uint64_t wait = task->in[KL_LATENCY_RUNNABLE].sum + task->in[KL_LATENCY_PREEMPTED].sum;
	char name[NAME_BYTES];

	if (wait < 1000)
		return 0;
	snprintf(name, sizeof(name), "%.16s", task->comm);
	path->n = 0;
	add_name(path, name, KL_FLAME_TASK);
	add_name(path, "[runnable]", KL_FLAME_STATE);
	return kl_flame_add(flame, path->frame, path->n, wait / 1000);
}

struct kl_flame *kl_latency_flame(struct kl_latency *latency, const struct kl_stacks *stacks,
				  const struct kl_schema *schema, bool idle)
{
	struct kl_flame *flame = kl_flame_create();
	struct path *path = malloc(sizeof(*path));
	int ret = flame && path ? 0 : kl_fail(ENOMEM, "out of memory");

	for (size_t i = 0; !ret && i < latency->n_entries; i++) {
		const struct kl_abi_latency_entry *entry = &latency->entry[i];

		if (entry->asleep.sum >= 1000 &&
		    (idle ||
		     (entry->state != KL_LATENCY_IDLE &&
		      strcmp(kl_latency_reason(stacks, schema, entry), KL_LATENCY_NO_WORK))))
			ret = add_entry(flame, path, latency, stacks, schema, entry);
	}
	for (size_t i = 0; !ret && i < latency->n_tasks; i++)
		if (!(latency->task[i].flags & KL_LATENCY_TASK_OUTSIDE))
			ret = add_waits(flame, path, &latency->task[i]);
	free(path);
	if (!ret)
		return flame;
	kl_flame_destroy(flame);
	errno = -ret;
	return NULL;
}
