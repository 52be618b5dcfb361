// SPDX-License-Identifier: GPL-2.0
/* in v7.2: whether a timer is started is a flag of its own; the bases have their own header */
#include <linux/hrtimer.h>
#include <linux/hrtimer_bases.h>

static bool __maybe_unused kl_check_hrtimer_is_queued(const struct hrtimer *timer)
{
	return timer->is_queued;
}
