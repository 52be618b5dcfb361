/* SPDX-License-Identifier: GPL-2.0 */
/* A session of ticks, for the tests of tick limits. */
#ifndef KL_TESTS_TICKS_H
#define KL_TESTS_TICKS_H

#include "kl.h"

/* Counts @hz ticks a second on each CPU. Returns the result of starting the session. */
static inline int ticks_start(int fd, u32 hz)
{
	struct kl_abi_session params = { .blocks = 4, .block_bytes = 4096 };
	struct kl_abi_event event = { .kind = KL_SOURCE_KIND_TICK, .arg = hz };
	struct kl_abi_events events = { .size = sizeof(events),
					.n = 1,
					.event = (u64)(uintptr_t)&event };
	u8 handler = KL_HANDLER_count;
	struct kl_abi_maskset m = { .size = sizeof(m),
				    .id = KL_MASKSET_FIRST_USER,
				    .dynamic = (u64)(uintptr_t)&handler,
				    .n_dynamic = 1 };

	if (kl_session(fd, &params) || kl_call(fd, KL_IOC_EVENTS, &events) ||
	    kl_call(fd, KL_IOC_MASKSET_WRITE, &m) || kl_use(fd, KL_MASKSET_FIRST_USER))
		bail("ticks: %s", kl_why(fd));
	return kl_start(fd);
}

#endif /* KL_TESTS_TICKS_H */
