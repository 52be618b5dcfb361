// SPDX-License-Identifier: GPL-2.0
/*
 * Per-CPU hash tables of what handlers add up. Written by probes of one CPU,
 * which may interrupt each other; copied by readers at any time. No locks, and
 * nothing is allocated once a table is made.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../ring/platform.h"
#include "table.h"

/*
 * A slot is claimed by one writer, which fills the key in and then says so. One
 * that interrupts it meanwhile does not know the slot's key and takes another
 * slot, so a key may be in a table twice: readers add such entries up.
 */
enum slot_state {
	SLOT_FREE,
	SLOT_CLAIMED,
	SLOT_USED,
};

/* So long a run of taken slots is searched. */
#define PROBES 8

/**
 * kl_table_create - one CPU's table
 * @entries: that it has room for, at least
 * @keys: numbers that an entry is told apart by
 * @buckets: it is a histogram
 * @node: of the CPU
 *
 * Returns NULL if there is no memory. Context: may sleep.
 */
struct kl_table *kl_table_create(u32 entries, u32 keys, bool buckets, int node)
{
	u32 slots = keys ? roundup_pow_of_two(entries) : 1;
	struct kl_table *t = kzalloc_node(sizeof(*t), GFP_KERNEL_ACCOUNT, node);

	if (!t)
		return NULL;
	t->mask = slots - 1;
	t->keys = keys;
	t->state = kvcalloc(slots, sizeof(*t->state), GFP_KERNEL_ACCOUNT);
	t->entry = kvcalloc(slots, sizeof(*t->entry), GFP_KERNEL_ACCOUNT);
	if (buckets)
		t->bucket = kvcalloc(slots, sizeof(*t->bucket), GFP_KERNEL_ACCOUNT);
	if (t->state && t->entry && (t->bucket || !buckets))
		return t;
	kl_table_destroy(t);
	return NULL;
}

/**
 * kl_table_destroy - free a table that no probe uses
 * @t: or NULL
 */
void kl_table_destroy(struct kl_table *t)
{
	if (!t)
		return;
	kvfree(t->state);
	kvfree(t->entry);
	kvfree(t->bucket);
	kfree(t);
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
	u32 found = SLOT_FREE;
	bool done;

	asm volatile("cmpxchgl %[new], %[word]"
		     : "=@ccz"(done), [word] "+m"(*state), "+a"(found)
		     : [new] "r"((u32)SLOT_CLAIMED)
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
	/* Readers look at an entry only if it is in use; pairs with kl_table_copy. */
	smp_store_release(&t->state[slot], SLOT_USED);
	return entry;
}

/* The entry of @key, a new one if there is none; NULL if there is no room. */
static __always_inline struct kl_abi_entry *find(struct kl_table *t, const u64 *key)
{
	u64 hash = 0;
	u32 slot;

	for (u32 i = 0; i < t->keys; i++)
		hash = (hash ^ key[i]) * GOLDEN_RATIO_64;
	slot = hash >> 32;
	for (u32 probe = 0; probe < PROBES; probe++, slot++) {
		slot &= t->mask;
		if (likely(t->state[slot] == SLOT_USED)) {
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
 * kl_table_count - one more for a key
 * @t: this CPU's
 * @key: as many numbers as the table has keys
 *
 * Context: any, preemption off.
 */
void kl_table_count(struct kl_table *t, const u64 *key)
{
	struct kl_abi_entry *entry = find(t, key);

	if (likely(entry))
		kl_local_add(&entry->count, 1);
}

static __always_inline void keep_least(s64 *kept, s64 value)
{
	u64 old = READ_ONCE(*kept);

	while (value < (s64)old && !kl_local_try_cmpxchg((u64 *)kept, &old, value))
		;
}

static __always_inline void keep_greatest(s64 *kept, s64 value)
{
	u64 old = READ_ONCE(*kept);

	while (value > (s64)old && !kl_local_try_cmpxchg((u64 *)kept, &old, value))
		;
}

static __always_inline void add(struct kl_abi_entry *entry, s64 value)
{
	kl_local_add(&entry->count, 1);
	kl_local_add((u64 *)&entry->sum, value);
	keep_least(&entry->min, value);
	keep_greatest(&entry->max, value);
}

/**
 * kl_table_add - a value for a key
 * @t: this CPU's
 * @key: as many numbers as the table has keys
 * @value: to be added up
 *
 * Context: any, preemption off.
 */
void kl_table_add(struct kl_table *t, const u64 *key, s64 value)
{
	struct kl_abi_entry *entry = find(t, key);

	if (likely(entry))
		add(entry, value);
}

/*
 * Powers of two: bucket 0 is for 0 and below, bucket n for values of n bits.
 * Of one width: bucket 0 is for what is below @low, the last for all above.
 */
static __always_inline u32 bucket_of(s64 value, u64 width, s64 low)
{
	u64 n;

	if (!width)
		return value <= 0 ? 0 : fls64(value);
	if (value < low)
		return 0;
	n = ((u64)value - (u64)low) / width;
	return n < KL_HIST_BUCKETS - 2 ? n + 1 : KL_HIST_BUCKETS - 1;
}

/**
 * kl_table_hist - a value for a key's histogram
 * @t: this CPU's, made with buckets
 * @key: as many numbers as the table has keys
 * @value: to be counted in its bucket
 * @width: of a bucket; 0: powers of two
 * @low: where the buckets of one width begin
 *
 * Context: any, preemption off.
 */
void kl_table_hist(struct kl_table *t, const u64 *key, s64 value, u64 width, s64 low)
{
	struct kl_abi_entry *entry = find(t, key);

	if (unlikely(!entry))
		return;
	add(entry, value);
	kl_local_add(&t->bucket[entry - t->entry][bucket_of(value, width, low)], 1);
}

/**
 * kl_table_copy - give a table to a reader
 * @t: any CPU's
 * @to: as in the contract; `n`, `overflow` and the arrays are filled in
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
		/* The key before the state; pairs with fill. */
		if (smp_load_acquire(&t->state[slot]) != SLOT_USED)
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
		cond_resched();
	}
	if (n > to->n) {
		to->n = n;
		return -ENOSPC;
	}
	to->n = n;
	return 0;
}
