/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's security modules allow the caller of a system call. */
#ifndef KL_SESSION_LSM_H
#define KL_SESSION_LSM_H

#include <linux/types.h>

struct task_struct;

void kl_lsm_init(void);
bool kl_lsm_may_read(struct task_struct *t);
bool kl_lsm_may_trace_all(void);

#endif /* KL_SESSION_LSM_H */
