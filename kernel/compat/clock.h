/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of all records: the time stamp counter where the kernel trusts it,
 * else the kernel's fast monotonic clock, in nanoseconds. Chosen once, when the
 * module is loaded, so that all sessions share it.
 */
#ifndef KL_COMPAT_CLOCK_H
#define KL_COMPAT_CLOCK_H

#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "../../uapi/kernlens.h"

DECLARE_STATIC_KEY_TRUE(kl_clock_is_tsc);

/* The time in cycles of kl_clock_hz(). Context: any, also NMI. */
static __always_inline u64 kl_clock(void)
{
	if (static_branch_likely(&kl_clock_is_tsc))
		return rdtsc();
	return ktime_get_mono_fast_ns();
}

void kl_clock_init(void);
u64 kl_clock_hz(void);
u64 kl_clock_ns(u64 cycles);
u32 kl_clock_kind(void);
void kl_clock_sample(struct kl_abi_time *time);

#endif /* KL_COMPAT_CLOCK_H */
