// SPDX-License-Identifier: GPL-2.0
/* in v6.16: mmap_lock_released no longer passes the path of the cgroup */
#include <linux/tracepoint.h>
#include <trace/events/mmap_lock.h>

static void kl_probe_mmap_lock_short(void *data, struct mm_struct *mm, bool write)
{
}

static void __maybe_unused kl_check_mmap_lock_short(void)
{
	check_trace_callback_type_mmap_lock_released(kl_probe_mmap_lock_short);
}
