// SPDX-License-Identifier: GPL-2.0
/* Handler `stack`: a record with stack traces. It takes no arguments. */
#include "handler.h"

const struct kl_plan_handler kl_plan_handler_stack = {};
