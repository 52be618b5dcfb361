/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of a process over time, from reads at an interval: sums, what has changed between the
 * reads, and how much of each mapping was in RAM. However long it takes, the number of points is
 * limited: when there is no more room, two become one.
 */
#ifndef KERNLENS_MEMORY_HISTORY_H
#define KERNLENS_MEMORY_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include <kernlens/memory.h>

#define KL_MEMORY_POINTS 512
#define KL_MEMORY_TRACKS 1000

/**
 * struct kl_memory_point - one or more successive reads
 * @time_ns: time of the last of them, in ns of CLOCK_MONOTONIC
 * @rss, @pss, @swap, @hugetlb: sums at this time, in bytes
 * @change: between the read before these and the last of them
 */
struct kl_memory_point {
	uint64_t time_ns;
	uint64_t rss;
	uint64_t pss;
	uint64_t swap;
	uint64_t hugetlb;
	struct kl_memory_change change;
};

/**
 * struct kl_memory_track - a mapping over time
 * @start, @end: its addresses when it was there last
 * @name: as the kernel names it; empty: anonymous memory
 * @is_there: in the latest read
 * @rss: bytes in RAM at each point, including hugetlb; 0 where it did not exist
 *
 * A mapping that has grown or shrunk is the same, as long as its addresses overlap and its name
 * remains.
 */
struct kl_memory_track {
	uint64_t start;
	uint64_t end;
	char *name;
	bool is_there;
	uint64_t rss[KL_MEMORY_POINTS];
};

/**
 * struct kl_memory_history - the memory of a process over time
 * @reads: number of reads
 * @n: number of points
 * @together: reads that a point consists of
 * @in_last: reads that the last point consists of until now
 * @point: points by time
 * @n_tracks: number of mappings, including those that are gone
 * @track: mappings, in the order in which they were seen
 * @untracked: mappings that there was no room for, at most at a time
 */
struct kl_memory_history {
	uint64_t reads;
	unsigned int n;
	unsigned int together;
	unsigned int in_last;
	struct kl_memory_point point[KL_MEMORY_POINTS];
	size_t n_tracks;
	size_t room;
	struct kl_memory_track **track;
	size_t untracked;
};

/**
 * kl_memory_history_create - begin a history
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_memory_history *kl_memory_history_create(void);

/**
 * kl_memory_history_destroy - free a history
 * @history: or NULL
 */
void kl_memory_history_destroy(struct kl_memory_history *history);

/**
 * kl_memory_history_add - add a read
 * @history: history
 * @before: the read before, or NULL
 * @now: this one
 *
 * Returns 0 or -ENOMEM.
 */
int kl_memory_history_add(struct kl_memory_history *history, const struct kl_memory *before,
			  const struct kl_memory *now);

#endif /* KERNLENS_MEMORY_HISTORY_H */
