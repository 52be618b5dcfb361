/* SPDX-License-Identifier: GPL-2.0 */
/* Text that can be shown, as kl_plain_length() has it. Feeds what reads and prints names. */
#ifndef KL_LIB_BASE_PLAIN_H
#define KL_LIB_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <kernlens/format.h>

/* Bytes of the UTF-8 character at @at (RFC 3629), 0 if there is none. @at is before @end. */
size_t kl_utf8_length(const void *at, const void *end);

/* Is all of it text that can be shown? */
bool kl_is_plain(const char *text, size_t length);

#endif /* KL_LIB_BASE_PLAIN_H */
