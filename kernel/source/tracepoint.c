// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching to the kernel's tracepoints. Their symbols are not exported: they
 * are found by name, once, in the kernel's own list of them.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "source.h"

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
 * kl_tracepoint_find - a tracepoint of the kernel itself
 * @name: as in its TRACE_EVENT
 *
 * Returns NULL if this kernel has none. Context: may sleep.
 */
struct tracepoint *kl_tracepoint_find(const char *name)
{
	struct search search = { .name = name };

	for_each_kernel_tracepoint(compare, &search);
	return search.found;
}
