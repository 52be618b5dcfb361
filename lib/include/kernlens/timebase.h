/* SPDX-License-Identifier: GPL-2.0 */
/* From the clock of blocks and records to nanoseconds since 1970 (UTC). */
#ifndef KERNLENS_TIMEBASE_H
#define KERNLENS_TIMEBASE_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/**
 * struct kl_timebase - a clock as CTF describes it
 * @clock: KL_CLOCK_TSC or KL_CLOCK_MONOTONIC
 * @hz: cycles a second
 * @offset_s: wall time of cycle 0: seconds since 1970
 * @offset: and cycles, less than @hz
 * @precision: cycles that a mapped time may be off
 * @ns_whole: whole nanoseconds in a cycle
 * @ns_fraction: and 2^-64ths of one
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
 * kl_timebase_init - a clock from its CTF description
 * @base: filled in
 * @clock: enum kl_clock
 * @hz: cycles a second, not 0
 * @offset_s: seconds of cycle 0 since 1970
 * @offset: and cycles
 *
 * Returns -EINVAL if @hz is 0.
 */
int kl_timebase_init(struct kl_timebase *base, uint32_t clock, uint64_t hz, int64_t offset_s,
		     uint64_t offset);

/**
 * kl_timebase_fit - a clock from one or two samples of KL_IOC_TIME
 * @base: filled in
 * @first: at the start of the recording
 * @last: at its end, or NULL
 *
 * The frequency is fitted from the samples if they are more than a second
 * apart (the kernel's figure for the TSC is only nominal), else taken from
 * @first. Wall time is that of @first, so a clock that is set during the
 * recording does not tear the trace. Returns -EINVAL for impossible samples.
 */
int kl_timebase_fit(struct kl_timebase *base, const struct kl_abi_time *first,
		    const struct kl_abi_time *last);

/**
 * kl_timebase_span - length of a span of cycles
 * @base: clock
 * @cycles: difference of two times
 *
 * Returns nanoseconds, rounded down.
 */
static inline uint64_t kl_timebase_span(const struct kl_timebase *base, uint64_t cycles)
{
	return cycles * base->ns_whole +
	       (uint64_t)(((unsigned __int128)cycles * base->ns_fraction) >> 64);
}

/**
 * kl_timebase_ns - wall time of a clock value
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
