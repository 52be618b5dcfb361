// SPDX-License-Identifier: GPL-2.0
/*
 * Details of a task's pages, for detail.c: what state each page in RAM or swap is in, as runs of
 * pages in the same state.
 *
 * An entry is read with its table's lock held. So the page that it maps stays mapped, has a
 * reference, and is no longer split or freed. Its flags may change at any time, as in
 * /proc/kpageflags.
 */
#include <linux/mm.h>
#include <linux/once.h>
#include <linux/page_idle.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>

#include "../../base/task_iter.h"
#include "../../compat/vm.h"
#include "detail.h"
#include "page_walk.h"

/* What others do to a shared page may not be seen by a caller who may not see them. */
#define STATE_OF_ALL                                                                             \
	(KL_PAGE_UPTODATE | KL_PAGE_LRU | KL_PAGE_ACTIVE | KL_PAGE_WRITEBACK | KL_PAGE_RECLAIM | \
	 KL_PAGE_UNEVICTABLE | KL_PAGE_MLOCKED | KL_PAGE_SWAPCACHE | KL_PAGE_KSM |               \
	 KL_PAGE_HWPOISON)

/* Page table entries that one call visits: the process cannot map or unmap memory meanwhile. */
#define ENTRIES_MAX 65536

/**
 * struct runs - runs that are being added to a call's records
 * @left: entries that may still be visited
 * @last: the latest record, or NULL
 * @next: address after the latest page
 * @word: the flags of the latest page, and of which kind it is; @state: what they mean
 */
struct runs {
	struct kl_page_walk walk;
	struct kl_detail *d;
	u32 left;
	struct kl_abi_detail_pages *last;
	unsigned long next;
	unsigned long word[2];
	u32 state;
};

/* --------------------------------------------------------------- one page */

static u32 entry_flags(pte_t pte)
{
	return (pte_write(pte) ? KL_PAGE_WRITABLE : 0) | (pte_dirty(pte) ? KL_PAGE_WRITTEN : 0) |
	       (pte_young(pte) ? KL_PAGE_ACCESSED : 0) |
	       (pte_soft_dirty(pte) ? KL_PAGE_SOFT_DIRTY : 0);
}

static u32 state_of(struct folio *folio)
{
	bool is_referenced = folio_test_referenced(folio) || folio_test_young(folio);

	return (folio_test_anon(folio) ? KL_PAGE_ANON : 0) |
	       (folio_test_swapbacked(folio) ? KL_PAGE_SWAPBACKED : 0) |
	       (folio_test_dirty(folio) ? KL_PAGE_DIRTY : 0) |
	       (is_referenced ? KL_PAGE_REFERENCED : 0) |
	       (folio_test_uptodate(folio) ? KL_PAGE_UPTODATE : 0) |
	       (folio_test_lru(folio) ? KL_PAGE_LRU : 0) |
	       (folio_test_active(folio) ? KL_PAGE_ACTIVE : 0) |
	       (folio_test_writeback(folio) ? KL_PAGE_WRITEBACK : 0) |
	       (folio_test_reclaim(folio) ? KL_PAGE_RECLAIM : 0) |
	       (folio_test_unevictable(folio) ? KL_PAGE_UNEVICTABLE : 0) |
	       (folio_test_mlocked(folio) ? KL_PAGE_MLOCKED : 0) |
	       (folio_test_swapcache(folio) ? KL_PAGE_SWAPCACHE : 0) |
	       (folio_test_ksm(folio) ? KL_PAGE_KSM : 0);
}

#define KIND_OF_MAPPING 3ul /* bits of its pointer: of a file, anonymous, or merged */

/* Most pages have the same flags as the one before. */
static u32 known_state_of(struct runs *r, struct folio *folio)
{
	unsigned long flags = READ_ONCE(*(unsigned long *)&folio->flags);
	unsigned long kind = (unsigned long)READ_ONCE(folio->mapping) & KIND_OF_MAPPING;

	if (flags != r->word[0] || kind != r->word[1]) {
		r->word[0] = flags;
		r->word[1] = kind;
		r->state = state_of(folio);
	}
	return r->state;
}

static u8 zone_of(const struct page *page)
{
	switch (page_zonenum(page)) {
#ifdef CONFIG_ZONE_DMA
	case ZONE_DMA:
		return KL_ZONE_DMA;
#endif
#ifdef CONFIG_ZONE_DMA32
	case ZONE_DMA32:
		return KL_ZONE_DMA32;
#endif
	case ZONE_MOVABLE:
		return KL_ZONE_MOVABLE;
#ifdef CONFIG_ZONE_DEVICE
	case ZONE_DEVICE:
		return KL_ZONE_DEVICE;
#endif
	default:
		return KL_ZONE_NORMAL;
	}
}

/* The number is not reversible, so the caller does not learn which pages are neighbors in RAM. */
static u64 page_id(unsigned long pfn)
{
	static siphash_key_t key __read_mostly;

	get_random_once(&key, sizeof(key));
	return siphash_1u64(pfn, &key);
}

static void describe(struct runs *r, struct kl_abi_detail_pages *to, pte_t pte, unsigned long pfn)
{
	struct page *page = pfn_to_page(pfn);
	struct folio *folio = page_folio(page);

	to->flags = entry_flags(pte) | known_state_of(r, folio);
	/* The kernel counts all pages of a new mapping as written. */
	if (r->walk.vma->vm_flags & VM_SOFTDIRTY)
		to->flags |= KL_PAGE_SOFT_DIRTY;
	if (r->walk.is_hugetlb)
		to->flags |= KL_PAGE_HUGETLB;
	if (PageHWPoison(page))
		to->flags |= KL_PAGE_HWPOISON;
	to->mapcount = kl_page_mapcount(page, folio);
	to->node = page_to_nid(page);
	to->zone = zone_of(page);
	to->folio_order = folio_order(folio);
	if (to->mapcount != 1 && !(r->d->may & KL_MAY_SEE_ADDRESSES))
		to->flags &= ~STATE_OF_ALL;
	if (r->d->call->what == KL_DETAIL_FRAMES)
		to->frame = pfn;
	else if (r->d->call->what == KL_DETAIL_SHARED_PAGES)
		to->frame = page_id(pfn);
}

/* ------------------------------------------------------------------- runs */

static bool continues(const struct kl_abi_detail_pages *run, const struct kl_abi_detail_pages *next,
		      u32 what)
{
	u64 frame = what == KL_DETAIL_FRAMES && run->frame ? run->frame + run->pages : 0;

	return run->start + ((u64)run->pages << PAGE_SHIFT) == next->start &&
	       run->flags == next->flags && run->mapcount == next->mapcount &&
	       run->node == next->node && run->zone == next->zone &&
	       run->map_order == next->map_order && run->folio_order == next->folio_order &&
	       frame == next->frame && run->pages < U32_MAX - next->pages;
}

/* Returns false if there is no room; the call then continues at this page. */
static bool add(struct runs *r, const struct kl_abi_detail_pages *next)
{
	u32 what = r->d->call->what;
	struct kl_abi_detail_record head;

	if (what == KL_DETAIL_SHARED_PAGES && next->mapcount < 2)
		return true;
	if (r->last && what != KL_DETAIL_SHARED_PAGES && continues(r->last, next, what)) {
		r->last->pages += next->pages;
		return true;
	}
	r->last = kl_detail_add(r->d, KL_DETAIL_PAGES, sizeof(*next), 0);
	if (!r->last)
		return false;
	head = r->last->record;
	*r->last = *next;
	r->last->record = head;
	return true;
}

static bool add_small(struct runs *r, pte_t pte, unsigned long at)
{
	struct kl_abi_detail_pages next = { .start = at, .pages = 1 };

	if (pte_present(pte)) {
		/* Special ones of a mapping without device memory map the page of zeros. */
		if (!pte_special(pte) && pfn_valid(pte_pfn(pte)))
			describe(r, &next, pte, pte_pfn(pte));
		else if (pte_special(pte) && r->walk.has_pages)
			next.flags = KL_PAGE_ZERO | entry_flags(pte);
		else
			return true;
	} else if (kl_pte_is_swap(pte)) {
		next.flags = KL_PAGE_SWAPPED;
	} else if (kl_pte_is_migration(pte)) {
		next.flags = KL_PAGE_MIGRATING;
	} else {
		return true;
	}
	return add(r, &next);
}

static bool may_visit(struct runs *r, u32 entries)
{
	if (r->left < entries) {
		r->d->flags |= KL_DETAIL_MORE;
		return false;
	}
	r->left -= entries;
	return true;
}

static bool add_table(struct kl_page_walk *walk, const pte_t *entry, unsigned long at,
		      unsigned long end)
{
	struct runs *r = container_of(walk, struct runs, walk);

	if (!may_visit(r, (end - at) >> PAGE_SHIFT))
		return false;
	for (; at != end; entry++, at += PAGE_SIZE) {
		pte_t pte = READ_ONCE(*entry);

		if (!pte_none(pte) && !add_small(r, pte, at))
			return false;
		r->next = at + PAGE_SIZE;
	}
	return true;
}

static bool add_page_ids(struct runs *r, struct kl_abi_detail_pages *next, unsigned long pfn,
			 unsigned long end)
{
	for (; next->start != end; next->start += PAGE_SIZE, pfn++) {
		next->frame = page_id(pfn);
		if (!add(r, next))
			return false;
		r->next = next->start + PAGE_SIZE;
	}
	return true;
}

/* The entry of a huge page is like that of a small one, apart from its address. */
static bool add_leaf(struct kl_page_walk *walk, pte_t entry, unsigned long pfn, unsigned long at,
		     unsigned long end)
{
	struct runs *r = container_of(walk, struct runs, walk);
	struct kl_abi_detail_pages next = { .start = at, .pages = (end - at) >> PAGE_SHIFT };

	if (!walk->has_pages || !pfn_valid(pfn))
		return true;
	if (!may_visit(r, r->d->call->what == KL_DETAIL_SHARED_PAGES ? next.pages : 1))
		return false;
	if (walk->is_hugetlb || kl_page_is_counted(walk, pfn))
		describe(r, &next, entry, pfn);
	else
		next.flags = KL_PAGE_ZERO | entry_flags(entry);
	next.map_order = end - at > PMD_SIZE ? PUD_SHIFT - PAGE_SHIFT : PMD_SHIFT - PAGE_SHIFT;
	if (r->d->call->what == KL_DETAIL_SHARED_PAGES && next.mapcount > 1) {
		next.pages = 1;
		return add_page_ids(r, &next, pfn, end);
	}
	if (!add(r, &next))
		return false;
	r->next = end;
	return true;
}

static bool add_mapping(struct runs *r, struct vm_area_struct *vma)
{
	struct kl_detail *d = r->d;
	bool is_whole;

	r->walk.vma = vma;
	r->next = max_t(unsigned long, d->cursor, vma->vm_start);
	is_whole = kl_page_walk(&r->walk, d->cursor);
	d->cursor = is_whole ? vma->vm_end : r->next;
	return is_whole;
}

/**
 * kl_detail_pages - KL_DETAIL_PAGES, KL_DETAIL_FRAMES and KL_DETAIL_SHARED_PAGES
 * @d: the call; the cursor is the address to continue at
 */
int kl_detail_pages(struct kl_detail *d)
{
	struct runs runs = {
		.walk = { .table = add_table, .leaf = add_leaf },
		.d = d,
		.left = ENTRIES_MAX,
		.word = { 0, KIND_OF_MAPPING + 1 },
	};
	struct mm_struct *mm = kl_task_get_mm(d->task);
	struct vm_area_struct *vma;

	if (!mm)
		return 0;
	d->cursor &= PAGE_MASK;
	if (d->cursor < TASK_SIZE_MAX && !mmap_read_lock_killable(mm)) {
		VMA_ITERATOR(vmi, mm, d->cursor);

		for_each_vma(vmi, vma) {
			if (signal_pending(current) || !add_mapping(&runs, vma))
				break;
			cond_resched();
		}
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return signal_pending(current) ? -EINTR : 0;
}
