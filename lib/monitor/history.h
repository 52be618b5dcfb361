/* SPDX-License-Identifier: GPL-2.0 */
/* History from inside: its figures (history.def), and what sampler and database share. */
#ifndef KL_LIB_HISTORY_H
#define KL_LIB_HISTORY_H

#include <kernlens/history.h>
#include <kernlens/inspect.h>

enum kl_history_figure_id {
#define KL_HISTORY_FIGURE(name, ...) KL_HISTORY_##name,
#include "history.def"
#undef KL_HISTORY_FIGURE
	KL_HISTORY_FIGURE_COUNT
};

/* Of the machine they come first. */
#define KL_HISTORY_MACHINE KL_HISTORY_cpu_time
#define KL_HISTORY_GROUP (KL_HISTORY_FIGURE_COUNT - KL_HISTORY_MACHINE)

/* Groups that are kept: the first so many by CPU, memory, I/O and faults each. */
#define KL_HISTORY_TOP 10

/**
 * struct kl_history_sum - a figure over some looks
 * @sum: what it has grown by, or its value times seconds
 */
struct kl_history_sum {
	uint64_t samples;
	double seconds, low, high, sum;
};

/* One look's @value (what it grew by, or what it was) over @seconds. */
void kl_history_fold(struct kl_history_sum *sum, bool grows, double value, double seconds);

/**
 * struct kl_history_group - processes of one name and user
 * @sum: by figure, from KL_HISTORY_MACHINE on
 * @now: of the look at hand
 * @lists: a bit for each list that it is among the first of
 */
struct kl_history_group {
	uint64_t key;
	char comm[32];
	uint32_t uid;
	unsigned int lists;
	struct kl_history_sum sum[KL_HISTORY_GROUP];
	double now[KL_HISTORY_GROUP];
};

/* When the period of a level began that @time is in. */
int64_t kl_history_begin(const struct kl_history *history, enum kl_history_level level,
			 int64_t time);

int kl_history_write_begin(struct kl_history *history);

/* Adds to the summaries of all levels. @comm: NULL: of the machine. */
int kl_history_write(struct kl_history *history, int64_t minute, const char *comm, uint32_t uid,
		     unsigned int figure, const struct kl_history_sum *sum);

/* Brings what was written to disk, all or, after an @error, nothing; and takes away what is old. */
int kl_history_write_end(struct kl_history *history, int64_t minute, int error);

#endif /* KL_LIB_HISTORY_H */
