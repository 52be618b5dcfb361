/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far the wall clocks of several machines are apart, as far as their traces tell: from what the
 * machines know of their clocks (adjtimex), and from TCP packets that one has sent and another
 * received. docs/design/clocks.md has the rules.
 */
#ifndef KERNLENS_CLOCKS_H
#define KERNLENS_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/event.h>
#include <kernlens/metadata.h>

#define KL_CLOCKS_MAX 64 /* machines */

struct kl_clocks;

/**
 * struct kl_clock_bounds - by how much the clock of one machine is ahead of that of another
 * @has_least, @has_most: the bound is known
 * @least_ns, @most_ns: the difference is not less, and not more
 * @packets: matched packets between the two, both ways
 */
struct kl_clock_bounds {
	bool has_least, has_most;
	int64_t least_ns, most_ns;
	uint64_t packets;
};

/* What did not fit together, and was left out. */
enum kl_clocks_conflict {
	KL_CLOCKS_AGREE,
	KL_CLOCKS_NO_UTC, /* what machines say of their clocks contradicts packets, or each other */
	KL_CLOCKS_NOTHING, /* packets contradict each other: a clock has been set meanwhile */
};

/**
 * kl_clocks_create - create clocks of which nothing is known
 * @n: number of machines, at most KL_CLOCKS_MAX
 *
 * Returns NULL with errno ENOMEM or E2BIG.
 */
struct kl_clocks *kl_clocks_create(size_t n);

/**
 * kl_clocks_destroy - free clocks
 * @clocks: or NULL
 */
void kl_clocks_destroy(struct kl_clocks *clocks);

/**
 * kl_clocks_set - describe a machine, before its events
 * @clocks: clocks
 * @machine: its number
 * @schema: of its trace; must outlive its events
 * @clock: what its trace says of its clock
 */
void kl_clocks_set(struct kl_clocks *clocks, size_t machine, const struct kl_schema *schema,
		   const struct kl_trace_clock *clock);

/**
 * kl_clocks_add - add an event
 * @clocks: clocks
 * @machine: number of the machine
 * @event: of its trace, in the order of time; those that are not used cost little
 *
 * Returns 0 or -ENOMEM.
 */
int kl_clocks_add(struct kl_clocks *clocks, size_t machine, const struct kl_event *event);

/**
 * kl_clocks_solve - match packets and find the bounds, after all events
 * @clocks: clocks
 */
void kl_clocks_solve(struct kl_clocks *clocks);

/**
 * kl_clocks_conflict - what did not fit together
 * @clocks: solved
 */
enum kl_clocks_conflict kl_clocks_conflict(const struct kl_clocks *clocks);

/**
 * kl_clocks_between - by how much a machine's clock is ahead of another's
 * @clocks: solved
 * @from: number of the other machine
 * @of: number of the machine
 */
struct kl_clock_bounds kl_clocks_between(const struct kl_clocks *clocks, size_t from, size_t of);

/**
 * kl_clocks_ahead - by how much a machine's clock is ahead of the first one's, as a best guess
 * @clocks: solved
 * @machine: machine
 *
 * The middle of the bounds; with one bound, the number next to 0 within it; without any, 0.
 */
int64_t kl_clocks_ahead(const struct kl_clocks *clocks, size_t machine);

#endif /* KERNLENS_CLOCKS_H */
