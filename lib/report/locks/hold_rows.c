// SPDX-License-Identifier: GPL-2.0
/* Sums up acquisitions of locks, and groups them. */
#include <errno.h>
#include <stdlib.h>

#include <kernlens/error.h>
#include "../../base/base.h"
#include "holds.h"

/* ----------------------------------------------------------------------- counting */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_sum(struct kl_lock_hold_sum *to, const struct kl_lock_hold_sum *of)
{
	to->taken += of->taken;
	to->failed += of->failed;
	to->contended += of->contended;
	to->unknown += of->unknown;
	to->waited_ns += of->waited_ns;
	to->worst_wait_ns = larger(to->worst_wait_ns, of->worst_wait_ns);
	to->held_ns += of->held_ns;
	to->worst_held_ns = larger(to->worst_held_ns, of->worst_held_ns);
	for (unsigned int i = 0; i < KL_LOCK_BUCKETS; i++) {
		to->wait[i] += of->wait[i];
		to->held[i] += of->held[i];
	}
}

int kl_hold_count(struct kl_lock_holds *holds, const struct kl_lock_wait *what,
		  const struct kl_lock_hold_sum *one)
{
	void *sums = holds->sum;
	struct kl_lock_hold_sum *sum =
		kl_profile_list_value(&holds->places, what, &sums, &holds->room, sizeof(*sum));

	holds->sum = sums;
	if (!sum)
		return -ENOMEM;
	add_sum(sum, one);
	return 0;
}

int kl_hold_count_pair(struct kl_lock_holds *holds, const struct kl_hold_pair *pair, uint64_t ns)
{
	void *sums = holds->pair_sum;
	struct kl_hold_pair_sum *sum =
		kl_profile_list_value(&holds->pairs, pair, &sums, &holds->pair_room, sizeof(*sum));

	holds->pair_sum = sums;
	if (!sum)
		return -ENOMEM;
	sum->waits++;
	sum->ns += ns;
	sum->worst_ns = larger(sum->worst_ns, ns);
	return 0;
}

/* --------------------------------------------------------------------------- rows */

static int longest_first(const void *left, const void *right)
{
	const struct kl_lock_hold_sum *a = &((const struct kl_lock_hold_row *)left)->sum;
	const struct kl_lock_hold_sum *b = &((const struct kl_lock_hold_row *)right)->sum;

	if (a->waited_ns != b->waited_ns)
		return a->waited_ns < b->waited_ns ? 1 : -1;
	if (a->held_ns != b->held_ns)
		return a->held_ns < b->held_ns ? 1 : -1;
	return (a->taken < b->taken) - (a->taken > b->taken);
}

struct kl_lock_hold_row *kl_lock_holds_rows(struct kl_lock_holds *holds, enum kl_lock_key by,
					    enum kl_lock_key within, uint64_t key, size_t *n)
{
	struct kl_profile_list keys = { .size = sizeof(uint64_t) };
	struct kl_lock_hold_row *row;
	int error = kl_hold_forget(holds, true);
	size_t room = 0;
	void *rows = NULL;

	for (size_t i = 0; i < holds->places.n && !error; i++) {
		const struct kl_lock_wait *place =
			(const struct kl_lock_wait *)holds->places.element + i;
		uint64_t group;

		if (within != KL_LOCKS_KEYS && kl_locks_key_of(holds->locks, place, within) != key)
			continue;
		group = kl_locks_key_of(holds->locks, place, by);
		row = kl_profile_list_value(&keys, &group, &rows, &room, sizeof(*row));
		if (!row) {
			error = -ENOMEM;
			break;
		}
		if (!row->sum.taken && !row->sum.failed)
			kl_locks_describe(holds->locks, &row->row, place, by);
		add_sum(&row->sum, &holds->sum[i]);
	}
	*n = keys.n;
	kl_profile_list_deinit(&keys);
	return kl_locks_sort_rows(rows, n, sizeof(*row), error, longest_first);
}

/* ------------------------------------------------------------------------ clashes */

static int longest_clash_first(const void *left, const void *right)
{
	const struct kl_lock_clash *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->waits < b->waits) - (a->waits > b->waits);
}

/* The place of a wait, as far as the key of a grouping needs it. */
static int place_of(struct kl_lock_holds *holds, const struct kl_hold_pair *pair,
		    struct kl_lock_wait *place)
{
	const struct kl_lock_name *function =
		kl_locks_function(holds->locks, pair->stack, kl_contention_is_inner);

	if (!function)
		return -ENOMEM;
	*place = (struct kl_lock_wait){
		.address = pair->address,
		.type = pair->type,
		.stack = pair->stack,
		.function = function->name,
	};
	return 0;
}

struct kl_lock_clash *kl_lock_holds_clashes(struct kl_lock_holds *holds, enum kl_lock_key by,
					    uint64_t key, size_t *n)
{
	struct kl_lock_clash *clashes = malloc((holds->pairs.n + 1) * sizeof(*clashes));

	*n = 0;
	if (!clashes) {
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < holds->pairs.n; i++) {
		const struct kl_hold_pair *pair =
			(const struct kl_hold_pair *)holds->pairs.element + i;
		struct kl_lock_wait place;

		if (place_of(holds, pair, &place)) {
			free(clashes);
			*n = 0;
			errno = ENOMEM;
			return NULL;
		}
		if (by != KL_LOCKS_KEYS && kl_locks_key_of(holds->locks, &place, by) != key)
			continue;
		clashes[(*n)++] = (struct kl_lock_clash){
			.address = pair->address,
			.type = pair->type,
			.stack = pair->stack,
			.owner_stack = pair->owner_stack,
			.owner_tid = pair->owner,
			.owner = kl_locks_comm(holds->locks, pair->owner),
			.waits = holds->pair_sum[i].waits,
			.ns = holds->pair_sum[i].ns,
			.worst_ns = holds->pair_sum[i].worst_ns,
		};
	}
	if (*n)
		qsort(clashes, *n, sizeof(*clashes), longest_clash_first);
	return clashes;
}
