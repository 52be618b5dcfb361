/* SPDX-License-Identifier: GPL-2.0 */
/* What the writer and the parser of metadata agree on. */
#ifndef KL_LIB_FORMAT_TSDL_H
#define KL_LIB_FORMAT_TSDL_H

/* docs/format/trace.md; a parser refuses what is newer than it. */
#define KL_TRACE_FORMAT 1

/* Indexed by enum kl_set and enum kl_access. */
extern const char *const kl_set_words[3];
extern const char *const kl_access_words[4];

#endif /* KL_LIB_FORMAT_TSDL_H */
