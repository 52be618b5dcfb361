/* SPDX-License-Identifier: GPL-2.0 */
/* What block_want.c shares with program_selector.c, where a path stands in front of it. */
#ifndef KL_LIB_BLOCK_WANT_H
#define KL_LIB_BLOCK_WANT_H

#include <kernlens/splice.h>

/*
 * Take FUNCTION[+OFFSET|#NUMBER][:post] apart. Returns 0, -EINVAL or -ENOMEM, without an error
 * text; there is nothing to free then.
 */
int kl_block_want_take(struct kl_block_want *want, const char *text);

#endif /* KL_LIB_BLOCK_WANT_H */
