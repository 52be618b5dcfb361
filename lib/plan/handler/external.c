// SPDX-License-Identifier: GPL-2.0
/*
 * Handler `external`: NAME(...) of another kernel module. A plan knows those that the caller has
 * found by the device, with what they take.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../base/base.h"
#include "handler.h"

int kl_plan_add_handler(struct kl_plan *plan, const struct kl_abi_handler_info *info)
{
	void *grown = kl_array_grow(plan->handlers, plan->n_handlers, &plan->handlers_room,
				    sizeof(*plan->handlers));

	if (!grown)
		return -ENOMEM;
	plan->handlers = grown;
	plan->handlers[plan->n_handlers++] = *info;
	return 0;
}

const struct kl_abi_handler_info *kl_plan_external(const struct kl_plan *plan,
						   const struct kl_spec *spec)
{
	for (size_t i = 0; i < plan->n_handlers; i++)
		if (kl_part_is(&spec->handler, plan->handlers[i].name))
			return &plan->handlers[i];
	return NULL;
}

static int copy_arguments(const struct kl_abi_handler_info *info, const char *list,
			  const struct kl_spec *spec, unsigned int first,
			  char text[KL_RULE_TEXT_MAX])
{
	size_t at = (size_t)snprintf(text, KL_RULE_TEXT_MAX, "%s", info->name);

	for (unsigned int i = first; i < spec->arguments; i++) {
		const struct kl_part *argument = &spec->argument[i];

		at += (size_t)snprintf(text + at, KL_RULE_TEXT_MAX - at, "%s%.*s",
				       i == first ? " " : ",", (int)argument->length,
				       argument->text);
		if (at >= KL_RULE_TEXT_MAX)
			return kl_spec_fail(list, argument->text,
					    "a handler's arguments must not exceed %d bytes",
					    KL_RULE_TEXT_MAX - 1);
	}
	return 0;
}

/* A handler of another module may take a value first; the rest is passed to it as it is. */
static int take(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		struct kl_plan_made *rule)
{
	const struct kl_abi_handler_info *info = kl_plan_external(plan, spec);
	bool value = info->flags & KL_HANDLER_VALUE;
	int ret = value ? kl_plan_take_value(plan, info->name, &spec->argument[0], rule) : 0;

	return ret ? ret : copy_arguments(info, list, spec, value, rule->text);
}

const struct kl_plan_handler kl_plan_handler_external = {
	.most = KL_SPEC_LIST_MAX,
	.collects = KL_COLLECTS_TEXT,
	.take = take,
};
