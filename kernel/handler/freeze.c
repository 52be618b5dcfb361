// SPDX-License-Identifier: GPL-2.0
/* Handler `freeze`: the session stops recording after some more records. */
#include "../core/deferred.h"
#include "handler.h"

static int check_records(const struct kl_session *s, const struct kl_abi_rule *params,
			 struct kl_error *why)
{
	if (params->arg > S64_MAX)
		return kl_fail(why, -EINVAL, "invalid number of records: %llu", params->arg);
	return 0;
}

const struct kl_handler kl_handler_freeze = {
	.operations = KL_HANDLER_OPERATIONS,
	.check = check_records,
};

KL_HIT(freeze)
{
	kl_deferred_freeze(s, r->arg);
}
