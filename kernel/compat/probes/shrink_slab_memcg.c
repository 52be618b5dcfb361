// SPDX-License-Identifier: GPL-2.0
/* in v7.1: mm_shrink_slab_start and _end pass the cgroup */
#include <linux/tracepoint.h>
#include <trace/events/vmscan.h>

static void kl_probe_shrink_slab_memcg(void *data, struct shrinker *shr, int nid, int retval,
				       long unused, long new, long total, struct mem_cgroup *memcg)
{
}

static void __maybe_unused kl_check_shrink_slab_memcg(void)
{
	check_trace_callback_type_mm_shrink_slab_end(kl_probe_shrink_slab_memcg);
}
