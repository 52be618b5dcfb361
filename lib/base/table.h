/* SPDX-License-Identifier: GPL-2.0 */
/* A hash table from a 64-bit key to a record, shared by the reports. */
#ifndef KL_LIB_BASE_TABLE_H
#define KL_LIB_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Open addressing. Each entry is a struct of @size bytes that starts with the key, a uint64_t other
 * than 0. To start, zero everything but @size.
 */
struct kl_hash {
	uint8_t *entries;
	size_t size;
	size_t slots; /* a power of two, or 0 */
	size_t count;
};

/*
 * The entry of @key; if it is new, all but the key is zeroed. NULL with error ENOMEM. Adding an
 * entry moves the others, so no pointer survives the next call.
 */
void *kl_hash_get(struct kl_hash *table, uint64_t key);

/* The entry of @key; NULL if there is none. Valid until an entry is added or removed. */
void *kl_hash_find(const struct kl_hash *table, uint64_t key);

/* Remove the entry of @key, if there is one, which moves others. */
void kl_hash_remove(struct kl_hash *table, uint64_t key);

/* The entry after @entry, or the first if @entry is NULL. NULL after the last. */
void *kl_hash_next(const struct kl_hash *table, const void *entry);

void kl_hash_deinit(struct kl_hash *table);

#endif /* KL_LIB_BASE_TABLE_H */
