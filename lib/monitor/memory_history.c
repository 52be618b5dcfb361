// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a process over time. A point is one read until all points are used; then each
 * becomes the later of two, with the changes of both, and every point thereafter is two reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/memory_history.h>
#include "../base/base.h"

struct kl_memory_history *kl_memory_history_create(void)
{
	struct kl_memory_history *h = calloc(1, sizeof(*h));

	if (h)
		h->together = 1;
	else
		kl_fail(ENOMEM, "out of memory");
	return h;
}

void kl_memory_history_destroy(struct kl_memory_history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->n_tracks; i++) {
		free(h->track[i]->name);
		free(h->track[i]);
	}
	free(h->track);
	free(h);
}

/* -------------------------------------------------------------------- points */

static void add_change(struct kl_memory_change *to, const struct kl_memory_change *from)
{
	to->arrived += from->arrived;
	to->gone += from->gone;
	to->swapped_out += from->swapped_out;
	to->swapped_in += from->swapped_in;
	to->written += from->written;
}

static void halve(struct kl_memory_history *h)
{
	for (unsigned int i = 0; i < KL_MEMORY_POINTS / 2; i++) {
		const struct kl_memory_change earlier = h->point[2 * i].change;

		h->point[i] = h->point[2 * i + 1];
		add_change(&h->point[i].change, &earlier);
		for (size_t j = 0; j < h->n_tracks; j++)
			h->track[j]->rss[i] = h->track[j]->rss[2 * i + 1];
	}
	h->n = KL_MEMORY_POINTS / 2;
	memset(&h->point[h->n], 0, h->n * sizeof(h->point[0]));
	for (size_t j = 0; j < h->n_tracks; j++)
		memset(&h->track[j]->rss[h->n], 0, h->n * sizeof(h->track[j]->rss[0]));
	h->together *= 2;
	h->in_last = h->together;
}

static struct kl_memory_point *next_point(struct kl_memory_history *h)
{
	if (h->n && h->in_last < h->together) {
		h->in_last++;
		return &h->point[h->n - 1];
	}
	if (h->n == KL_MEMORY_POINTS)
		halve(h);
	h->in_last = 1;
	return &h->point[h->n++];
}

static uint64_t hugetlb(const struct kl_memory_sums *sums)
{
	return sums->shared_hugetlb + sums->private_hugetlb;
}

static void add_point(struct kl_memory_history *h, const struct kl_memory *before,
		      const struct kl_memory *now)
{
	struct kl_memory_point *point = next_point(h);
	struct kl_memory_change change;

	point->time_ns = now->time_ns;
	point->rss = now->total.rss;
	point->pss = now->total.pss;
	point->swap = now->total.swap;
	point->hugetlb = hugetlb(&now->total);
	if (!before)
		return;
	kl_memory_compare(before, now, 0, UINT64_MAX, &change);
	add_change(&point->change, &change);
}

/* -------------------------------------------------------------------- tracks */

static bool is_of(const struct kl_memory_track *track, const struct kl_memory_mapping *mapping)
{
	const struct kl_detail *entry = mapping->entry;

	return track->is_there && track->start < entry->map.end && entry->map.start < track->end &&
	       strlen(track->name) == entry->text_bytes &&
	       !memcmp(track->name, entry->text, entry->text_bytes);
}

static struct kl_memory_track *add_track(struct kl_memory_history *h,
					 const struct kl_memory_mapping *mapping)
{
	struct kl_memory_track *track;
	void *more =
		kl_array_grow(h->track, h->n_tracks, &h->room, sizeof(struct kl_memory_track *));

	if (!more)
		return NULL;
	h->track = more;
	track = calloc(1, sizeof(*track));
	if (!track)
		return NULL;
	track->name = strndup(mapping->entry->text ? mapping->entry->text : "",
			      mapping->entry->text_bytes);
	if (!track->name) {
		free(track);
		return NULL;
	}
	h->track[h->n_tracks++] = track;
	return track;
}

/*
 * The tracks of mappings are in the order of their addresses as long as none is added, so the next
 * one is usually that of the next mapping.
 */
static struct kl_memory_track *find_track(struct kl_memory_history *h, const bool *taken,
					  size_t n_old, const struct kl_memory_mapping *mapping,
					  size_t *hint)
{
	for (size_t i = 0; i < n_old; i++) {
		const size_t at = (*hint + i) % n_old;

		if (!taken[at] && is_of(h->track[at], mapping)) {
			*hint = at + 1;
			return h->track[at];
		}
	}
	return NULL;
}

static int add_mapping(struct kl_memory_history *h, bool *taken, size_t n_old,
		       const struct kl_memory_mapping *mapping, size_t *hint, size_t *untracked)
{
	const uint64_t rss = mapping->sums.rss + hugetlb(&mapping->sums);
	struct kl_memory_track *track;

	/* Most mappings of some processes have no memory. */
	if (!rss && !mapping->sums.swap)
		return 0;
	track = find_track(h, taken, n_old, mapping, hint);
	if (!track && h->n_tracks == KL_MEMORY_TRACKS) {
		++*untracked;
		return 0;
	}
	if (track)
		taken[*hint - 1] = true;
	else
		track = add_track(h, mapping);
	if (!track)
		return -ENOMEM;
	track->start = mapping->entry->map.start;
	track->end = mapping->entry->map.end;
	track->is_there = true;
	track->rss[h->n - 1] = rss;
	return 0;
}

static int add_mappings(struct kl_memory_history *h, const struct kl_memory *now)
{
	const size_t n_old = h->n_tracks;
	bool *taken = calloc(n_old + 1, sizeof(*taken));
	size_t hint = 0, untracked = 0;
	int error = taken ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < now->n; i++)
		error = add_mapping(h, taken, n_old, &now->mapping[i], &hint, &untracked);
	for (size_t i = 0; taken && i < n_old; i++)
		if (!taken[i]) {
			h->track[i]->is_there = false;
			h->track[i]->rss[h->n - 1] = 0;
		}
	if (untracked > h->untracked)
		h->untracked = untracked;
	free(taken);
	return error;
}

int kl_memory_history_add(struct kl_memory_history *h, const struct kl_memory *before,
			  const struct kl_memory *now)
{
	h->reads++;
	add_point(h, before, now);
	return add_mappings(h, now) ? kl_fail(ENOMEM, "out of memory") : 0;
}
