// SPDX-License-Identifier: GPL-2.0
/* Sums of pages, and changes between two reads, from runs of pages that are made here. */
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

#define PAGE ((uint64_t)KL_DETAIL_PAGE_BYTES)
#define START 0x10000ull

#define SHARED_RUN(first, count, mappings, ...)                                          \
	{                                                                                \
		.start = START + (first)*PAGE, .pages = (count), .mapcount = (mappings), \
		__VA_ARGS__                                                              \
	}
#define RUN(first, count, ...) SHARED_RUN(first, count, 1, __VA_ARGS__)
#define RUNS(array)                                                              \
	{                                                                        \
		.runs = {.n = sizeof(array) / sizeof(*(array)), .run = (array) } \
	}

static struct kl_memory_sums sums_of(const struct kl_abi_detail_pages *run, size_t n)
{
	struct kl_memory_sums sums = {};

	for (size_t i = 0; i < n; i++)
		kl_memory_sums_add(&sums, &run[i]);
	return sums;
}

static void sums(void)
{
	const struct kl_abi_detail_pages run[] = {
		RUN(0, 4, .flags = KL_PAGE_ANON | KL_PAGE_SWAPBACKED | KL_PAGE_WRITTEN),
		SHARED_RUN(4, 3, 3, .flags = KL_PAGE_UPTODATE | KL_PAGE_ACCESSED),
		SHARED_RUN(7, 2, 2, .flags = KL_PAGE_DIRTY | KL_PAGE_SWAPBACKED),
		RUN(9, 1, .flags = KL_PAGE_ANON | KL_PAGE_REFERENCED),
		RUN(10, 5, .flags = KL_PAGE_SWAPPED),
		RUN(15, 6, .flags = KL_PAGE_ZERO),
		RUN(21, 512, .flags = KL_PAGE_HUGETLB | KL_PAGE_WRITTEN, .map_order = 9),
		RUN(533, 512, .flags = KL_PAGE_ANON | KL_PAGE_SWAPBACKED | KL_PAGE_WRITTEN,
		    .map_order = 9, .folio_order = 9),
	};
	const struct kl_memory_sums s = sums_of(run, sizeof(run) / sizeof(*run));

	unit_check(s.rss == (4 + 3 + 2 + 1 + 512) * PAGE, "pages in RAM, without hugetlb");
	unit_check(s.pss == (4 + 1 + 1 + 1 + 512) * PAGE - 1, "each divided by its mappings");
	unit_check(s.private_dirty == 516 * PAGE && s.private_clean == PAGE &&
			   s.shared_dirty == 2 * PAGE && s.shared_clean == 3 * PAGE,
		   "private and shared, written and clean");
	unit_check(s.anonymous == 517 * PAGE && s.shmem == 2 * PAGE && s.lazyfree == PAGE,
		   "kinds of pages");
	unit_check(s.referenced == 4 * PAGE && s.accessed == 3 * PAGE, "use");
	unit_check(s.swap == 5 * PAGE && s.zero == 6 * PAGE && s.private_hugetlb == 512 * PAGE,
		   "pages that are not counted as RSS");
	unit_check(s.anonhugepages == 512 * PAGE && s.large_folios == 512 * PAGE, "huge pages");
}

/* PSS must not lose what a page divided by three leaves over. */
static void shares(void)
{
	struct kl_abi_detail_pages run[300];
	struct kl_memory_sums s;

	for (unsigned int i = 0; i < 300; i++)
		run[i] = (struct kl_abi_detail_pages)SHARED_RUN(i, 1, 3, .flags = 0);
	s = sums_of(run, 300);
	unit_check(s.pss <= 100 * PAGE && s.pss > 100 * PAGE - 2, "shares add up");
}

static bool change_is(const struct kl_memory_change *c, uint64_t arrived, uint64_t gone,
		      uint64_t out, uint64_t in, uint64_t written)
{
	return c->arrived == arrived * PAGE && c->gone == gone * PAGE &&
	       c->swapped_out == out * PAGE && c->swapped_in == in * PAGE &&
	       c->written == written * PAGE;
}

static void changes(void)
{
	struct kl_abi_detail_pages old[] = {
		RUN(0, 10, .flags = KL_PAGE_ANON | KL_PAGE_WRITTEN),
		RUN(10, 10, .flags = KL_PAGE_SWAPPED),
		RUN(30, 10, .flags = KL_PAGE_ZERO),
		RUN(50, 10, .flags = KL_PAGE_UPTODATE),
	};
	struct kl_abi_detail_pages new[] = {
		RUN(0, 4, .flags = KL_PAGE_ANON | KL_PAGE_WRITTEN),
		RUN(4, 3, .flags = KL_PAGE_SWAPPED),
		/* 3 pages are gone. */
		RUN(10, 2, .flags = KL_PAGE_ANON),
		RUN(12, 8, .flags = KL_PAGE_SWAPPED),
		RUN(20, 5, .flags = KL_PAGE_ANON | KL_PAGE_WRITTEN),
		RUN(30, 1, .flags = KL_PAGE_ANON | KL_PAGE_WRITTEN),
		RUN(31, 9, .flags = KL_PAGE_ZERO),
		RUN(50, 6, .flags = KL_PAGE_UPTODATE | KL_PAGE_WRITTEN),
		RUN(56, 4, .flags = KL_PAGE_UPTODATE),
	};
	const struct kl_memory before = RUNS(old), now = RUNS(new);
	struct kl_memory_change c;

	kl_memory_compare(&before, &now, 0, UINT64_MAX, &c);
	unit_check(change_is(&c, 6, 3, 3, 2, 12), "all that has changed");
	kl_memory_compare(&now, &before, 0, UINT64_MAX, &c);
	unit_check(change_is(&c, 3, 6, 2, 3, 6), "and back");
	kl_memory_compare(&before, &now, START + 5 * PAGE, START + 22 * PAGE, &c);
	unit_check(change_is(&c, 2, 3, 2, 2, 2), "in a range that begins and ends within runs");
	kl_memory_compare(&before, &now, START + 25 * PAGE, START + 30 * PAGE, &c);
	unit_check(change_is(&c, 0, 0, 0, 0, 0), "in a range without pages");
	kl_memory_compare(&before, &before, 0, UINT64_MAX, &c);
	unit_check(change_is(&c, 0, 0, 0, 0, 0), "nothing");
}

int main(void)
{
	sums();
	shares();
	changes();
	return unit_end();
}
