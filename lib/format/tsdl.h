/* SPDX-License-Identifier: GPL-2.0 */
/* What the writer and the parser of metadata share. */
#ifndef KL_LIB_FORMAT_TSDL_H
#define KL_LIB_FORMAT_TSDL_H

/* Version, see docs/format/trace.md; a parser rejects newer metadata. */
#define KL_TRACE_FORMAT 1

/* Indexed by enum kl_set and enum kl_access. */
extern const char *const kl_set_words[3];
extern const char *const kl_access_words[4];

#endif /* KL_LIB_FORMAT_TSDL_H */
