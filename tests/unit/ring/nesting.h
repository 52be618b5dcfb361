/* SPDX-License-Identifier: GPL-2.0 */
/* Scenarios and actions of nesting.c, for both ways of interrupting. */
#ifndef KL_TESTS_RING_NESTING_H
#define KL_TESTS_RING_NESTING_H

#include "bench.h"

struct scenario {
	const char *name;
	struct bench_config config;
	void (*prepare)(struct bench *bench);
	u32 bytes; /* of the record that is interrupted */
	bool may_lose; /* even if only small actions interrupt */
};

struct action {
	const char *name;
	void (*run)(struct bench *bench);
	bool is_small;
};

extern const struct scenario nesting_scenarios[];
extern const u32 nesting_scenario_count;
extern const struct action nesting_actions[];
extern const u32 nesting_action_count;
extern char nesting_trouble[400];

bool nesting_run_once(const struct scenario *scenario, bool (*fire)(struct bench *, u32 bytes),
		      bool small);

#endif /* KL_TESTS_RING_NESTING_H */
