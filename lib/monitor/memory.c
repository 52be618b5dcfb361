// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a process: its mappings and pages, as KL_IOC_DETAIL reports them, with sums as the
 * kernel makes them for /proc/PID/smaps, and the differences between two reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kernlens/memory.h>
#include "../base/base.h"

#define PSS_SCALE 4096

/* -------------------------------------------------------------------- sums */

const struct kl_memory_sum *kl_memory_sum(size_t index)
{
	static const struct kl_memory_sum sums[] = {
#define KL_MEMORY_SUM(name, help) { #name, help, offsetof(struct kl_memory_sums, name) },
#include <kernlens/memory_sums.def>
#undef KL_MEMORY_SUM
	};

	return index < KL_ARRAY_SIZE(sums) ? &sums[index] : NULL;
}

const char *kl_memory_zone_name(uint32_t zone)
{
	static const char *const names[KL_MEMORY_ZONES] = {
		[KL_ZONE_DMA] = "DMA",	     [KL_ZONE_DMA32] = "DMA32",
		[KL_ZONE_NORMAL] = "Normal", [KL_ZONE_MOVABLE] = "Movable",
		[KL_ZONE_DEVICE] = "Device",
	};

	return zone < KL_MEMORY_ZONES ? names[zone] : "unknown";
}

static void add_huge(struct kl_memory_sums *sums, uint32_t flags, uint64_t bytes)
{
	if (flags & KL_PAGE_ANON)
		sums->anonhugepages += bytes;
	else if (flags & KL_PAGE_SWAPBACKED)
		sums->shmempmdmapped += bytes;
	else
		sums->filepmdmapped += bytes;
}

static void add_present(struct kl_memory_sums *sums, const struct kl_abi_detail_pages *run,
			uint64_t bytes)
{
	bool is_dirty = run->flags & (KL_PAGE_WRITTEN | KL_PAGE_DIRTY);
	bool is_shared = run->mapcount > 1;

	sums->rss += bytes;
	sums->pss_scaled += run->pages * ((uint64_t)KL_DETAIL_PAGE_BYTES * PSS_SCALE /
					  (run->mapcount ? run->mapcount : 1));
	sums->pss = sums->pss_scaled / PSS_SCALE;
	if (is_shared)
		*(is_dirty ? &sums->shared_dirty : &sums->shared_clean) += bytes;
	else
		*(is_dirty ? &sums->private_dirty : &sums->private_clean) += bytes;
	if (run->flags & (KL_PAGE_ACCESSED | KL_PAGE_REFERENCED))
		sums->referenced += bytes;
	if (run->flags & KL_PAGE_ANON)
		sums->anonymous += bytes;
	else if (run->flags & KL_PAGE_SWAPBACKED)
		sums->shmem += bytes;
	if (run->flags & KL_PAGE_ANON && !(run->flags & KL_PAGE_SWAPBACKED) && !is_dirty)
		sums->lazyfree += bytes;
	if (run->map_order)
		add_huge(sums, run->flags, bytes);
	if (run->folio_order)
		sums->large_folios += bytes;
	if (run->flags & KL_PAGE_ACCESSED)
		sums->accessed += bytes;
	if (run->flags & KL_PAGE_SOFT_DIRTY)
		sums->soft_dirty += bytes;
}

void kl_memory_sums_add(struct kl_memory_sums *sums, const struct kl_abi_detail_pages *run)
{
	uint64_t bytes = (uint64_t)run->pages * KL_DETAIL_PAGE_BYTES;

	if (run->flags & KL_PAGE_SWAPPED)
		sums->swap += bytes;
	else if (run->flags & KL_PAGE_MIGRATING)
		sums->migrating += bytes;
	else if (run->flags & KL_PAGE_ZERO)
		sums->zero += bytes;
	else if (run->flags & KL_PAGE_HUGETLB)
		*(run->mapcount > 1 ? &sums->shared_hugetlb : &sums->private_hugetlb) += bytes;
	else
		add_present(sums, run, bytes);
}

/* ----------------------------------------------------------------- reading */

static void add_run(struct kl_memory *m, struct kl_memory_mapping *mapping,
		    const struct kl_abi_detail_pages *run)
{
	uint64_t bytes = (uint64_t)run->pages * KL_DETAIL_PAGE_BYTES;

	kl_memory_sums_add(&mapping->sums, run);
	kl_memory_sums_add(&m->total, run);
	if (!kl_page_run_is_in_ram(run))
		return;
	if (run->zone < KL_MEMORY_ZONES)
		m->zone_bytes[run->zone] += bytes;
	m->node_bytes[run->node < KL_MEMORY_NODES ? run->node : KL_MEMORY_NODES - 1] += bytes;
}

/* Both lists are by address. Runs of a mapping that is not in the list are skipped. */
static void assign_runs(struct kl_memory *m)
{
	size_t at = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct kl_memory_mapping *mapping = &m->mapping[i];
		const struct kl_abi_detail_map *map = &mapping->entry->map;

		while (at < m->runs.n && m->runs.run[at].start < map->start)
			at++;
		mapping->first = at;
		for (; at < m->runs.n && m->runs.run[at].start < map->end; at++)
			add_run(m, mapping, &m->runs.run[at]);
		mapping->end = at;
	}
}

/* A run is of one mapping: neighbors may be in the same state. */
static int split_run(struct kl_page_runs *runs, size_t at, uint64_t address)
{
	struct kl_abi_detail_pages *run;
	uint32_t before;

	run = kl_array_grow(runs->run, runs->n, &runs->capacity, sizeof(*run));
	if (!run)
		return kl_fail(ENOMEM, "out of memory");
	runs->run = run;
	memmove(&run[at + 1], &run[at], (runs->n - at) * sizeof(*run));
	runs->n++;
	before = (uint32_t)((address - run[at].start) / KL_DETAIL_PAGE_BYTES);
	run[at].pages = before;
	run[at + 1].pages -= before;
	run[at + 1].start = address;
	if (run[at + 1].frame)
		run[at + 1].frame += before;
	return 0;
}

static uint64_t end_of(const struct kl_abi_detail_pages *run)
{
	return run->start + (uint64_t)run->pages * KL_DETAIL_PAGE_BYTES;
}

static int split_runs(struct kl_memory *m)
{
	size_t at = 0;
	int ret = 0;

	for (size_t i = 0; !ret && i < m->n; i++) {
		uint64_t end = m->mapping[i].entry->map.end;

		while (at < m->runs.n && end_of(&m->runs.run[at]) <= end)
			at++;
		if (at < m->runs.n && m->runs.run[at].start < end)
			ret = split_run(&m->runs, at++, end);
	}
	return ret;
}

int kl_memory_read(struct kl_device *device, int pid, uint32_t what, struct kl_memory *m)
{
	int ret;

	memset(m, 0, sizeof(*m));
	m->pid = pid;
	m->time_ns = kl_monotonic_ns();
	ret = kl_details_read(device, pid, KL_DETAIL_MAPS, &m->list);
	if (!ret)
		ret = kl_page_runs_read(device, pid, what, &m->runs);
	if (!ret) {
		m->mapping = calloc(m->list.n + 1, sizeof(*m->mapping));
		ret = m->mapping ? 0 : kl_fail(ENOMEM, "out of memory");
	}
	for (size_t i = 0; !ret && i < m->list.n; i++)
		m->mapping[m->n++].entry = &m->list.entry[i];
	if (!ret)
		ret = split_runs(m);
	if (ret) {
		kl_memory_deinit(m);
		return ret;
	}
	assign_runs(m);
	return 0;
}

void kl_memory_deinit(struct kl_memory *m)
{
	free(m->mapping);
	kl_page_runs_deinit(&m->runs);
	kl_details_deinit(&m->list);
	memset(m, 0, sizeof(*m));
}

/* -------------------------------------------------------------- differences */

/**
 * struct cursor - a place in the runs of a read
 * @at: the run that contains the place, or the first after it
 */
struct cursor {
	const struct kl_page_runs *runs;
	size_t at;
};

static struct cursor start_at(const struct kl_page_runs *runs, uint64_t address)
{
	size_t low = 0, high = runs->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end_of(&runs->run[middle]) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct cursor){ .runs = runs, .at = low };
}

/* The run at an address, NULL: none; @until is lowered to where that changes. */
static const struct kl_abi_detail_pages *run_at(struct cursor *c, uint64_t address, uint64_t *until)
{
	const struct kl_abi_detail_pages *run;

	while (c->at < c->runs->n && end_of(&c->runs->run[c->at]) <= address)
		c->at++;
	if (c->at == c->runs->n)
		return NULL;
	run = &c->runs->run[c->at];
	if (run->start > address) {
		if (run->start < *until)
			*until = run->start;
		return NULL;
	}
	if (end_of(run) < *until)
		*until = end_of(run);
	return run;
}

static bool is_there(const struct kl_abi_detail_pages *run)
{
	return run && !(run->flags & KL_PAGE_ZERO);
}

static void add_change(struct kl_memory_change *to, const struct kl_abi_detail_pages *before,
		       const struct kl_abi_detail_pages *now, uint64_t bytes)
{
	bool was_swapped = before && before->flags & KL_PAGE_SWAPPED;
	bool is_swapped = now && now->flags & KL_PAGE_SWAPPED;

	if (is_there(now) && !is_there(before))
		to->arrived += bytes;
	if (is_there(before) && !is_there(now))
		to->gone += bytes;
	if (is_there(before) && is_there(now) && was_swapped != is_swapped)
		*(is_swapped ? &to->swapped_out : &to->swapped_in) += bytes;
	if (now && now->flags & KL_PAGE_WRITTEN && !(before && before->flags & KL_PAGE_WRITTEN))
		to->written += bytes;
}

void kl_memory_compare(const struct kl_memory *before, const struct kl_memory *now, uint64_t start,
		       uint64_t end, struct kl_memory_change *change)
{
	struct cursor old = start_at(&before->runs, start), new = start_at(&now->runs, start);
	uint64_t until;

	memset(change, 0, sizeof(*change));
	for (uint64_t at = start; at < end; at = until) {
		const struct kl_abi_detail_pages *was, *is;

		until = end;
		was = run_at(&old, at, &until);
		is = run_at(&new, at, &until);
		if (was || is)
			add_change(change, was, is, until - at);
	}
}
