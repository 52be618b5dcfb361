/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rows of variables.def need to compute a value of any task, not only of the running one: the
 * same names as in core/variable_values.h, for functions that have the task as `t` and a struct
 * kl_subject as `subject`. inspect.c holds what they dereference.
 */
#ifndef KL_TASK_INSPECT_VALUES_H
#define KL_TASK_INSPECT_VALUES_H

#include "../compat/vm.h"
#include "../core/variable_values.h"

#undef KL_MM
#undef kl_mm_pages
#undef kl_mm_rss
#undef kl_mm_highest_rss
#define KL_MM(value)                                \
	({                                          \
		struct mm_struct *mm = subject->mm; \
		mm ? (u64)(value) : 0;              \
	})

/* As exact as in /proc. */
#define KL_RSS_KINDS (BIT(MM_FILEPAGES) | BIT(MM_ANONPAGES) | BIT(MM_SHMEMPAGES))

static inline unsigned long kl_exact_mm_rss(struct mm_struct *mm)
{
	return kl_mm_counters(mm, KL_RSS_KINDS);
}

static inline unsigned long kl_exact_mm_highest_rss(struct mm_struct *mm)
{
	return max(mm->hiwater_rss, kl_exact_mm_rss(mm));
}

#define kl_mm_pages(mm, member) kl_mm_counters(mm, BIT(member))
#define kl_mm_rss(mm) kl_exact_mm_rss(mm)
#define kl_mm_highest_rss(mm) kl_exact_mm_highest_rss(mm)

/*
 * The effective credentials may be overridden for a while, and only the task itself may read them.
 */
#define kl_cred(t) rcu_dereference_sched((t)->real_cred)
#define kl_user_registers(t) (&subject->registers)
#define kl_syscall_number(t) (subject->in_kernel ? (s32)subject->registers.orig_ax : -1)

#endif /* KL_TASK_INSPECT_VALUES_H */
