/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of one process: the state of each of its pages in RAM or swap, sums by mapping as in
 * /proc/PID/smaps, differences between two reads, and other processes that share its pages.
 */
#ifndef KERNLENS_MEMORY_H
#define KERNLENS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/abi.h>
#include <kernlens/client.h>
#include <kernlens/detail.h>

/**
 * struct kl_page_runs - pages, as runs in the same state
 * @n: number of runs
 * @run: the runs, by address
 */
struct kl_page_runs {
	size_t n;
	size_t capacity;
	struct kl_abi_detail_pages *run;
};

/**
 * kl_page_runs_read - read the pages of a process
 * @device: device to query
 * @pid: ID of a process or thread
 * @what: KL_DETAIL_PAGES, KL_DETAIL_FRAMES or KL_DETAIL_SHARED_PAGES
 * @runs: filled in, overwriting its contents; free it with kl_page_runs_deinit()
 *
 * The process may map and unmap memory meanwhile. Returns 0 or a negative errno, as
 * kl_details_read().
 */
int kl_page_runs_read(struct kl_device *device, int pid, uint32_t what, struct kl_page_runs *runs);

/**
 * kl_page_runs_deinit - free the memory of runs
 * @runs: zeroed or read
 */
void kl_page_runs_deinit(struct kl_page_runs *runs);

/**
 * kl_page_run_is_in_ram - do these pages have memory of their own?
 * @run: pages
 */
static inline bool kl_page_run_is_in_ram(const struct kl_abi_detail_pages *run)
{
	return !(run->flags & (KL_PAGE_SWAPPED | KL_PAGE_MIGRATING | KL_PAGE_ZERO));
}

/**
 * struct kl_page_range - pages of a process that are next to each other in physical memory
 * @frame: frame number of the first
 * @pages: number of pages
 * @node: memory node
 * @zone: KL_ZONE_*
 */
struct kl_page_range {
	uint64_t frame;
	uint64_t pages;
	uint16_t node;
	uint8_t zone;
};

/**
 * kl_page_ranges - the contiguous ranges of a process's physical memory
 * @runs: of KL_DETAIL_FRAMES
 * @n: set to their number
 *
 * Returns the ranges, by frame number, to be freed; NULL with errno ENOMEM. A page that is mapped
 * several times is in one range, and only once.
 */
struct kl_page_range *kl_page_ranges(const struct kl_page_runs *runs, size_t *n);

/**
 * struct kl_memory_sums - sums of the pages of a mapping or a process, in bytes
 * @pss_scaled: pss times 4096, which is exact enough to be added
 */
struct kl_memory_sums {
#define KL_MEMORY_SUM(name, help) uint64_t name;
#include <kernlens/memory_sums.def>
#undef KL_MEMORY_SUM
	uint64_t pss_scaled;
};

/**
 * kl_memory_sums_add - add a run
 * @sums: sums
 * @run: pages
 */
void kl_memory_sums_add(struct kl_memory_sums *sums, const struct kl_abi_detail_pages *run);

/**
 * struct kl_memory_sum - a member of struct kl_memory_sums
 * @name: its name
 * @help: what it is
 * @offset: in the struct
 */
struct kl_memory_sum {
	const char *name;
	const char *help;
	size_t offset;
};

/**
 * kl_memory_sum - a member of struct kl_memory_sums by its number
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_memory_sum *kl_memory_sum(size_t index);

/**
 * struct kl_memory_mapping - a mapping and its pages
 * @entry: the mapping, and its name
 * @sums: of its pages
 * @first, @end: its runs are from @first, up to but not including @end
 */
struct kl_memory_mapping {
	const struct kl_detail *entry;
	struct kl_memory_sums sums;
	size_t first;
	size_t end;
};

#define KL_MEMORY_ZONES 5
#define KL_MEMORY_NODES 64 /* the last one includes all further nodes */

/**
 * struct kl_memory - the memory of a process at some time
 * @time_ns: when the read began, in ns of CLOCK_MONOTONIC
 * @runs: all pages
 * @mapping: all mappings, by address
 * @total: sums of all mappings
 * @zone_bytes: memory in RAM by zone, KL_ZONE_*
 * @node_bytes: memory in RAM by node
 */
struct kl_memory {
	int pid;
	uint64_t time_ns;
	struct kl_details list;
	struct kl_page_runs runs;
	size_t n;
	struct kl_memory_mapping *mapping;
	struct kl_memory_sums total;
	uint64_t zone_bytes[KL_MEMORY_ZONES];
	uint64_t node_bytes[KL_MEMORY_NODES];
};

/**
 * kl_memory_read - read the memory of a process
 * @device: device to query
 * @pid: ID of a process or thread
 * @what: KL_DETAIL_PAGES, or KL_DETAIL_FRAMES for frame numbers as well
 * @memory: filled in, overwriting its contents; free it with kl_memory_deinit()
 *
 * Pages of mappings that appear or disappear during the read may be missing. Returns 0 or a
 * negative errno, as kl_details_read().
 */
int kl_memory_read(struct kl_device *device, int pid, uint32_t what, struct kl_memory *memory);

/**
 * kl_memory_deinit - free the memory of what kl_memory_read() has filled in
 * @memory: zeroed or read
 */
void kl_memory_deinit(struct kl_memory *memory);

/**
 * kl_memory_zone_name - "DMA32", "Normal" ..., as the kernel names it
 * @zone: KL_ZONE_*
 */
const char *kl_memory_zone_name(uint32_t zone);

/**
 * struct kl_memory_change - what has happened to the pages of a range between two reads, in bytes
 * @arrived: in RAM, and before neither there nor in swap
 * @gone: neither in RAM nor in swap any more
 * @swapped_out, @swapped_in: from RAM to swap, and back
 * @written: written first, or written again after the page had been cleaned
 *
 * What was there at both reads but was freed and allocated between them is not visible.
 */
struct kl_memory_change {
	uint64_t arrived;
	uint64_t gone;
	uint64_t swapped_out;
	uint64_t swapped_in;
	uint64_t written;
};

/**
 * kl_memory_compare - compare the pages of two reads of a process
 * @before: the earlier read
 * @now: the later one
 * @start: address from which pages are compared; 0: all
 * @end: address up to which they are; UINT64_MAX: all
 * @change: filled in
 */
void kl_memory_compare(const struct kl_memory *before, const struct kl_memory *now, uint64_t start,
		       uint64_t end, struct kl_memory_change *change);

/**
 * struct kl_memory_sharer - a process that maps pages of another one
 * @pid: its ID
 * @comm: its name
 * @bytes: size of the pages that both map
 */
struct kl_memory_sharer {
	int pid;
	char comm[KL_COMM_LEN];
	uint64_t bytes;
};

/**
 * kl_memory_sharers - find which processes share pages with one
 * @device: device to query
 * @pid: the process
 * @sharers: set to an array, by size, to be freed by the caller
 * @n: set to its length
 *
 * Reads the page tables of all processes that the caller may see; others are not listed. Returns
 * 0 or a negative errno.
 */
int kl_memory_sharers(struct kl_device *device, int pid, struct kl_memory_sharer **sharers,
		      size_t *n);

#endif /* KERNLENS_MEMORY_H */
