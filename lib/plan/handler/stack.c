// SPDX-License-Identifier: GPL-2.0
/* Handler `stack`: a record with stack traces: stack, stack(kernel) or stack(user). */
#include "handler.h"

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	unsigned int kinds = 0;
	int ret = kl_plan_take_stacks(plan, list, spec, &kinds);

	rule->arg = kinds;
	return ret;
}

const struct kl_plan_handler kl_plan_handler_stack = {
	.most = 1,
	.take = take,
};
