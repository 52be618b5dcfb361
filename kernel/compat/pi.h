/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has what a task waits for that hands priority on: an rt_mutex, as the one behind a futex
 * locked by FUTEX_LOCK_PI. The kernel keeps struct rt_mutex_waiter to itself; it lies on the
 * waiting task's stack. The task stands in it behind the two nodes of its trees, whose size is
 * not the same in all kernels, and the lock behind the task: so the task is searched for.
 */
#ifndef KL_COMPAT_PI_H
#define KL_COMPAT_PI_H

#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "nofault.h"

#define KL_PI_FIRST (2 * sizeof(struct rb_node) / sizeof(long)) /* offset of the first candidate */
#define KL_PI_LAST 10u
#define KL_PI_BYTES ((KL_PI_LAST + 2) * sizeof(long)) /* bytes that are searched */

/**
 * kl_pi_owner - the owner of the lock that a task waits for
 * @waiter: what its pi_blocked_on points to, or a copy of it; KL_PI_BYTES
 * @task: it, which neither runs nor is woken meanwhile
 *
 * Returns its address, which is only to be compared; 0: nobody has it, or it changes hands.
 * Context: any.
 */
static inline unsigned long kl_pi_owner(const unsigned long *waiter, const struct task_struct *task)
{
	const struct rt_mutex_base *lock;
	struct task_struct *owner;

	for (u32 i = KL_PI_FIRST; i <= KL_PI_LAST; i++) {
		if (waiter[i] != (unsigned long)task)
			continue;
		lock = (const void *)waiter[i + 1];
		if (kl_nofault(copy_from_kernel_nofault(&owner, &lock->owner, sizeof(owner))))
			return 0;
		/* The task waits, so the lock has waiters, or is no lock. */
		return (unsigned long)owner & 1 ? (unsigned long)owner & ~1ul : 0;
	}
	return 0;
}

/* Is there one at @waiter, all of it on the stack at @stack? */
static inline bool kl_pi_is_on_stack(unsigned long waiter, unsigned long stack)
{
	return waiter - stack < THREAD_SIZE - KL_PI_BYTES && IS_ALIGNED(waiter, sizeof(long));
}

#endif /* KL_COMPAT_PI_H */
