// SPDX-License-Identifier: GPL-2.0
/* in v6.2: counters of a process's pages are per CPU; before, per thread */
#include <linux/mm.h>

static s64 __maybe_unused kl_check_mm_counter_per_cpu(struct mm_struct *mm)
{
	return percpu_counter_sum_positive(&mm->rss_stat[MM_ANONPAGES]);
}
