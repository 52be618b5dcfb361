/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Figures of the machine and of processes, as metrics of Prometheus and OpenMetrics. metrics.def
 * has all of them; docs/design/serve.md what bounds their number.
 */
#ifndef KERNLENS_METRICS_H
#define KERNLENS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/buffer.h>
#include <kernlens/client.h>
#include <kernlens/processes.h>

enum kl_metric {
#define KL_METRIC(id, name, type, unit, labels, most, source, help) KL_METRIC_##id,
#include <kernlens/metrics.def>
#undef KL_METRIC
	KL_METRICS,
};

enum kl_metric_type {
	KL_METRIC_counter,
	KL_METRIC_gauge,
	KL_METRIC_histogram,
	KL_METRIC_info,
	KL_METRIC_unknown,
};

/* Labels of a metric, and bounds of a histogram, at most. */
#define KL_METRIC_LABELS 4
#define KL_METRIC_BOUNDS 48

/* Metrics for variables without a row, at most. */
#define KL_METRICS_MORE 64

/**
 * struct kl_metric_info - a metric
 * @name: of the family
 * @type: its type
 * @unit: its unit, or ""
 * @labels: names of the labels, separated by commas; what a series is about has a star
 * @help: one sentence
 * @variable: variable that it is read from; NULL: by a function
 * @scale: what the variable is multiplied by
 * @is_process: @variable is one of processes
 * @is_optional: it must be requested
 * @most: maximum number of series
 */
struct kl_metric_info {
	const char *name;
	enum kl_metric_type type;
	const char *unit;
	const char *labels;
	const char *help;
	const char *variable;
	double scale;
	bool is_process;
	bool is_optional;
	size_t most;
};

/**
 * kl_metric_type_name - "counter" ...
 * @type: type
 */
const char *kl_metric_type_name(enum kl_metric_type type);

/**
 * kl_metric_suffix - what the name of a metric's samples has after that of the metric
 * @type: its type
 */
const char *kl_metric_suffix(enum kl_metric_type type);

/**
 * kl_metric_scaled - the value of a variable in the unit of its metric
 * @info: metric of a variable
 * @number: value of the variable
 *
 * Divides where that is exact: 141 thousandths are 0.141.
 */
static inline double kl_metric_scaled(const struct kl_metric_info *info, double number)
{
	return info->scale < 1 ? number / (double)(uint64_t)(1 / info->scale + 0.5) :
				 number * info->scale;
}

struct kl_metrics;

/**
 * kl_metrics_create - create an empty set of metrics
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_metrics *kl_metrics_create(void);

/**
 * kl_metrics_destroy - free
 * @metrics: or NULL
 */
void kl_metrics_destroy(struct kl_metrics *metrics);

/**
 * kl_metrics_info - a metric by its number
 * @metrics: set; NULL: only the rows of the table
 * @metric: enum kl_metric, or a number that kl_metrics_define() has returned
 *
 * Returns NULL after the last.
 */
const struct kl_metric_info *kl_metrics_info(const struct kl_metrics *metrics, size_t metric);

/**
 * kl_metrics_define - add a metric for a variable of processes that has no row
 * @metrics: set
 * @variable: number, not an address or a set of bits
 *
 * Its type is unknown, because nothing says whether the variable only grows. Returns its number,
 * -EINVAL with an error text if the variable is not a figure, -E2BIG or -ENOMEM.
 */
int kl_metrics_define(struct kl_metrics *metrics, const struct kl_variable *variable);

/**
 * kl_metrics_limit - change the maximum number of series
 * @metrics: set
 * @metric: metric
 * @most: maximum, at least 1
 */
void kl_metrics_limit(struct kl_metrics *metrics, size_t metric, size_t most);

/**
 * kl_metrics_begin - drop all values, to add new ones
 * @metrics: set
 */
void kl_metrics_begin(struct kl_metrics *metrics);

/**
 * kl_metrics_add - add a value
 * @metrics: set
 * @metric: metric that is no histogram
 * @value: added to that of a series with the same labels
 * @labels: a value for each of its labels, in their order; or NULL: it has none
 *
 * Values of labels may be any bytes; what is not UTF-8 is replaced. Once there are `most` series,
 * further ones are added to that of "other". Out of memory is reported by kl_metrics_end().
 */
void kl_metrics_add(struct kl_metrics *metrics, size_t metric, double value,
		    const char *const *labels);

/**
 * struct kl_metric_buckets - a distribution
 * @n: number of bounds
 * @bound: largest value of each bucket, ascending
 * @count: values in each bucket; that of index @n has the others
 * @sum: of all values
 */
struct kl_metric_buckets {
	size_t n;
	double bound[KL_METRIC_BOUNDS];
	uint64_t count[KL_METRIC_BOUNDS + 1];
	double sum;
};

/**
 * kl_metrics_add_buckets - add a distribution
 * @metrics: set
 * @metric: histogram; all its series have the same bounds
 * @buckets: copied
 * @labels: as for kl_metrics_add()
 */
void kl_metrics_add_buckets(struct kl_metrics *metrics, size_t metric,
			    const struct kl_metric_buckets *buckets, const char *const *labels);

/**
 * kl_metrics_end - complete the values: adds the numbers of series
 * @metrics: set
 *
 * Returns 0 or -ENOMEM; some values are missing then.
 */
int kl_metrics_end(struct kl_metrics *metrics);

enum kl_metrics_format {
	KL_METRICS_TEXT, /* text/plain; version=0.0.4 */
	KL_METRICS_OPEN, /* application/openmetrics-text; version=1.0.0 */
};

/**
 * kl_metrics_print - write all metrics that have values
 * @metrics: set
 * @format: format
 * @to: appended to
 */
void kl_metrics_print(const struct kl_metrics *metrics, enum kl_metrics_format format,
		      struct kl_buffer *to);

/**
 * kl_metrics_accepted - the format that a client prefers
 * @accept: value of the header "Accept"; NULL: none
 */
enum kl_metrics_format kl_metrics_accepted(const char *accept);

/**
 * kl_metrics_content_type - value of the header "Content-Type"
 * @format: format
 */
const char *kl_metrics_content_type(enum kl_metrics_format format);

/* -------------------------------------------------------------------- readers */

/**
 * struct kl_fold - what each subject's counters were at the previous read
 * @values: number of counters of a subject
 *
 * A sum over subjects is a counter only if it never falls when a subject ends or gets a series of
 * its own. So what is summed up is how much each of them has grown.
 */
struct kl_fold;

/**
 * kl_fold_create - remember counters
 * @values: number of counters of each subject
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_fold *kl_fold_create(size_t values);

/**
 * kl_fold_destroy - free
 * @fold: or NULL
 */
void kl_fold_destroy(struct kl_fold *fold);

/**
 * kl_fold_begin - begin a read; subjects that it does not contain are forgotten
 * @fold: fold
 */
void kl_fold_begin(struct kl_fold *fold);

/**
 * kl_fold_growth - how much a subject's counters have grown since the previous read
 * @fold: fold
 * @key: of the subject; never used again for another one
 * @now: its counters
 * @is_new: it did not exist at the previous read: it has grown from 0
 * @growth: out: at least 0; all of @now at the first read of all
 *
 * Returns 0 or -ENOMEM.
 */
int kl_fold_growth(struct kl_fold *fold, uint64_t key, const double *now, bool is_new,
		   double *growth);

/**
 * struct kl_metrics_choice - which processes, and what of them
 * @pids: their IDs, or NULL: all that the caller may see
 * @n_pids: number of @pids
 * @has_uid: only those of user @uid
 * @comm: pattern of their names, or NULL
 * @cgroup: path of their cgroup, or NULL
 * @top: maximum number of processes that are listed by each of CPU time, memory and I/O
 */
struct kl_metrics_choice {
	const int32_t *pids;
	size_t n_pids;
	bool has_uid;
	uint32_t uid;
	const char *comm;
	const char *cgroup;
	size_t top;
};

#define KL_METRICS_TOP_MAX 100

struct kl_metrics_reader;

/**
 * kl_metrics_reader_create - prepare to read the machine, processes and sessions
 * @metrics: values are added to it; must outlive the reader
 * @device: must outlive the reader
 * @choice: must outlive the reader, with its texts
 *
 * Returns NULL with errno and an error text: ENOMEM.
 */
struct kl_metrics_reader *kl_metrics_reader_create(struct kl_metrics *metrics,
						   struct kl_device *device,
						   const struct kl_metrics_choice *choice);

/**
 * kl_metrics_reader_destroy - free
 * @reader: or NULL
 */
void kl_metrics_reader_destroy(struct kl_metrics_reader *reader);

/**
 * kl_metrics_reader_request - also read a variable of processes
 * @reader: reader, before its first read
 * @name: of the variable
 *
 * Returns 0 or a negative errno with an error text: -EINVAL (unknown, or not a figure), -ENOENT
 * or -EPERM (not available here), -E2BIG, -ENOMEM.
 */
int kl_metrics_reader_request(struct kl_metrics_reader *reader, const char *name);

/* Parts of the figures, which fail independently of each other. */
enum kl_metrics_part {
	KL_METRICS_MACHINE,
	KL_METRICS_PROCESSES,
	KL_METRICS_SESSIONS,
	KL_METRICS_PARTS,
};

/**
 * kl_metrics_reader_read - add the current values of a part
 * @reader: reader; its metrics have begun
 * @part: part
 *
 * Returns 0 or a negative errno; values may be missing then. May sleep.
 */
int kl_metrics_reader_read(struct kl_metrics_reader *reader, enum kl_metrics_part part);

/**
 * kl_metrics_read_latency - add the times of a latency profile
 * @metrics: has begun
 * @session: with a profile that has KL_LATENCY_TIMES
 * @clock_hz: kl_abi_info.clock_hz of the device
 *
 * Returns 0 or a negative errno.
 */
int kl_metrics_read_latency(struct kl_metrics *metrics, struct kl_session *session,
			    uint64_t clock_hz);

#endif /* KERNLENS_METRICS_H */
