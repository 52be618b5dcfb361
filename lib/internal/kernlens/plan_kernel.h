/* SPDX-License-Identifier: GPL-2.0 */
/* Plans for another kernel than the one that runs. */
#ifndef KERNLENS_PLAN_KERNEL_H
#define KERNLENS_PLAN_KERNEL_H

#include <kernlens/plan.h>

/**
 * kl_plan_set_kernel - compile for another kernel
 * @plan: to which nothing has been added
 * @types: file with its types, as for kl_btf_open(); NULL: they are not known
 * @symbols: its functions, a file in the format of /proc/kallsyms
 *
 * Types of modules are not known. Returns 0, or a negative errno with an error text if a file
 * cannot be read.
 */
int kl_plan_set_kernel(struct kl_plan *plan, const char *types, const char *symbols);

#endif /* KERNLENS_PLAN_KERNEL_H */
