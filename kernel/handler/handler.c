// SPDX-License-Identifier: GPL-2.0
/* The handlers by number, and what they need before they can fire. */
#include "handler.h"

/**
 * kl_handler_is_plain - may this number stand in a maskset by itself?
 * @handler: any
 */
bool kl_handler_is_plain(u8 handler)
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
 * kl_handler_is_known - may a rule have this handler?
 * @handler: any
 */
bool kl_handler_is_known(u32 handler)
{
	switch (handler) {
#define KL_HANDLER(id, name, help) case id:
#include "../../uapi/handlers.def"
#undef KL_HANDLER
		return true;
	}
	return false;
}

/**
 * kl_handler_prepare - get what handlers need, before they are used
 * @s: the session; its lock is held
 * @actions: what it will do
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_handler_prepare(struct kl_session *s, const struct kl_actions *actions, struct kl_error *why)
{
	if (!memchr(actions->action, KL_HANDLER_count, actions->n))
		return 0;
	return kl_count_prepare(s, actions->n, why);
}
