// SPDX-License-Identifier: GPL-2.0
/* Handler `hist`: counts the values of an expression in buckets. */
#include "handler.h"

const struct kl_handler kl_handler_hist = {
	.flags = KL_HANDLES_TABLE | KL_HANDLES_VALUE | KL_HANDLES_BUCKETS,
	.fastpath = KL_FASTPATH_HIST,
	.operations = KL_HANDLER_OPERATIONS_TABLE,
};

KL_HIT(hist)
{
	struct kl_abi_entry *entry = kl_rule_find_entry(r, f);
	s64 value;

	if (unlikely(!entry))
		return;
	value = kl_program_run(r->value, f);
	kl_entry_add(entry, value);
	kl_entry_hist(this_cpu_ptr(r->table), entry, value, r->arg, r->low);
}
