// SPDX-License-Identifier: GPL-2.0
/* in v6.12: a task that sleeps may stay in its run queue until its lag is gone */
#include <linux/sched.h>

static bool __maybe_unused kl_check_sched_delayed(const struct task_struct *t)
{
	return t->se.sched_delayed;
}
