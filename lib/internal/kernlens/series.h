/* SPDX-License-Identifier: GPL-2.0 */
/* What a trace has over time: what kernlens/measure.h takes from its events, in intervals. */
#ifndef KERNLENS_SERIES_H
#define KERNLENS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/event.h>
#include <kernlens/measure.h>
#include <kernlens/schema.h>

/* Of an expression; records with other keys are counted in one curve. */
#define KL_SERIES_KEYS_MAX 256

/**
 * struct kl_series_bucket - an interval of a curve
 * @count: number of values; if it is 0, the others are 0, too
 */
struct kl_series_bucket {
	uint64_t count;
	double sum;
	double min;
	double max;
	double last;
};

/**
 * struct kl_series_curve - values of an expression with one key, over time
 * @expression: number of the expression
 * @key: its text; NULL: there is none
 * @function: what is made of the values
 * @unit: of the values; "" if it has none
 * @held: a value stays until the next one: those of variables
 * @weight: number of values, or for sum, what they add up to
 * @bucket: intervals, from the first event on
 */
struct kl_series_curve {
	size_t expression;
	const char *key;
	enum kl_measure_function function;
	const char *unit;
	bool held;
	double weight;
	struct kl_series_bucket *bucket;
};

struct kl_series;

/**
 * kl_series_create - compile expressions
 * @schema: of the trace; must outlive the result
 * @text: expressions; must outlive the result
 * @n: number of expressions
 * @interval_ns: length of an interval; 0: chosen by @most
 * @most: how many there may be: they are as short as that allows, of 1024 ns times a power of two
 *
 * Returns NULL with errno and an error text: EINVAL, or ENOMEM.
 */
struct kl_series *kl_series_create(const struct kl_schema *schema, const char *const *text,
				   size_t n, uint64_t interval_ns, size_t most);

/**
 * kl_series_destroy - free it
 * @series: or NULL
 */
void kl_series_destroy(struct kl_series *series);

/**
 * kl_series_add - add an event of the trace, selected or not
 * @series: series
 * @event: event
 *
 * Returns 0, -ENOMEM, or -E2BIG with an error text: there are too many intervals.
 */
int kl_series_add(struct kl_series *series, const struct kl_event *event);

/**
 * kl_series_forget - drop old intervals, and curves that have no value in those that are left
 * @series: created with an interval
 * @before_ns: wall time; an interval that contains it is kept
 *
 * Returns 0 or -ENOMEM with an error text.
 */
int kl_series_forget(struct kl_series *series, uint64_t before_ns);

/**
 * kl_series_finish - sort the curves
 * @series: series; events may be added afterwards
 * @n: out: number of curves
 *
 * Those of an expression are together, with the greatest weight first. Returns them; they belong to
 * @series, and are valid until it is changed. Returns NULL with an error text if memory ran out.
 */
const struct kl_series_curve *kl_series_finish(struct kl_series *series, size_t *n);

/**
 * kl_series_is_empty - are there no values?
 * @series: series
 */
bool kl_series_is_empty(const struct kl_series *series);

/**
 * kl_series_interval_ns - length of an interval
 * @series: finished
 */
uint64_t kl_series_interval_ns(const struct kl_series *series);

/**
 * kl_series_intervals - number of intervals, of each curve; the last one may be cut
 * @series: finished
 */
size_t kl_series_intervals(const struct kl_series *series);

/**
 * kl_series_begin_ns - wall time of the first event
 * @series: finished
 */
uint64_t kl_series_begin_ns(const struct kl_series *series);

/**
 * kl_series_value - the value of an interval
 * @series: finished
 * @curve: a curve of it
 * @i: number of the interval
 * @value: out: counts and sums per second
 *
 * Returns false if there is none: nothing occurred that has a value.
 */
bool kl_series_value(const struct kl_series *series, const struct kl_series_curve *curve, size_t i,
		     double *value);

#endif /* KERNLENS_SERIES_H */
