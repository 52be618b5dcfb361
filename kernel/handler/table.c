// SPDX-License-Identifier: GPL-2.0
/*
 * Per-CPU hash tables of the handlers `count`, `sum` and `hist`. The probes of one CPU write a
 * table and may interrupt each other; readers copy it at any time. There are no locks, and nothing
 * is allocated once a table exists.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../core/account.h"
#include "table.h"

/* Longest run of used slots that is searched. */
#define PROBES 8

static u32 slots_of(u32 entries, u32 keys)
{
	return keys ? roundup_pow_of_two(entries) : 1;
}

/**
 * kl_table_bytes - memory of a table on one CPU
 * @entries: as in kl_table_init
 * @keys: as in kl_table_init
 * @buckets: as in kl_table_init
 */
u64 kl_table_bytes(u32 entries, u32 keys, bool buckets)
{
	const struct kl_table *t = NULL;
	u64 slots = slots_of(entries, keys);

	return kl_memory_size(slots * sizeof(*t->state)) +
	       kl_memory_size(slots * sizeof(*t->entry)) +
	       (buckets ? kl_memory_size(slots * sizeof(*t->bucket)) : 0);
}

/**
 * kl_table_init - one CPU's table
 * @t: zeroed
 * @entries: least number of entries that must fit
 * @keys: number of keys of an entry
 * @buckets: it is a histogram
 * @node: of the CPU
 *
 * Returns 0 or -ENOMEM; call kl_table_deinit in either case. Context: may sleep.
 */
int kl_table_init(struct kl_table *t, u32 entries, u32 keys, bool buckets, int node)
{
	u32 slots = slots_of(entries, keys);

	t->mask = slots - 1;
	t->keys = keys;
	t->state = kvzalloc_node(slots * sizeof(*t->state), GFP_KERNEL_ACCOUNT, node);
	t->entry = kvzalloc_node(slots * sizeof(*t->entry), GFP_KERNEL_ACCOUNT, node);
	if (buckets)
		t->bucket = kvzalloc_node(slots * sizeof(*t->bucket), GFP_KERNEL_ACCOUNT, node);
	return t->state && t->entry && (t->bucket || !buckets) ? 0 : -ENOMEM;
}

/**
 * kl_table_deinit - undo kl_table_init, also one that failed
 * @t: no probe uses it
 */
void kl_table_deinit(struct kl_table *t)
{
	kvfree(t->state);
	kvfree(t->entry);
	kvfree(t->bucket);
}

static __always_inline bool is_key(const struct kl_abi_entry *entry, const u64 *key, u32 keys)
{
	for (u32 i = 0; i < keys; i++)
		if (entry->key[i] != key[i])
			return false;
	return true;
}

static bool claim(u32 *state)
{
	u32 found = KL_SLOT_FREE;
	bool done;

	asm volatile("cmpxchgl %[new], %[word]"
		     : "=@ccz"(done), [word] "+m"(*state), "+a"(found)
		     : [new] "r"((u32)KL_SLOT_CLAIMED)
		     : "memory");
	return done;
}

static noinline struct kl_abi_entry *fill(struct kl_table *t, u32 slot, const u64 *key)
{
	struct kl_abi_entry *entry = &t->entry[slot];

	for (u32 i = 0; i < t->keys; i++)
		entry->key[i] = key[i];
	entry->min = S64_MAX;
	entry->max = S64_MIN;
	/* Readers read an entry only if it is in use. Pairs with kl_table_copy. */
	smp_store_release(&t->state[slot], KL_SLOT_USED);
	return entry;
}

/**
 * kl_table_find - find the entry of a key, or add one
 * @t: this CPU's
 * @key: as many numbers as the table has keys
 *
 * Returns NULL if the table is full, and counts that. Context: any, preemption off.
 */
struct kl_abi_entry *kl_table_find(struct kl_table *t, const u64 *key)
{
	u64 hash = 0;
	u32 slot;

	for (u32 i = 0; i < t->keys; i++)
		hash = (hash ^ key[i]) * GOLDEN_RATIO_64;
	slot = hash >> 32;
	for (u32 probe = 0; probe < PROBES; probe++, slot++) {
		slot &= t->mask;
		if (likely(t->state[slot] == KL_SLOT_USED)) {
			if (likely(is_key(&t->entry[slot], key, t->keys)))
				return &t->entry[slot];
		} else if (claim(&t->state[slot])) {
			return fill(t, slot, key);
		}
	}
	kl_local_add(&t->overflow, 1);
	return NULL;
}

/**
 * kl_table_copy - copy a table to a reader
 * @t: any CPU's
 * @to: see uapi/define.h; `n`, `overflow` and the arrays are filled in
 *
 * Returns 0, -ENOSPC if there are more than @to->n entries, or -EFAULT.
 * Context: may sleep.
 */
int kl_table_copy(const struct kl_table *t, struct kl_abi_table *to)
{
	struct kl_abi_entry __user *entry = u64_to_user_ptr(to->entry);
	u64 __user *bucket = u64_to_user_ptr(to->bucket);
	u32 n = 0;

	to->overflow = READ_ONCE(t->overflow);
	for (u32 slot = 0; slot <= t->mask; slot++) {
		cond_resched();
		/* Read the key after the state. Pairs with fill. */
		if (smp_load_acquire(&t->state[slot]) != KL_SLOT_USED)
			continue;
		if (n < to->n) {
			if (copy_to_user(&entry[n], &t->entry[slot], sizeof(*entry)))
				return -EFAULT;
			if (bucket && t->bucket &&
			    copy_to_user(bucket + n * KL_HIST_BUCKETS, t->bucket[slot],
					 sizeof(t->bucket[slot])))
				return -EFAULT;
		}
		n++;
	}
	if (n > to->n) {
		to->n = n;
		return -ENOSPC;
	}
	to->n = n;
	return 0;
}
