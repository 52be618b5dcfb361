// SPDX-License-Identifier: GPL-2.0
/* in 2026, also in stable kernels: an exiting task remembers whether its memory was dumpable */
#include <linux/sched.h>

static bool __maybe_unused kl_check_user_dumpable(const struct task_struct *t)
{
	return t->user_dumpable;
}
