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
	const size_t before = holds->places.n;
	int64_t number = kl_profile_list_add(&holds->places, what);
	struct kl_lock_hold_sum *grown;

	if (number < 0)
		return -ENOMEM;
	if (holds->places.n > before) {
		grown = kl_array_grow(holds->sum, before, &holds->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		holds->sum = grown;
		grown[before] = (struct kl_lock_hold_sum){ 0 };
	}
	add_sum(&holds->sum[number], one);
	return 0;
}

int kl_hold_count_pair(struct kl_lock_holds *holds, const struct kl_hold_pair *pair, uint64_t ns)
{
	const size_t before = holds->pairs.n;
	int64_t number = kl_profile_list_add(&holds->pairs, pair);
	struct kl_hold_pair_sum *grown;

	if (number < 0)
		return -ENOMEM;
	if (holds->pairs.n > before) {
		grown = kl_array_grow(holds->pair_sum, before, &holds->pair_room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		holds->pair_sum = grown;
		grown[before] = (struct kl_hold_pair_sum){ 0 };
	}
	holds->pair_sum[number].waits++;
	holds->pair_sum[number].ns += ns;
	holds->pair_sum[number].worst_ns = larger(holds->pair_sum[number].worst_ns, ns);
	return 0;
}

/* --------------------------------------------------------------------------- rows */

/* The row of a key, which may be new; @keys numbers them. Returns NULL if memory is short. */
static struct kl_lock_hold_row *row_of(struct kl_profile_list *keys, struct kl_lock_hold_row **rows,
				       size_t *room, uint64_t key)
{
	const size_t before = keys->n;
	int64_t number = kl_profile_list_add(keys, &key);
	struct kl_lock_hold_row *grown;

	if (number < 0)
		return NULL;
	if (keys->n > before) {
		grown = kl_array_grow(*rows, before, room, sizeof(*grown));
		if (!grown)
			return NULL;
		*rows = grown;
		grown[before] = (struct kl_lock_hold_row){ .row.key = key };
	}
	return &(*rows)[number];
}

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
	struct kl_lock_hold_row *rows = NULL, *row = NULL;
	int error = kl_hold_forget(holds, true);
	size_t room = 0;

	for (size_t i = 0; i < holds->places.n && !error; i++) {
		const struct kl_lock_wait *place =
			(const struct kl_lock_wait *)holds->places.element + i;

		if (within != KL_LOCKS_KEYS && kl_locks_key_of(holds->locks, place, within) != key)
			continue;
		row = row_of(&keys, &rows, &room, kl_locks_key_of(holds->locks, place, by));
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
	return kl_locks_sort_rows(rows, n, sizeof(*rows), error, longest_first);
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
