// SPDX-License-Identifier: GPL-2.0
/*
 * A walk of a mapping's page tables, with the lock of the address space held for reading.
 *
 * Page tables under a mapping stay while that lock is held, except those of 4 KiB pages, which
 * other tasks may free after a grace period, and those shared by hugetlb, which the lock of the
 * file's mappings holds.
 */
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/sched/signal.h>

#include "../../compat/vm.h"
#include "page_walk.h"

static bool walk_leaf(struct kl_page_walk *w, pmd_t *entry, unsigned long at, unsigned long end)
{
	spinlock_t *lock = pmd_lock(w->vma->vm_mm, entry);
	pmd_t pmd = READ_ONCE(*entry);
	bool more = true;

	/* It may have been split or zapped before it was locked. */
	if (pmd_present(pmd) && pmd_leaf(pmd) && !kl_pmd_is_device(pmd))
		more = w->leaf(w, __pte(pmd_val(pmd)),
			       pmd_pfn(pmd) + ((at & ~PMD_MASK) >> PAGE_SHIFT), at, end);
	spin_unlock(lock);
	return more;
}

static bool walk_table(struct kl_page_walk *w, pmd_t *entry, pmd_t pmd, unsigned long at,
		       unsigned long end)
{
	spinlock_t *lock = pte_lockptr(w->vma->vm_mm, &pmd);
	bool more = true;

	spin_lock(lock);
	/* A table that has been replaced maps nothing any more. */
	if (pmd_val(pmd) == pmd_val(READ_ONCE(*entry)))
		more = w->table(w, pte_offset_kernel(&pmd, at), at, end);
	spin_unlock(lock);
	return more;
}

static bool walk_middle(struct kl_page_walk *w, pud_t pud, unsigned long at, unsigned long end)
{
	unsigned long next;
	bool more = true;

	for (pmd_t *entry = pmd_offset(&pud, at); more && at != end; entry++, at = next) {
		pmd_t pmd;

		next = pmd_addr_end(at, end);
		rcu_read_lock();
		pmd = READ_ONCE(*entry);
		if (!pmd_none(pmd) && pmd_present(pmd)) {
			if (pmd_leaf(pmd))
				more = walk_leaf(w, entry, at, next);
			else if (!pmd_bad(pmd))
				more = walk_table(w, entry, pmd, at, next);
		}
		rcu_read_unlock();
		cond_resched();
		more = more && !signal_pending(current);
	}
	return more;
}

static bool walk_gigantic(struct kl_page_walk *w, pud_t *entry, unsigned long at, unsigned long end)
{
	spinlock_t *lock = pud_lock(w->vma->vm_mm, entry);
	bool more = true;
	pud_t pud;

	pud = READ_ONCE(*entry);
	if (pud_present(pud) && pud_leaf(pud))
		more = w->leaf(w, __pte(pud_val(pud)),
			       pud_pfn(pud) + ((at & ~PUD_MASK) >> PAGE_SHIFT), at, end);
	spin_unlock(lock);
	return more;
}

static bool walk_upper(struct kl_page_walk *w, p4d_t p4d, unsigned long at, unsigned long end)
{
	unsigned long next;
	bool more = true;

	for (pud_t *entry = pud_offset(&p4d, at); more && at != end; entry++, at = next) {
		pud_t pud = READ_ONCE(*entry);

		next = pud_addr_end(at, end);
		if (pud_none(pud) || !pud_present(pud))
			continue;
		/* Apart from hugetlb, only device memory is mapped in pages of 1 GiB. */
		if (pud_leaf(pud))
			more = !w->is_hugetlb || walk_gigantic(w, entry, at, next);
		else if (!pud_bad(pud))
			more = walk_middle(w, pud, at, next);
	}
	return more;
}

static bool walk_top(struct kl_page_walk *w, pgd_t pgd, unsigned long at, unsigned long end)
{
	unsigned long next;
	bool more = true;

	for (p4d_t *entry = p4d_offset(&pgd, at); more && at != end; entry++, at = next) {
		p4d_t p4d = READ_ONCE(*entry);

		next = p4d_addr_end(at, end);
		if (!p4d_none(p4d) && !p4d_bad(p4d))
			more = walk_upper(w, p4d, at, next);
	}
	return more;
}

/**
 * kl_page_walk - call back for all pages of a mapping that are in RAM or swapped out
 * @w: @vma and the callbacks; the rest is filled in
 * @from: address to start at; before the mapping's start: that
 *
 * Not visited are huge entries that device drivers have made. Returns false if a callback or a
 * pending signal ended the walk. Context: the lock of the address space is held; may sleep.
 */
bool kl_page_walk(struct kl_page_walk *w, unsigned long from)
{
	struct vm_area_struct *vma = w->vma;
	unsigned long at = max(from, vma->vm_start), next;
	struct address_space *shared = NULL;
	bool more = true;

	w->is_hugetlb = is_vm_hugetlb_page(vma);
	w->has_pages = !(vma->vm_flags & (VM_PFNMAP | VM_IO | VM_MIXEDMAP)) && !vma_is_dax(vma);
	if (w->is_hugetlb && vma->vm_file)
		shared = vma->vm_file->f_mapping;
	if (shared)
		i_mmap_lock_read(shared);
	for (pgd_t *entry = pgd_offset(vma->vm_mm, at); more && at < vma->vm_end;
	     entry++, at = next) {
		pgd_t pgd = READ_ONCE(*entry);

		next = pgd_addr_end(at, vma->vm_end);
		if (!pgd_none(pgd) && !pgd_bad(pgd))
			more = walk_top(w, pgd, at, next);
	}
	if (shared)
		i_mmap_unlock_read(shared);
	return more;
}
