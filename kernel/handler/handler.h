/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens when an event fires, apart from `log`, which the probes contain.
 * Called by probes with preemption off.
 */
#ifndef KL_HANDLER_HANDLER_H
#define KL_HANDLER_HANDLER_H

#include <linux/types.h>

struct kl_session;
struct kl_error;

void kl_handler_fire(struct kl_session *s, u32 id, u8 handler);
bool kl_handler_is_known(u8 handler);
int kl_handler_prepare(struct kl_session *s, const u8 *handlers, struct kl_error *why);

int kl_count_prepare(struct kl_session *s);
void kl_count_fire(struct kl_session *s, u32 id);

#endif /* KL_HANDLER_HANDLER_H */
