// SPDX-License-Identifier: GPL-2.0
/*
 * Changing a set of tasks. An id leaves the set when it is given to a new task
 * whose parent does not pass membership on, so exits need no hook.
 */
#include <linux/slab.h>

#include "taskset.h"

/* The page with @tid's bits; made if @gfp is not 0. */
static unsigned long *find_page(struct kl_taskset *set, pid_t tid, gfp_t gfp)
{
	unsigned long **slot = &set->page[(u32)tid / KL_TASKSET_PER_PAGE];
	unsigned long *page = READ_ONCE(*slot);
	unsigned long *mine;

	if (page || !gfp)
		return page;
	mine = (unsigned long *)get_zeroed_page(gfp);
	if (!mine)
		return NULL;
	page = cmpxchg(slot, NULL, mine);
	if (!page)
		return mine;
	free_page((unsigned long)mine);
	return page;
}

/**
 * kl_taskset_set - put a task in or take it out
 * @set: the set
 * @tid: thread id in the initial namespace
 * @in: is it a member
 * @inherit: are the tasks that it creates
 * @gfp: how to allocate
 *
 * Returns 0 or -ENOMEM. Context: as @gfp allows.
 */
int kl_taskset_set(struct kl_taskset *set, pid_t tid, bool in, bool inherit, gfp_t gfp)
{
	unsigned long *page = find_page(set, tid, in ? gfp : 0);
	u32 bit = 2 * ((u32)tid % KL_TASKSET_PER_PAGE);

	if (!page) {
		if (!in)
			return 0;
		atomic64_inc(&set->failed);
		return -ENOMEM;
	}
	assign_bit(bit + 1, page, inherit);
	assign_bit(bit, page, in);
	return 0;
}

/**
 * kl_taskset_fork - a task was created: decide its membership
 * @set: the set
 * @parent: thread id of the creator
 * @child: thread id of the new task, which does not run yet
 *
 * Context: the fork tracepoint, preemption off.
 */
void kl_taskset_fork(struct kl_taskset *set, pid_t parent, pid_t child)
{
	const unsigned long *page = find_page(set, parent, 0);
	bool in = page && test_bit(2 * ((u32)parent % KL_TASKSET_PER_PAGE) + 1, page);

	kl_taskset_set(set, child, in, in, GFP_NOWAIT | __GFP_NOWARN);
}

/**
 * kl_taskset_create - an empty set
 *
 * Returns NULL without memory. Context: may sleep.
 */
struct kl_taskset *kl_taskset_create(void)
{
	return kzalloc(sizeof(struct kl_taskset), GFP_KERNEL_ACCOUNT);
}

/**
 * kl_taskset_destroy - free a set that no probe looks at any more
 * @set: may be NULL
 */
void kl_taskset_destroy(struct kl_taskset *set)
{
	if (!set)
		return;
	for (int i = 0; i < KL_TASKSET_PAGES; i++)
		free_page((unsigned long)set->page[i]);
	kfree(set);
}
