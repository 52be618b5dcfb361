// SPDX-License-Identifier: GPL-2.0
/*
 * What is interrupted, and by what. Each scenario brings a ring to a state, then fires one record,
 * which actions interrupt: more records on the same ring. Afterwards every record must be accounted
 * for and the ring must be consistent. operations.c (every operation of the ring) and
 * instructions.c (every machine instruction) determine where the interrupts hit.
 */
#include <stdio.h>

#include "nesting.h"

/* ------------------------------------------------------------- scenarios */

static void start_empty(struct bench *bench)
{
	(void)bench;
}

static void start_prepared(struct bench *bench)
{
	kl_ring_prepare(&bench->ring);
}

static void start_in_block(struct bench *bench)
{
	bench_fire(bench);
}

/* The next record does not fit. The next block is prepared, as usual. */
static void start_at_end(struct bench *bench)
{
	for (int i = 0; i < 3; i++) {
		bench_fill_block(bench);
		bench_fire(bench);
	}
	bench_fill_block(bench);
}

/* A longer record does not fit, but one of the usual size does. */
static void start_near_end(struct bench *bench)
{
	start_at_end(bench);
	for (int i = 0; i < 3; i++)
		bench_fire(bench);
}

/* The next record does not fit, and no block is prepared yet. */
static void start_unprepared(struct bench *bench)
{
	bench_fill_block(bench);
	while (bench_fire(bench) != KL_RING_LOST)
		;
	bench->hold = bench->shared->tail + 1;
}

static void start_full(struct bench *bench)
{
	while (bench_fire(bench) != KL_RING_LOST)
		;
}

static void start_finished(struct bench *bench)
{
	start_at_end(bench);
	bench_fire(bench);
	kl_ring_finish(&bench->ring, bench->clock + 1);
}

static void start_clock_back(struct bench *bench)
{
	start_at_end(bench);
	bench_fire(bench);
	bench->clock -= 6;
}

static void start_clock_back_at_end(struct bench *bench)
{
	start_at_end(bench);
	bench->clock -= 6;
}

/* A longer pause than 48 bits of time can represent. */
static void start_clock_gap(struct bench *bench)
{
	start_at_end(bench);
	bench_fire(bench);
	bench->clock += 3ull << 47;
}

static void start_shrink(struct bench *bench)
{
	start_at_end(bench);
	kl_store(bench->ring.wanted, 3);
}

static void start_grow(struct bench *bench)
{
	start_at_end(bench);
	bench_add(bench, 2);
}

#define LONG (BENCH_RECORD_BYTES * 2 - 1) /* odd */
#define SHORT BENCH_RECORD_BYTES
#define OVER(n, map)                                            \
	{                                                       \
		.blocks = n, .map_size = map, .overwrite = true \
	}
#define HELD(n, map)                         \
	{                                    \
		.blocks = n, .map_size = map \
	}

const struct scenario nesting_scenarios[] = {
	{ "empty ring", OVER(4, 4), start_prepared, SHORT, false },
	{ "empty ring, no block prepared", OVER(4, 4), start_empty, SHORT, true },
	{ "inside a block", OVER(4, 4), start_in_block, SHORT, false },
	{ "at a block's end", OVER(4, 4), start_at_end, SHORT, false },
	{ "at a block's end, shorter ones still fit", OVER(4, 4), start_near_end, LONG - 2, false },
	{ "three blocks", OVER(3, 4), start_at_end, SHORT, false },
	{ "seq wraps in the position word",
	  { .blocks = 4, .map_size = 4, .overwrite = true, .start_seq = (1ull << 23) - 4 },
	  start_at_end,
	  SHORT,
	  false },
	{ "a closed block", OVER(4, 4), start_finished, SHORT, false },
	{ "clock steps back", OVER(4, 4), start_clock_back, SHORT, false },
	{ "clock steps back at a block's end", OVER(4, 4), start_clock_back_at_end, SHORT, false },
	{ "48-bit gap", OVER(4, 4), start_clock_gap, SHORT, true },
	{ "blocks to give back", OVER(7, 8), start_shrink, SHORT, false },
	{ "blocks to take in", OVER(4, 8), start_grow, SHORT, false },
	{ "discard, next block not prepared", HELD(4, 4), start_unprepared, SHORT, true },
	{ "discard, full", HELD(4, 4), start_full, SHORT, true },
};

/* --------------------------------------------------------------- actions */

static void act_one(struct bench *bench)
{
	bench_fire(bench);
}

static void act_two_long(struct bench *bench)
{
	bench_fire_bytes(bench, LONG);
	bench_fire_bytes(bench, LONG);
}

/* At least into the next block. */
static void act_block(struct bench *bench)
{
	for (int i = 0; i < 5; i++)
		bench_fire(bench);
}

/* More than once around the ring. */
static void act_around(struct bench *bench)
{
	for (int i = 0; i < 36; i++)
		bench_fire(bench);
}

/*
 * Readers release a block, and a block is added. The control side runs on another CPU, so it does
 * not interrupt itself.
 */
static void act_control(struct bench *bench)
{
	if (!__atomic_exchange_n(&bench->controlling, true, __ATOMIC_RELAXED)) {
		bench->hold++;
		if (bench->pool_used - bench->given_back < bench->shared->map_size)
			bench_add(bench, 1);
		bench->controlling = false;
	}
	act_block(bench);
}

const struct action nesting_actions[] = {
	{ "one record", act_one, true },
	{ "two long records", act_two_long, false },
	{ "a block of records", act_block, false },
	{ "a ring of records", act_around, false },
	{ "control and a block of records", act_control, false },
};

const u32 nesting_scenario_count = sizeof(nesting_scenarios) / sizeof(nesting_scenarios[0]);
const u32 nesting_action_count = sizeof(nesting_actions) / sizeof(nesting_actions[0]);

char nesting_trouble[400];

/*
 * Bring a new ring to @scenario's state, fire the record with @fire (which triggers the
 * interrupts), and check. @small: only short actions interrupt, which must not lose a record where
 * the scenario rules that out.
 */
bool nesting_run_once(const struct scenario *scenario, bool (*fire)(struct bench *, u32 bytes),
		      bool small)
{
	struct bench *bench = bench_new(&scenario->config);
	bool sound;
	u32 lost;

	bench->ring.holders[2] = &bench->hold;
	scenario->prepare(bench);
	lost = bench->lost;
	sound = fire(bench, scenario->bytes);
	lost = bench->lost - lost;
	sound = sound && bench_check_state(bench);
	/* The ring still works. */
	act_block(bench);
	sound = sound && bench_check_end(bench);
	if (sound && lost && small && !scenario->may_lose) {
		snprintf(bench->why, sizeof(bench->why), "%u records lost", lost);
		sound = false;
	}
	if (!sound)
		snprintf(nesting_trouble, sizeof(nesting_trouble), "%s", bench->why);
	bench_free(bench);
	return sound;
}
