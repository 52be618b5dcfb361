// SPDX-License-Identifier: GPL-2.0
/*
 * Handler `hist`: hist(EXPRESSION) in powers of two, hist(EXPRESSION, WIDTH, LOW) in buckets of one
 * width.
 */
#include "handler.h"

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	const struct kl_part *argument = spec->argument;
	int64_t width = 0;
	int ret = kl_plan_take_value(plan, "hist", &argument[0], rule);

	if (!ret && spec->arguments > 1)
		ret = kl_plan_take_number(list, &argument[1], &width);
	if (!ret && spec->arguments > 1 && width <= 0)
		ret = kl_spec_fail(list, argument[1].text,
				   "a bucket's width must be greater than 0");
	rule->shown.width = (uint64_t)width;
	rule->arg = rule->shown.width;
	if (!ret && spec->arguments > 2)
		ret = kl_plan_take_number(list, &argument[2], &rule->shown.low);
	return ret;
}

const struct kl_plan_handler kl_plan_handler_hist = {
	.least = 1,
	.most = 3,
	.collects = KL_COLLECTS_BUCKETS,
	.take = take,
};
