// SPDX-License-Identifier: GPL-2.0
/* Handler `sum`: adds up the values of an expression; keeps count, minimum and maximum. */
#include "handler.h"

const struct kl_handler kl_handler_sum = {
	.flags = KL_HANDLES_TABLE | KL_HANDLES_VALUE,
	.fastpath = KL_FASTPATH_SUM,
	.operations = KL_HANDLER_OPERATIONS_TABLE,
};

KL_HIT(sum)
{
	struct kl_abi_entry *entry = kl_rule_find_entry(r, f);

	if (likely(entry))
		kl_entry_add(entry, kl_program_run(r->value, f));
}
