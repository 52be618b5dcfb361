// SPDX-License-Identifier: GPL-2.0
/* Handler `freeze`: the session stops recording after some more records. */
#include "../core/deferred.h"
#include "handler.h"

const struct kl_handler kl_handler_freeze = {
	.operations = KL_HANDLER_OPERATIONS,
};

KL_HIT(freeze)
{
	kl_deferred_freeze(s, r->arg);
}
