// SPDX-License-Identifier: GPL-2.0
/* The handler `stack`: a profile where events are counted, else records with stack traces. */
#include "../base/base.h"
#include "plan.h"

void kl_plan_set_rights(struct kl_plan *plan, uint32_t may)
{
	plan->may = may;
}

bool kl_plan_logs_stacks(const struct kl_plan *plan)
{
	for (unsigned int i = 0; i < plan->n_rules; i++)
		if (plan->rules[i].shown.handler == KL_HANDLER_stack)
			return true;
	return false;
}

int kl_plan_take_stacks(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
			unsigned int *kinds)
{
	const struct kl_part *part = &spec->argument[0];

	*kinds = KL_STACKS_KERNEL | KL_STACKS_USER;
	if (!spec->arguments)
		return 0;
	if (kl_part_is(part, "user")) {
		*kinds = KL_STACKS_USER;
		return 0;
	}
	if (!kl_part_is(part, "kernel"))
		return kl_spec_fail(list, part->text, "expected kernel or user");
	if (!(plan->may & KL_MAY_SEE_ADDRESSES))
		return kl_spec_fail(list, part->text,
				    "you are not permitted to see kernel stack traces");
	*kinds = KL_STACKS_KERNEL;
	return 0;
}

int kl_plan_make_profile(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
			 struct kl_spec *made)
{
	static const struct kl_part traces[] = { { "kstack", 6 }, { "ustack", 6 } };
	unsigned int kinds;
	int ret = kl_plan_take_stacks(plan, list, spec, &kinds);

	if (ret)
		return ret;
	if (!(plan->may & KL_MAY_SEE_ADDRESSES))
		kinds &= ~KL_STACKS_KERNEL;
	*made = *spec;
	made->arguments = 0;
	made->keys = 0;
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(traces); i++)
		if (kinds & 1u << i)
			made->key[made->keys++] = traces[i];
	if (made->keys + spec->keys > KL_SPEC_LIST_MAX)
		return kl_spec_fail(list, spec->key[KL_SPEC_LIST_MAX - made->keys].text,
				    "too many keys besides the stack traces (maximum %u)",
				    KL_SPEC_LIST_MAX - made->keys);
	for (unsigned int i = 0; i < spec->keys; i++)
		made->key[made->keys++] = spec->key[i];
	return 0;
}
