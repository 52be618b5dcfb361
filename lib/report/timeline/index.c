// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a trace once, in steps, for an overview in which short spans are merged. At some places it
 * keeps where the streams are and what is in progress (seed.c), so that any part of the trace can
 * be read from a place before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/compress.h>
#include <kernlens/error.h>
#include "../../base/base.h"
#include "index.h"

#define EVERY_FIRST 65536

/* -------------------------------------------------------------------- creation */

static void add_block(void *context, const struct kl_trace_block *block)
{
	struct kl_timeline_index *index = context;

	index->total += block->records;
	if (block->end_ns > index->last_block_ns)
		index->last_block_ns = block->end_ns;
}

/* Remember where the trace is. */
static int add_checkpoint(struct kl_timeline_index *index)
{
	const struct kl_timeline *t = index->overview;
	struct kl_checkpoint at = { .records = t->counts.records, .ns = t->last_ns };

	if (index->n == KL_CHECKPOINTS_MAX) {
		for (size_t i = 0; i < index->n; i++) {
			struct kl_checkpoint *from = &index->checkpoint[i];

			if (i % 2) {
				kl_trace_place_free(from->place);
				kl_seed_free(from->seed);
			} else {
				index->checkpoint[i / 2] = *from;
			}
		}
		index->n /= 2;
		index->every *= 2;
		if (at.records % index->every)
			return 0;
	}
	at.place = kl_trace_place_take(index->trace);
	at.seed = kl_seed_take(t);
	if (!at.place || !at.seed) {
		kl_trace_place_free(at.place);
		kl_seed_free(at.seed);
		return kl_fail(ENOMEM, "out of memory");
	}
	index->checkpoint[index->n++] = at;
	return 0;
}

static int create(struct kl_timeline_index *index, const struct kl_timeline_options *options)
{
	index->overview = kl_timeline_create(index->trace, options->bytes);
	if (!index->overview)
		return -errno;
	index->overview->counts.kept = false;
	index->overview->growing = true;
	kl_timeline_select(index->overview, index->pid, options->n_pids);
	if (options->n_plots && kl_timeline_plot(index->overview, options->plot, options->n_plots))
		return -errno;
	if (kl_trace_blocks(index->trace, add_block, index))
		index->total = 0;
	if (options->from_ns || options->to_ns != UINT64_MAX)
		index->total = 0;
	if (options->from_ns)
		kl_trace_skip(index->trace, options->from_ns);
	return add_checkpoint(index);
}

struct kl_timeline_index *kl_timeline_index_create(struct kl_trace *trace,
						   const struct kl_timeline_options *options)
{
	struct kl_timeline_index *index = calloc(1, sizeof(*index));
	int error;

	if (!index) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	index->trace = trace;
	index->options = *options;
	index->every = EVERY_FIRST;
	if (options->n_pids)
		memcpy(index->pid, options->pid, options->n_pids * sizeof(*options->pid));
	error = create(index, options);
	if (!error)
		return index;
	kl_timeline_index_destroy(index);
	errno = -error;
	return NULL;
}

void kl_timeline_index_destroy(struct kl_timeline_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->n; i++) {
		kl_trace_place_free(index->checkpoint[i].place);
		kl_seed_free(index->checkpoint[i].seed);
	}
	kl_trace_place_free(index->recent);
	kl_timeline_destroy(index->overview);
	kl_search_free(index->search);
	free(index);
}

/* --------------------------------------------------------------------- reading */

/* Is an event in the part that was chosen? Less than 0: before it; more: after it. */
static int side_of(const struct kl_timeline_index *index, const struct kl_event *event)
{
	if (event->since_ns < index->options.from_ns)
		return -1;
	return event->since_ns > index->options.to_ns;
}

/* The next item of the part. Returns 1, or 0 at its end. */
static int next_item(struct kl_timeline_index *index, struct kl_item *item)
{
	while (kl_trace_next(index->trace, item) > 0) {
		const int side = item->kind == KL_ITEM_EVENT ? side_of(index, item->event) : 0;

		if (side >= 0)
			return !side;
	}
	return 0;
}

static int complete(struct kl_timeline_index *index)
{
	int error = kl_timeline_finish(index->overview);

	index->complete = true;
	index->overview->growing = false;
	return error;
}

int kl_timeline_index_step(struct kl_timeline_index *index, uint64_t records)
{
	struct kl_timeline *t = index->overview;
	const uint64_t end = t->counts.records + records;
	struct kl_item item;
	int error = 0;

	if (index->failed)
		return kl_fail(EIO, "the trace has changed while it was read");
	while (!index->complete && !error && t->counts.records < end) {
		if (!next_item(index, &item))
			return complete(index);
		error = kl_timeline_add(t, &item);
		if (!error && item.kind == KL_ITEM_EVENT && !(t->counts.records % index->every))
			error = add_checkpoint(index);
	}
	return error ? error : !index->complete;
}

struct kl_timeline_progress kl_timeline_index_progress(const struct kl_timeline_index *index)
{
	const struct kl_timeline *t = index->overview;
	struct kl_timeline_progress progress = {
		.records = t->counts.records,
		.total = index->total,
		.done_ns = t->last_ns,
		.end_ns = t->last_ns,
		.begin_ns = t->first_ns,
		.complete = index->complete,
	};
	const uint64_t begin = kl_trace_begin(index->trace);
	uint64_t end = index->last_block_ns;

	if (index->complete || !t->first_ns || end < t->first_ns)
		return progress;
	if (end - begin > index->options.to_ns)
		end = begin + index->options.to_ns;
	if (end > t->first_ns + t->last_ns)
		progress.end_ns = end - t->first_ns;
	return progress;
}

struct kl_timeline *kl_timeline_index_overview(struct kl_timeline_index *index)
{
	if (!index->complete && kl_samples_finish(index->overview))
		return NULL;
	return index->overview;
}

/* ----------------------------------------------------------------- parts of it */

const struct kl_checkpoint *kl_checkpoint_of(const struct kl_timeline_index *index, uint64_t number)
{
	size_t i = index->n - 1;

	while (i && index->checkpoint[i].records > number)
		i--;
	return &index->checkpoint[i];
}

const struct kl_checkpoint *kl_checkpoint_before(const struct kl_timeline_index *index, uint64_t ns)
{
	size_t i = index->n - 1;

	while (i && index->checkpoint[i].ns >= ns)
		i--;
	return &index->checkpoint[i];
}

/* Let the pass go on where it was. Without that, the index must not look complete. */
static int go_back(struct kl_timeline_index *index, struct kl_trace_place *here)
{
	const int error = kl_trace_place_go(index->trace, here);

	if (error)
		index->failed = true;
	kl_trace_place_free(here);
	return error;
}

int kl_index_visit(struct kl_timeline_index *index, const struct kl_trace_place *from,
		   uint64_t number, kl_visit_fn visit, void *context)
{
	struct kl_trace_place *here = kl_trace_place_take(index->trace);
	struct kl_item item;
	int ret = 0, error;

	if (!here)
		return -ENOMEM;
	if (from)
		ret = kl_trace_place_go(index->trace, from);
	while (!ret && next_item(index, &item) > 0) {
		ret = visit(context, &item, number);
		number += item.kind == KL_ITEM_EVENT;
	}
	error = go_back(index, here);
	return error ? error : ret;
}

struct window {
	struct kl_timeline *timeline;
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t left; /* records that may be read in it */
	bool seeded;
};

static int add_to_window(void *context, const struct kl_item *item, uint64_t number)
{
	struct window *w = context;
	struct kl_timeline *t = w->timeline;
	uint64_t ns;

	(void)number;
	if (item->kind == KL_ITEM_EVENT) {
		ns = kl_timeline_time(t, item->event->ns);
		if (ns > w->to_ns)
			return 1;
		/* Without a state to begin with, blocks are read that begin before it. */
		if (!w->seeded && ns < w->from_ns)
			return 0;
		if (ns >= w->from_ns && !w->left--)
			return kl_fail(E2BIG, "too many records");
	}
	return kl_timeline_add(t, item);
}

/* Read from the block in which it begins, as what is before has not been read. */
static int read_ahead(struct kl_timeline_index *index, struct window *w)
{
	const uint64_t first_ns = index->overview->first_ns;
	struct kl_trace_place *here = kl_trace_place_take(index->trace);
	int ret, error;

	if (!here)
		return -ENOMEM;
	w->timeline->first_ns = first_ns;
	kl_trace_skip(index->trace, first_ns + w->from_ns - kl_trace_begin(index->trace));
	ret = kl_index_visit(index, NULL, 0, add_to_window, w);
	error = go_back(index, here);
	return error ? error : ret;
}

static int read_window(struct kl_timeline_index *index, struct window *w)
{
	const struct kl_checkpoint *at = kl_checkpoint_before(index, w->from_ns);
	int error;

	w->seeded = index->complete || w->from_ns <= index->overview->last_ns;
	if (!w->seeded)
		return read_ahead(index, w);
	error = at->records ? kl_seed_apply(at->seed, index->overview, w->timeline) : 0;
	return error ? error : kl_index_visit(index, at->place, at->records, add_to_window, w);
}

struct kl_timeline *kl_timeline_index_window(struct kl_timeline_index *index, uint64_t from_ns,
					     uint64_t to_ns, size_t bytes, uint64_t most,
					     bool *exact)
{
	struct kl_timeline *t = kl_timeline_create(index->trace, bytes);
	struct window w = { .timeline = t, .from_ns = from_ns, .to_ns = to_ns, .left = most };
	int ret;

	if (!t)
		return NULL;
	t->keep_ns = from_ns;
	t->growing = true;
	t->counts.kept = false;
	memset(t->scope, 0, sizeof(t->scope));
	kl_timeline_select(t, index->pid, index->options.n_pids);
	ret = read_window(index, &w);
	if (ret >= 0)
		ret = kl_samples_finish(t);
	if (!ret) {
		*exact = w.seeded;
		if (t->last_ns < to_ns && to_ns < index->overview->last_ns)
			t->last_ns = to_ns;
		return t;
	}
	kl_timeline_destroy(t);
	errno = -ret;
	return NULL;
}

/* --------------------------------------------------------------------- records */

struct reading {
	struct kl_timeline_index *index;
	uint64_t number;
	int (*take)(void *context, const struct kl_event *event, uint64_t number);
	void *context;
};

/* Whoever reads part after part goes on here, however far the checkpoint before it is. */
static int keep_recent(struct kl_timeline_index *index, uint64_t number)
{
	kl_trace_place_free(index->recent);
	index->recent = kl_trace_place_take(index->trace);
	index->recent_number = number;
	return index->recent ? 0 : -ENOMEM;
}

static int take_record(void *context, const struct kl_item *item, uint64_t number)
{
	const struct reading *reading = context;
	int ret;

	if (item->kind != KL_ITEM_EVENT || number < reading->number)
		return 0;
	ret = reading->take(reading->context, item->event, number);
	if (ret > 0 && keep_recent(reading->index, number + 1))
		return -ENOMEM;
	return ret;
}

int kl_timeline_index_read(struct kl_timeline_index *index, uint64_t number,
			   int (*take)(void *context, const struct kl_event *event,
				       uint64_t number),
			   void *context)
{
	const struct kl_checkpoint *at = kl_checkpoint_of(index, number);
	struct reading reading = { index, number, take, context };
	const bool is_near = index->recent && index->recent_number <= number &&
			     index->recent_number > at->records;

	return kl_index_visit(index, is_near ? index->recent : at->place,
			      is_near ? index->recent_number : at->records, take_record, &reading);
}

struct time_search {
	const struct kl_timeline *timeline;
	uint64_t ns;
	uint64_t number; /* of the record after the last one */
	uint64_t limit;
};

static int compare_time(void *context, const struct kl_item *item, uint64_t number)
{
	struct time_search *search = context;

	if (item->kind != KL_ITEM_EVENT)
		return 0;
	search->number = number;
	if (number >= search->limit ||
	    kl_timeline_time(search->timeline, item->event->ns) >= search->ns)
		return 1;
	search->number++;
	return 0;
}

int64_t kl_timeline_index_number(struct kl_timeline_index *index, uint64_t ns)
{
	const struct kl_checkpoint *at = kl_checkpoint_before(index, ns);
	struct time_search search = { index->overview, ns, at->records,
				      index->overview->counts.records };
	int ret = kl_index_visit(index, at->place, at->records, compare_time, &search);

	return ret < 0 ? ret : (int64_t)search.number;
}
