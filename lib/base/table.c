// SPDX-License-Identifier: GPL-2.0
/* The hash table that the reports use. */
#include <errno.h>
#include <stdlib.h>

#include "base.h"
#include "table.h"

#define FIRST_SLOTS 64

/* Where a key belongs, unless others are there. */
static size_t home_of(const struct kl_hash *table, uint64_t key)
{
	/* Fibonacci hashing: the golden ratio's bits spread dense keys. */
	return (key * 0x9e3779b97f4a7c15ull >> 32) & (table->slots - 1);
}

static uint64_t *slot_of(const struct kl_hash *table, uint64_t key)
{
	size_t slot = home_of(table, key);

	for (;;) {
		uint64_t *entry = (uint64_t *)(table->entries + slot * table->size);

		if (!*entry || *entry == key)
			return entry;
		slot = (slot + 1) & (table->slots - 1);
	}
}

static int grow(struct kl_hash *table)
{
	struct kl_hash larger = {
		.size = table->size,
		.slots = table->slots ? table->slots * 2 : FIRST_SLOTS,
		.count = table->count,
	};
	const uint64_t *entry = NULL;

	larger.entries = calloc(larger.slots, larger.size);
	if (!larger.entries)
		return kl_fail(ENOMEM, "out of memory");
	while ((entry = kl_hash_next(table, entry)))
		memcpy(slot_of(&larger, *entry), entry, table->size);
	free(table->entries);
	*table = larger;
	return 0;
}

void *kl_hash_get(struct kl_hash *table, uint64_t key)
{
	uint64_t *entry;

	if (table->count * 4 >= table->slots * 3 && grow(table))
		return NULL;
	entry = slot_of(table, key);
	if (!*entry) {
		*entry = key;
		table->count++;
	}
	return entry;
}

void *kl_hash_find(const struct kl_hash *table, uint64_t key)
{
	uint64_t *entry = table->slots ? slot_of(table, key) : NULL;

	return entry && *entry ? entry : NULL;
}

void kl_hash_remove(struct kl_hash *table, uint64_t key)
{
	const size_t mask = table->slots - 1;
	uint8_t *hole = kl_hash_find(table, key);
	size_t free_slot, slot;

	if (!hole)
		return;
	table->count--;
	free_slot = (size_t)(hole - table->entries) / table->size;
	/* Those that follow move up unless that would put them before where they belong. */
	for (slot = (free_slot + 1) & mask;; slot = (slot + 1) & mask) {
		uint8_t *entry = table->entries + slot * table->size;

		if (!*(uint64_t *)entry)
			break;
		if (((slot - home_of(table, *(uint64_t *)entry)) & mask) <
		    ((slot - free_slot) & mask))
			continue;
		memcpy(hole, entry, table->size);
		hole = entry;
		free_slot = slot;
	}
	memset(hole, 0, table->size);
}

void *kl_hash_next(const struct kl_hash *table, const void *entry)
{
	uint8_t *at = entry ? (uint8_t *)entry + table->size : table->entries;
	uint8_t *end;

	if (!table->entries)
		return NULL;
	end = table->entries + table->slots * table->size;
	for (; at < end; at += table->size)
		if (*(uint64_t *)at)
			return at;
	return NULL;
}

void kl_hash_deinit(struct kl_hash *table)
{
	free(table->entries);
	table->entries = NULL;
	table->slots = 0;
	table->count = 0;
}
