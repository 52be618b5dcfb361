/* SPDX-License-Identifier: GPL-2.0 */
/* Copies that must not fault, from where an interrupt may come into one of the task's. */
#ifndef KL_COMPAT_NOFAULT_H
#define KL_COMPAT_NOFAULT_H

#include <linux/compiler.h>

/*
 * The kernel counts in the running task how often page faults are off, by a plain counter. A
 * copy in an interrupt puts back what it has found before the task goes on, so neither count is
 * wrong; and what is copied is of others, who may be writing it: the caller says why any value
 * will do, or looks again.
 */
#define kl_nofault(copy) data_race(copy)

#endif /* KL_COMPAT_NOFAULT_H */
