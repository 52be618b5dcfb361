// SPDX-License-Identifier: GPL-2.0
/*
 * Copies the stack of a trace that has met a file without an unwind table, so that user space can
 * finish the trace once it has read the file. Copies stay until the session ends, and their number
 * is limited. Called by stack.c in the context of the walk. docs/design/unwind.md has the rules.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "../compat/nofault.h"
#include "session.h"
#include "stack_internal.h"

#define OTHERS 8u
#define LOOKUPS_MAX \
	128u /* a stack may have other numbers everywhere, and the process many mappings */
#define HEADER_WORDS (sizeof(struct kl_abi_stack_copy) / sizeof(u64))
#define RANGE_WORDS (sizeof(struct kl_abi_stack_range) / sizeof(u64))
#define FIXED_WORDS (HEADER_WORDS + KL_STACK_COPY_RANGES_MAX * RANGE_WORDS)

/**
 * struct copy - a copy being made
 * @walk: the walk
 * @head: the copy
 * @range: the mappings of code that its words point into
 * @other: start and end of areas without code, so that they are looked up once
 * @next: the one of @other that the next one replaces
 * @lookups: number of addresses that have been looked up
 */
struct copy {
	struct kl_stack_walk *walk;
	struct kl_abi_stack_copy *head;
	struct kl_abi_stack_range *range;
	u64 other[OTHERS][2];
	u32 next;
	u32 lookups;
};

static bool is_known(const struct copy *c, u64 address)
{
	for (u32 i = 0; i < c->head->ranges; i++)
		if (address - c->range[i].start < c->range[i].bytes)
			return true;
	for (u32 i = 0; i < OTHERS; i++)
		if (address >= c->other[i][0] && address < c->other[i][1])
			return true;
	return false;
}

/* Record the mapping of code that an address is in, if it is in one. */
static void add_code(struct copy *c, u64 address)
{
	const struct vm_area_struct *vma;
	u64 start = address, object;

	c->lookups++;
	vma = find_vma(current->mm, address);
	if (!vma)
		return;
	if (vma->vm_start > address || !(vma->vm_flags & VM_EXEC) || !vma->vm_file ||
	    !kl_stack_is_object(vma->vm_file)) {
		if (vma->vm_start <= address)
			start = vma->vm_start;
		c->other[c->next][0] = start;
		c->other[c->next][1] = start < vma->vm_start ? vma->vm_start : vma->vm_end;
		c->next = (c->next + 1) % OTHERS;
		return;
	}
	object = kl_stack_object(c->walk->stacks, file_inode(vma->vm_file), vma->vm_file);
	if (!object || c->head->ranges == KL_STACK_COPY_RANGES_MAX)
		return;
	c->range[c->head->ranges++] = (struct kl_abi_stack_range){
		.start = vma->vm_start,
		.bytes = vma->vm_end - vma->vm_start,
		.place = object << KL_STACK_PLACE_SHIFT | (u64)vma->vm_pgoff << PAGE_SHIFT,
	};
}

/* Returns how many words could be read. */
static u32 read_words(u64 *to, u64 from, u32 words)
{
	u32 n = 0;

	while (n < words) {
		u64 at = from + n * sizeof(u64);
		u32 some = min_t(u32, words - n, (PAGE_SIZE - offset_in_page(at)) / sizeof(u64));

		if (kl_nofault(copy_from_user_nofault(to + n, (const void __user *)at,
						      some * sizeof(u64))))
			break;
		n += some;
	}
	return n;
}

/* The number of words from an address to the end of its stack, or the limit. */
static u32 count_words(u64 sp)
{
	const struct vm_area_struct *vma = find_vma(current->mm, sp);
	u64 end;

	if (!vma || vma->vm_start > sp || sp & 7)
		return 0;
	end = vma->vm_end;
	/* The first thread's stack begins below the arguments and the environment. */
	if (current->mm->start_stack > sp && current->mm->start_stack < end)
		end = current->mm->start_stack;
	return min_t(u64, (end - sp) / sizeof(u64), KL_STACK_COPY_WORDS_MAX);
}

/* Is there room for the largest copy? Nothing is tried again and again when there is none. */
static bool has_room(const struct kl_unwind *unwind)
{
	return READ_ONCE(unwind->copied) + FIXED_WORDS + KL_STACK_COPY_WORDS_MAX <=
	       KL_UNWIND_COPY_WORDS;
}

/* Returns the index of so many words for this copy, or 0. */
static u32 take_room(struct kl_unwind *unwind, u32 words)
{
	u32 before = READ_ONCE(unwind->copied);

	do {
		if (words > KL_UNWIND_COPY_WORDS - before)
			return 0;
	} while (!try_cmpxchg(&unwind->copied, &before, before + words));
	return before;
}

static void fill(struct copy *c, u32 words)
{
	const struct kl_unwind_frame *frame = &c->walk->lacking;
	u64 *word = (u64 *)(c->range + KL_STACK_COPY_RANGES_MAX);

	add_code(c, frame->ip);
	words = read_words(word, frame->sp, words);
	for (u32 i = 0; i < words && c->lookups < LOOKUPS_MAX; i++)
		if (kl_is_code(word[i]) && !is_known(c, word[i]))
			add_code(c, word[i]);
	memmove(c->range + c->head->ranges, word, words * sizeof(u64));
	c->head->words = words;
}

/**
 * kl_unwind_copy - copy the stack of a trace
 * @w: its walk, which has set @w->lacking and @w->lacks
 *
 * Returns the index of the copy in the session's copies, or 0 if there is none. Context: any but
 * NMI, preemption off.
 */
u32 kl_unwind_copy(struct kl_stack_walk *w)
{
	struct kl_stack_object *object = &w->stacks->object[w->lacks - 1];
	struct copy c = { .walk = w };
	u32 words, at;

	/* Memory is shown under the same conditions as that of system calls. */
	if (!kl_access_reads_memory(w->s) || !has_room(w->stacks->unwind) || !kl_stack_walk_lock(w))
		return 0;
	words = count_words(w->lacking.sp);
	if (!words)
		return 0;
	at = take_room(w->stacks->unwind, FIXED_WORDS + words);
	if (!at)
		return 0;
	c.head = (struct kl_abi_stack_copy *)&w->stacks->unwind->copy[at];
	c.range = (struct kl_abi_stack_range *)(c.head + 1);
	c.head->sp = w->lacking.sp;
	c.head->bp = w->lacking.bp;
	c.head->bp_known = w->lacking.bp_known;
	c.head->frames = w->stacks->user_frames;
	fill(&c, words);
	if (!c.head->words)
		return 0;
	/* The limit may be exceeded by one for each CPU. */
	WRITE_ONCE(object->copies, READ_ONCE(object->copies) + 1);
	return at;
}
