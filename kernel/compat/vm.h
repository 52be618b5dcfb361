/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flags of a mapping, which are set through locking accessors since v6.3. Counters of pages.
 * Entries of page tables.
 */
#ifndef KL_COMPAT_VM_H
#define KL_COMPAT_VM_H

#include <linux/mm.h>
#include <linux/swap.h>

#include "compat_config.h"

#ifdef KL_HAVE_SOFTLEAF
#include <linux/leafops.h>
#else
#include <linux/swapops.h>
#endif

#ifdef KL_HAVE_VM_FLAGS_SET
#define kl_vm_flags_set(vma, flags) vm_flags_set(vma, flags)
#define kl_vm_flags_clear(vma, flags) vm_flags_clear(vma, flags)
#else
#define kl_vm_flags_set(vma, flags) ((void)((vma)->vm_flags |= (flags)))
#define kl_vm_flags_clear(vma, flags) ((void)((vma)->vm_flags &= ~(flags)))
#endif

/* Is the page of an entry that is not present in swap? */
static inline bool kl_pte_is_swap(pte_t pte)
{
#ifdef KL_HAVE_SOFTLEAF
	return softleaf_is_swap(softleaf_from_pte(pte));
#else
	return !non_swap_entry(pte_to_swp_entry(pte));
#endif
}

/* Is the page of an entry that is not present being migrated to another place in RAM? */
static inline bool kl_pte_is_migration(pte_t pte)
{
#ifdef KL_HAVE_SOFTLEAF
	return softleaf_is_migration(softleaf_from_pte(pte));
#else
	return is_migration_entry(pte_to_swp_entry(pte));
#endif
}

/* Does the entry map device memory? Kernels without the mark count it as the process's memory. */
static inline bool kl_pmd_is_device(pmd_t pmd)
{
#ifdef KL_HAVE_PMD_DEVMAP
	return pmd_devmap(pmd);
#else
	return false;
#endif
}

/*
 * Number of mappings of a page that is mapped, by this process and others. Since v6.10 the kernel's
 * own function is not for modules.
 */
static inline u32 kl_page_mapcount(struct page *page, struct folio *folio)
{
#ifdef KL_HAVE_PAGE_MAPCOUNT
	return page_mapcount(page);
#else
	u32 n = atomic_read(&page->_mapcount) + 1;

	/* Pages of hugetlb have their type there. */
	if (page_mapcount_is_type(n))
		n = 0;
	return folio_test_large(folio) ? n + folio_entire_mapcount(folio) : n;
#endif
}

/*
 * Number of pages that a process has of some kinds, a bit each, including what is still pending on
 * CPUs. Before v6.2, what is pending in threads is not visible. A CPU flushes by adding to the
 * count and subtracting from its own: then this reads again, but not forever, as a process whose
 * memory changes all the time has no exact figure. Context: any.
 */
#define KL_MM_COUNTERS_TRIES 4

static __always_inline unsigned long kl_mm_counters(struct mm_struct *mm, unsigned int kinds)
{
#ifdef KL_HAVE_MM_COUNTER_PER_CPU
	s64 sum, before, after;
	u32 tries = KL_MM_COUNTERS_TRIES;

	do {
		before = 0;
		after = 0;
#pragma GCC unroll 8
		for (int i = 0; i < NR_MM_COUNTERS; i++)
			before += kinds & 1 << i ? READ_ONCE(mm->rss_stat[i].count) : 0;
		sum = before;
		/*
		 * Cheaper than a call to find each next CPU; an offline CPU has no pending count.
		 */
		for (unsigned int cpu = 0; cpu < nr_cpu_ids; cpu++) {
			if (!cpu_possible(cpu))
				continue;
#pragma GCC unroll 8
			for (int i = 0; i < NR_MM_COUNTERS; i++)
				if (kinds & 1 << i)
					sum += READ_ONCE(
						*per_cpu_ptr(mm->rss_stat[i].counters, cpu));
		}
#pragma GCC unroll 8
		for (int i = 0; i < NR_MM_COUNTERS; i++)
			after += kinds & 1 << i ? READ_ONCE(mm->rss_stat[i].count) : 0;
	} while (before != after && --tries);
	return max(sum, 0ll);
#else
	unsigned long sum = 0;

#pragma GCC unroll 8
	for (int i = 0; i < NR_MM_COUNTERS; i++)
		sum += kinds & 1 << i ? get_mm_counter(mm, i) : 0;
	return sum;
#endif
}

#endif /* KL_COMPAT_VM_H */
