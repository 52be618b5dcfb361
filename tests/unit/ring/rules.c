// SPDX-License-Identifier: GPL-2.0
/*
 * Each rule of the ring on its own, step by step: a block's header, when it may be read and
 * returned, time, losses, and blocks that are added and removed.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "bench.h"

static const struct bench_config over4 = { .blocks = 4, .map_size = 4, .overwrite = true };
static const struct bench_config keep4 = { .blocks = 4, .map_size = 4 };

static const struct kl_abi_block *block_of(struct bench *bench, u64 seq)
{
	return (const void *)bench->window[seq & bench->ring.map_mask]->memory;
}

/* Finish, drain, account, and free the bench. */
static void end(struct bench *bench, const char *name)
{
	bool sound = bench_check_end(bench);

	unit_result(sound, name, bench->why);
	bench_free(bench);
}

static void fire_blocks(struct bench *bench, u32 blocks)
{
	for (; blocks; blocks--) {
		bench_fire(bench);
		bench_fill_block(bench);
	}
}

static void test_first_blocks(void)
{
	struct bench *bench = bench_new(&over4);
	struct kl_cursor cursor = {};
	u64 filled;

	unit_check(!kl_cursor_find(&bench->ring, &cursor), "an empty ring has nothing to read");
	unit_check(bench_fire(bench) == KL_RING_WRITTEN_FIRST,
		   "the first record is reported as such");
	unit_check(bench->shared->head == 0 && KL_POS_COUNT(bench->shared->position) == 1,
		   "it is counted, in block 0");
	unit_check(bench_fire(bench) == KL_RING_WRITTEN, "the second is an ordinary one");
	unit_check(block_of(bench, 0)->committed == KL_POS_OFFSET(bench->shared->position),
		   "all that is reserved is committed");
	unit_check(!kl_cursor_find(&bench->ring, &cursor), "a block being filled is not complete");
	bench_fill_block(bench);
	filled = KL_POS_COUNT(bench->shared->position);
	bench_fire(bench);
	unit_check(filled > 2 && block_of(bench, 0)->record_count == filled &&
			   block_of(bench, 1)->record_first == filled,
		   "records are counted by block");
	unit_check(block_of(bench, 0)->timestamp_end == block_of(bench, 1)->timestamp_begin,
		   "a block ends when the next begins");
	unit_check(kl_cursor_find(&bench->ring, &cursor) != NULL, "then it can be read");
	end(bench, "first blocks: accounts");
}

static void test_uncommitted(void)
{
	struct bench *bench = bench_new(&over4);
	struct bench_pending pending;
	struct kl_cursor cursor = {};
	u32 lost;

	bench_fire(bench);
	bench_begin(bench, BENCH_RECORD_BYTES, &pending);
	fire_blocks(bench, 2);
	unit_check(bench->shared->head == 1 && !kl_cursor_find(&bench->ring, &cursor),
		   "a block with an unfinished record is not complete");
	fire_blocks(bench, 4);
	unit_check(bench->shared->head == 3 && bench->lost > 0,
		   "nor is it taken back: then records are lost");
	lost = bench->lost;
	bench_end(bench, &pending);
	unit_check(kl_cursor_find(&bench->ring, &cursor) != NULL, "once written it is complete");
	fire_blocks(bench, 4);
	unit_check(bench->lost == lost && bench->shared->tail > 0, "and goes its way");
	end(bench, "unfinished record: accounts");
}

static void test_time(void)
{
	struct bench *bench = bench_new(&over4);
	struct bench_pending pending;
	u64 newest;

	bench_fire(bench);
	newest = bench->clock;
	bench->clock -= 500;
	unit_check(bench_begin(bench, BENCH_RECORD_BYTES, &pending) == KL_RING_WRITTEN_FIRST &&
			   pending.slot.time == newest && bench->shared->head == 0,
		   "clock stepped back: same block, newest time, all variables");
	bench_end(bench, &pending);
	bench_fill_block(bench);
	bench_begin(bench, BENCH_RECORD_BYTES, &pending);
	unit_check(bench->shared->head == 1 && pending.slot.time == newest &&
			   block_of(bench, 1)->timestamp_begin == newest,
		   "clock stepped back at a block's end: next block, newest time");
	bench_end(bench, &pending);
	bench->clock = newest + KL_TIME_WRAP - 2;
	bench_fire(bench);
	unit_check(bench->shared->head == 1, "a gap below KL_TIME_WRAP stays in the block");
	bench->clock += KL_TIME_WRAP - 1;
	bench_fire(bench);
	unit_check(bench->shared->head == 2, "a gap of KL_TIME_WRAP begins a block");
	bench->clock = ~0ull >> 1;
	bench_fire(bench);
	unit_check(bench->shared->head == 3, "and so does the longest");
	end(bench, "time: accounts");
}

static void test_discard_holders(void)
{
	struct bench *bench = bench_new(&keep4);
	u64 hold[2] = { 0, KL_SEQ_NONE };

	fire_blocks(bench, 6);
	unit_check(bench->shared->tail == 0 && bench->shared->head == 3 && bench->lost > 0,
		   "discard without holders: the first blocks stay");
	bench->ring.holders[0] = &hold[1];
	bench_fire(bench);
	unit_check(bench->shared->tail == 2, "a holder far beyond head holds nothing");
	bench->ring.holders[5] = &hold[0];
	fire_blocks(bench, 3);
	unit_check(bench->shared->tail == 2, "but does not speak for another");
	hold[0] = 3;
	hold[1] = 5;
	bench->hold = 3;
	fire_blocks(bench, 5);
	unit_check(bench->shared->tail == 3 && bench->shared->head == 6,
		   "blocks before the first held are used again");
	bench->ring.holders[0] = NULL;
	bench->ring.holders[5] = NULL;
	fire_blocks(bench, 2);
	unit_check(bench->shared->tail == 3, "the last holder gone: nothing goes");
	end(bench, "discard: accounts");
}

static void test_holder_garbage(void)
{
	static const u64 garbage[] = { 0,	   1,	       1ull << 22,
				       1ull << 23, 1ull << 63, KL_SEQ_NONE - 1,
				       KL_SEQ_NONE };
	struct bench *bench = bench_new(&keep4);
	bool sound = true;

	bench->ring.holders[7] = &bench->hold;
	for (u32 i = 0; sound && i < 140; i++) {
		bench->hold = garbage[i * 5 % 7];
		fire_blocks(bench, i % 3);
		sound = bench_check_state(bench) && bench_check_partial(bench);
	}
	unit_result(sound, "whatever a holder says, the ring is sound", bench->why);
	bench->hold = KL_SEQ_NONE;
	end(bench, "garbage holder: accounts");
}

static void test_lost_by_block(void)
{
	struct bench *bench = bench_new(&keep4);
	u32 lost;

	bench->ring.holders[0] = &bench->hold;
	fire_blocks(bench, 4);
	unit_check(bench->lost == 0, "four blocks hold four blocks' records");
	for (lost = 0; lost < 5; lost++)
		bench_fire(bench);
	bench->hold = 2;
	fire_blocks(bench, 2);
	unit_check(block_of(bench, 2)->events_discarded == 0 &&
			   block_of(bench, 3)->events_discarded == lost,
		   "losses are counted in the block that was full");
	unit_check(bench->shared->lost == lost, "and by the ring");
	end(bench, "losses: accounts");
}

static void test_finish(void)
{
	struct bench *bench = bench_new(&over4);
	struct kl_cursor cursor = {};
	u64 position;

	kl_ring_finish(&bench->ring, 5);
	unit_check(bench->shared->head == KL_SEQ_NONE && !kl_cursor_find(&bench->ring, &cursor),
		   "finishing an unused ring does nothing");
	bench_fire(bench);
	bench_fire(bench);
	/* The clock of the finisher's CPU may be ahead. */
	kl_ring_finish(&bench->ring, bench->clock + 100);
	position = bench->shared->position;
	unit_check(kl_cursor_find(&bench->ring, &cursor) && block_of(bench, 0)->record_count == 2,
		   "a finished block can be read");
	kl_ring_finish(&bench->ring, bench->clock + 200);
	unit_check(bench->shared->position == position && bench->shared->records == 2,
		   "finishing twice is finishing once");
	unit_check(bench_fire(bench) == KL_RING_WRITTEN_FIRST && bench->shared->head == 1,
		   "the next record begins a block");
	unit_check(block_of(bench, 1)->timestamp_begin >= block_of(bench, 0)->timestamp_end,
		   "not before the finished one ends");
	end(bench, "finish: accounts");
	bench = bench_new(&keep4);
	fire_blocks(bench, 6);
	end(bench, "finish of a full ring in discard mode: accounts");
}

static void test_overtaken(void)
{
	struct bench *bench = bench_new(&over4);
	struct kl_cursor cursor = {};
	struct kl_abi_block copy;
	const u8 *block;

	fire_blocks(bench, 3);
	block = kl_cursor_find(&bench->ring, &cursor);
	memcpy(&copy, block, sizeof(copy));
	fire_blocks(bench, 4);
	unit_check(!kl_cursor_advance(&cursor, block, &copy), "an overtaken copy is refused");
	unit_check(bench_drain(bench, &cursor) && cursor.missed > 0, "the reader goes on");
	kl_ring_finish(&bench->ring, bench->clock);
	unit_check(bench_drain(bench, &cursor) && bench->read + cursor.missed == bench->written,
		   "and knows how much it missed");
	bench_free(bench);
}

static void test_add_and_remove(void)
{
	const struct bench_config config = { .blocks = 4, .map_size = 16, .overwrite = true };
	struct bench *bench = bench_new(&config);
	bool sound;

	fire_blocks(bench, 6);
	bench_add(bench, 12);
	fire_blocks(bench, 40);
	unit_check(bench->shared->blocks == 16, "blocks are added while records are written");
	unit_check(bench->shared->head + 2 - bench->shared->tail == 16,
		   "as many blocks as the map has slots");
	unit_result(bench_check_state(bench), "a full map: state", bench->why);
	kl_store(bench->ring.wanted, 4);
	fire_blocks(bench, 1);
	unit_check(bench->shared->blocks == 8 && bench_take_outgoing(bench) == 8,
		   "eight at most are given back at once");
	fire_blocks(bench, 2);
	sound = bench_check_state(bench) && bench->shared->blocks == 4 && bench->given_back == 12;
	unit_result(sound, "then the rest", bench->why);
	unit_check(bench->lost == 0, "without loss");
	kl_store(bench->ring.wanted, 16);
	bench_add(bench, 12);
	fire_blocks(bench, 20);
	unit_check(bench->shared->blocks == 16, "and blocks come again");
	end(bench, "add and remove: accounts");
}

/* The position word's fields with the largest blocks and shortest records. */
static void test_largest_block(void)
{
	const struct bench_config config = { .blocks = 0, .map_size = 4, .overwrite = true };
	const u32 bytes = KL_RECORD_PREFIX_BYTES;
	struct bench *bench = bench_new(&config);
	struct kl_ring *ring = &bench->ring;
	struct kl_ring_block block[4] = {};
	u64 written = 0;
	bool counted = true;

	ring->block_bytes = KL_BLOCK_BYTES_MAX;
	for (u32 i = 0; i < 4; i++) {
		block[i].memory = malloc(KL_BLOCK_BYTES_MAX);
		block[i].index = i;
		kl_ring_add(ring, &block[i]);
	}
	while (bench->shared->head == KL_SEQ_NONE || bench->shared->head < 3) {
		struct kl_slot slot;

		kl_ring_reserve(ring, bench->shared->position, ++bench->clock, bytes, bytes, &slot);
		memset(slot.at, 0xFF, slot.bytes);
		kl_ring_commit(&slot);
		written++;
	}
	for (u64 seq = 1; seq < 3; seq++)
		counted &= block_of(bench, seq)->record_count ==
				   (KL_BLOCK_BYTES_MAX - KL_BLOCK_HEADER_BYTES) / bytes &&
			   block_of(bench, seq)->record_first ==
				   block_of(bench, seq)->record_count * seq;
	unit_check(counted && bench->shared->records + 1 == written,
		   "the position word counts the largest block of the shortest records");
	for (u32 i = 0; i < 4; i++)
		free(block[i].memory);
	bench_free(bench);
}

void rules_run(void)
{
	test_first_blocks();
	test_uncommitted();
	test_time();
	test_discard_holders();
	test_holder_garbage();
	test_lost_by_block();
	test_finish();
	test_overtaken();
	test_add_and_remove();
	test_largest_block();
}
