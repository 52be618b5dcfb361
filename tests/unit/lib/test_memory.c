// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of pages, changes between two reads, physical ranges, and a history of many reads, from runs of
 * pages that are made here.
 */
#include <stdio.h>
#include <stdlib.h>
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

/* Frames of runs that are neighbors, mapped twice, or in another zone. */
static void ranges(void)
{
	struct kl_abi_detail_pages run[] = {
		RUN(0, 4, .frame = 100, .zone = KL_ZONE_DMA32),
		RUN(4, 2, .frame = 50, .zone = KL_ZONE_DMA32),
		RUN(6, 3, .frame = 104, .zone = KL_ZONE_DMA32),
		RUN(9, 5, .frame = 107, .zone = KL_ZONE_NORMAL),
		SHARED_RUN(20, 4, 2, .frame = 101, .zone = KL_ZONE_DMA32),
		SHARED_RUN(30, 2, 2, .frame = 102, .zone = KL_ZONE_DMA32),
		RUN(40, 1, .frame = 112, .zone = KL_ZONE_NORMAL, .node = 1),
		RUN(50, 1, .frame = 1, .flags = KL_PAGE_ZERO),
		RUN(51, 9, .flags = KL_PAGE_SWAPPED),
		RUN(60, 1, .zone = KL_ZONE_NORMAL),
	};
	const struct kl_page_runs runs = { .n = sizeof(run) / sizeof(*run), .run = run };
	const struct kl_page_runs none = {};
	size_t n;
	struct kl_page_range *range = kl_page_ranges(&runs, &n);

	unit_check(n == 4 && range[0].frame == 50 && range[0].pages == 2 && range[1].frame == 100 &&
			   range[1].pages == 7,
		   "contiguous frames, each counted once");
	unit_check(n == 4 && range[2].frame == 107 && range[2].pages == 5 &&
			   range[2].zone == KL_ZONE_NORMAL && range[3].frame == 112 &&
			   range[3].node == 1,
		   "ranges end with their zone and node");
	free(range);
	range = kl_page_ranges(&none, &n);
	unit_check(range && !n, "no frames, no ranges");
	free(range);
}

static struct kl_detail entry[3];
static struct kl_memory_mapping mapping[3];

static void map(unsigned int i, uint64_t first, uint64_t end, const char *name, uint64_t pages)
{
	entry[i].map.start = first * PAGE;
	entry[i].map.end = end * PAGE;
	entry[i].text = name;
	entry[i].text_bytes = (uint32_t)strlen(name);
	mapping[i] = (struct kl_memory_mapping){ .entry = &entry[i] };
	mapping[i].sums.rss = pages * PAGE;
}

/* A read of all mappings, in which a heap grows; one page is written anew each time. */
static struct kl_memory read_of(uint64_t time, size_t n)
{
	struct kl_memory memory = { .time_ns = time, .n = n, .mapping = mapping };

	for (size_t i = 0; i < n; i++)
		memory.total.rss += mapping[i].sums.rss;
	return memory;
}

static void tracks(void)
{
	struct kl_memory_history *h = kl_memory_history_create();
	struct kl_memory memory;

	map(0, 10, 20, "[heap]", 5);
	map(1, 100, 120, "", 7);
	map(2, 200, 210, "", 0);
	memory = read_of(1, 3);
	kl_memory_history_add(h, NULL, &memory);
	/* The heap grows, and anonymous memory grows down; a file is mapped where there was a gap. */
	map(0, 10, 40, "[heap]", 25);
	map(1, 50, 60, "/some/file", 3);
	map(2, 90, 120, "", 9);
	memory = read_of(2, 3);
	kl_memory_history_add(h, NULL, &memory);
	unit_check(h->n == 2 && h->n_tracks == 3, "mappings without memory are not tracked");
	unit_check(h->track[0]->rss[0] == 5 * PAGE && h->track[0]->rss[1] == 25 * PAGE &&
			   h->track[1]->rss[1] == 9 * PAGE && h->track[1]->start == 90 * PAGE,
		   "a mapping that grows remains the same");
	unit_check(!h->track[2]->rss[0] && h->track[2]->rss[1] == 3 * PAGE,
		   "a new one was not there before");
	/* Another file at the same place is another mapping. */
	map(1, 50, 60, "/some/other", 4);
	memory = read_of(3, 3);
	kl_memory_history_add(h, NULL, &memory);
	unit_check(h->n_tracks == 4 && !h->track[2]->is_there && !h->track[2]->rss[2] &&
			   h->track[3]->rss[2] == 4 * PAGE && h->track[0]->is_there,
		   "one that is gone, and its successor");
	kl_memory_history_destroy(h);
	kl_memory_history_destroy(NULL);
}

#define READS 5000u

static void histories(void)
{
	struct kl_abi_detail_pages old[] = { RUN(0, 4, .flags = KL_PAGE_ANON) };
	struct kl_abi_detail_pages new[] = {
		RUN(0, 4, .flags = KL_PAGE_ANON),
		RUN(4, 1, .flags = KL_PAGE_ANON | KL_PAGE_WRITTEN),
	};
	struct kl_memory_history *h = kl_memory_history_create();
	uint64_t arrived = 0, written = 0;
	bool good = true;

	for (unsigned int i = 0; i < READS; i++) {
		struct kl_memory before, now;

		map(0, 10, 20000, "[heap]", i + 1);
		before = now = read_of(i, 1);
		before.runs = (struct kl_page_runs){ .n = 1, .run = old };
		now.runs = (struct kl_page_runs){ .n = 2, .run = new };
		kl_memory_history_add(h, i ? &before : NULL, &now);
	}
	for (unsigned int i = 0; i < h->n; i++) {
		arrived += h->point[i].change.arrived;
		written += h->point[i].change.written;
		good &= h->point[i].rss == (h->point[i].time_ns + 1) * PAGE &&
			h->track[0]->rss[i] == h->point[i].rss &&
			(!i || h->point[i].time_ns > h->point[i - 1].time_ns);
	}
	unit_check(h->reads == READS && h->n <= KL_MEMORY_POINTS && h->n > KL_MEMORY_POINTS / 4 &&
			   h->together == 16,
		   "any number of reads has room");
	unit_check(h->point[h->n - 1].time_ns == READS - 1, "the last point is the last read");
	unit_check(arrived == (READS - 1) * PAGE && written == arrived, "changes add up");
	unit_check(good && h->n_tracks == 1, "and points have the memory of their time");
	kl_memory_history_destroy(h);
}

/* More mappings than there is room for, each of which is gone at the next read. */
static void crowds(void)
{
	struct kl_memory_history *h = kl_memory_history_create();
	char name[16];

	for (unsigned int i = 0; i < KL_MEMORY_TRACKS + 50; i++) {
		struct kl_memory memory;

		snprintf(name, sizeof(name), "/file%u", i);
		map(0, 10, 20, name, 1);
		map(1, 30, 40, "[heap]", i + 1);
		memory = read_of(i, 2);
		kl_memory_history_add(h, NULL, &memory);
	}
	unit_check(h->n_tracks == KL_MEMORY_TRACKS && h->untracked == 1,
		   "mappings that there is no room for are counted");
	unit_check(h->track[1]->rss[h->n - 1] == (KL_MEMORY_TRACKS + 50) * PAGE,
		   "and the others are tracked");
	kl_memory_history_destroy(h);
}

int main(void)
{
	sums();
	shares();
	changes();
	ranges();
	tracks();
	histories();
	crowds();
	return unit_end();
}
