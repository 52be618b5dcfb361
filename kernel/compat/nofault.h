/* SPDX-License-Identifier: GPL-2.0 */
/* Copies that must not fault, where an interrupt may come into such a copy of the task. */
#ifndef KL_COMPAT_NOFAULT_H
#define KL_COMPAT_NOFAULT_H

#include <linux/compiler.h>

/*
 * The kernel counts with a plain counter in the running task how often page faults have been
 * disabled. A copy in an interrupt restores the counter before the task continues, so neither count
 * is wrong. The data that is copied belongs to others, which may be writing it: the caller states
 * why any value is fine, or checks again.
 */
#define kl_nofault(copy) data_race(copy)

#endif /* KL_COMPAT_NOFAULT_H */
