// SPDX-License-Identifier: GPL-2.0
/* Handler `count`: a counter, or a table of them by keys. It takes no arguments. */
#include "handler.h"

const struct kl_plan_handler kl_plan_handler_count = {
	.collects = KL_COLLECTS_COUNTS,
};
