// SPDX-License-Identifier: GPL-2.0
/* in v6.2: the page counters of a process are per CPU; before that, per thread */
#include <linux/mm.h>

static s64 __maybe_unused kl_check_mm_counter_per_cpu(struct mm_struct *mm)
{
	return percpu_counter_sum_positive(&mm->rss_stat[MM_ANONPAGES]);
}
