// SPDX-License-Identifier: GPL-2.0
/* Handler `nothing`: the event is ignored. */
#include "handler.h"

const struct kl_handler kl_handler_nothing = {
	.flags = KL_HANDLES_PLAIN,
	.operations = KL_HANDLER_OPERATIONS,
};

void kl_hit_nothing(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f)
{
}
