/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text that can be shown: valid UTF-8 without control characters, neither ASCII's nor C1 (U+0080 to
 * U+009F), which terminals obey as well. Feeds everything that prints names from elsewhere.
 */
#ifndef KL_LIB_BASE_PLAIN_H
#define KL_LIB_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at @at (RFC 3629), 0 if there is none. @at is before @end. */
size_t kl_utf8_length(const void *at, const void *end);

/* The same, 0 for control characters, too. */
size_t kl_plain_length(const void *at, const void *end);

/* Is all of it text that can be shown? */
bool kl_is_plain(const char *text, size_t length);

/* Replace each byte that cannot be shown by '?', in place; the length stays. */
void kl_make_plain(char *text, size_t length);

#endif /* KL_LIB_BASE_PLAIN_H */
