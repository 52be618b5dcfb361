// SPDX-License-Identifier: GPL-2.0
/* Handler `stack`: a record whose variables refer to the stack traces that are taken here. */
#include "../core/stack.h"
#include "handler.h"

#define KINDS (KL_STACKS_KERNEL | KL_STACKS_USER)

static int check_kinds(const struct kl_session *s, const struct kl_abi_rule *params,
		       struct kl_error *why)
{
	if (params->arg & ~(u64)KINDS)
		return kl_fail(why, -EINVAL, "unknown stack traces: %#llx", params->arg);
	return 0;
}

const struct kl_handler kl_handler_stack = {
	.flags = KL_HANDLES_RECORD,
	.walks = true,
	.check = check_kinds,
};

KL_HIT(stack)
{
	bool requested = kl_stack_request(s, r->arg ?: KINDS);

	kl_hit_log(s, id, r, f);
	if (requested)
		kl_stack_forget();
}
