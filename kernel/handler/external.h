/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handlers of other modules, as rules use them. Their interface to those modules is
 * kernel/include/kernlens/handler.h.
 */
#ifndef KL_HANDLER_EXTERNAL_H
#define KL_HANDLER_EXTERNAL_H

#include "../core/program.h"
#include "../core/session.h"

void kl_external_destroy(struct kl_external *e);
int kl_external_read(struct kl_session *s, struct kl_external *e, struct kl_abi_handler_read *to,
		     struct kl_error *why);
int kl_external_info(struct kl_abi_handler_info *info, u32 may);

#endif /* KL_HANDLER_EXTERNAL_H */
