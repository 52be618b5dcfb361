/* SPDX-License-Identifier: GPL-2.0 */
/* Parts of drawings in SVG. */
#ifndef KL_LIB_REPORT_SVG_H
#define KL_LIB_REPORT_SVG_H

#include <stddef.h>
#include <kernlens/buffer.h>

/* Append at most @length letters of a text, escaped; what is not printable ASCII becomes '?'. */
void kl_svg_add_text(struct kl_buffer *to, const char *text, size_t length);

#endif /* KL_LIB_REPORT_SVG_H */
