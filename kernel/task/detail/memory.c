// SPDX-License-Identifier: GPL-2.0
/*
 * Details of a task's memory, for detail.c: its mappings, with how much of each is in RAM, and the
 * kernel's own sums. Pages in RAM are counted in the page tables, as the kernel counts them: those
 * that it does not count (the zero page, I/O memory) are not.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/swap.h>

#include "../../base/task_iter.h"
#include "../../compat/file.h"
#include "../../compat/vm.h"
#include "detail.h"
#include "page_walk.h"

/* ----------------------------------------------------------- page tables */

struct pages {
	struct kl_page_walk walk;
	u64 rss;
	u64 huge;
	u64 hugetlb;
	u64 swapped;
};

static bool count_huge(struct kl_page_walk *walk, pte_t entry, unsigned long pfn, unsigned long at,
		       unsigned long end)
{
	struct pages *p = container_of(walk, struct pages, walk);

	if (walk->is_hugetlb) {
		p->hugetlb += end - at;
		return true;
	}
	if (!kl_page_is_counted(walk, pfn))
		return true;
	p->rss += end - at;
	p->huge += end - at;
	return true;
}

static void count_absent(struct pages *p, pte_t pte)
{
	if (kl_pte_is_swap(pte))
		p->swapped += PAGE_SIZE;
	else if (kl_pte_is_migration(pte))
		p->rss += PAGE_SIZE;
}

static bool count_small(struct kl_page_walk *walk, const pte_t *entry, unsigned long at,
			unsigned long end)
{
	struct pages *p = container_of(walk, struct pages, walk);

	for (; at != end; entry++, at += PAGE_SIZE) {
		pte_t pte = READ_ONCE(*entry);

		if (pte_none(pte))
			continue;
		if (!pte_present(pte))
			count_absent(p, pte);
		else if (!pte_special(pte))
			p->rss += PAGE_SIZE;
	}
	return true;
}

/* -------------------------------------------------------------- mappings */

/*
 * An exec in progress sets these bounds without the lock that is held here. How the mappings are
 * named until then does not matter, as the call starts again.
 */
static bool is_heap(const struct vm_area_struct *vma)
{
	const struct mm_struct *mm = vma->vm_mm;

	return vma->vm_start < data_race(mm->brk) && vma->vm_end > data_race(mm->start_brk);
}

static bool is_stack(const struct vm_area_struct *vma)
{
	const struct mm_struct *mm = vma->vm_mm;

	return vma->vm_start <= data_race(mm->start_stack) &&
	       vma->vm_end >= data_race(mm->start_stack);
}

static const char *given_name(const struct vm_area_struct *vma)
{
#ifdef CONFIG_ANON_VMA_NAME
	if (!vma->vm_file && vma->anon_name)
		return vma->anon_name->name;
#endif
	return NULL;
}

/* The same names as the kernel's. */
static const char *name_of(struct kl_detail *d, struct vm_area_struct *vma, u32 *kind)
{
	const char *name = NULL;

	*kind = KL_DETAIL_MAP_ANON;
	if (vma->vm_file) {
		*kind = KL_DETAIL_MAP_FILE;
		return d_path(kl_file_user_path(vma->vm_file), d->path, KL_DETAIL_PATH_BYTES_MAX);
	}
	if (vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	if (name) {
		*kind = KL_DETAIL_MAP_SPECIAL;
		return name;
	}
	if (is_heap(vma)) {
		*kind = KL_DETAIL_MAP_HEAP;
		return "[heap]";
	}
	if (is_stack(vma)) {
		*kind = KL_DETAIL_MAP_STACK;
		return "[stack]";
	}
	name = given_name(vma);
	if (!name)
		return "";
	snprintf(d->path, KL_DETAIL_PATH_BYTES_MAX, "[anon:%s]", name);
	return d->path;
}

static u32 map_flags(const struct vm_area_struct *vma)
{
	unsigned long flags = vma->vm_flags;

	return (flags & VM_READ ? KL_DETAIL_MAP_READ : 0) |
	       (flags & VM_WRITE ? KL_DETAIL_MAP_WRITE : 0) |
	       (flags & VM_EXEC ? KL_DETAIL_MAP_EXEC : 0) |
	       (flags & VM_MAYSHARE ? KL_DETAIL_MAP_SHARED : 0) |
	       (flags & VM_LOCKED ? KL_DETAIL_MAP_LOCKED : 0) |
	       (flags & VM_HUGETLB ? KL_DETAIL_MAP_HUGETLB : 0) |
	       (flags & VM_GROWSDOWN ? KL_DETAIL_MAP_GROWS_DOWN : 0) |
	       (flags & (VM_PFNMAP | VM_IO) ? KL_DETAIL_MAP_DEVICE : 0);
}

static bool add_map(struct kl_detail *d, struct vm_area_struct *vma)
{
	struct pages pages = { .walk = { .vma = vma, .table = count_small, .leaf = count_huge } };
	struct kl_abi_detail_map *to;
	u32 kind, bytes;
	const char *name;

	name = name_of(d, vma, &kind);
	bytes = IS_ERR(name) ? 0 : strlen(name);
	to = kl_detail_add(d, KL_DETAIL_MAPS, sizeof(*to), bytes + 1);
	if (!to)
		return false;
	/* After a signal the result is discarded. */
	kl_page_walk(&pages.walk, 0);
	to->start = vma->vm_start;
	to->end = vma->vm_end;
	to->rss = pages.rss;
	to->huge = pages.huge;
	to->hugetlb = pages.hugetlb;
	to->swapped = pages.swapped;
	to->flags = map_flags(vma);
	to->kind = kind;
	to->page_bytes = vma_kernel_pagesize(vma);
	if (vma->vm_file) {
		const struct inode *inode = kl_file_user_inode(vma->vm_file);

		to->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
		to->inode = inode->i_ino;
		to->dev_major = MAJOR(inode->i_sb->s_dev);
		to->dev_minor = MINOR(inode->i_sb->s_dev);
	}
	to->text_bytes = bytes;
	to->record.flags = IS_ERR(name) ? KL_DETAIL_CUT : 0;
	if (bytes)
		kl_detail_put_text(to, sizeof(*to), name, bytes);
	return true;
}

/**
 * kl_detail_maps - KL_DETAIL_MAPS
 * @d: the call; the cursor is the address to continue at
 */
int kl_detail_maps(struct kl_detail *d)
{
	struct mm_struct *mm = kl_task_get_mm(d->task);
	struct vm_area_struct *vma;

	if (!mm)
		return 0;
	if (d->cursor < TASK_SIZE_MAX && !mmap_read_lock_killable(mm)) {
		VMA_ITERATOR(vmi, mm, d->cursor);

		for_each_vma(vmi, vma) {
			if (signal_pending(current) || !add_map(d, vma))
				break;
			d->cursor = vma->vm_end;
			cond_resched();
		}
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return signal_pending(current) ? -EINTR : 0;
}

/* ------------------------------------------------------------------ sums */

/* Mostly changed under this lock; brk uses another one, and an exec in progress uses none. */
static u64 read_places(struct kl_abi_detail_memory *to, struct mm_struct *mm)
{
	to->code_start = mm->start_code;
	to->code_end = mm->end_code;
	to->data_start = mm->start_data;
	to->data_end = mm->end_data;
	to->heap_start = mm->start_brk;
	to->heap_end = mm->brk;
	to->stack_start = mm->start_stack;
	to->arguments_start = mm->arg_start;
	to->arguments_end = mm->arg_end;
	to->environment_start = mm->env_start;
	to->environment_end = mm->env_end;
	return to->environment_end;
}

static u64 pages(unsigned long n)
{
	return (u64)n << PAGE_SHIFT;
}

/* Other tasks map and unmap: each number is of some instant of the call, as in /proc. */
static u64 read_sums(struct kl_abi_detail_memory *to, struct mm_struct *mm)
{
	to->size = pages(mm->total_vm);
	to->size_peak = pages(max(mm->hiwater_vm, mm->total_vm));
	to->code = pages(mm->exec_vm);
	to->data = pages(mm->data_vm);
	to->stack = pages(mm->stack_vm);
	to->locked = pages(mm->locked_vm);
	to->pinned = pages(atomic64_read(&mm->pinned_vm));
	to->rss_anon = pages(get_mm_counter(mm, MM_ANONPAGES));
	to->rss_file = pages(get_mm_counter(mm, MM_FILEPAGES));
	to->rss_shared = pages(get_mm_counter(mm, MM_SHMEMPAGES));
	to->rss = to->rss_anon + to->rss_file + to->rss_shared;
	to->rss_peak = max(pages(mm->hiwater_rss), to->rss);
	to->swap = pages(get_mm_counter(mm, MM_SWAPENTS));
	to->page_tables = mm_pgtables_bytes(mm);
	to->mappings = mm->map_count;
	return to->size;
}

/**
 * kl_detail_memory - KL_DETAIL_MEMORY
 * @d: the call
 */
int kl_detail_memory(struct kl_detail *d)
{
	struct kl_abi_detail_memory *to = kl_detail_add(d, KL_DETAIL_MEMORY, sizeof(*to), 0);
	struct mm_struct *mm = kl_task_get_mm(d->task);

	if (!mm)
		return 0;
	spin_lock(&mm->arg_lock);
	data_race(read_places(to, mm));
	spin_unlock(&mm->arg_lock);
	data_race(read_sums(to, mm));
	mmput(mm);
	return 0;
}
