// SPDX-License-Identifier: GPL-2.0
/* Handler `freeze`: freeze, or freeze(RECORDS). */
#include "handler.h"

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	int64_t records = 0;
	int ret = 0;

	if (spec->arguments)
		ret = kl_plan_take_number(list, &spec->argument[0], &records);
	if (!ret && records < 0)
		ret = kl_spec_fail(list, spec->argument[0].text,
				   "the number of records after a freeze must not be negative");
	rule->arg = (uint64_t)records;
	return ret;
}

const struct kl_plan_handler kl_plan_handler_freeze = {
	.most = 1,
	.take = take,
};
