/* SPDX-License-Identifier: GPL-2.0 */
/* Internals of metrics: the values of a set, which metrics.c fills and text.c prints. */
#ifndef KL_LIB_METRICS_H
#define KL_LIB_METRICS_H

#include <kernlens/metrics.h>
#include "../base/table.h"

/**
 * struct kl_metric_series - a series
 * @labels: offset of its labels among the texts of the set, as they are printed
 * @value: of all but histograms
 * @buckets: index of its buckets, of histograms
 */
struct kl_metric_series {
	size_t labels;
	double value;
	size_t buckets;
};

/**
 * struct kl_metric_values - the series of a metric
 * @most: maximum number of series
 * @others: number of series of "other"
 */
struct kl_metric_values {
	struct kl_metric_series *series;
	size_t n, room;
	size_t most;
	size_t others;
};

/**
 * struct kl_metrics - a set of metrics
 * @info: those without a row
 * @texts: labels of all series, each terminated by a NUL
 * @known: where the series of these labels is
 */
struct kl_metrics {
	struct kl_metric_info info[KL_METRICS_MORE];
	char *names[KL_METRICS_MORE];
	size_t n_info;
	struct kl_metric_values values[KL_METRICS + KL_METRICS_MORE];
	struct kl_buffer texts;
	struct kl_hash known;
	struct kl_metric_buckets *buckets;
	size_t n_buckets, buckets_room;
	int error;
};

/* The labels of a series as they are printed, without braces; "" if there are none. */
static inline const char *kl_metric_labels(const struct kl_metrics *m,
					   const struct kl_metric_series *series)
{
	return m->texts.data ? m->texts.data + series->labels : "";
}

/* Number of samples that a series is printed as. */
size_t kl_metric_samples(const struct kl_metrics *m, size_t metric,
			 const struct kl_metric_series *series);

#endif /* KL_LIB_METRICS_H */
