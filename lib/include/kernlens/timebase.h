/* SPDX-License-Identifier: GPL-2.0 */
/* Converts timestamps of blocks and records to nanoseconds since 1970 (UTC). */
#ifndef KERNLENS_TIMEBASE_H
#define KERNLENS_TIMEBASE_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_timebase - a clock as described in CTF
 * @clock: KL_CLOCK_TSC or KL_CLOCK_MONOTONIC
 * @hz: cycles per second
 * @offset_s: wall time of cycle 0, in seconds since 1970
 * @offset: added to @offset_s: cycles, less than @hz
 * @precision: maximum error of a converted time, in cycles
 * @ns_whole: whole nanoseconds per cycle
 * @ns_fraction: the fraction, in units of 2^-64 ns
 */
struct kl_timebase {
	uint32_t clock;
	uint64_t hz;
	int64_t offset_s;
	uint64_t offset;
	uint64_t precision;
	uint64_t ns_whole;
	uint64_t ns_fraction;
};

/**
 * kl_timebase_init - set up a clock from its CTF description
 * @base: filled in
 * @clock: enum kl_clock
 * @hz: cycles per second, not 0
 * @offset_s: wall time of cycle 0, in seconds since 1970
 * @offset: added to @offset_s, in cycles
 *
 * Returns 0, or -EINVAL if @hz is 0.
 */
int kl_timebase_init(struct kl_timebase *base, uint32_t clock, uint64_t hz, int64_t offset_s,
		     uint64_t offset);

/**
 * kl_timebase_fit - set up a clock from one or two samples of KL_IOC_TIME
 * @base: filled in
 * @first: from the start of the recording
 * @last: from its end, or NULL
 *
 * If the samples are more than a second apart, the frequency is computed from them, since the
 * kernel's value for the TSC is only nominal; else that of @first is used. Wall time is that of
 * @first, so setting the clock during the recording leaves no gap in the trace. Returns 0, or
 * -EINVAL for impossible samples.
 */
int kl_timebase_fit(struct kl_timebase *base, const struct kl_abi_time *first,
		    const struct kl_abi_time *last);

/**
 * kl_timebase_span - convert a difference of two times to nanoseconds
 * @base: clock
 * @cycles: difference of two times
 *
 * Returns nanoseconds, rounded down.
 */
static inline uint64_t kl_timebase_span(const struct kl_timebase *base, uint64_t cycles)
{
	__extension__ unsigned __int128 fraction = cycles;

	fraction *= base->ns_fraction;
	return cycles * base->ns_whole + (uint64_t)(fraction >> 64);
}

/**
 * kl_timebase_ns - convert a timestamp to wall time
 * @base: clock
 * @cycles: of a block or record
 *
 * Returns nanoseconds since 1970.
 */
static inline uint64_t kl_timebase_ns(const struct kl_timebase *base, uint64_t cycles)
{
	return (uint64_t)base->offset_s * 1000000000u +
	       kl_timebase_span(base, base->offset + cycles);
}

KL_PUBLIC_END

#endif /* KERNLENS_TIMEBASE_H */
