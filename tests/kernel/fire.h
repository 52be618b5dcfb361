/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Makes kl_stimulus.ko fire events by a plan and reports what it fired. @stimulus is always the
 * open KLS_DEVICE.
 */
#ifndef KL_TESTS_FIRE_H
#define KL_TESTS_FIRE_H

#include "kl.h"
#include "stimulus/stimulus.h"

static inline struct kls_counts fire_counts(int stimulus)
{
	struct kls_counts counts;

	if (ioctl(stimulus, KLS_IOC_COUNTS, &counts))
		bail("KLS_IOC_COUNTS");
	return counts;
}

/* Records in tasks, which softirqs, interrupts, timers and NMIs interrupt. */
static inline struct kls_plan fire_mixed(u64 records, u32 cpus)
{
	return (struct kls_plan){
		.records = records,
		.cpus = (1ull << cpus) - 1,
		.nested = 5,
		.burst = 3000,
		.softirq_every = 97,
		.irq_every = 61,
		.nmi_every = 151,
		.timer_us = 500,
	};
}

/* Runs the whole plan to its end. */
static inline struct kls_counts fire_all(int stimulus, const struct kls_plan *plan)
{
	struct kls_counts counts, last;

	if (ioctl(stimulus, KLS_IOC_START, plan))
		bail("KLS_IOC_START");
	do {
		sleep_ms(5);
		counts = fire_counts(stimulus);
	} while (counts.running);
	if (ioctl(stimulus, KLS_IOC_STOP))
		bail("KLS_IOC_STOP");
	/* The timers fired until the stop; the threads no longer exist. */
	last = fire_counts(stimulus);
	memcpy(counts.fired, last.fired, sizeof(counts.fired));
	return counts;
}

/* For sessions whose records are counted: a suspended session misses events. */
static inline void check_not_suspended(int fd)
{
	struct kl_abi_suspended is = kl_stats(fd, -1).suspended;

	if (is.times)
		bail("suspended: %u of 1000, limit %u, reason %u", is.permille, is.limit,
		     is.reason);
}

#endif /* KL_TESTS_FIRE_H */
