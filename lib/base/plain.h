/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Printable text, as defined by kl_plain_length(). Used by everything that reads and prints names.
 */
#ifndef KL_LIB_BASE_PLAIN_H
#define KL_LIB_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <kernlens/format.h>

/*
 * Length in bytes of the UTF-8 character at @at (RFC 3629), or 0 if it is invalid. @at is before
 * @end.
 */
size_t kl_utf8_length(const void *at, const void *end);

/* Is the whole text printable? */
bool kl_is_plain(const char *text, size_t length);

#endif /* KL_LIB_BASE_PLAIN_H */
