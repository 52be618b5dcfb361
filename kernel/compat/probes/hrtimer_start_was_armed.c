// SPDX-License-Identifier: GPL-2.0
/* in v7.1 and in stable updates of v6.1 and v6.12: hrtimer_start passes whether it is a restart */
#include <trace/events/timer.h>

static void kl_probe_hrtimer_start_was_armed(void *data, struct hrtimer *hrtimer,
					     enum hrtimer_mode mode, bool was_armed)
{
}

static void __maybe_unused kl_check_hrtimer_start_was_armed(void)
{
	check_trace_callback_type_hrtimer_start(kl_probe_hrtimer_start_was_armed);
}
