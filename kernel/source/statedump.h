/* SPDX-License-Identifier: GPL-2.0 */
/* The state dump: the state before the first event. */
#ifndef KL_SOURCE_STATEDUMP_H
#define KL_SOURCE_STATEDUMP_H

#include "../core/session.h"

int kl_dump_state(struct kl_session *s, struct kl_abi_dump *params, struct kl_error *why);

#endif /* KL_SOURCE_STATEDUMP_H */
