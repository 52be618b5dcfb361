// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the kernel's tracepoints. Their symbols are not exported, so they are found once, by name,
 * in the kernel's own list.
 */
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "tracepoint.h"

struct search {
	const char *name;
	struct tracepoint *found;
};

static void compare(struct tracepoint *tp, void *data)
{
	struct search *search = data;

	if (!strcmp(tp->name, search->name))
		search->found = tp;
}

/**
 * kl_tracepoint_find - find a tracepoint of the kernel itself
 * @name: name in its TRACE_EVENT
 *
 * Returns NULL if this kernel has none. Context: may sleep.
 */
struct tracepoint *kl_tracepoint_find(const char *name)
{
	struct search search = { .name = name };

	for_each_kernel_tracepoint(compare, &search);
	return search.found;
}

/**
 * kl_tracepoint_patches - tokens for attaching to a tracepoint, or detaching from it
 * @tp: any tracepoint, or NULL
 *
 * To enable the tracing of system calls, the kernel walks all threads with `tasklist_lock` held:
 * 1,024 threads disturb other users about as much as a text patch.
 */
u32 kl_tracepoint_patches(const struct tracepoint *tp)
{
	u32 tids = READ_ONCE(init_pid_ns.pid_allocated) & ~PIDNS_ADDING;

	if (!tp || (strcmp(tp->name, "sys_enter") && strcmp(tp->name, "sys_exit")))
		return 1;
	return 1 + tids / 1024;
}
