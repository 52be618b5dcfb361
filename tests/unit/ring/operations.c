// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts at every operation of the ring (built with KL_RING_TEST_HOOK): for each scenario and
 * action, each single operation, and each pair of operations; the second of a pair may be inside
 * the first interrupt or after it. While single operations are tried, every step checks what a
 * reader could take.
 */
#include <stdio.h>

#include "../unit.h"
#include "nesting.h"

#define NEVER (~0u)

void (*bench_observer)(void);

static struct {
	struct bench *bench;
	const struct action *first, *second;
	u32 at, then; /* the steps at which the interrupts hit */
	u32 steps;
	bool armed;
	bool observe;
	bool sound;
} plan;

void kl_ring_test_hook(void)
{
	u32 now;

	if (bench_observer)
		bench_observer();
	if (!plan.armed)
		return;
	now = plan.steps++;
	if (plan.observe && plan.sound) {
		plan.armed = false;
		plan.sound = bench_check_partial(plan.bench);
		plan.armed = true;
	}
	if (now == plan.at)
		plan.first->run(plan.bench);
	else if (now == plan.then)
		plan.second->run(plan.bench);
}

static bool fire_interrupted(struct bench *bench, u32 bytes)
{
	plan.bench = bench;
	plan.steps = 0;
	plan.sound = true;
	plan.armed = true;
	bench_fire_bytes(bench, bytes);
	plan.armed = false;
	return plan.sound;
}

static bool run_plan(const struct scenario *scenario)
{
	bool small = plan.first->is_small && (plan.then == NEVER || plan.second->is_small);

	return nesting_run_once(scenario, fire_interrupted, small);
}

/* Run the action at each step, alone and followed by each other action. */
static bool explore(const struct scenario *scenario, const struct action *first, u32 *runs)
{
	u32 total = ~0u;

	plan.first = first;
	/*
	 * The interrupt itself adds steps, so the initial `total` is beyond all steps of the
	 * record.
	 */
	for (plan.at = 0; plan.at < total; plan.at++) {
		plan.then = NEVER;
		plan.observe = true;
		if (!run_plan(scenario))
			return false;
		plan.observe = false;
		++*runs;
		/* The record has no step left to interrupt. */
		if (plan.steps <= plan.at)
			return true;
		total = plan.steps;
		for (u32 i = 0; i < nesting_action_count; i++) {
			plan.second = &nesting_actions[i];
			for (plan.then = plan.at + 1; plan.then < total; plan.then++, ++*runs)
				if (!run_plan(scenario))
					return false;
		}
	}
	return true;
}

void nesting_run(void)
{
	for (u32 i = 0; i < nesting_scenario_count; i++) {
		const struct scenario *scenario = &nesting_scenarios[i];
		char name[160], why[600] = "";
		u32 runs = 0;
		bool sound = true;

		for (u32 j = 0; sound && j < nesting_action_count; j++)
			sound = explore(scenario, &nesting_actions[j], &runs);
		if (!sound)
			snprintf(why, sizeof(why), "%s at step %u, %s at step %d: %s",
				 plan.first->name, plan.at,
				 plan.then == NEVER ? "nothing" : plan.second->name, (int)plan.then,
				 nesting_trouble);
		snprintf(name, sizeof(name), "interrupted at operations: %s (%u runs)",
			 scenario->name, runs);
		unit_result(sound, name, why);
	}
}
