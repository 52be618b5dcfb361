// SPDX-License-Identifier: GPL-2.0
/* Handler `use`: the session switches to another of its masksets. */
#include "../core/deferred.h"
#include "handler.h"

static int check_maskset(const struct kl_session *s, const struct kl_abi_rule *params,
			 struct kl_error *why)
{
	if (params->arg >= KL_MASKSET_MAX)
		return kl_fail(why, -EINVAL, "maskset %llu does not exist", params->arg);
	return 0;
}

const struct kl_handler kl_handler_use = {
	.operations = KL_HANDLER_OPERATIONS,
	.check = check_maskset,
};

KL_HIT(use)
{
	kl_deferred_use(s, r->arg);
}
