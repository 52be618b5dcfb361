// SPDX-License-Identifier: GPL-2.0
/* Handler `sum`: adds up the values of an expression; keeps count, minimum and maximum. */
#include "handler.h"

const struct kl_handler kl_handler_sum = {
	.flags = KL_HANDLES_TABLE | KL_HANDLES_VALUE,
	.fastpath = KL_FASTPATH_SUM,
	.operations = KL_HANDLER_OPERATIONS_TABLE,
};
