// SPDX-License-Identifier: GPL-2.0
/* Handler `snapshot`: the recorder copies the buffers. It takes no arguments. */
#include "handler.h"

const struct kl_plan_handler kl_plan_handler_snapshot = {
	.alarms = true,
};
