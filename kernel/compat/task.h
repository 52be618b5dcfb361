/* SPDX-License-Identifier: GPL-2.0 */
/* May other processes of the same user inspect a task? The type of a namespace. */
#ifndef KL_COMPAT_TASK_H
#define KL_COMPAT_TASK_H

#include <linux/ns_common.h>
#include <linux/proc_ns.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/uaccess.h>

#include "compat_config.h"
#include "nofault.h"
#ifdef KL_HAVE_TASK_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif

#ifdef KL_HAVE_TASK_EXEC_STATE

/* The setting of prctl(PR_SET_DUMPABLE) of a task whose memory is @mm. Context: any. */
static inline u32 kl_task_dumpable(const struct task_struct *t, struct mm_struct *mm)
{
	const struct task_exec_state *state;
	u32 dumpable;

	rcu_read_lock();
	state = rcu_dereference(t->exec_state);
	dumpable = state ? READ_ONCE(state->dumpable) : TASK_DUMPABLE_OFF;
	rcu_read_unlock();
	return dumpable;
}

/*
 * Is @t not one that only privileged processes may inspect, such as a set-user-id program? Known
 * until the task is freed. Context: any.
 */
static inline bool kl_task_is_dumpable(const struct task_struct *t)
{
	return kl_task_dumpable(t, NULL) == TASK_DUMPABLE_OWNER;
}

#else

static inline u32 kl_task_dumpable(const struct task_struct *t, struct mm_struct *mm)
{
	return get_dumpable(mm);
}

static inline const void *kl_mm_flags(const struct mm_struct *mm)
{
#ifdef KL_HAVE_MM_FLAGS_BITMAP
	return __mm_flags_get_bitmap(mm);
#else
	return &mm->flags;
#endif
}

/*
 * A task that has released its memory: kernels that do not remember this always allow access
 * afterwards; kernlens does not.
 */
static inline bool kl_was_dumpable(const struct task_struct *t)
{
#ifdef KL_HAVE_USER_DUMPABLE
	return t->user_dumpable;
#else
	return false;
#endif
}

/*
 * As above. Without a reference to the task's mm: read it without faulting, and trust the result
 * only if the mm is still the task's afterwards. A task clears t->mm before it frees the mm.
 */
static inline bool kl_task_is_dumpable(const struct task_struct *t)
{
	/* exit and exec change it with plain stores. */
	const struct mm_struct *mm = data_race(READ_ONCE(t->mm));
	unsigned long flags;

	/* The task is exiting, or is a kernel thread, which no owner without privilege may see. */
	if (!mm)
		return kl_was_dumpable(t);
	if (kl_nofault(copy_from_kernel_nofault(&flags, kl_mm_flags(mm), sizeof(flags))))
		return false;
	/* The flags before the second load of t->mm; pairs with exit and exec. */
	smp_rmb();
	return data_race(READ_ONCE(t->mm)) == mm && (flags & MMF_DUMPABLE_MASK) == SUID_DUMP_USER;
}

#endif

/* CLONE_NEW*, or 0; @ns is a copy of what may be something else. Context: any. */
static inline int kl_ns_type(const struct ns_common *ns)
{
#ifdef KL_HAVE_NS_COMMON_TYPE
	return ns->ns_type;
#else
	int type;

	return copy_from_kernel_nofault(&type, &ns->ops->type, sizeof(type)) ? 0 : type;
#endif
}

#endif /* KL_COMPAT_TASK_H */
