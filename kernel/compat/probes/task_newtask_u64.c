// SPDX-License-Identifier: GPL-2.0
/* in v6.17: the clone flags of task_newtask have 64 bits */
#include <linux/tracepoint.h>
#include <trace/events/task.h>

static void kl_probe_task_newtask_u64(void *data, struct task_struct *task, u64 clone_flags)
{
}

static void __maybe_unused kl_check_task_newtask_u64(void)
{
	check_trace_callback_type_task_newtask(kl_probe_task_newtask_u64);
}
