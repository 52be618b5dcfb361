// SPDX-License-Identifier: GPL-2.0
/*
 * Distributions with bounded memory. Percentiles come from buckets whose width is a fixed share of
 * their values, as in Gil Tene's HdrHistogram; of these, only the range in use is allocated.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/histogram.h>
#include "../base/base.h"

#define PARTS_BITS 5

static_assert(1 << PARTS_BITS == KL_HISTOGRAM_PARTS, "bits of the number of parts");

void kl_histogram_init(struct kl_histogram *histogram, uint64_t unit)
{
	*histogram = (struct kl_histogram){ .unit = unit };
}

void kl_histogram_deinit(struct kl_histogram *histogram)
{
	free(histogram->part);
	histogram->part = NULL;
	histogram->parts = 0;
}

static unsigned int bits_of(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

/* Values below KL_HISTOGRAM_PARTS have parts of their own. */
static uint32_t part_of(uint64_t value)
{
	const unsigned int bits = bits_of(value);

	if (bits <= PARTS_BITS + 1)
		return (uint32_t)value;
	return (bits - PARTS_BITS - 1) * KL_HISTOGRAM_PARTS +
	       (uint32_t)(value >> (bits - PARTS_BITS - 1));
}

/* The largest value of a part. */
static uint64_t last_of(uint32_t part)
{
	const uint32_t row = part / KL_HISTOGRAM_PARTS;
	uint64_t upper;

	if (row < 2)
		return part;
	upper = KL_HISTOGRAM_PARTS + part % KL_HISTOGRAM_PARTS + 1;
	/* Of the last part it is 2^64, which becomes 0. */
	return (upper << (row - 1)) - 1;
}

/* Make room for parts from @first to @end, and for a few beside them. Returns -ENOMEM. */
static int make_room(struct kl_histogram *histogram, uint32_t first, uint32_t end)
{
	const uint32_t old_end = histogram->first + histogram->parts;
	uint32_t *grown;

	if (histogram->parts && first >= histogram->first && end <= old_end)
		return 0;
	first &= ~(KL_HISTOGRAM_PARTS - 1u);
	end = (end + KL_HISTOGRAM_PARTS - 1) & ~(KL_HISTOGRAM_PARTS - 1u);
	if (histogram->parts) {
		first = first < histogram->first ? first : histogram->first;
		end = end > old_end ? end : old_end;
	}
	grown = calloc(end - first, sizeof(*grown));
	if (!grown)
		return kl_fail(ENOMEM, "out of memory");
	if (histogram->parts)
		memcpy(grown + (histogram->first - first), histogram->part,
		       histogram->parts * sizeof(*grown));
	free(histogram->part);
	histogram->part = grown;
	histogram->first = first;
	histogram->parts = end - first;
	return 0;
}

static void add_count(uint32_t *count, uint32_t more)
{
	*count = more < UINT32_MAX - *count ? *count + more : UINT32_MAX;
}

static void add_totals(struct kl_histogram *histogram, uint64_t n, uint64_t sum, uint64_t least,
		       uint64_t most)
{
	if (!histogram->n || least < histogram->least)
		histogram->least = least;
	if (most > histogram->most)
		histogram->most = most;
	histogram->n += n;
	if (__builtin_add_overflow(histogram->sum, sum, &histogram->sum))
		histogram->sum = UINT64_MAX;
}

int kl_histogram_add(struct kl_histogram *histogram, uint64_t value)
{
	const uint32_t part = part_of(value);
	unsigned int power = bits_of(value / (histogram->unit ? histogram->unit : 1));

	if (make_room(histogram, part, part + 1))
		return -ENOMEM;
	add_count(&histogram->part[part - histogram->first], 1);
	power = power < KL_HISTOGRAM_POWERS ? power : KL_HISTOGRAM_POWERS - 1;
	histogram->power[power]++;
	add_totals(histogram, 1, value, value, value);
	return 0;
}

int kl_histogram_merge(struct kl_histogram *histogram, const struct kl_histogram *from)
{
	if (!from->n)
		return 0;
	if (make_room(histogram, from->first, from->first + from->parts))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->parts; i++)
		add_count(&histogram->part[from->first + i - histogram->first], from->part[i]);
	for (unsigned int i = 0; i < KL_HISTOGRAM_POWERS; i++)
		histogram->power[i] += from->power[i];
	add_totals(histogram, from->n, from->sum, from->least, from->most);
	return 0;
}

uint64_t kl_histogram_percentile(const struct kl_histogram *histogram, unsigned int per_mille)
{
	/* How many values must not be larger, rounded up, without an overflow. */
	uint64_t wanted =
		histogram->n / 1000 * per_mille + (histogram->n % 1000 * per_mille + 999) / 1000;
	uint64_t value;

	if (!histogram->n)
		return 0;
	wanted = wanted ? wanted : 1;
	for (uint32_t i = 0; i < histogram->parts; i++) {
		if (histogram->part[i] < wanted) {
			wanted -= histogram->part[i];
			continue;
		}
		value = last_of(histogram->first + i);
		return value < histogram->most ? value : histogram->most;
	}
	return histogram->most;
}

uint64_t kl_histogram_mean(const struct kl_histogram *histogram)
{
	return histogram->n ? histogram->sum / histogram->n : 0;
}

/* --------------------------------------------------------------- worst cases */

struct kl_worst_case *kl_worst_place(struct kl_worst *worst, uint64_t ns)
{
	size_t at = worst->n;

	while (at && worst->one[at - 1].ns < ns)
		at--;
	if (at == KL_WORST_CASES)
		return NULL;
	if (worst->n < KL_WORST_CASES)
		worst->n++;
	memmove(&worst->one[at + 1], &worst->one[at], (worst->n - at - 1) * sizeof(*worst->one));
	worst->one[at] = (struct kl_worst_case){ .ns = ns };
	return &worst->one[at];
}
