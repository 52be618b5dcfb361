/* SPDX-License-Identifier: GPL-2.0 */
/* A hash table from a 64-bit key to a record, which the reports share. */
#ifndef KL_LIB_BASE_TABLE_H
#define KL_LIB_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Open addressing. Each entry is a struct of @size bytes that starts with the
 * key, a uint64_t that is not 0. Zero the table, but for @size, to start.
 */
struct kl_table {
	uint8_t *entries;
	size_t size;
	size_t slots; /* a power of two, or 0 */
	size_t count;
};

/*
 * The entry of @key, zeroed but for the key if it is new. NULL with error
 * ENOMEM. Entries move when one is added: no pointer outlives the next call.
 */
void *kl_table_get(struct kl_table *table, uint64_t key);

/* The next entry behind @entry, NULL for the first. NULL after the last. */
void *kl_table_next(const struct kl_table *table, const void *entry);

void kl_table_deinit(struct kl_table *table);

#endif /* KL_LIB_BASE_TABLE_H */
