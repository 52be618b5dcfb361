// SPDX-License-Identifier: GPL-2.0
/*
 * Rows of an inspection that wait to be copied: the caller's memory can block a copy for as long
 * as the caller likes, which must not happen while references to many tasks are held. Filled and
 * emptied by inspect.c, one call at a time.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../core/session.h"
#include "kept_rows.h"

#define PIECE_BYTES SZ_64K

/**
 * struct piece - consecutive rows
 * @at: their offset in the caller's memory
 * @bytes: used bytes of @rows
 */
struct piece {
	struct list_head list;
	u64 at;
	u32 bytes;
	u8 rows[];
};

/**
 * kl_kept_rows_init - initialize an empty list of rows
 * @k: initialized
 * @payer: charged for the rows that will be kept
 */
void kl_kept_rows_init(struct kl_kept_rows *k, struct kl_payer *payer)
{
	INIT_LIST_HEAD(&k->pieces);
	k->payer = payer;
}

static struct piece *add_piece(struct kl_kept_rows *k, u64 at, struct kl_error *why)
{
	int error = kl_memory_charge(k->payer, PIECE_BYTES, why);
	struct piece *piece;

	if (error)
		return ERR_PTR(error);
	piece = kvmalloc(PIECE_BYTES, GFP_KERNEL_ACCOUNT);
	if (!piece) {
		kl_memory_uncharge(k->payer, PIECE_BYTES);
		return ERR_PTR(kl_fail(why, -ENOMEM, "no memory for the rows"));
	}
	piece->at = at;
	piece->bytes = 0;
	list_add_tail(&piece->list, &k->pieces);
	return piece;
}

/**
 * kl_kept_rows_add - keep more rows
 * @k: rows
 * @at: their offset in the caller's memory
 * @rows: the new rows
 * @bytes: their size, at most a page
 * @why: set on failure
 *
 * Returns 0, -ENOMEM, or an error of kl_memory_charge(). Context: may sleep.
 */
int kl_kept_rows_add(struct kl_kept_rows *k, u64 at, const u8 *rows, u32 bytes,
		     struct kl_error *why)
{
	struct piece *piece =
		list_empty(&k->pieces) ? NULL : list_last_entry(&k->pieces, struct piece, list);

	if (!piece || piece->at + piece->bytes != at ||
	    struct_size(piece, rows, piece->bytes) + bytes > PIECE_BYTES)
		piece = add_piece(k, at, why);
	if (IS_ERR(piece))
		return PTR_ERR(piece);
	memcpy(piece->rows + piece->bytes, rows, bytes);
	piece->bytes += bytes;
	return 0;
}

/**
 * kl_kept_rows_give - copy all rows to the caller, and free them
 * @k: rows; empty afterwards, even on failure
 * @to: the caller's memory
 * @why: set on failure
 *
 * Returns 0 or -EFAULT. Context: may sleep, for as long as the caller's memory blocks it.
 */
int kl_kept_rows_give(struct kl_kept_rows *k, u8 __user *to, struct kl_error *why)
{
	struct piece *piece, *next;
	int error = 0;

	list_for_each_entry_safe(piece, next, &k->pieces, list) {
		if (!error && copy_to_user(to + piece->at, piece->rows, piece->bytes))
			error = kl_fail(why, -EFAULT, "cannot write the rows to user memory");
		list_del(&piece->list);
		kvfree(piece);
		kl_memory_uncharge(k->payer, PIECE_BYTES);
		cond_resched();
	}
	return error;
}
