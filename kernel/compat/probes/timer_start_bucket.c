// SPDX-License-Identifier: GPL-2.0
/* in v6.8: timer_start passes the wheel's expiry instead of the timer's expiry and flags */
#include <trace/events/timer.h>

static void kl_probe_timer_start_bucket(void *data, struct timer_list *timer,
					unsigned long bucket_expiry)
{
}

static void __maybe_unused kl_check_timer_start_bucket(void)
{
	check_trace_callback_type_timer_start(kl_probe_timer_start_bucket);
}
