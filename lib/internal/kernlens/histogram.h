/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How values such as latencies and sizes are distributed: powers of two for people, percentiles
 * with a known error, and the worst cases. Memory is bounded whatever the values are.
 */
#ifndef KERNLENS_HISTOGRAM_H
#define KERNLENS_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <kernlens/event.h>

/* Bucket 0 has values below the unit, bucket i those below unit << i, the last all others. */
#define KL_HISTOGRAM_POWERS 40

/* Parts of each power of two for percentiles, which are thus at most 1/32 too large. */
#define KL_HISTOGRAM_PARTS 32

/**
 * struct kl_histogram - distribution of values
 * @unit: of the powers of two: 1000 for ns shown in us, as runqlat and biolatency show them
 * @n: number of values
 * @sum: their sum
 * @least: smallest; 0 without values
 * @most: largest
 * @power: number of values by power of two
 * @part: number of values by part of a power of two; @part[0] is that of part @first
 * @first: number of the first part in @part
 * @parts: number of elements of @part, at most 60 * 32
 */
struct kl_histogram {
	uint64_t unit;
	uint64_t n;
	uint64_t sum;
	uint64_t least;
	uint64_t most;
	uint64_t power[KL_HISTOGRAM_POWERS];
	uint32_t *part;
	uint32_t first;
	uint32_t parts;
};

/**
 * kl_histogram_init - start an empty histogram
 * @histogram: overwritten
 * @unit: at least 1
 */
void kl_histogram_init(struct kl_histogram *histogram, uint64_t unit);

/**
 * kl_histogram_deinit - free what a histogram has allocated
 * @histogram: histogram
 */
void kl_histogram_deinit(struct kl_histogram *histogram);

/**
 * kl_histogram_add - add a value
 * @histogram: histogram; one that is all zeros has a unit of 1
 * @value: value
 *
 * Returns 0 or -ENOMEM.
 */
int kl_histogram_add(struct kl_histogram *histogram, uint64_t value);

/**
 * kl_histogram_merge - add the values of another histogram
 * @histogram: histogram
 * @from: with the same unit
 *
 * Returns 0 or -ENOMEM.
 */
int kl_histogram_merge(struct kl_histogram *histogram, const struct kl_histogram *from);

/**
 * kl_histogram_percentile - the value that a share of all values does not exceed
 * @histogram: histogram
 * @per_mille: the share; 500 is the median
 *
 * Returns at least the exact value, at most 1/32 more than it, and never more than the largest
 * value; values below 32 are exact. 0 without values.
 */
uint64_t kl_histogram_percentile(const struct kl_histogram *histogram, unsigned int per_mille);

/**
 * kl_histogram_mean - mean of the values, rounded down; 0 without values
 * @histogram: histogram
 */
uint64_t kl_histogram_mean(const struct kl_histogram *histogram);

#define KL_WORST_CASES 10

/**
 * struct kl_worst_case - something that took long
 * @ns: how long
 * @end_ns: wall time at which it ended
 * @cpu: on which CPU it ended
 * @task: what it happened to; tid 0: no task
 * @by: the other task: the waker, or the task that was interrupted; tid 0: unknown
 * @other: the task that had the CPU before; tid 0: it was idle, or this is unknown
 * @what: number of what it was, with a meaning of the report's own
 * @detail: further numbers with a meaning of the report's own
 */
struct kl_worst_case {
	uint64_t ns;
	uint64_t end_ns;
	uint32_t cpu;
	struct kl_task task;
	struct kl_task by;
	struct kl_task other;
	uint64_t what;
	uint64_t detail[3];
};

/* The longest cases, longest first. Zeroed: none */
struct kl_worst {
	struct kl_worst_case one[KL_WORST_CASES];
	size_t n;
};

/**
 * kl_worst_place - make a place for a case
 * @worst: cases
 * @ns: how long it took
 *
 * Returns where to write it, zeroed but for @ns; NULL: there are enough longer ones. Of equal
 * ones, the first are kept.
 */
struct kl_worst_case *kl_worst_place(struct kl_worst *worst, uint64_t ns);

#endif /* KERNLENS_HISTOGRAM_H */
