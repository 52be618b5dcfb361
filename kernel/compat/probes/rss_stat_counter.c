// SPDX-License-Identifier: GPL-2.0
/* in v6.2: a per-CPU counter holds the value that rss_stat passed before */
#include <linux/mm.h>
#include <trace/events/kmem.h>

static void kl_probe_rss_stat_counter(void *data, struct mm_struct *mm, int member)
{
}

static void __maybe_unused kl_check_rss_stat_counter(void)
{
	check_trace_callback_type_rss_stat(kl_probe_rss_stat_counter);
}
