// SPDX-License-Identifier: GPL-2.0
/* in v6.16: sched_process_exit passes whether all threads have exited */
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

static void kl_probe_process_exit_group_dead(void *data, struct task_struct *p, bool group_dead)
{
}

static void __maybe_unused kl_check_process_exit_group_dead(void)
{
	check_trace_callback_type_sched_process_exit(kl_probe_process_exit_group_dead);
}
