// SPDX-License-Identifier: GPL-2.0
/*
 * How long the times in each state were: buckets and sums of all tasks of a profile, per CPU. Fed
 * by probe.c as it adds a time to its task; read by KL_IOC_LATENCY_READ. Nothing is ever taken out,
 * so they also count tasks whose records have been evicted.
 */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/percpu.h>

#include "latency_internal.h"

#define FIRST_BOUND_NS 1000u

/**
 * kl_latency_times_init - allocate the buckets
 * @l: profile; its `times` are to be freed with it
 *
 * The bounds are the same times on every machine, so that its users can add up buckets of several.
 * Returns 0 or -ENOMEM.
 */
int kl_latency_times_init(struct kl_latency *l)
{
	l->times = alloc_percpu_gfp(struct kl_latency_times, GFP_KERNEL_ACCOUNT);
	if (!l->times)
		return -ENOMEM;
	for (u32 i = 0; i < ARRAY_SIZE(l->bound); i++)
		l->bound[i] =
			mul_u64_u64_div_u64((u64)FIRST_BOUND_NS << i, kl_clock_hz(), NSEC_PER_SEC);
	l->bound_bits = l->bound[0] ? ilog2(l->bound[0]) : 0;
	return 0;
}

/**
 * kl_latency_times_clear - forget all times, before a start
 * @l: profile
 */
void kl_latency_times_clear(struct kl_latency *l)
{
	int cpu;

	if (!l->times)
		return;
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(l->times, cpu), 0, sizeof(*l->times));
}

/**
 * kl_latency_times_add - count a time that has ended
 * @l: profile with KL_LATENCY_TIMES
 * @state: enum kl_latency_state
 * @time: in cycles of kl_clock()
 *
 * Each bound is twice the one before it, so a time with as many bits as a bound is in its bucket or
 * in the next. Context: the tracepoint sched_switch, interrupts off.
 */
void kl_latency_times_add(struct kl_latency *l, u32 state, u64 time)
{
	struct kl_latency_times *times = this_cpu_ptr(l->times);
	u32 bits = time ? ilog2(time) : 0, i = 0;

	if (bits > l->bound_bits)
		i = min_t(u32, bits - l->bound_bits, ARRAY_SIZE(l->bound));
	if (i < ARRAY_SIZE(l->bound) && time > l->bound[i])
		i++;
	times->sum[state] += time;
	times->count[state][i]++;
}

/**
 * kl_latency_times_copy - sum up a state over all CPUs
 * @l: profile with KL_LATENCY_TIMES
 * @state: enum kl_latency_state
 * @to: filled in
 */
void kl_latency_times_copy(const struct kl_latency *l, u32 state, struct kl_abi_latency_times *to)
{
	int cpu;

	*to = (struct kl_abi_latency_times){ .state = state };
	for_each_possible_cpu(cpu) {
		const struct kl_latency_times *times = per_cpu_ptr(l->times, cpu);

		to->sum += READ_ONCE(times->sum[state]);
		for (u32 i = 0; i < KL_LATENCY_BUCKETS; i++)
			to->count[i] += READ_ONCE(times->count[state][i]);
	}
}
