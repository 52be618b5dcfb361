// SPDX-License-Identifier: GPL-2.0
/* Handler `sum`: sum(EXPRESSION). */
#include "handler.h"

int kl_plan_take_value(struct kl_plan *plan, const char *name, const struct kl_part *part,
		       struct kl_plan_made *rule)
{
	int ret = kl_plan_compile_part(plan, name, part, &rule->shown.value);

	if (ret < 0)
		return ret;
	rule->value = (unsigned int)ret;
	return 0;
}

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	return kl_plan_take_value(plan, "sum", &spec->argument[0], rule);
}

const struct kl_plan_handler kl_plan_handler_sum = {
	.least = 1,
	.most = 1,
	.table = true,
	.take = take,
};
