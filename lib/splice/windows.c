// SPDX-License-Identifier: GPL-2.0
/*
 * Makes windows for the instruments of a function. In the graph each point has a window of its own.
 * Windows that overlap are merged here, and a window whose slot lies in another one's space brings
 * that along.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "splices.h"

static uint32_t end_of(const struct kl_block_point *point)
{
	return point->begin + point->bytes;
}

static uint8_t tier_of(const struct kl_block_point *point)
{
	switch (point->tier) {
	case KL_TIER_JUMP:
	case KL_TIER_FALL:
		return KL_SPLICE_JUMP;
	case KL_TIER_CALL:
		return KL_SPLICE_CALL;
	case KL_TIER_BOUNCE:
		return KL_SPLICE_BOUNCE;
	default:
		return KL_SPLICE_TRAP;
	}
}

/*
 * By position in the text; at the same position the longest first, then in the order of the
 * targets.
 */
static int compare_needs(const void *left, const void *right)
{
	const struct kl_splice_need *a = left, *b = right;

	if (a->at.begin != b->at.begin)
		return a->at.begin < b->at.begin ? -1 : 1;
	if (a->at.bytes != b->at.bytes)
		return a->at.bytes > b->at.bytes ? -1 : 1;
	return (a->point > b->point) - (a->point < b->point);
}

static bool is_taken(const struct kl_splice_need *need)
{
	return need->at.edge == KL_EDGE_TAKEN;
}

/* In the order of the window; an instrument on a taken edge comes after those before the jump. */
static int compare_places(const void *left, const void *right)
{
	const struct kl_splice_need *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (is_taken(a) != is_taken(b))
		return is_taken(b) ? -1 : 1;
	return (a->point > b->point) - (a->point < b->point);
}

/* The block whose window contains a slot after its jump; NULL: the slot is in padding. */
static const struct kl_block *owner_of(const struct kl_block_graph *g, int32_t slot)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block_point *pre = &g->block[i].pre;

		if (pre->tier == KL_TIER_JUMP && !pre->edge && slot >= (int32_t)pre->begin &&
		    slot < (int32_t)end_of(pre))
			return &g->block[i];
	}
	return NULL;
}

/* Add a need, and the window whose space its bounce uses. */
uint32_t kl_splice_add_need(const struct kl_block_graph *g, struct kl_splice_need *list, uint32_t n,
			    struct kl_splice_need need)
{
	const struct kl_block *owner = need.at.tier == KL_TIER_BOUNCE ? owner_of(g, need.at.slot) :
									NULL;

	list[n++] = need;
	if (owner)
		list[n++] = (struct kl_splice_need){
			.at = owner->pre,
			.place = owner->pre.begin,
			.point = KL_NO_POINT,
			.instrument = KL_INSTRUMENT_COUNT,
		};
	return n;
}

static uint32_t list_needs(struct kl_splices *s, const struct kl_block_graph *g,
			   const struct kl_splice_target *target, uint32_t n, uint32_t first,
			   struct kl_splice_need *need)
{
	uint32_t needs = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct kl_block *block = &g->block[target[i].block];
		const struct kl_block_point *at = target[i].behind ? &block->post : &block->pre;

		if (at->tier == KL_TIER_NONE) {
			s->point[first + i].reason = at->reason;
			continue;
		}
		needs = kl_splice_add_need(g, need, needs,
					   (struct kl_splice_need){
						   .at = *at,
						   .place = at->place,
						   .point = first + i,
						   .instrument = target[i].instrument,
						   .event = target[i].event,
					   });
	}
	return needs;
}

static int add_instrument(struct kl_splices *s, const struct kl_splice_need *need, uint32_t begin)
{
	void *grown = kl_array_grow(s->instrument, s->instruments, &s->instrument_room,
				    sizeof(*s->instrument));

	if (!grown)
		return -ENOMEM;
	s->instrument = grown;
	s->instrument[s->instruments++] = (struct kl_splice_instrument){
		.abi = {
			.offset = need->place - begin,
			.instrument = need->instrument,
			.taken = is_taken(need),
			.event = need->event,
		},
		.point = need->point,
		.number = KL_NO_POINT,
	};
	return 0;
}

static bool is_real(const struct kl_splice_need *need)
{
	return need->point != KL_NO_POINT;
}

/* Too much for one window: drop its instruments. */
static void leave_out(struct kl_splices *s, const struct kl_splice_need *need, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_real(&need[i]))
			s->point[need[i].point].reason = KL_BLOCK_no_room;
}

/* Add a window's instruments, by place. A window that only lends space gets a dummy. */
static int add_instruments(struct kl_splices *s, struct kl_splice_need *need, uint32_t n,
			   uint32_t begin)
{
	uint32_t real = 0;
	int ret = 0;

	qsort(need, n, sizeof(*need), compare_places);
	for (uint32_t i = 0; i < n; i++)
		real += is_real(&need[i]);
	for (uint32_t i = 0; i < n && !ret; i++)
		if (real ? is_real(&need[i]) : !i)
			ret = add_instrument(s, &need[i], begin);
	return ret;
}

/* Make one window of needs that overlap, up to @end, or that need no window. */
static int add_window(struct kl_splices *s, const struct kl_block_graph *g,
		      struct kl_splice_need *need, uint32_t n, uint32_t end, bool moves)
{
	struct kl_block_point at = need[0].at;
	uint32_t bytes = end - at.begin, first = s->instruments;
	struct kl_splice_window *w;
	void *grown;
	int ret;

	if (bytes > KL_SPLICE_WINDOW_BYTES_MAX ||
	    n > (moves ? KL_SPLICE_MOVED_POINTS_MAX : KL_SPLICE_POINTS_MAX)) {
		leave_out(s, need, n);
		return 0;
	}
	grown = kl_array_grow(s->window, s->windows, &s->window_room, sizeof(*s->window));
	if (!grown)
		return -ENOMEM;
	s->window = grown;
	ret = add_instruments(s, need, n, at.begin);
	if (ret)
		return ret;
	w = &s->window[s->windows++];
	*w = (struct kl_splice_window){
		.abi = {
			.address = g->function.address + at.begin,
			.slot = at.tier == KL_TIER_BOUNCE ? g->function.address + at.slot : 0,
			.bytes = bytes,
			.tier = tier_of(&at),
			.moves = moves,
			.points = s->instruments - first,
		},
		.first = first,
	};
	bytes = kl_window_hashed(&w->abi, s->instrument[s->instruments - 1].abi.offset);
	w->abi.hash = kl_window_hash(g->text + at.begin, bytes);
	return 0;
}

int kl_splice_windows_of(struct kl_splices *s, const struct kl_block_graph *g,
			 struct kl_splice_need *need, uint32_t n, bool moves)
{
	int ret = 0;

	qsort(need, n, sizeof(*need), compare_needs);
	for (uint32_t i = 0, next; i < n && !ret; i = next) {
		uint32_t end = end_of(&need[i].at);

		for (next = i + 1; next < n && (need[next].at.begin < end || !need[next].at.bytes);
		     next++)
			if (end_of(&need[next].at) > end && need[next].at.bytes)
				end = end_of(&need[next].at);
		ret = add_window(s, g, need + i, next - i, end, moves);
	}
	return ret;
}

int kl_splice_windows(struct kl_splices *s, const struct kl_block_graph *g,
		      const struct kl_splice_target *target, uint32_t n, uint32_t first)
{
	struct kl_splice_need *need = calloc(2 * (size_t)n + 1, sizeof(*need));
	int ret;

	if (!need)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_splice_windows_of(s, g, need, list_needs(s, g, target, n, first, need), false);
	free(need);
	return ret;
}
