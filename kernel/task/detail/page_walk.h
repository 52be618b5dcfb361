/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A walk of a mapping's page tables, for what KL_IOC_DETAIL reports about memory. It holds the
 * tables' own locks, so an entry that maps a page keeps it.
 */
#ifndef KL_DETAIL_PAGE_WALK_H
#define KL_DETAIL_PAGE_WALK_H

#include <linux/mm.h>
#include <linux/pgtable.h>

/**
 * struct kl_page_walk - a walk in progress
 * @vma: the mapping
 * @is_hugetlb: its pages are hugetlb's
 * @has_pages: its huge entries map memory with a struct page
 * @table: called for a range of entries of 4 KiB pages, from @at to @end
 * @leaf: called for a part of an entry that maps more, from @at to @end. @entry: its flags, as
 *	those of an entry of 4 KiB; @pfn: of the page at @at
 *
 * The callbacks run with a spinlock held. They return false to end the walk.
 */
struct kl_page_walk {
	struct vm_area_struct *vma;
	bool is_hugetlb;
	bool has_pages;
	bool (*table)(struct kl_page_walk *walk, const pte_t *entry, unsigned long at,
		      unsigned long end);
	bool (*leaf)(struct kl_page_walk *walk, pte_t entry, unsigned long pfn, unsigned long at,
		     unsigned long end);
};

/*
 * Does a huge entry map memory of the process? Device memory may have no struct page, and the huge
 * zero page belongs to no process: it has no mapping.
 */
static inline bool kl_page_is_counted(const struct kl_page_walk *walk, unsigned long pfn)
{
	return walk->has_pages && pfn_valid(pfn) &&
	       READ_ONCE(page_folio(pfn_to_page(pfn))->mapping);
}

bool kl_page_walk(struct kl_page_walk *walk, unsigned long from);

#endif /* KL_DETAIL_PAGE_WALK_H */
