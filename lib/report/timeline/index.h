/* SPDX-License-Identifier: GPL-2.0 */
/* An index of a trace: index.c makes it, search.c and chain.c read parts of the trace with it. */
#ifndef KL_LIB_REPORT_TIMELINE_INDEX_H
#define KL_LIB_REPORT_TIMELINE_INDEX_H

#include <kernlens/timeline_index.h>
#include "timeline.h"

/**
 * struct kl_checkpoint - a place in the trace, and the state there
 * @records: number of the next record
 * @ns: time of the record before it, since the first
 * @seed: NULL: nothing has been read
 */
struct kl_checkpoint {
	uint64_t records;
	uint64_t ns;
	struct kl_trace_place *place;
	struct kl_seed *seed;
};

#define KL_CHECKPOINTS_MAX 256

/**
 * struct kl_timeline_index - an index
 * @overview: of what has been read
 * @every: records from checkpoint to checkpoint
 * @search: what was looked for last
 * @recent: where reading by number ended last, before the record @recent_number; NULL: nowhere
 * @failed: the pass cannot go on, as the trace has changed
 */
struct kl_timeline_index {
	struct kl_trace *trace;
	struct kl_timeline_options options;
	int32_t pid[KL_TIMELINE_PIDS_MAX];
	struct kl_timeline *overview;
	uint64_t total;
	uint64_t last_block_ns; /* wall time */
	bool complete;
	struct kl_checkpoint checkpoint[KL_CHECKPOINTS_MAX];
	size_t n;
	uint64_t every;
	struct kl_search *search;
	struct kl_trace_place *recent;
	uint64_t recent_number;
	bool failed;
};

/* Append a record: [time, CPU ...], without a bracket before it. @scratch is used. */
int kl_index_add_record(const struct kl_timeline_index *index, const struct kl_event *event,
			struct kl_buffer *to, struct kl_buffer *scratch);

/* What was looked for last; NULL: nothing. */
void kl_search_free(struct kl_search *search);

/* The last checkpoint from which the record @number, or all from a time on, can be read. */
const struct kl_checkpoint *kl_checkpoint_of(const struct kl_timeline_index *index,
					     uint64_t number);
const struct kl_checkpoint *kl_checkpoint_before(const struct kl_timeline_index *index,
						 uint64_t ns);

/* Takes an item; of an event, its number. Returns 0 to go on. */
typedef int (*kl_visit_fn)(void *context, const struct kl_item *item, uint64_t number);

/*
 * Read on from a place, whose next record has a number. Afterwards the index is where it was.
 * Returns what @visit returned, 0 at the end of the trace, -EIO or -ENOMEM.
 */
int kl_index_visit(struct kl_timeline_index *index, const struct kl_trace_place *from,
		   uint64_t number, kl_visit_fn visit, void *context);

#endif /* KL_LIB_REPORT_TIMELINE_INDEX_H */
