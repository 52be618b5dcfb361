// SPDX-License-Identifier: GPL-2.0
/* Handler `stack`: a record whose variables refer to the stack traces that are taken here. */
#include "../core/stack.h"
#include "handler.h"

const struct kl_handler kl_handler_stack = {
	.flags = KL_HANDLES_RECORD,
	.walks = true,
};

KL_HIT(stack)
{
	bool requested = kl_stack_request(s);

	kl_hit_log(s, id, r, f);
	if (requested)
		kl_stack_forget();
}
