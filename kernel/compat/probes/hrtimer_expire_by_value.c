// SPDX-License-Identifier: GPL-2.0
/* in v7.2: hrtimer_expire_entry passes the time, no longer its address */
#include <linux/tracepoint.h>
#include <trace/events/timer.h>

static void kl_probe_hrtimer_expire_by_value(void *data, struct hrtimer *timer, ktime_t now)
{
}

static void __maybe_unused kl_check_hrtimer_expire_by_value(void)
{
	check_trace_callback_type_hrtimer_expire_entry(kl_probe_hrtimer_expire_by_value);
}
