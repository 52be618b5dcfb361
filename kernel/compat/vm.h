/* SPDX-License-Identifier: GPL-2.0 */
/* Flags of a mapping: set through accessors since v6.3, which locks them. Counters of pages. */
#ifndef KL_COMPAT_VM_H
#define KL_COMPAT_VM_H

#include <linux/mm.h>

#include "compat_config.h"

#ifdef KL_HAVE_VM_FLAGS_SET
#define kl_vm_flags_set(vma, flags) vm_flags_set(vma, flags)
#define kl_vm_flags_clear(vma, flags) vm_flags_clear(vma, flags)
#else
#define kl_vm_flags_set(vma, flags) ((void)((vma)->vm_flags |= (flags)))
#define kl_vm_flags_clear(vma, flags) ((void)((vma)->vm_flags &= ~(flags)))
#endif

/*
 * Pages of a kind that a process has, with what each CPU has not told yet. What threads
 * have not told, before v6.2, nobody sees. Takes a lock, not in interrupts.
 */
static inline unsigned long kl_mm_counter(struct mm_struct *mm, int member)
{
#ifdef KL_HAVE_MM_COUNTER_PER_CPU
	return percpu_counter_sum_positive(&mm->rss_stat[member]);
#else
	return get_mm_counter(mm, member);
#endif
}

#endif /* KL_COMPAT_VM_H */
