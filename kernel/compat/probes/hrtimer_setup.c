// SPDX-License-Identifier: GPL-2.0
/* in v6.13: a timer gets its function when it is initialized */
#include <linux/hrtimer.h>

static void __maybe_unused
kl_check_hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
