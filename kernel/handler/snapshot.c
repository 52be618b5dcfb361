// SPDX-License-Identifier: GPL-2.0
/* Handler `snapshot`: the recorder copies the buffers while the recording continues. */
#include "../core/notify.h"
#include "handler.h"

#define OPERATIONS 200

static int check_mode(const struct kl_session *s, const struct kl_abi_rule *params,
		      struct kl_error *why)
{
	return kl_notify_check_snapshot(s, why);
}

const struct kl_handler kl_handler_snapshot = {
	.operations = OPERATIONS,
	.fires = KL_EV_alarm,
	.check = check_mode,
};

/* The record comes before the request, so that the copy contains it. */
KL_HIT(snapshot)
{
	kl_alarm_fire(s, id, "snapshot");
	kl_notify_snapshot(s);
}
