/* SPDX-License-Identifier: GPL-2.0 */
/* What the files that read the figures share: the reader and its processes. */
#ifndef KL_LIB_METRICS_READER_H
#define KL_LIB_METRICS_READER_H

#include <kernlens/cgroup.h>
#include <kernlens/inspect.h>
#include <kernlens/machine.h>
#include <kernlens/metrics.h>

/**
 * struct kl_metrics_column - a variable of processes that is published
 * @metric: what it is published as
 * @at: index among the variables of the inspection
 * @other: sum over processes without a series of their own; of a counter, since the first read
 */
struct kl_metrics_column {
	size_t metric;
	size_t at;
	double other;
};

/* Variables that are always read. */
enum {
	KL_METRICS_PID,
	KL_METRICS_START,
	KL_METRICS_COMM,
	KL_METRICS_STATE,
	KL_METRICS_UID,
	KL_METRICS_OWN,
};

/**
 * struct kl_metrics_reader - what is read
 * @inspect: of processes; created at the first read
 * @ids: variables that it reads
 * @cgroup: index of the cgroup among them, if the choice has one
 * @column: what is published; @n_columns: number of these
 * @fold: growth of the columns that are counters
 * @cgroups: those of the choice
 * @system: inspection of the machine's variables, for the metrics in @system_metric
 * @last_ns: CLOCK_BOOTTIME of the previous read of processes; 0: none
 * @sessions: growth of the counters of sessions; @session_other: sums over those without a series
 */
struct kl_metrics_reader {
	struct kl_metrics *metrics;
	struct kl_device *device;
	const struct kl_metrics_choice *choice;
	struct kl_inspect *inspect;
	uint32_t ids[KL_METRICS_OWN + 1 + KL_METRICS + KL_METRICS_MORE];
	size_t n_ids;
	size_t cgroup;
	struct kl_metrics_column column[KL_METRICS + KL_METRICS_MORE];
	size_t n_columns;
	struct kl_fold *fold;
	struct kl_cgroup_set cgroups;
	struct kl_machine *machine;
	struct kl_inspect *system;
	size_t system_metric[KL_METRICS];
	size_t n_system;
	uint64_t last_ns;
	struct kl_fold *sessions;
	double session_other[3];
};

/* The index of a variable in the inspection; it is added if necessary. */
size_t kl_metrics_reader_index(struct kl_metrics_reader *r, uint32_t id);

/* Read and add the selected processes. Returns 0 or a negative errno. */
int kl_metrics_read_processes(struct kl_metrics_reader *r);

#endif /* KL_LIB_METRICS_READER_H */
