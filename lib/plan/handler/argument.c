// SPDX-License-Identifier: GPL-2.0
/* Arguments that several handlers take: a number, an expression. */
#include <errno.h>
#include <stdlib.h>

#include "handler.h"

int kl_plan_take_number(const char *list, const struct kl_part *part, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(part->text, &end, 0);
	if (errno || end != part->text + part->length)
		return kl_spec_fail(list, part->text, "expected a number");
	return 0;
}

int kl_plan_take_value(struct kl_plan *plan, const char *name, const struct kl_part *part,
		       struct kl_plan_made *rule)
{
	int ret = kl_plan_compile_part(plan, name, part, &rule->shown.value);

	if (ret < 0)
		return ret;
	rule->value = (unsigned int)ret;
	return 0;
}
