/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of the handlers `count`, `sum` and `hist`: one for each rule and CPU. Probes of that CPU
 * write it, and KL_IOC_TABLE reads it. See docs/design/program.md.
 */
#ifndef KL_HANDLER_TABLE_H
#define KL_HANDLER_TABLE_H

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/types.h>

#include "../../uapi/kernlens.h"
#include "../ring/platform.h"

#define KL_TABLE_ENTRIES_DEFAULT 1024
#define KL_TABLE_ENTRIES_MAX 1048576

/**
 * struct kl_table - table of a rule on one CPU
 * @mask: number of slots, a power of two, minus one
 * @keys: number of keys of an entry
 * @overflow: events that found the table full
 * @state: of each slot, enum slot_state
 * @entry: the numbers
 * @bucket: KL_HIST_BUCKETS for each; NULL unless it is a histogram
 */
struct kl_table {
	u32 mask;
	u32 keys;
	u64 overflow;
	u32 *state;
	struct kl_abi_entry *entry;
	u64 (*bucket)[KL_HIST_BUCKETS];
};

u64 kl_table_bytes(u32 entries, u32 keys, bool buckets);
int kl_table_init(struct kl_table *t, u32 entries, u32 keys, bool buckets, int node);
void kl_table_deinit(struct kl_table *t);
struct kl_abi_entry *kl_table_find(struct kl_table *t, const u64 *key);
/*
 * A writer claims a slot, fills in the key, and then marks the slot as used. A writer that
 * interrupts it in between does not know the slot's key and takes another slot, so a key may be in
 * a table twice: readers add such entries up.
 */
enum kl_slot_state {
	KL_SLOT_FREE,
	KL_SLOT_CLAIMED,
	KL_SLOT_USED,
};

/**
 * kl_table_has - is a key in the first slot of its search?
 * @t: this CPU's, with at most one key
 * @key: 0 if the table has no keys
 * @entry: set to the slot's
 *
 * If not, use kl_table_find. Context: any, preemption off.
 */
static __always_inline bool kl_table_has(struct kl_table *t, u64 key, struct kl_abi_entry **entry)
{
	u32 slot = (u32)(key * GOLDEN_RATIO_64 >> 32) & t->mask;

	*entry = &t->entry[slot];
	return likely(t->state[slot] == KL_SLOT_USED && (*entry)->key[0] == key);
}

static __always_inline void kl_entry_count(struct kl_abi_entry *entry)
{
	kl_local_add(&entry->count, 1);
}

static __always_inline void kl_keep_least(s64 *kept, s64 value)
{
	u64 old = READ_ONCE(*kept);

	while (unlikely(value < (s64)old) && !kl_local_try_cmpxchg((u64 *)kept, &old, value))
		;
}

static __always_inline void kl_keep_greatest(s64 *kept, s64 value)
{
	u64 old = READ_ONCE(*kept);

	while (unlikely(value > (s64)old) && !kl_local_try_cmpxchg((u64 *)kept, &old, value))
		;
}

/* Add a value. */
static __always_inline void kl_entry_add(struct kl_abi_entry *entry, s64 value)
{
	kl_local_add(&entry->count, 1);
	kl_local_add((u64 *)&entry->sum, value);
	kl_keep_least(&entry->min, value);
	kl_keep_greatest(&entry->max, value);
}

/*
 * With powers of two, bucket 0 is for 0 and below, and bucket n for values of n bits. With buckets
 * of one width, bucket 0 is for values below @low, and the last for all above.
 */
static __always_inline u32 kl_bucket_of(s64 value, u64 width, s64 low)
{
	u64 n;

	if (!width)
		return value <= 0 ? 0 : fls64(value);
	if (value < low)
		return 0;
	n = ((u64)value - (u64)low) / width;
	return n < KL_HIST_BUCKETS - 2 ? n + 1 : KL_HIST_BUCKETS - 1;
}

/* Count a value in the entry's histogram. @width: of a bucket, 0 for powers of two; @low: first. */
static __always_inline void kl_entry_hist(struct kl_table *t, struct kl_abi_entry *entry, s64 value,
					  u64 width, s64 low)
{
	kl_local_add(&t->bucket[entry - t->entry][kl_bucket_of(value, width, low)], 1);
}

int kl_table_copy(const struct kl_table *t, struct kl_abi_table *to);

#endif /* KL_HANDLER_TABLE_H */
