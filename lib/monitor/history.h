/* SPDX-License-Identifier: GPL-2.0 */
/* Internals of the history: its figures (history.def), and what sampler and database share. */
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

/* The machine's figures come first. */
#define KL_HISTORY_MACHINE KL_HISTORY_cpu_time
#define KL_HISTORY_GROUP (KL_HISTORY_FIGURE_COUNT - KL_HISTORY_MACHINE)

/* Groups to keep: this many by each of CPU, memory, I/O and faults. */
#define KL_HISTORY_TOP 10

/**
 * struct kl_history_sum - a figure over some samples
 * @sum: total growth, or the value times seconds
 */
struct kl_history_sum {
	uint64_t samples;
	double seconds, low, high, sum;
};

/**
 * struct kl_history_group - processes of one name and user
 * @sum: by figure, from KL_HISTORY_MACHINE on
 * @now: of the current sample
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

/* Start of the period of a level that contains @time. */
int64_t kl_history_begin(const struct kl_history *history, enum kl_history_level level,
			 int64_t time);

int kl_history_write_begin(struct kl_history *history);

/* Add to the summaries of all levels. @comm: NULL for the machine. */
int kl_history_write(struct kl_history *history, int64_t minute, const char *comm, uint32_t uid,
		     unsigned int figure, const struct kl_history_sum *sum);

/* Commit what was written or, after an @error, roll it back; also deletes old entries. */
int kl_history_write_end(struct kl_history *history, int64_t minute, int error);

#endif /* KL_LIB_HISTORY_H */
