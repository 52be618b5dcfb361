/* SPDX-License-Identifier: GPL-2.0 */
/* What the CPUs have spent their time on, and how many tasks there are. */
#ifndef KL_TASK_CPUS_H
#define KL_TASK_CPUS_H

#include "../core/session.h"

int kl_cpus(struct kl_abi_cpus *params, struct kl_error *why);

#endif /* KL_TASK_CPUS_H */
