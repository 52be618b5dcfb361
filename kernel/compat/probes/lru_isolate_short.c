// SPDX-License-Identifier: GPL-2.0
/* in v6.7: mm_vmscan_lru_isolate no longer passes the isolation mode */
#include <linux/mm.h>
#include <trace/events/vmscan.h>

static void kl_probe_lru_isolate_short(void *data, int highest_zoneidx, int order,
				       unsigned long nr_requested, unsigned long nr_scanned,
				       unsigned long nr_skipped, unsigned long nr_taken, int lru)
{
}

static void __maybe_unused kl_check_lru_isolate_short(void)
{
	check_trace_callback_type_mm_vmscan_lru_isolate(kl_probe_lru_isolate_short);
}
