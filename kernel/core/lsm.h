/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's security modules allow the caller of a system call. */
#ifndef KL_CORE_LSM_H
#define KL_CORE_LSM_H

#include <linux/types.h>

struct task_struct;

#ifdef CONFIG_SECURITY
void kl_lsm_init(void);
bool kl_lsm_may_read(struct task_struct *t);
bool kl_lsm_may_trace(struct task_struct *t);
bool kl_lsm_may_trace_all(void);
#else
static inline void kl_lsm_init(void)
{
}

static inline bool kl_lsm_may_read(struct task_struct *t)
{
	return true;
}

static inline bool kl_lsm_may_trace(struct task_struct *t)
{
	return true;
}

static inline bool kl_lsm_may_trace_all(void)
{
	return true;
}
#endif

#endif /* KL_CORE_LSM_H */
