// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates sets of tasks. A thread id leaves the sets when it is given to a new task whose parent
 * does not pass on membership, so exits need no hook.
 */
#include <linux/vmalloc.h>

#include "session.h"

/**
 * kl_taskset_create - allocate an empty set
 * @payer: charged for it, until the payer ends
 * @why: set on failure
 *
 * Returns the set or an error pointer. Context: may sleep.
 */
struct kl_taskset *kl_taskset_create(struct kl_payer *payer, struct kl_error *why)
{
	int error = kl_memory_charge(payer, sizeof(struct kl_taskset), why);
	struct kl_taskset *set;

	if (error)
		return ERR_PTR(error);
	set = __vmalloc(sizeof(*set), GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (set)
		return set;
	kl_memory_uncharge(payer, sizeof(*set));
	return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for a set of tasks"));
}

/**
 * kl_taskset_destroy - free a set that no probe uses any more
 * @set: may be NULL
 */
void kl_taskset_destroy(struct kl_taskset *set)
{
	vfree(set);
}
