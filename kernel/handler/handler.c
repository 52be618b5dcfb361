// SPDX-License-Identifier: GPL-2.0
/* The handlers by number, and what plain ones need before they can be used in a maskset. */
#include <linux/nospec.h>

#include "handler.h"

static const struct kl_handler *const handlers[] = {
#define KL_HANDLER(id, name, help) [id] = &kl_handler_##name,
#include "../../uapi/handlers.def"
#undef KL_HANDLER
};

/**
 * kl_handler_find - the handler with a number
 * @id: any
 *
 * Returns NULL if there is none.
 */
const struct kl_handler *kl_handler_find(u32 id)
{
	return id < ARRAY_SIZE(handlers) ? handlers[array_index_nospec(id, ARRAY_SIZE(handlers))] :
					   NULL;
}

/**
 * kl_handler_prepare - acquire what plain handlers need, before they are used
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
