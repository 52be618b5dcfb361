/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the handlers `count`, `sum` and `hist` do in a rule: they update its table. dispatch.c
 * includes this, as a call would cost a rule with a stack trace as key one more frame to unwind.
 */
#ifndef KL_HANDLER_TABLE_HITS_H
#define KL_HANDLER_TABLE_HITS_H

#include "handler.h"
#include "table.h"

/* In place of the functions that handler.h declares for all rows. */
#define kl_hit_count kl_inline_count
#define kl_hit_sum kl_inline_sum
#define kl_hit_hist kl_inline_hist

/* The entry of a rule's table for an event, on this CPU; NULL if the table is full. */
static __always_inline struct kl_abi_entry *kl_rule_find_entry(const struct kl_rule *r,
							       struct kl_event_ctx *f)
{
	u64 key[KL_RULE_KEYS_MAX];

	kl_rule_run_keys(r, f, key);
	return kl_table_find(this_cpu_ptr(r->table), key);
}

static __always_inline KL_HIT(count)
{
	struct kl_abi_entry *entry = kl_rule_find_entry(r, f);

	if (likely(entry))
		kl_entry_count(entry);
}

static __always_inline KL_HIT(sum)
{
	struct kl_abi_entry *entry = kl_rule_find_entry(r, f);

	if (likely(entry))
		kl_entry_add(entry, kl_program_run(r->value, f));
}

static __always_inline KL_HIT(hist)
{
	struct kl_abi_entry *entry = kl_rule_find_entry(r, f);
	s64 value;

	if (unlikely(!entry))
		return;
	value = kl_program_run(r->value, f);
	kl_entry_add(entry, value);
	kl_entry_hist(this_cpu_ptr(r->table), entry, value, r->arg, r->low);
}

#endif /* KL_HANDLER_TABLE_HITS_H */
