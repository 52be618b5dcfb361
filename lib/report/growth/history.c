// SPDX-License-Identifier: GPL-2.0
/*
 * When pages came and were given back: in a fixed number of intervals, which double whenever the
 * trace outgrows them, so that the history of a trace of any length takes the same memory.
 */
#include <string.h>

#include "growth.h"

/* Each pair becomes one. */
static void halve(uint32_t value[KL_GROWTH_INTERVALS])
{
	for (unsigned int i = 0; i < KL_GROWTH_INTERVALS / 2; i++)
		value[i] = value[2 * i] + value[2 * i + 1];
	memset(&value[KL_GROWTH_INTERVALS / 2], 0, KL_GROWTH_INTERVALS / 2 * sizeof(*value));
}

static void halve_times(struct kl_growth_times *times)
{
	halve(times->touched);
	halve(times->freed);
	halve(times->kept);
}

unsigned int kl_growth_interval_of(struct kl_growth *g, uint32_t ms)
{
	if (!g->interval_ms)
		g->interval_ms = 1;
	while (ms / g->interval_ms >= KL_GROWTH_INTERVALS) {
		g->interval_ms *= 2;
		halve_times(&g->times);
		for (size_t i = 0; i < g->n; i++) {
			halve_times(&g->row[i].times);
			halve(g->row[i].unplaced_times);
		}
	}
	return ms / g->interval_ms;
}

static void add_pages(uint64_t to[KL_GROWTH_INTERVALS], const uint32_t from[KL_GROWTH_INTERVALS])
{
	for (unsigned int i = 0; i < KL_GROWTH_INTERVALS; i++)
		to[i] += (uint64_t)from[i] << KL_GROWTH_PAGE_SHIFT;
}

void kl_growth_history(const struct kl_growth *g, struct kl_growth_history *history)
{
	const uint64_t ms = (g->last_ns - g->first_ns) / KL_GROWTH_NS_PER_MS;

	memset(history, 0, sizeof(*history));
	if (!g->interval_ms)
		return;
	history->begin_ns = g->first_ns;
	history->end_ns = g->last_ns;
	history->interval_ns = (uint64_t)g->interval_ms * KL_GROWTH_NS_PER_MS;
	history->n = (unsigned int)(ms / g->interval_ms) + 1;
	add_pages(history->touched, g->times.touched);
	add_pages(history->freed, g->times.freed);
	for (size_t i = 0; i < g->n; i++)
		add_pages(history->kept, g->row[i].times.kept);
}

void kl_growth_times_add(struct kl_growth_times *to, const struct kl_growth_times *from)
{
	for (unsigned int i = 0; i < KL_GROWTH_INTERVALS; i++) {
		to->touched[i] += from->touched[i];
		to->freed[i] += from->freed[i];
		to->kept[i] += from->kept[i];
	}
}
