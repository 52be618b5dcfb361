/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files that find out which code makes processes grow. */
#ifndef KL_LIB_REPORT_GROWTH_GROWTH_H
#define KL_LIB_REPORT_GROWTH_GROWTH_H

#include <kernlens/growth.h>
#include "../../base/table.h"
#include "../events.h"
#include "pages.h"

#define KL_GROWTH_NS_PER_MS 1000000

/**
 * struct kl_growth_source - the page faults, or the calls, of a process with one stack trace
 * @stack: its ID
 * @calls: system calls
 * @task: the latest
 * @unplaced: pages of which is not known where they are
 * @unplaced_ms: sum of the times at which they came
 * @kept_ms: sum of the times for which the pages that were kept have been there
 * @marked_events, @marked_touched, @marked_freed: how many there were at kl_growth_mark()
 * @times: by interval of struct kl_growth
 * @unplaced_times: when those of @unplaced came
 */
struct kl_growth_source {
	uint32_t stack;
	bool calls;
	struct kl_task task;
	uint64_t events;
	uint64_t touched;
	uint64_t freed;
	uint64_t unplaced;
	uint64_t unplaced_ms;
	uint64_t kept_pages;
	uint64_t kept_ms;
	uint64_t oldest_ms;
	uint64_t marked_events;
	uint64_t marked_touched;
	uint64_t marked_freed;
	struct kl_growth_times times;
	uint32_t unplaced_times[KL_GROWTH_INTERVALS];
};

/**
 * struct kl_growth - the report
 * @row: sources
 * @freeing: the one that pages are being given back by, plus 1; 0: none
 * @interval_ms: length of the intervals of all times; 0: none yet
 * @times: of all rows of faults, but for what they kept
 */
struct kl_growth {
	const struct kl_schema *schema;
	struct kl_report_events events;
	struct kl_growth_pages pages;
	struct kl_hash processes;
	struct kl_hash calls;
	struct kl_hash rows_by_key;
	struct kl_growth_source *row;
	size_t n;
	size_t room;
	struct kl_growth_totals totals;
	int stack;
	int rss;
	size_t freeing;
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t interval_ms;
	struct kl_growth_times times;
};

/* The interval of a time, in ms since the trace began. Lengthens all intervals if necessary. */
unsigned int kl_growth_interval_of(struct kl_growth *growth, uint32_t ms);

/* Add times with the same intervals. */
void kl_growth_times_add(struct kl_growth_times *to, const struct kl_growth_times *from);

#endif /* KL_LIB_REPORT_GROWTH_GROWTH_H */
