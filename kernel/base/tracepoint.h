/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's tracepoints: see tracepoint.c. */
#ifndef KL_BASE_TRACEPOINT_H
#define KL_BASE_TRACEPOINT_H

#include <linux/types.h>

struct tracepoint;

struct tracepoint *kl_tracepoint_find(const char *name);
u32 kl_tracepoint_patches(const struct tracepoint *tp);

#endif /* KL_BASE_TRACEPOINT_H */
