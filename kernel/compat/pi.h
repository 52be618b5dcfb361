/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the owner of a lock that a task waits for and that inherits priority: an rt_mutex, such as
 * that of a futex locked by FUTEX_LOCK_PI. struct rt_mutex_waiter is private to the kernel; it is
 * on the waiting task's stack. The pointer to the task follows two tree nodes, whose size differs
 * between kernels, and the pointer to the lock follows that to the task: so this searches for the
 * task.
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
 * @waiter: what the task's pi_blocked_on points to, or a copy of it; KL_PI_BYTES
 * @task: the task, which neither runs nor is woken during the call
 *
 * Returns the owner's address, which may only be compared; 0 if the lock has no owner, or is
 * changing hands. Context: any.
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
		/* The task waits, so the lock has waiters, or this is not a lock. */
		return (unsigned long)owner & 1 ? (unsigned long)owner & ~1ul : 0;
	}
	return 0;
}

/* Is a waiter at @waiter entirely on the stack at @stack? */
static inline bool kl_pi_is_on_stack(unsigned long waiter, unsigned long stack)
{
	return waiter - stack < THREAD_SIZE - KL_PI_BYTES && IS_ALIGNED(waiter, sizeof(long));
}

#endif /* KL_COMPAT_PI_H */
