// SPDX-License-Identifier: GPL-2.0
/*
 * Decides where splices fit: for the start and the end of each block the cheapest way to divert
 * there, or the reason why there is none. If a block's first instruction must not change, its
 * instrument may be on the edge to the block, if there is only one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "block.h"

#define JUMP_BYTES 5
#define BOUNCE_BYTES 2
#define BOUNCE_FORTH 127
#define BOUNCE_BACK 128
/*
 * Limit for windows that lend space, so that they and what overlaps fit KL_SPLICE_WINDOW_BYTES_MAX.
 */
#define ROOM_BYTES_MAX 224

/* How far a window can reach from an instruction. */
struct reach {
	uint32_t bytes;
	bool falls; /* continues into the next block */
	uint8_t stopped; /* reason of the instruction that stops it */
};

static const struct kl_block_instruction *last_of(const struct kl_block_graph *g,
						  const struct kl_block *block)
{
	return &g->instruction[block->first + block->n - 1];
}

/*
 * Is the space after the block free, because execution does not continue there? That a call does
 * not return is known only from an analysis of all functions, which the module does not do, so it
 * is not used here.
 */
static bool is_dead_end(const struct kl_block *block)
{
	return block->end == KL_END_JUMP || block->end == KL_END_LEAVE ||
	       block->end == KL_END_RETURN;
}

/* Is it in no block, not rewritten by the kernel, and not possibly data? */
static bool is_free(const struct kl_block_instruction *in)
{
	return in->block == KL_NO_BLOCK && in->reason != KL_BLOCK_jump_label &&
	       in->reason != KL_BLOCK_static_call && in->reason != KL_BLOCK_unreached;
}

/* Size of the unreachable space after a block; may stop counting at @wanted. */
static uint32_t dead_behind(const struct kl_block_graph *g, const struct kl_block *block,
			    uint32_t wanted)
{
	uint32_t bytes = 0;

	if (!is_dead_end(block))
		return 0;
	for (uint32_t i = block->first + block->n;
	     bytes < wanted && i < g->instructions && is_free(&g->instruction[i]); i++)
		bytes += g->instruction[i].bytes;
	return bytes;
}

/*
 * How far instructions from @from on can be relocated together; at least @wanted bytes, if
 * possible.
 */
static struct reach reach_from(const struct kl_block_graph *g, const struct kl_block *block,
			       uint32_t from, uint32_t wanted)
{
	struct reach r = {};

	for (uint32_t i = from; r.bytes < wanted;) {
		const struct kl_block_instruction *in = &g->instruction[i];

		if (in->reason) {
			r.stopped = in->reason;
			break;
		}
		r.bytes += in->bytes;
		if (++i < block->first + block->n)
			continue;
		if (is_dead_end(block)) {
			r.bytes += dead_behind(g, block, wanted - r.bytes);
			break;
		}
		if (block->end != KL_END_BRANCH || block->next == KL_NO_BLOCK ||
		    !g->block[block->next].alone || r.bytes >= wanted)
			break;
		block = &g->block[block->next];
		r.falls = true;
	}
	return r;
}

static bool is_plain_call(const struct kl_block_instruction *in)
{
	return (in->end == KL_END_CALL || in->end == KL_END_STOP) && in->target && in->bytes == 5 &&
	       !in->reason;
}

static struct kl_block_point point(uint8_t tier, uint8_t reason, uint32_t begin, uint32_t bytes)
{
	return (struct kl_block_point){
		.tier = tier,
		.reason = reason,
		.begin = begin,
		.bytes = bytes,
		.place = begin,
	};
}

/* The first instruction after those that belong to ftrace and the like. */
static uint32_t first_of(const struct kl_block_graph *g, const struct kl_block *block)
{
	uint32_t i = block->first;

	while (i + 1 < block->first + block->n &&
	       g->instruction[i].reason == KL_BLOCK_function_entry)
		i++;
	return i;
}

/* Divert at an instruction: by its call, by a jump of 5 bytes, by a bounce, or by a breakpoint. */
static struct kl_block_point divert(const struct kl_block_graph *g, const struct kl_block *block,
				    uint32_t from)
{
	const struct kl_block_instruction *first = &g->instruction[from];
	struct reach r = reach_from(g, block, from, JUMP_BYTES);

	if (first->reason)
		return point(KL_TIER_NONE, first->reason, first->offset, 0);
	if (is_plain_call(first))
		return point(KL_TIER_CALL, 0, first->offset, first->bytes);
	if (r.bytes >= JUMP_BYTES)
		return point(r.falls ? KL_TIER_FALL : KL_TIER_JUMP, 0, first->offset, r.bytes);
	if (r.bytes >= BOUNCE_BYTES)
		return point(KL_TIER_BOUNCE, 0, first->offset, r.bytes);
	return point(KL_TIER_TRAP, 0, first->offset, first->bytes);
}

/*
 * Does the last instruction stay in place, so that only those before it are relocated? Usually it
 * is a jump that cannot be relocated.
 */
static bool ends_before_last(const struct kl_block_graph *g, const struct kl_block *block)
{
	const struct kl_block_instruction *last = last_of(g, block);

	return (last->reason && last->end != KL_END_FALL) || last->reason == KL_BLOCK_bug;
}

/* A breakpoint at the last instruction that can be relocated. */
static struct kl_block_point trap_end(const struct kl_block_graph *g, const struct kl_block *block)
{
	const struct kl_block_instruction *in = last_of(g, block) - ends_before_last(g, block);

	return point(KL_TIER_TRAP, 0, in->offset, in->bytes);
}

/*
 * Divert after the last instruction that does not jump. The window ends with the block and is as
 * short as possible. Its instructions run before the instrument, except for the jump.
 */
static struct kl_block_point divert_end(const struct kl_block_graph *g,
					const struct kl_block *block)
{
	const struct kl_block_instruction *last = last_of(g, block);
	uint32_t from = block->first + block->n - 1, bytes = 0;

	if (ends_before_last(g, block)) {
		if (from == block->first)
			return point(KL_TIER_NONE, last->reason, last->offset, 0);
		from--;
	} else {
		bytes = dead_behind(g, block, JUMP_BYTES);
	}
	if (is_plain_call(&g->instruction[from]))
		return point(KL_TIER_CALL, 0, g->instruction[from].offset, 5);
	for (uint32_t i = from + 1; i-- > block->first;) {
		const struct kl_block_instruction *in = &g->instruction[i];

		if (in->reason)
			break;
		bytes += in->bytes;
		if (bytes >= JUMP_BYTES)
			return point(KL_TIER_JUMP, 0, in->offset, bytes);
	}
	if (g->instruction[from].reason)
		return point(KL_TIER_NONE, g->instruction[from].reason, g->instruction[from].offset,
			     0);
	/* If the block is relocated as a whole, its end is in the same patch. */
	if (block->pre.tier != KL_TIER_NONE && block->pre.tier != KL_TIER_TRAP &&
	    block->pre.begin + block->pre.bytes >= block->begin + block->bytes)
		return block->pre;
	return trap_end(g, block);
}

/* Space for slots: bytes from an offset on that are free once the owner's window is diverted. */
struct room {
	uint32_t begin;
	uint32_t end;
	struct kl_block *owner; /* NULL: padding */
};

/*
 * The space after the jump of a block's window, if as much of the block as possible is relocated.
 */
static struct room room_of(const struct kl_block_graph *g, struct kl_block *block)
{
	struct reach r;

	if (block->pre.tier != KL_TIER_JUMP)
		return (struct room){};
	r = reach_from(g, block, first_of(g, block), ROOM_BYTES_MAX);
	if (r.falls)
		r.bytes = block->begin + block->bytes - block->pre.begin;
	if (r.bytes > ROOM_BYTES_MAX)
		r.bytes = ROOM_BYTES_MAX;
	return (struct room){
		.begin = block->pre.begin + JUMP_BYTES,
		.end = block->pre.begin + r.bytes,
		.owner = block,
	};
}

static bool has_some(const struct room *room, uint32_t begin, uint32_t end)
{
	return begin < room->end && end > room->begin;
}

/* Does the window of any block take some of the padding, or could it as space that it lends? */
static bool is_taken(const struct kl_block_graph *g, const struct room *padding,
		     const struct room *owned, size_t n)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		const struct kl_block_point *pre = &g->block[i].pre, *post = &g->block[i].post;

		if (has_some(padding, pre->begin, pre->begin + pre->bytes) ||
		    has_some(padding, post->begin, post->begin + post->bytes))
			return true;
	}
	for (size_t i = 0; i < n; i++)
		if (has_some(padding, owned[i].begin, owned[i].end))
			return true;
	return false;
}

/* Does it follow the end of a block that the kernel does not rewrite? */
static bool is_behind_end(const struct kl_block_graph *g, uint32_t i)
{
	uint32_t before = i ? g->instruction[i - 1].block : KL_NO_BLOCK;

	return before != KL_NO_BLOCK && is_dead_end(&g->block[before]) &&
	       !g->instruction[i - 1].reason;
}

/* Collect the spaces. They do not overlap. */
static size_t find_rooms(struct kl_block_graph *g, struct room *room)
{
	size_t n = 0, owned;

	for (uint32_t i = 0; i < g->blocks; i++) {
		room[n] = room_of(g, &g->block[i]);
		if (room[n].end >= room[n].begin + JUMP_BYTES)
			n++;
	}
	owned = n;
	for (uint32_t i = 0; i < g->instructions;) {
		uint32_t begin = i;

		while (i < g->instructions && is_free(&g->instruction[i]))
			i++;
		if (i == begin) {
			i++;
			continue;
		}
		room[n] = (struct room){
			.begin = g->instruction[begin].offset,
			.end = g->instruction[i - 1].offset + g->instruction[i - 1].bytes,
		};
		if (room[n].end >= room[n].begin + JUMP_BYTES && is_behind_end(g, begin) &&
		    !is_taken(g, &room[n], room, owned))
			n++;
	}
	return n;
}

/* Assign a slot within reach of a two-byte jump. False: there is none. */
static bool give_slot(struct room *room, size_t rooms, struct kl_block_point *to)
{
	int64_t from = (int64_t)to->begin + BOUNCE_BYTES;

	for (size_t i = 0; i < rooms; i++) {
		struct room *r = &room[i];
		int64_t begin = r->begin > from - BOUNCE_BACK ? r->begin : from - BOUNCE_BACK;

		if (begin + JUMP_BYTES > r->end || begin > from + BOUNCE_FORTH)
			continue;
		to->slot = begin;
		r->begin = begin + JUMP_BYTES;
		if (r->owner && r->owner->pre.begin + r->owner->pre.bytes < r->begin)
			r->owner->pre.bytes = r->begin - r->owner->pre.begin;
		return true;
	}
	return false;
}

static void give_slots(struct kl_block_graph *g, struct room *room)
{
	size_t rooms = find_rooms(g, room);

	for (uint32_t i = 0; i < g->blocks; i++) {
		struct kl_block *block = &g->block[i];
		bool same = block->post.tier == KL_TIER_BOUNCE;

		if (block->pre.tier != KL_TIER_BOUNCE)
			continue;
		if (give_slot(room, rooms, &block->pre)) {
			block->post = same ? block->pre : block->post;
			continue;
		}
		block->pre = point(KL_TIER_TRAP, 0, block->pre.begin,
				   g->instruction[first_of(g, block)].bytes);
		if (same)
			block->post = trap_end(g, block);
	}
}

/* Extend windows to instruction boundaries. */
static void round_windows(struct kl_block_graph *g)
{
	for (uint32_t i = 0; i < g->blocks; i++) {
		struct kl_block *block = &g->block[i];
		uint32_t end = block->pre.begin + block->pre.bytes;

		for (uint32_t k = block->first; k < g->instructions; k++) {
			const struct kl_block_instruction *in = &g->instruction[k];

			if (in->offset >= end)
				break;
			if (in->offset + in->bytes > end)
				block->pre.bytes = in->offset + in->bytes - block->pre.begin;
		}
	}
}

/* Offset after the block, or before its last instruction if that transfers control. */
static uint32_t place_behind(const struct kl_block_graph *g, const struct kl_block *block)
{
	const struct kl_block_instruction *last = last_of(g, block);

	if (block->end == KL_END_FALL && last->reason != KL_BLOCK_bug)
		return block->begin + block->bytes;
	return last->offset;
}

/*
 * For each block, the only block that leads to it, once, by its last instruction; or KL_NO_BLOCK.
 */
static void find_ways(const struct kl_block_graph *g, uint32_t *way)
{
	uint32_t *ways = way + g->blocks;

	memset(way, 0, 2 * g->blocks * sizeof(*way));
	for (uint32_t i = 0; i < g->blocks; i++) {
		const uint32_t to[] = { g->block[i].next, g->block[i].taken };

		for (int k = 0; k < 2; k++)
			if (to[k] != KL_NO_BLOCK) {
				way[to[k]] = i;
				ways[to[k]]++;
			}
		/* A jump label's jump may become a nop. */
		if (is_dead_end(&g->block[i]) && last_of(g, &g->block[i])->reason &&
		    i + 1 < g->blocks)
			ways[i + 1]++;
	}
	for (uint32_t i = 0; i < g->blocks; i++)
		if (ways[i] != 1 || g->block[i].entered ||
		    (g->block[way[i]].end != KL_END_BRANCH && g->block[way[i]].end != KL_END_JUMP))
			way[i] = KL_NO_BLOCK;
}

/*
 * Use the edge from a block, by the window at its end. The jump there is relocated, so it belongs
 * to the patch alone, and each of its two outcomes has an instruction of its own in the patch.
 */
static void take_edge(const struct kl_block_graph *g, uint32_t from, uint32_t to)
{
	const struct kl_block *before = &g->block[from];
	struct kl_block *block = &g->block[to];
	bool next = before->next == to;

	if (before->post.tier == KL_TIER_NONE || last_of(g, before)->reason)
		return;
	block->pre = before->post;
	block->pre.edge = next ? KL_EDGE_NEXT : KL_EDGE_TAKEN;
	block->pre.place = next ? block->begin : last_of(g, before)->offset;
}

/* For blocks that cannot be diverted themselves. @way: space for two numbers a block. */
static void take_edges(struct kl_block_graph *g, uint32_t *way)
{
	find_ways(g, way);
	for (uint32_t i = 0; i < g->blocks; i++)
		if (g->block[i].pre.tier == KL_TIER_NONE && way[i] != KL_NO_BLOCK)
			take_edge(g, way[i], i);
}

/* Fill in `pre` and `post` of all blocks; @edges: use the edges to blocks, too. */
int kl_plan(struct kl_block_graph *graph, bool edges)
{
	struct room *room = malloc((graph->blocks + graph->instructions + 1) * sizeof(*room));
	uint32_t *way = malloc((2 * graph->blocks + 1) * sizeof(*way));

	if (!room || !way) {
		free(way);
		free(room);
		return kl_fail(ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < graph->blocks; i++) {
		struct kl_block *block = &graph->block[i];

		if (graph->function.reason) {
			block->pre = point(KL_TIER_NONE, graph->function.reason, block->begin, 0);
			block->post = block->pre;
			continue;
		}
		block->pre = divert(graph, block, first_of(graph, block));
		block->post = divert_end(graph, block);
	}
	give_slots(graph, room);
	round_windows(graph);
	for (uint32_t i = 0; i < graph->blocks; i++)
		graph->block[i].post.place = place_behind(graph, &graph->block[i]);
	if (edges && !graph->function.reason)
		take_edges(graph, way);
	free(way);
	free(room);
	return 0;
}
