// SPDX-License-Identifier: GPL-2.0
/* Chooses the clock, and maps it to the kernel's other clocks. */
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <asm/cpufeature.h>

#include "clock.h"

DEFINE_STATIC_KEY_TRUE(kl_clock_is_tsc);

/* Nanoseconds per cycle, with NS_SHIFT fractional bits. */
#define NS_SHIFT 28
static u32 ns_of_cycle __ro_after_init;

/**
 * kl_clock_init - choose the clock
 *
 * Context: module initialization.
 */
void kl_clock_init(void)
{
	if (!boot_cpu_has(X86_FEATURE_TSC) || check_tsc_unstable() || !tsc_khz)
		static_branch_disable(&kl_clock_is_tsc);
	ns_of_cycle = div64_u64(NSEC_PER_SEC << NS_SHIFT, kl_clock_hz());
}

/**
 * kl_clock_ns - convert a difference of kl_clock() to nanoseconds
 * @cycles: the difference
 *
 * Exact to one part in a hundred million. Context: any.
 */
u64 kl_clock_ns(u64 cycles)
{
	return mul_u64_u32_shr(cycles, ns_of_cycle, NS_SHIFT);
}

/**
 * kl_clock_kind - which clock kl_clock reads
 *
 * Returns enum kl_clock. Context: any.
 */
u32 kl_clock_kind(void)
{
	return static_key_enabled(&kl_clock_is_tsc) ? KL_CLOCK_TSC : KL_CLOCK_MONOTONIC;
}

/**
 * kl_clock_hz - cycles of kl_clock() per second, as far as the kernel knows
 *
 * Context: any.
 */
u64 kl_clock_hz(void)
{
	return kl_clock_kind() == KL_CLOCK_TSC ? tsc_khz * 1000ull : NSEC_PER_SEC;
}

/**
 * kl_clock_sample - read all clocks at one instant
 * @time: filled in except for its size
 *
 * The cycles are the middle of two readings around the others, from the attempt in which these two
 * were closest. Context: may sleep.
 */
void kl_clock_sample(struct kl_abi_time *time)
{
	u64 best = ~0ull;

	for (int i = 0; i < 8; i++) {
		u64 before, after, mono, real;
		unsigned long flags;

		local_irq_save(flags);
		before = kl_clock();
		mono = ktime_get_ns();
		real = ktime_get_real_ns();
		after = kl_clock();
		local_irq_restore(flags);
		if (after - before >= best)
			continue;
		best = after - before;
		time->cycles = before + best / 2;
		time->monotonic_ns = mono;
		time->realtime_ns = real;
	}
	time->clock = kl_clock_kind();
	time->clock_hz = kl_clock_hz();
}
