// SPDX-License-Identifier: GPL-2.0
/* Handler `nothing`: the event is ignored. */
#include "handler.h"

const struct kl_handler kl_handler_nothing = {
	.flags = KL_HANDLES_PLAIN,
	.operations = KL_HANDLER_OPERATIONS,
};

KL_HIT(nothing)
{
}
