// SPDX-License-Identifier: GPL-2.0
/* in v6.8: sched_stat_runtime no longer passes the virtual run time */
#include <linux/sched.h>
#include <trace/events/sched.h>

static void kl_probe_sched_stat_runtime_short(void *data, struct task_struct *tsk, u64 runtime)
{
}

static void __maybe_unused kl_check_sched_stat_runtime_short(void)
{
	check_trace_callback_type_sched_stat_runtime(kl_probe_sched_stat_runtime_short);
}
