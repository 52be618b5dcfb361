/* SPDX-License-Identifier: GPL-2.0 */
/* What remains known of a task that has released its memory. */
#ifndef KL_COMPAT_TASK_H
#define KL_COMPAT_TASK_H

#include <linux/sched.h>

#include "compat_config.h"

/*
 * Could other processes of the same user inspect the task before? Kernels that do not remember this
 * always allow access afterwards; kernlens does not.
 */
static inline bool kl_was_dumpable(const struct task_struct *t)
{
#ifdef KL_HAVE_USER_DUMPABLE
	return t->user_dumpable;
#else
	return false;
#endif
}

#endif /* KL_COMPAT_TASK_H */
