/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rows of variables.def need to compute a value of any task, not only of the
 * running one: the same names as in variable_values.h, for functions that have the
 * task as `t` and a struct kl_subject as `subject`. inspect.c holds what they look at.
 */
#ifndef KL_TASK_INSPECT_VALUES_H
#define KL_TASK_INSPECT_VALUES_H

#include "../compat/vm.h"
#include "variable_values.h"

/**
 * struct kl_subject - a task that is being looked at
 * @mm: its memory; NULL if it has none of its own
 * @in_kernel: it is in the kernel and stays there long enough for @registers, which
 *	are a program's
 * @registers: of its program as it entered the kernel; 0 unless @in_kernel
 */
struct kl_subject {
	struct mm_struct *mm;
	bool in_kernel;
	struct pt_regs registers;
};

#undef KL_MM
#define KL_MM(value)                                \
	({                                          \
		struct mm_struct *mm = subject->mm; \
		mm ? (u64)(value) : 0;              \
	})

/* As exact as /proc has them. */
static inline unsigned long kl_mm_rss(struct mm_struct *mm)
{
	return kl_mm_counter(mm, MM_FILEPAGES) + kl_mm_counter(mm, MM_ANONPAGES) +
	       kl_mm_counter(mm, MM_SHMEMPAGES);
}

#define get_mm_counter(mm, member) kl_mm_counter(mm, member)
#define get_mm_rss(mm) kl_mm_rss(mm)
#define get_mm_hiwater_rss(mm) max((mm)->hiwater_rss, kl_mm_rss(mm))

/* A task's own may be another for a while, which nobody else may look at. */
#define kl_cred(t) __task_cred(t)
#define kl_user_registers(t) (&subject->registers)
#define kl_syscall_number(t) (subject->in_kernel ? (s32)subject->registers.orig_ax : -1)

#endif /* KL_TASK_INSPECT_VALUES_H */
