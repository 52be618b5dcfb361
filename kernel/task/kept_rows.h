/* SPDX-License-Identifier: GPL-2.0 */
/* Rows of an inspection that wait until they may be copied to the caller's memory. */
#ifndef KL_TASK_KEPT_ROWS_H
#define KL_TASK_KEPT_ROWS_H

#include <linux/list.h>
#include <linux/types.h>

struct kl_error;
struct kl_payer;

/**
 * struct kl_kept_rows - rows, in order
 * @pieces: list of pieces with the rows
 * @payer: charged for them
 */
struct kl_kept_rows {
	struct list_head pieces;
	struct kl_payer *payer;
};

void kl_kept_rows_init(struct kl_kept_rows *k, struct kl_payer *payer);
int kl_kept_rows_add(struct kl_kept_rows *k, u64 at, const u8 *rows, u32 bytes,
		     struct kl_error *why);
int kl_kept_rows_give(struct kl_kept_rows *k, u8 __user *to, struct kl_error *why);

#endif /* KL_TASK_KEPT_ROWS_H */
