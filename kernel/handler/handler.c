// SPDX-License-Identifier: GPL-2.0
/* The handlers by number, and what they need before they can fire. */
#include "handler.h"

/**
 * kl_handler_is_known - may this number stand in a maskset?
 * @handler: any
 */
bool kl_handler_is_known(u8 handler)
{
	switch (handler) {
	case KL_HANDLER_nothing:
	case KL_HANDLER_log:
	case KL_HANDLER_count:
		return true;
	}
	return false;
}

/**
 * kl_handler_prepare - get what handlers need, before they are used
 * @s: the session; its lock is held
 * @handlers: by event id
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_handler_prepare(struct kl_session *s, const u8 *handlers, struct kl_error *why)
{
	if (!memchr(handlers, KL_HANDLER_count, KL_EV_MAX))
		return 0;
	if (kl_count_prepare(s))
		return kl_fail(why, -ENOMEM, "no memory for counters");
	return 0;
}
