/* SPDX-License-Identifier: GPL-2.0 */
/* What crash.c and crash_region.c share: pages that extraction finds. */
#ifndef KL_CORE_CRASH_INTERNAL_H
#define KL_CORE_CRASH_INTERNAL_H

#include "crash.h"

u64 kl_crash_address(const void *memory);
void *kl_crash_page_at(u64 address);
void *kl_crash_alloc(struct kl_session *s, struct kl_error *why);
void kl_crash_free(struct kl_session *s, struct kl_crash_head *head);
void kl_crash_publish_page(struct kl_crash_head *head, enum kl_crash_kind kind, u32 constant);

#endif /* KL_CORE_CRASH_INTERNAL_H */
