// SPDX-License-Identifier: GPL-2.0
/* in v6.17: the workqueue whose workers are not bound to CPUs has another name */
#include <linux/workqueue.h>

static struct workqueue_struct *__maybe_unused kl_check_dfl_workqueue(void)
{
	return system_dfl_wq;
}
