// SPDX-License-Identifier: GPL-2.0
/* Handler `sum`: sum(EXPRESSION). */
#include "handler.h"

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	return kl_plan_take_value(plan, "sum", &spec->argument[0], rule);
}

const struct kl_plan_handler kl_plan_handler_sum = {
	.least = 1,
	.most = 1,
	.collects = KL_COLLECTS_VALUES,
	.take = take,
};
