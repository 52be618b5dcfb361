// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of sets of tasks. An id leaves the sets when it is given to a new
 * task whose parent does not pass membership on, so exits need no hook.
 */
#include <linux/vmalloc.h>

#include "taskset.h"

/**
 * kl_taskset_create - an empty set
 *
 * Charged to the caller's memory cgroup. Returns NULL without memory. Context:
 * may sleep.
 */
struct kl_taskset *kl_taskset_create(void)
{
	return __vmalloc(sizeof(struct kl_taskset), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

/**
 * kl_taskset_destroy - free a set that no probe looks at any more
 * @set: may be NULL
 */
void kl_taskset_destroy(struct kl_taskset *set)
{
	vfree(set);
}
