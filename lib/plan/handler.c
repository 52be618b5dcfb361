// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers of other kernel modules, as far as a plan knows them: by name, with the arguments they
 * take. Fed by the caller, which queries the device for them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/base.h"
#include "plan.h"

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

int kl_plan_tell_external(const struct kl_abi_handler_info *info, const char *list,
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
