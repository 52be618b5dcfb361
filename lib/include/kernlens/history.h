/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Summaries of what the machine and its largest processes did, by minute, hour, day and
 * month, in a SQLite database of bounded size. docs/design/history.md
 */
#ifndef KERNLENS_HISTORY_H
#define KERNLENS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

enum kl_history_level {
	KL_HISTORY_MINUTE, /* kept for a day */
	KL_HISTORY_HOUR, /* for 31 days */
	KL_HISTORY_DAY, /* for 731 days */
	KL_HISTORY_MONTH, /* for 1,200 months */
	KL_HISTORY_LEVELS,
};

/**
 * struct kl_history_figure - something that there are summaries of
 * @name: as the variable, where it is one
 * @unit: "B", "ns", "KiB", "pages" or ""
 * @is_group: of processes with one name and user; else of the machine
 * @grows: it counts: sums are what it has grown by, the others are per second
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
 * kl_history_figure - one of them
 * @index: from 0; NULL is returned behind the last
 */
const struct kl_history_figure *kl_history_figure(unsigned int index);

/**
 * kl_history_find - index of a figure
 * @name: whole name
 * @is_group: of processes, not of the machine
 *
 * Returns -EINVAL with an error text that names what is near.
 */
int kl_history_find(const char *name, bool is_group);

#define KL_HISTORY_BYTES_MIN (1u << 20)
#define KL_HISTORY_BYTES_DEFAULT (64u << 20)

struct kl_history;

/**
 * kl_history_open - open a database
 * @path: of the file; made if @bytes_max says that it is to be written
 * @bytes_max: size that it must not exceed, without SQLite's log of at most some MiB;
 *             0: it is only read
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
 * kl_history_set_unit - for tests: other lengths of a minute, an hour, a day and a month
 * @history: database that has been written with the same unit only
 * @seconds: of a minute; an hour is 60 of them, a day 24 hours, a month 30 days.
 *           0: as the calendar has it, in local time
 */
void kl_history_set_unit(struct kl_history *history, unsigned int seconds);

/**
 * struct kl_history_row - a summary
 * @begin: seconds since 1970: when its time begins
 * @comm: of a group of processes; NULL: of the machine
 * @uid: its user
 * @figure: index
 * @samples: looks that it is made of
 * @seconds: time that they cover
 * @min, @max: of the looks; of what grows, in a second
 * @mean: over time; of what grows, in a second
 * @sum: what it has grown by; 0 of what does not grow
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
 * struct kl_history_query - which summaries
 * @level: minutes ...
 * @since, @until: seconds since 1970: those that begin then or between; INT64_MAX: no end
 * @comm: pattern of the shell's: of such groups; NULL: of the machine
 */
struct kl_history_query {
	enum kl_history_level level;
	int64_t since;
	int64_t until;
	const char *comm;
};

/**
 * kl_history_read - summaries in the order of time
 * @history: database
 * @query: which
 * @take: called for each; what it returns, if not 0, ends it
 * @data: for @take
 *
 * Returns what @take did, or a negative errno. One state of the database, whoever
 * writes meanwhile.
 */
int kl_history_read(struct kl_history *history, const struct kl_history_query *query,
		    int (*take)(void *data, const struct kl_history_row *row), void *data);

struct kl_history_sampler;

/**
 * kl_history_sampler_create - be ready to look
 * @history: that is written; must outlive it
 * @device: what to ask; must outlive it
 *
 * Returns NULL with errno and an error text.
 */
struct kl_history_sampler *kl_history_sampler_create(struct kl_history *history,
						     struct kl_device *device);

/**
 * kl_history_sampler_destroy - free
 * @sampler: or NULL; what has not been written is lost
 */
void kl_history_sampler_destroy(struct kl_history_sampler *sampler);

/**
 * kl_history_sample - look, and write the minute before if this is another
 * @sampler: sampler; its first look only begins
 *
 * Returns 1 if something was written, 0, or a negative errno: the next call tries
 * to write again. May sleep.
 */
int kl_history_sample(struct kl_history_sampler *sampler);

/**
 * kl_history_flush - write what there is of the minute at hand
 * @sampler: sampler; goes on
 *
 * Returns as kl_history_sample().
 */
int kl_history_flush(struct kl_history_sampler *sampler);

KL_PUBLIC_END

#endif /* KERNLENS_HISTORY_H */
