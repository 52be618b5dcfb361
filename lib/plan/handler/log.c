// SPDX-License-Identifier: GPL-2.0
/* Handler `log`: a record of the event. It takes no arguments. */
#include "handler.h"

const struct kl_plan_handler kl_plan_handler_log = {};
