// SPDX-License-Identifier: GPL-2.0
/* Handler `hist`: counts the values of an expression in buckets. */
#include "handler.h"

const struct kl_handler kl_handler_hist = {
	.flags = KL_HANDLES_TABLE | KL_HANDLES_VALUE | KL_HANDLES_BUCKETS,
	.fastpath = KL_FASTPATH_HIST,
	.operations = KL_HANDLER_OPERATIONS_TABLE,
};
