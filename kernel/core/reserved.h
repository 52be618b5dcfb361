/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that the kernel's command line reserves for traces that survive a reset. reserved.c hands
 * out its pages; docs/design/crash.md has the rules.
 */
#ifndef KL_CORE_RESERVED_H
#define KL_CORE_RESERVED_H

#include <linux/types.h>

#include "../base/error.h"

void kl_reserved_init(void);
void kl_reserved_deinit(void);

u64 kl_reserved_bytes(void);
u64 kl_reserved_free_bytes(void);
int kl_reserved_check(struct kl_error *why);

void *kl_reserved_alloc(u64 bytes);
void kl_reserved_free(void *memory, u64 bytes);
bool kl_reserved_has(const void *memory);
u64 kl_reserved_address(const void *memory);
void *kl_reserved_at(u64 address);

bool kl_reserved_is_full(void);
const u8 *kl_reserved_memory(void);
int kl_reserved_forget(void);

#endif /* KL_CORE_RESERVED_H */
