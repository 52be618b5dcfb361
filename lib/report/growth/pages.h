/* SPDX-License-Identifier: GPL-2.0 */
/* For each page of each process, who touched it first, and when. */
#ifndef KL_LIB_REPORT_GROWTH_PAGES_H
#define KL_LIB_REPORT_GROWTH_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include "../../base/table.h"

#define KL_GROWTH_PAGE_SHIFT 12
#define KL_GROWTH_BLOCK_PAGES 512 /* of 2 MiB */

/**
 * struct kl_growth_page - a page that has been touched
 * @row: number of the row that it belongs to, plus 1; 0: it has not been touched
 * @is_guess: the fault was elsewhere, and has probably brought this page, too
 * @ms: when, since the trace began, in ms
 */
struct kl_growth_page {
	uint32_t row;
	uint32_t is_guess : 1;
	uint32_t ms : 31;
};

/**
 * struct kl_growth_block - 512 neighboring pages
 * @first: number of the first
 * @page: KL_GROWTH_BLOCK_PAGES of them
 */
struct kl_growth_block {
	uint64_t first;
	struct kl_growth_page *page;
};

/**
 * struct kl_growth_pages - the pages of all processes
 * @blocks: by process and address
 * @remove: called for each page that is taken out, with @context
 * @found: those of a range, while it is changed; has room for @room
 */
struct kl_growth_pages {
	struct kl_hash blocks;
	void (*remove)(void *context, struct kl_growth_page page);
	void *context;
	struct kl_growth_block *found;
	size_t room;
};

void kl_growth_pages_init(struct kl_growth_pages *pages,
			  void (*remove)(void *context, struct kl_growth_page page), void *context);
void kl_growth_pages_deinit(struct kl_growth_pages *pages);

/* The entry of a page, which can be changed until the next call. NULL: out of memory. */
struct kl_growth_page *kl_growth_pages_get(struct kl_growth_pages *pages, int32_t pid,
					   uint64_t page);

/* Take out the pages from @first up to but not including @end. Returns 0 or -ENOMEM. */
int kl_growth_pages_remove(struct kl_growth_pages *pages, int32_t pid, uint64_t first,
			   uint64_t end);

/* Move pages to another address. Returns 0 or -ENOMEM. */
int kl_growth_pages_move(struct kl_growth_pages *pages, int32_t pid, uint64_t from, uint64_t to,
			 uint64_t n);

/* Call @visit for each page. */
void kl_growth_pages_visit(const struct kl_growth_pages *pages,
			   void (*visit)(void *context, struct kl_growth_page page), void *context);

#endif /* KL_LIB_REPORT_GROWTH_PAGES_H */
