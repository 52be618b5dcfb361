/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of the handlers `count`, `sum` and `hist`: one a rule and CPU, written
 * by that CPU's probes, read by KL_IOC_TABLE. See docs/design/program.md.
 */
#ifndef KL_HANDLER_TABLE_H
#define KL_HANDLER_TABLE_H

#include <linux/types.h>

#include "../../uapi/kernlens.h"

#define KL_TABLE_ENTRIES_DEFAULT 1024
#define KL_TABLE_ENTRIES_MAX 1048576

/**
 * struct kl_table - one CPU's
 * @mask: slots, a power of two, less one
 * @keys: that an entry is told apart by
 * @overflow: firings that found no room
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

struct kl_table *kl_table_create(u32 entries, u32 keys, bool buckets, int node);
void kl_table_destroy(struct kl_table *t);
void kl_table_count(struct kl_table *t, const u64 *key);
void kl_table_add(struct kl_table *t, const u64 *key, s64 value);
void kl_table_hist(struct kl_table *t, const u64 *key, s64 value, u64 width, s64 low);
int kl_table_copy(const struct kl_table *t, struct kl_abi_table *to);

#endif /* KL_HANDLER_TABLE_H */
