/* SPDX-License-Identifier: GPL-2.0 */
/* The event of a change of a process's parameter. See docs/design/set.md. */
#ifndef KL_SESSION_SET_H
#define KL_SESSION_SET_H

#include "../core/session.h"

/* A pending change. */
struct kl_setting;

int kl_set(struct kl_abi_set *call, const struct cred *cred, u32 may, struct kl_setting **pending,
	   struct kl_error *why);
void kl_set_abandon(struct kl_setting *pending);

#endif /* KL_SESSION_SET_H */
