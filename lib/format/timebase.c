// SPDX-License-Identifier: GPL-2.0
/* Maps the clock to wall time, exact to a nanosecond in 64.64 fixed point. */
#include <errno.h>

#include <kernlens/timebase.h>
#include "../base/base.h"

/* Two samples closer than this are less accurate about the frequency than the kernel. */
#define FIT_MIN_NS KL_NS_PER_S

int kl_timebase_init(struct kl_timebase *base, uint32_t clock, uint64_t hz, int64_t offset_s,
		     uint64_t offset)
{
	if (!hz)
		return kl_fail(EINVAL, "the clock's frequency is 0");
	*base = (struct kl_timebase){
		.clock = clock,
		.hz = hz,
		.offset_s = offset_s,
		.offset = offset,
		.precision = 1,
		.ns_whole = KL_NS_PER_S / hz,
		.ns_fraction = (uint64_t)(((unsigned __int128)(KL_NS_PER_S % hz) << 64) / hz),
	};
	return 0;
}

int kl_timebase_fit(struct kl_timebase *base, const struct kl_abi_time *first,
		    const struct kl_abi_time *last)
{
	uint64_t hz = first->clock_hz;
	__int128 zero; /* wall time of cycle 0, in cycles since 1970 */
	int64_t seconds, rest;
	int ret;

	if (first->clock == KL_CLOCK_MONOTONIC)
		hz = KL_NS_PER_S;
	if (last && last->monotonic_ns > first->monotonic_ns + FIT_MIN_NS) {
		uint64_t ns = last->monotonic_ns - first->monotonic_ns;
		uint64_t cycles = last->cycles - first->cycles;

		if (last->cycles <= first->cycles || last->clock != first->clock)
			return kl_fail(EINVAL, "the clock's samples contradict each other");
		if (first->clock != KL_CLOCK_MONOTONIC)
			hz = ((unsigned __int128)cycles * KL_NS_PER_S + ns / 2) / ns;
	}
	if (!hz)
		return kl_fail(EINVAL, "the clock's frequency is 0");
	zero = (__int128)first->realtime_ns * hz / KL_NS_PER_S - first->cycles;
	seconds = zero / hz;
	rest = zero - (__int128)seconds * hz;
	if (rest < 0) {
		rest += hz;
		seconds--;
	}
	ret = kl_timebase_init(base, first->clock, hz, seconds, rest);
	/* A sample reads three clocks in succession, so it is this imprecise. */
	if (!ret)
		base->precision = hz / 1000000 + 1;
	return ret;
}
