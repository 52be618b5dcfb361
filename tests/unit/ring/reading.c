// SPDX-License-Identifier: GPL-2.0
/*
 * Readers on another CPU that see the writer stopped at any operation: a copy made in two halves at
 * any two steps of the writer, the block being filled read in two loads, and a search during which
 * the writer wraps around the ring. Needs KL_RING_TEST_HOOK; without it there is nothing to run.
 */
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "bench.h"

#ifdef KL_RING_TEST_HOOK

static struct {
	struct bench *bench;
	void (*look)(u32 turn); /* 0 at step `at`, 1 at step `then` */
	u32 at, then, steps;
	bool busy; /* the reader's own operations do not count as steps */
	bool sound;
	u32 looked; /* how often there was something to check */
	/* copy in halves */
	struct kl_cursor cursor;
	const u8 *found;
	u8 copy[BENCH_BLOCK_BYTES];
	bool tail_first;
	/* partial block */
	u64 seq, committed;
} test;

static void on_step(void)
{
	u32 now;

	if (test.busy)
		return;
	now = test.steps++;
	if (now != test.at && now != test.then)
		return;
	test.busy = true;
	test.look(now == test.then);
	test.busy = false;
}

/*
 * Nested records that reach into the next blocks: B interrupts A, or B interrupts A and C
 * interrupts B. B is as long as A, so that `committed` may equal an older position although A is
 * not written.
 */
static void write_nested(struct bench *bench, u32 rounds)
{
	for (u32 i = 0; i < rounds; i++) {
		struct bench_pending a, b;
		bool wrote_a = bench_begin(bench, BENCH_RECORD_BYTES, &a);
		bool wrote_b = bench_begin(bench, BENCH_RECORD_BYTES, &b);

		if (i % 2)
			bench_fire_bytes(bench, BENCH_RECORD_BYTES + 6);
		if (wrote_b)
			bench_end(bench, &b);
		bench_fire(bench);
		if (wrote_a)
			bench_end(bench, &a);
		bench_fire(bench);
	}
}

static void look_copy(u32 turn)
{
	const struct kl_abi_block *copy = (const struct kl_abi_block *)test.copy;
	const u32 middle = KL_BLOCK_HEADER_BYTES + 50;
	bool tail = test.tail_first ? turn == 0 : turn == 1;

	if (turn == 0)
		test.found = kl_cursor_find(&test.bench->ring, &test.cursor);
	if (!test.found)
		return;
	if (tail)
		memcpy(test.copy + middle, test.found + middle, BENCH_BLOCK_BYTES - middle);
	else
		memcpy(test.copy, test.found, middle);
	if (turn == 0)
		return;
	if (kl_cursor_advance(&test.cursor, test.found, copy)) {
		test.looked++;
		test.sound = bench_check_block(test.bench, test.copy, test.cursor.next - 1, true);
	}
}

/* Reads `committed` first and the position later, as docs/design/ring.md requires. */
static void look_partial(u32 turn)
{
	struct bench *bench = test.bench;
	u64 position = bench->shared->position;
	const u8 *memory;
	const struct kl_abi_block *header;

	if (turn == 0) {
		test.seq = bench->shared->head;
		memory = bench->window[test.seq & bench->ring.map_mask]->memory;
		test.committed = ((const struct kl_abi_block *)memory)->committed;
		return;
	}
	memory = bench->window[test.seq & bench->ring.map_mask]->memory;
	header = (const struct kl_abi_block *)memory;
	if (header->seq != test.seq || KL_POS_OFFSET(position) != test.committed ||
	    KL_POS_SEQ(position) != (test.seq & ((1ull << (64 - KL_POS_SEQ_SHIFT)) - 1)))
		return;
	test.looked++;
	test.sound = bench_check_records(bench, memory, test.committed, false);
}

/* One run that looks at two steps; returns the number of steps, or 0 on failure. */
static u32 run_once(u32 blocks, char *why, size_t why_bytes)
{
	const struct bench_config config = { .blocks = blocks, .map_size = 4, .overwrite = true };
	struct bench *bench = bench_new(&config);

	memset(&test.cursor, 0, sizeof(test.cursor));
	test.bench = bench;
	test.found = NULL;
	test.steps = 0;
	test.sound = true;
	write_nested(bench, 3);
	bench_observer = on_step;
	write_nested(bench, 4);
	bench_observer = NULL;
	if (test.sound && test.look == look_copy) {
		kl_ring_finish(&bench->ring, bench->clock);
		test.sound = bench_drain(bench, &test.cursor);
		if (test.sound && bench->read + test.cursor.missed != bench->written) {
			snprintf(bench->why, sizeof(bench->why), "read %u + missed %llu of %u",
				 bench->read, test.cursor.missed, bench->written);
			test.sound = false;
		}
	}
	if (!test.sound)
		snprintf(why, why_bytes, "looked at steps %u and %u: %s", test.at, test.then,
			 bench->why);
	bench_free(bench);
	return test.sound ? test.steps : 0;
}

static void test_looks(void (*look)(u32 turn), u32 blocks, const char *what)
{
	char name[160], why[400];
	u32 steps = 2, runs = 0;

	test.look = look;
	test.looked = 0;
	for (test.at = 0; steps && test.at < steps; test.at++) {
		for (test.then = test.at + 1; test.then < steps || !test.at; test.then++) {
			steps = run_once(blocks, why, sizeof(why));
			runs++;
			if (test.then >= steps)
				break;
		}
	}
	snprintf(name, sizeof(name), "%s, %u blocks (%u runs, %u looks)", what, blocks, runs,
		 test.looked);
	unit_result(steps && test.looked, name, why);
}

static u32 search_steps, search_at;

static void on_search_step(void)
{
	if (test.busy || search_steps++ != search_at)
		return;
	test.busy = true;
	for (int i = 0; i < 40; i++)
		bench_fire(test.bench);
	test.busy = false;
}

/* A complete block always exists, so a search must find one. */
static void test_search(void)
{
	const struct bench_config config = { .blocks = 4, .map_size = 4, .overwrite = true };
	char why[300] = "";
	bool sound = true;

	for (search_at = 0; sound; search_at++) {
		struct bench *bench = bench_new(&config);
		struct kl_cursor cursor = {};

		test.bench = bench;
		for (int i = 0; i < 20; i++)
			bench_fire(bench);
		search_steps = 0;
		bench_observer = on_search_step;
		sound = kl_cursor_find(&bench->ring, &cursor) != NULL;
		bench_observer = NULL;
		if (!sound)
			snprintf(why, sizeof(why), "nothing found, overtaken at step %u",
				 search_at);
		sound = sound && bench_drain(bench, &cursor);
		bench_free(bench);
		if (search_steps <= search_at)
			break;
	}
	unit_result(sound, "a search finds a block although it is overtaken at any step", why);
}

void reading_run(void)
{
	for (u32 blocks = 2; blocks <= 4; blocks++) {
		test.tail_first = false;
		test_looks(look_copy, blocks, "a copy in two halves, header first");
		test.tail_first = true;
		test_looks(look_copy, blocks, "a copy in two halves, header last");
		test_looks(look_partial, blocks, "the block being filled in two loads");
	}
	test_search();
}

#else

void reading_run(void)
{
}

#endif
