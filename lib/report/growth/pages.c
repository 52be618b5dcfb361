// SPDX-License-Identifier: GPL-2.0
/*
 * For each page of each process, who touched it first, and when: in blocks of 2 MiB, so that a
 * range that is unmapped costs no more than the blocks that it has, whatever its length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"

/* Process IDs have 22 bits, and addresses 56: of these, 35 select a block. */
#define PID_BITS 22
#define BLOCK_SHIFT 9
#define PAGES_MAX (1ull << 44)

/**
 * struct block - the pages of 2 MiB
 * @key: block and process, plus 1
 * @page: KL_GROWTH_BLOCK_PAGES
 */
struct block {
	uint64_t key;
	struct kl_growth_page *page;
};

static uint64_t key_of(int32_t pid, uint64_t block)
{
	return (block << PID_BITS | (uint32_t)pid) + 1;
}

static int32_t pid_of(const struct block *block)
{
	return (int32_t)((block->key - 1) & ((1u << PID_BITS) - 1));
}

static uint64_t first_of(const struct block *block)
{
	return (block->key - 1) >> PID_BITS << BLOCK_SHIFT;
}

void kl_growth_pages_init(struct kl_growth_pages *pages,
			  void (*remove)(void *context, struct kl_growth_page page), void *context)
{
	memset(pages, 0, sizeof(*pages));
	pages->blocks.size = sizeof(struct block);
	pages->remove = remove;
	pages->context = context;
}

void kl_growth_pages_deinit(struct kl_growth_pages *pages)
{
	const struct block *block = NULL;

	while ((block = kl_hash_next(&pages->blocks, block)))
		free(block->page);
	kl_hash_deinit(&pages->blocks);
	free(pages->found);
}

struct kl_growth_page *kl_growth_pages_get(struct kl_growth_pages *pages, int32_t pid,
					   uint64_t page)
{
	struct block *block = kl_hash_get(&pages->blocks, key_of(pid, page >> BLOCK_SHIFT));

	if (!block)
		return NULL;
	if (!block->page)
		block->page = calloc(KL_GROWTH_BLOCK_PAGES, sizeof(*block->page));
	return block->page ? &block->page[page % KL_GROWTH_BLOCK_PAGES] : NULL;
}

/*
 * The blocks of a process in a range of pages, in pages->found. Looks for each of them, or at all
 * blocks, whichever is less. Returns their number or -ENOMEM.
 */
static int64_t find_blocks(struct kl_growth_pages *pages, int32_t pid, uint64_t first, uint64_t end)
{
	const struct block *block = NULL;
	int64_t n = 0;

	if (pages->room < pages->blocks.count) {
		void *room = realloc(pages->found, pages->blocks.slots * sizeof(*pages->found));

		if (!room)
			return -ENOMEM;
		pages->found = room;
		pages->room = pages->blocks.slots;
	}
	if (end > PAGES_MAX)
		end = PAGES_MAX;
	if (end <= first)
		return 0;
	if ((end - first) >> BLOCK_SHIFT < pages->blocks.count) {
		for (uint64_t i = first >> BLOCK_SHIFT; i <= (end - 1) >> BLOCK_SHIFT; i++) {
			block = kl_hash_find(&pages->blocks, key_of(pid, i));
			if (block && block->page)
				pages->found[n++] =
					(struct kl_growth_block){ first_of(block), block->page };
		}
		return n;
	}
	while ((block = kl_hash_next(&pages->blocks, block)))
		if (block->page && pid_of(block) == pid && first_of(block) < end &&
		    first_of(block) + KL_GROWTH_BLOCK_PAGES > first)
			pages->found[n++] =
				(struct kl_growth_block){ first_of(block), block->page };
	return n;
}

/* The part of a block that is in a range: from *from, before the returned page of the block. */
static uint64_t clip(const struct kl_growth_block *block, uint64_t first, uint64_t end,
		     uint64_t *from)
{
	*from = first > block->first ? first - block->first : 0;
	return end - block->first < KL_GROWTH_BLOCK_PAGES ? end - block->first :
							    KL_GROWTH_BLOCK_PAGES;
}

int kl_growth_pages_remove(struct kl_growth_pages *pages, int32_t pid, uint64_t first, uint64_t end)
{
	const int64_t n = find_blocks(pages, pid, first, end);

	for (int64_t i = 0; i < n; i++) {
		struct kl_growth_page *page = pages->found[i].page;
		uint64_t from;
		const uint64_t to = clip(&pages->found[i], first, end, &from);

		for (uint64_t j = from; j < to; j++) {
			if (!page[j].row)
				continue;
			pages->remove(pages->context, page[j]);
			page[j].row = 0;
		}
	}
	return n < 0 ? -ENOMEM : 0;
}

int kl_growth_pages_move(struct kl_growth_pages *pages, int32_t pid, uint64_t from, uint64_t to,
			 uint64_t n)
{
	const int64_t blocks = find_blocks(pages, pid, from, from + n);

	for (int64_t i = 0; i < blocks; i++) {
		const struct kl_growth_block block = pages->found[i];
		uint64_t j;
		const uint64_t end = clip(&block, from, from + n, &j);

		for (; j < end; j++) {
			const struct kl_growth_page moved = block.page[j];
			struct kl_growth_page *new;

			if (!moved.row)
				continue;
			block.page[j].row = 0;
			new = kl_growth_pages_get(pages, pid, to + block.first + j - from);
			if (!new)
				return -ENOMEM;
			if (new->row)
				pages->remove(pages->context, *new);
			*new = moved;
		}
	}
	return blocks < 0 ? -ENOMEM : 0;
}

void kl_growth_pages_visit(const struct kl_growth_pages *pages,
			   void (*visit)(void *context, struct kl_growth_page page), void *context)
{
	const struct block *block = NULL;

	while ((block = kl_hash_next(&pages->blocks, block)))
		for (unsigned int i = 0; block->page && i < KL_GROWTH_BLOCK_PAGES; i++)
			if (block->page[i].row)
				visit(context, block->page[i]);
}
