/* SPDX-License-Identifier: GPL-2.0 */
/* Calls of a session that are collected instead of made: see batch.c. */
#ifndef KL_LIB_CLIENT_BATCH_H
#define KL_LIB_CLIENT_BATCH_H

#include <stddef.h>
#include <kernlens/client.h>

struct kl_batch;

/* NULL with an error text: no memory. */
struct kl_batch *kl_batch_create(void);
void kl_batch_destroy(struct kl_batch *batch);

/*
 * Add a call. @argument: as for kl_client_call(); its pointers are replaced by offsets, and what
 * the call would return is set. Returns 0, or a negative errno with an error text.
 */
int kl_batch_add(struct kl_batch *batch, unsigned long request, void *argument, size_t size);

void kl_batch_time(struct kl_abi_time *time);

#endif /* KL_LIB_CLIENT_BATCH_H */
