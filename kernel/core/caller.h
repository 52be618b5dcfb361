/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the structs of calls point to: memory of the calling process, or a part of the request that
 * the mailbox carries out. See caller.c.
 */
#ifndef KL_CORE_CALLER_H
#define KL_CORE_CALLER_H

#include <linux/types.h>

void kl_caller_set_request(const void *bytes, u32 size);
bool kl_caller_copy(void *to, u64 from, size_t bytes);
long kl_caller_string(u64 from, u32 most);

#endif /* KL_CORE_CALLER_H */
