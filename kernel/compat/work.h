/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's shared workqueues. */
#ifndef KL_COMPAT_WORK_H
#define KL_COMPAT_WORK_H

#include <linux/workqueue.h>

#include "compat_config.h"

/* Its workers are not bound to CPUs. */
#ifdef KL_HAVE_DFL_WORKQUEUE
#define kl_unbound_wq system_dfl_wq
#else
#define kl_unbound_wq system_unbound_wq
#endif

#endif /* KL_COMPAT_WORK_H */
