// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that lead to a session's memory that does not move: its metadata and its stack traces. As
 * crash.c, whose barriers they use.
 */
#include <linux/mm.h>

#include "crash_internal.h"
#include "session.h"
#include "stack_table.h"

/* Fill the page that is number @number of the region's chain. */
static void fill_region(struct kl_crash_region *page, const u8 *memory, u64 bytes, u32 number)
{
	const u8 *from = memory - offset_in_page(memory);
	u64 pages = PAGE_ALIGN(offset_in_page(memory) + bytes) / PAGE_SIZE;
	u64 at = (u64)number * KL_CRASH_REGION_WORDS;

	page->number = number;
	page->bytes = bytes;
	page->first = offset_in_page(memory);
	page->n = min_t(u64, pages - at, KL_CRASH_REGION_WORDS);
	for (u32 i = 0; i < page->n; i++)
		page->word[i] = kl_crash_address(from + (at + i) * PAGE_SIZE);
}

/**
 * kl_crash_region_create - make pages that lead to memory
 * @s: the session
 * @kind: what it is
 * @memory: of kvmalloc(), vmalloc() or kl_reserved_alloc(); metadata is constant
 * @bytes: its size
 * @why: set on failure
 *
 * Returns the first page, or NULL. Context: may sleep.
 */
struct kl_crash_region *kl_crash_region_create(struct kl_session *s, enum kl_crash_region_kind kind,
					       const void *memory, u64 bytes, struct kl_error *why)
{
	u64 pages = PAGE_ALIGN(offset_in_page(memory) + max_t(u64, bytes, 1)) / PAGE_SIZE;
	u64 generation = atomic64_inc_return(&s->crash.generation);
	struct kl_crash_region *first = NULL;

	/* From the last to the first, so that each is complete when it is published. */
	for (u32 number = DIV_ROUND_UP(pages, KL_CRASH_REGION_WORDS); number--;) {
		struct kl_crash_region *page = kl_crash_alloc(s, why);

		if (!page) {
			kl_crash_region_destroy(s, first);
			return NULL;
		}
		memcpy(page->head.uuid, s->uuid, sizeof(s->uuid));
		page->generation = generation;
		page->kind = kind;
		page->next = first ? kl_crash_address(first) : 0;
		if (KL_CRASH_IS_TEXT(kind))
			page->sum = kl_crash_sum(KL_CRASH_SUM_BEGIN, memory, bytes);
		fill_region(page, memory, bytes, number);
		kl_crash_publish_page(&page->head, KL_CRASH_REGION, PAGE_SIZE);
		first = page;
	}
	return first;
}

/**
 * kl_crash_region_publish - make a region the session's one of its kind
 * @s: the session; its lock is held
 * @region: from kl_crash_region_create()
 */
void kl_crash_region_publish(struct kl_session *s, const struct kl_crash_region *region)
{
	lockdep_assert_held(&s->lock);
	/* K: the region's pages have their magic before the session refers to them. */
	smp_wmb();
	WRITE_ONCE(s->crash.page->region[region->kind], kl_crash_address(region));
}

/**
 * kl_crash_region_destroy - free the pages that lead to memory
 * @s: the session, which refers to another region now, or is being freed
 * @region: from kl_crash_region_create(), or NULL
 */
void kl_crash_region_destroy(struct kl_session *s, struct kl_crash_region *region)
{
	struct kl_crash_region *next;

	for (; region; region = next) {
		next = kl_crash_page_at(region->next);
		kl_crash_free(s, &region->head);
	}
}

static_assert(offsetof(struct kl_crash_stack, about) == offsetof(struct kl_stack_entry, about));
static_assert(offsetof(struct kl_crash_stack, at) == offsetof(struct kl_stack_entry, at));
static_assert(offsetof(struct kl_crash_stack, state) == offsetof(struct kl_stack_entry, state));
static_assert(sizeof(struct kl_crash_stack) == sizeof(struct kl_stack_entry));
static_assert((int)KL_CRASH_STACK_READY == (int)KL_STACK_READY);

/**
 * kl_crash_add_stacks - add the session's stack traces
 * @s: the session, whose lock is held and which has none yet
 * @table: the table
 * @why: set on failure; nothing has changed then
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_crash_add_stacks(struct kl_session *s, const struct kl_stack_table *table,
			struct kl_error *why)
{
	struct kl_crash_region **of = s->crash.stacks;

	of[0] = kl_crash_region_create(s, KL_CRASH_STACKS, table->entry,
				       (u64)table->traces * sizeof(*table->entry), why);
	of[1] = of[0] ? kl_crash_region_create(s, KL_CRASH_STACK_WORDS, table->word,
					       (u64)table->words * sizeof(*table->word), why) :
			NULL;
	if (!of[1]) {
		kl_crash_region_destroy(s, of[0]);
		of[0] = NULL;
		return why->error ?: -ENOMEM;
	}
	kl_crash_region_publish(s, of[1]);
	kl_crash_region_publish(s, of[0]);
	return 0;
}
