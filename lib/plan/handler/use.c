// SPDX-License-Identifier: GPL-2.0
/* Handler `use`: use(MASKSET). */
#include "handler.h"

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	const struct kl_part *name = &spec->argument[0];
	int found = kl_plan_find_maskset(plan, name->text, name->length);

	if (found < 0)
		return kl_spec_fail(list, name->text, "expected a maskset");
	rule->arg = (uint64_t)found;
	return 0;
}

const struct kl_plan_handler kl_plan_handler_use = {
	.least = 1,
	.most = 1,
	.take = take,
};
