/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Summaries of the activity of the machine and of its largest processes, by minute, hour, day and
 * month, in a SQLite database of bounded size. See docs/design/history.md.
 */
#ifndef KERNLENS_HISTORY_H
#define KERNLENS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>

enum kl_history_level {
	KL_HISTORY_MINUTE, /* kept for a day */
	KL_HISTORY_HOUR, /* for 31 days */
	KL_HISTORY_DAY, /* for 731 days */
	KL_HISTORY_MONTH, /* for 1,200 months */
	KL_HISTORY_LEVELS,
};

/**
 * struct kl_history_figure - a quantity that is summarized
 * @name: of the variable, if it is one
 * @unit: "B", "ns", "KiB", "pages" or ""
 * @is_group: of processes that share a name and a user; else of the machine
 * @grows: it is a counter: sums are its increase, the other values are per second
 * @help: one sentence
 */
struct kl_history_figure {
	const char *name;
	const char *unit;
	bool is_group;
	bool grows;
	const char *help;
};

/**
 * kl_history_figure - a quantity
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_history_figure *kl_history_figure(unsigned int index);

/**
 * kl_history_find - index of a quantity
 * @name: whole name
 * @is_group: of processes, not of the machine
 *
 * Returns the index, or -EINVAL with an error text that suggests a similar name.
 */
int kl_history_find(const char *name, bool is_group);

#define KL_HISTORY_BYTES_MIN (1u << 20)
#define KL_HISTORY_BYTES_DEFAULT (64u << 20)

struct kl_history;

/**
 * kl_history_open - open a database
 * @path: of the file; created if @bytes_max is not 0
 * @bytes_max: maximum size of the file, not counting SQLite's log of at most some MiB; 0: open it
 *             for reading only
 *
 * Returns NULL with errno and an error text.
 */
struct kl_history *kl_history_open(const char *path, uint64_t bytes_max);

/**
 * kl_history_close - close and free
 * @history: or NULL
 */
void kl_history_close(struct kl_history *history);

/**
 * kl_history_set_unit - for tests: change the length of a minute, an hour, a day and a month
 * @history: database that has only been written with the same unit
 * @seconds: length of a minute; an hour is 60 of them, a day 24 hours, a month 30 days. 0:
 *           calendar units in local time
 */
void kl_history_set_unit(struct kl_history *history, unsigned int seconds);

/**
 * struct kl_history_row - a summary
 * @begin: start of the period, in seconds since 1970
 * @comm: command name of a group of processes; NULL: the machine
 * @uid: user of the group
 * @figure: index of the quantity
 * @samples: number of samples
 * @seconds: time that the samples cover
 * @min, @max: extremes over the samples; per second if the quantity is a counter
 * @mean: mean over time; per second if the quantity is a counter
 * @sum: increase of a counter; else 0
 */
struct kl_history_row {
	int64_t begin;
	const char *comm;
	uint32_t uid;
	unsigned int figure;
	uint64_t samples;
	double seconds;
	double min;
	double mean;
	double max;
	double sum;
};

/**
 * struct kl_history_query - selects summaries
 * @level: length of the period
 * @since, @until: seconds since 1970; periods that begin from @since up to @until are selected;
 *                 INT64_MAX: no end
 * @comm: shell pattern for the command names of groups; NULL: the machine
 */
struct kl_history_query {
	enum kl_history_level level;
	int64_t since;
	int64_t until;
	const char *comm;
};

/**
 * kl_history_read - read summaries in the order of time
 * @history: database
 * @query: which
 * @take: called for each summary, which is valid during the call; a result other than 0 stops
 * @data: passed to @take
 *
 * Reads one consistent state of the database even if it is written concurrently. Returns 0, the
 * result of @take that stopped, or a negative errno.
 */
int kl_history_read(struct kl_history *history, const struct kl_history_query *query,
		    int (*take)(void *data, const struct kl_history_row *row), void *data);

struct kl_history_sampler;

/**
 * kl_history_sampler_create - prepare to take samples
 * @history: opened for writing; must outlive the sampler
 * @device: device to query; must outlive the sampler
 *
 * Returns NULL with errno ENOMEM and an error text.
 */
struct kl_history_sampler *kl_history_sampler_create(struct kl_history *history,
						     struct kl_device *device);

/**
 * kl_history_sampler_destroy - free
 * @sampler: or NULL; samples that have not been written are lost
 */
void kl_history_sampler_destroy(struct kl_history_sampler *sampler);

/**
 * kl_history_sample - take a sample, and write the previous minute if a new one has begun
 * @sampler: sampler; its first sample only starts the measurement
 *
 * Returns 1 if something was written, 0, or a negative errno; the next call then tries to write
 * again. May sleep.
 */
int kl_history_sample(struct kl_history_sampler *sampler);

/**
 * kl_history_flush - write what has been sampled of the current minute
 * @sampler: sampler; can be used further
 *
 * Returns as kl_history_sample() does.
 */
int kl_history_flush(struct kl_history_sampler *sampler);

#endif /* KERNLENS_HISTORY_H */
