// SPDX-License-Identifier: GPL-2.0
/* Handler `nothing`: the event is ignored. It takes no arguments. */
#include "handler.h"

const struct kl_plan_handler kl_plan_handler_nothing = {};
