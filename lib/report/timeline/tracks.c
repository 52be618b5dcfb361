// SPDX-License-Identifier: GPL-2.0
/*
 * The spans of a timeline. If there are too many, short ones that follow each other are merged, and
 * the shortest length that is kept grows, so that memory and the size of the page are bounded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "timeline.h"

#define FIRST_RESOLUTION_NS 512

/* Key: kind and id. */
struct track_of {
	uint64_t key;
	uint64_t number; /* plus 1; 0: new */
};

/* Key: address of the text, which is stored once. */
struct name_of {
	uint64_t key;
	uint64_t number; /* plus 1; 0: new */
};

int64_t kl_timeline_name(struct kl_timeline *t, const char *name)
{
	struct name_of *entry;
	const char **grown;

	t->names_by_text.size = sizeof(struct name_of);
	if (kl_texts_keep(&t->texts, &name))
		return -ENOMEM;
	entry = kl_hash_get(&t->names_by_text, (uintptr_t)name);
	if (!entry)
		return -ENOMEM;
	if (entry->number)
		return (int64_t)entry->number - 1;
	grown = kl_array_grow(t->name, t->n_names, &t->names_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->name = grown;
	grown[t->n_names] = name;
	entry->number = ++t->n_names;
	return (int64_t)entry->number - 1;
}

const char *kl_track_kind_name(enum kl_track_kind kind)
{
	static const char *const names[] = {
		[KL_TRACK_CPU] = "cpu",		[KL_TRACK_IRQ] = "irq",
		[KL_TRACK_SOFTIRQ] = "softirq", [KL_TRACK_THREAD] = "thread",
		[KL_TRACK_SYSCALL] = "syscall", [KL_TRACK_EVENT] = "event",
		[KL_TRACK_DISK] = "disk",	[KL_TRACK_MARK] = "mark",
		[KL_TRACK_LOSS] = "loss",
	};

	return names[kind];
}

struct kl_track *kl_timeline_track(struct kl_timeline *t, enum kl_track_kind kind, uint64_t id)
{
	const uint64_t key = ((uint64_t)kind + 1) << 40 ^ id;
	struct track_of *entry;
	struct kl_track **grown, *track;

	t->tracks_by_id.size = sizeof(struct track_of);
	entry = kl_hash_get(&t->tracks_by_id, key);
	if (!entry || entry->number)
		return entry ? t->track[entry->number - 1] : NULL;
	grown = kl_array_grow(t->track, t->counts.tracks, &t->tracks_room, sizeof(*grown));
	if (!grown)
		return NULL;
	t->track = grown;
	track = calloc(1, sizeof(*track));
	if (!track)
		return NULL;
	track->kind = kind;
	track->id = id;
	grown[t->counts.tracks] = track;
	entry->number = ++t->counts.tracks;
	return track;
}

/* ------------------------------------------------------------------- merging */

static int64_t new_sums(struct kl_timeline *t)
{
	struct kl_span_sums *grown =
		kl_array_grow(t->sums, t->n_sums, &t->sums_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	t->sums = grown;
	grown[t->n_sums] = (struct kl_span_sums){ 0 };
	return (int64_t)t->n_sums++;
}

static uint64_t length_of(const struct kl_span *span)
{
	return span->end - span->begin;
}

/* Add a span's time to sums, which may be those of a merged span. */
static void add_time(struct kl_timeline *t, struct kl_span_sums *to, const struct kl_span *span)
{
	if (span->n == 1)
		to->ns[span->class] += length_of(span);
	for (unsigned int i = 0; span->n > 1 && i < KL_SPAN_CLASSES; i++)
		to->ns[i] += t->sums[span->sums].ns[i];
}

static uint8_t most(const struct kl_span_sums *sums)
{
	uint8_t best = 0;

	for (uint8_t i = 1; i < KL_SPAN_CLASSES; i++)
		if (sums->ns[i] > sums->ns[best])
			best = i;
	return best;
}

/* Add @span to @to, which precedes it. The longest of them gives the name. */
static int merge(struct kl_timeline *t, struct kl_span *to, const struct kl_span *span,
		 uint64_t *longest)
{
	struct kl_span_sums sums = { 0 };
	int64_t number;

	add_time(t, &sums, to);
	add_time(t, &sums, span);
	if (to->n == 1) {
		number = span->n > 1 ? (int64_t)span->sums : new_sums(t);
		if (number < 0)
			return -ENOMEM;
		to->sums = (uint32_t)number;
	}
	t->sums[to->sums] = sums;
	to->class = most(&sums);
	if (length_of(span) > *longest) {
		*longest = length_of(span);
		to->name = span->name;
		to->by = 0;
	}
	to->end = span->end;
	to->n += span->n;
	return 0;
}

/* Merge neighbors that are shorter than the resolution, and as near to each other. */
static int merge_track(struct kl_timeline *t, struct kl_track *track)
{
	const uint64_t least = t->counts.resolution_ns;
	uint64_t longest = 0;
	size_t kept = 0;

	for (size_t i = 0; i < track->n; i++) {
		const struct kl_span *span = &track->span[i];
		struct kl_span *last = kept ? &track->span[kept - 1] : NULL;

		if (last && length_of(span) < least && length_of(last) < least &&
		    span->end - last->begin < least) {
			if (merge(t, last, span, &longest))
				return -ENOMEM;
			continue;
		}
		longest = length_of(span);
		track->span[kept++] = *span;
	}
	t->counts.spans -= track->n - kept;
	track->n = kept;
	return 0;
}

static int merge_all(struct kl_timeline *t)
{
	int error = 0;

	for (size_t i = 0; i < t->counts.tracks && !error; i++)
		error = merge_track(t, t->track[i]);
	return error;
}

/* Those added since the last time may be few when they are merged, too. */
static int make_fewer(struct kl_timeline *t)
{
	int error = merge_all(t);

	while (!error && t->counts.spans > t->bytes / KL_SPAN_BYTES / 2 &&
	       t->counts.resolution_ns <= t->last_ns) {
		t->counts.resolution_ns = t->counts.resolution_ns ? 2 * t->counts.resolution_ns :
								    FIRST_RESOLUTION_NS;
		error = merge_all(t);
	}
	return error;
}

/* --------------------------------------------------------------------- spans */

static int add_span(struct kl_timeline *t, struct kl_track *track, const struct kl_span *span)
{
	struct kl_span *grown;

	track->sum_ns[span->class] += length_of(span);
	track->last_end = span->end;
	if (span->end < t->keep_ns)
		return 0;
	t->counts.spans++;
	if (t->sink)
		return t->sink->span ? t->sink->span(t->sink->context, track, span) : 0;
	if (t->counts.spans > t->bytes / KL_SPAN_BYTES && make_fewer(t))
		return -ENOMEM;
	grown = kl_array_grow(track->span, track->n, &track->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	track->span = grown;
	grown[track->n++] = *span;
	return 0;
}

int kl_track_end(struct kl_timeline *t, struct kl_track *track, uint64_t ns)
{
	if (!track->open)
		return 0;
	track->open = false;
	track->now.end = ns > track->now.begin ? ns : track->now.begin;
	return add_span(t, track, &track->now);
}

int kl_track_begin(struct kl_timeline *t, struct kl_track *track, uint64_t ns,
		   enum kl_span_class class, int64_t name, uint32_t by)
{
	int error = kl_track_end(t, track, ns);
	const uint64_t record = t->counts.records - 1;

	if (error || name < 0)
		return error ? error : (int)name;
	/* The clocks of CPUs may differ a little. */
	if (ns < track->last_end)
		ns = track->last_end;
	track->now = (struct kl_span){
		.begin = ns,
		.name = (uint32_t)name,
		.n = 1,
		.record = record < KL_NO_RECORD ? (uint32_t)record : KL_NO_RECORD,
		.by = by,
		.class = class,
	};
	track->open = true;
	return 0;
}
