/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by block_want.c and program_selector.c, where a path precedes the function. */
#ifndef KL_LIB_BLOCK_WANT_H
#define KL_LIB_BLOCK_WANT_H

#include <kernlens/splice.h>

/*
 * Parse FUNCTION[+OFFSET|#NUMBER][:post]. Returns 0, -EINVAL or -ENOMEM, without an error text; on
 * failure there is nothing to free.
 */
int kl_block_want_take(struct kl_block_want *want, const char *text);

#endif /* KL_LIB_BLOCK_WANT_H */
