/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handlers of other modules, as rules use them. What those modules see is
 * kernel/include/kernlens/handler.h.
 */
#ifndef KL_HANDLER_EXTERNAL_H
#define KL_HANDLER_EXTERNAL_H

#include "../core/program.h"
#include "../core/session.h"

u64 kl_external_bytes(void);
int kl_external_create(const struct kl_abi_rule *params, u32 may, struct kl_external **made,
		       struct kl_error *why);
void kl_external_destroy(struct kl_external *e);
void kl_external_fire(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f,
		      const u64 *key);
int kl_external_read(struct kl_session *s, struct kl_external *e, struct kl_abi_handler_read *to,
		     struct kl_error *why);
int kl_external_info(struct kl_abi_handler_info *info, u32 may);

#endif /* KL_HANDLER_EXTERNAL_H */
