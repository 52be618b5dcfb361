// SPDX-License-Identifier: GPL-2.0
/* Handler `alarm`: alarm, or alarm("TEXT"). */
#include <string.h>

#include "handler.h"

static int take_text(const char *list, const struct kl_part *part, char text[KL_RULE_TEXT_MAX])
{
	const char *from = part->text;
	size_t length = part->length;

	if (length >= 2 && (*from == '"' || *from == '\'') && from[length - 1] == *from) {
		from++;
		length -= 2;
	}
	if (length >= KL_RULE_TEXT_MAX)
		return kl_spec_fail(list, part->text, "an alarm's text must not exceed %d bytes",
				    KL_RULE_TEXT_MAX - 1);
	memcpy(text, from, length);
	text[length] = 0;
	return 0;
}

static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	return spec->arguments ? take_text(list, &spec->argument[0], rule->text) : 0;
}

const struct kl_plan_handler kl_plan_handler_alarm = {
	.most = 1,
	.alarms = true,
	.take = take,
};
