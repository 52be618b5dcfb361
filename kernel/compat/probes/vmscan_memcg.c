// SPDX-License-Identifier: GPL-2.0
/* in v7.1: mm_vmscan_*_begin and _end pass the cgroup */
#include <linux/tracepoint.h>
#include <trace/events/vmscan.h>

static void kl_probe_vmscan_memcg(void *data, unsigned long nr_reclaimed, struct mem_cgroup *memcg)
{
}

static void __maybe_unused kl_check_vmscan_memcg(void)
{
	check_trace_callback_type_mm_vmscan_direct_reclaim_end(kl_probe_vmscan_memcg);
}
