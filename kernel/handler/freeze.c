// SPDX-License-Identifier: GPL-2.0
/* Handler `freeze`: the session stops recording after some more records. */
#include "../core/deferred.h"
#include "handler.h"

const struct kl_handler kl_handler_freeze = {
	.operations = KL_HANDLER_OPERATIONS,
};

void kl_hit_freeze(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f)
{
	kl_deferred_freeze(s, r->arg);
}
