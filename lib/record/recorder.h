/* SPDX-License-Identifier: GPL-2.0 */
/* A recorder, for recorder.c, which writes its trace, and snapshot.c, which copies its buffers. */
#ifndef KL_LIB_RECORDER_H
#define KL_LIB_RECORDER_H

#include <kernlens/record.h>

/*
 * @own_names: `params.names` were made here
 * @first: the clocks when the recording was prepared
 * @began: the trace is worth keeping
 * @stuck: the buffers can no longer be read
 * @failed: negative errno of the first failure that leaves the trace incomplete
 * @requests: requests for snapshots so far
 * @unsaved: there may be names that have not been stored yet
 * @save_ns: when they may be stored next, by CLOCK_MONOTONIC
 */
struct kl_recorder {
	struct kl_record_source source;
	struct kl_recorder_params params;
	char *path;
	bool own_names;
	unsigned int cpus;
	struct kl_trace_writer *writer;
	struct kl_reader *reader;
	struct kl_abi_time first;
	struct kl_recorder_counts counts;
	bool began;
	bool stuck;
	int failed;
	uint64_t requests;
	bool unsaved;
	uint64_t save_ns;
	struct kl_snapshot_counts snapshots;
};

/* Fill in a zeroed recorder and create its trace. To be undone by kl_recorder_deinit(). */
int kl_recorder_init(struct kl_recorder *recorder, const struct kl_record_source *source,
		     const struct kl_recorder_params *params);
void kl_recorder_deinit(struct kl_recorder *recorder);

/* What a trace of the session says of itself, with a clock that is known at @time only. */
int kl_recorder_describe(const struct kl_record_source *source, const struct kl_abi_time *time,
			 struct kl_trace_info *info);

/* Start to read the buffers; @flags: of kl_session_reader(). */
int kl_recorder_open(struct kl_recorder *recorder, unsigned int flags);

/* Store blocks; @partial: also those that are still being filled, for the last time. */
int kl_recorder_read(struct kl_recorder *recorder, bool partial);

/* Write blocks that the writer has kept for at least @age_ns; 0: all. Failures are reported. */
int kl_recorder_flush(struct kl_recorder *recorder, uint64_t age_ns);

/* Fit the clock and close the trace. */
int kl_recorder_close(struct kl_recorder *recorder);

/* Notices about what could not be stored, by CPU. */
void kl_recorder_report_missing(const struct kl_recorder *recorder);

/*
 * Store stack traces and paths of cgroups, and the names of a closed trace's addresses. Failures
 * are reported.
 */
int kl_recorder_name_stacks(const struct kl_recorder *recorder);
int kl_recorder_name_addresses(const struct kl_recorder *recorder);

/* Do the session's records have IDs of cgroups? */
bool kl_record_names_has_cgroups(const struct kl_record_names *names);

/* Report a notice. @error: with its error text, or 0. Returns @error. */
int kl_recorder_notify(const struct kl_recorder *recorder, enum kl_record_notice_kind kind,
		       int error);

/* Report that something could not be written, unless @error is 0. Returns @error. */
int kl_recorder_failure(const struct kl_recorder *recorder, int error);

#endif /* KL_LIB_RECORDER_H */
