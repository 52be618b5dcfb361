// SPDX-License-Identifier: GPL-2.0
/* Handler `stack`: a record whose variables refer to the stack traces that are taken here. */
#include "../core/stack.h"
#include "handler.h"

const struct kl_handler kl_handler_stack = {
	.flags = KL_HANDLES_RECORD,
	.walks = true,
};

void kl_hit_stack(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f)
{
	bool requested = kl_stack_ask(s);

	kl_hit_log(s, id, r, f);
	if (requested)
		kl_stack_forget();
}
