// SPDX-License-Identifier: GPL-2.0
/*
 * Write a trace while recording. Blocks go unchanged from a private copy to their file; the clock
 * in the metadata is fitted again at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/cgroup_store.h>
#include <kernlens/compress.h>
#include <kernlens/error.h>
#include <kernlens/id_names.h>
#include <kernlens/session_define.h>
#include <kernlens/timebase.h>
#include "../base/base.h"
#include "recorder.h"

#define KEEP_NS 1000000000u /* how long blocks may wait for others that they are compressed with */

int kl_recorder_notify(const struct kl_recorder *recorder, enum kl_record_notice_kind kind,
		       int error)
{
	const struct kl_record_notice notice = {
		.kind = kind,
		.path = recorder->path,
		.error = error,
	};

	if (recorder->params.notify)
		recorder->params.notify(recorder->params.context, &notice);
	return error;
}

int kl_recorder_failure(const struct kl_recorder *recorder, int error)
{
	return error ? kl_recorder_notify(recorder, KL_RECORD_FAILED, error) : 0;
}

/* Prefix the error text with the path of the trace. */
static int about_path(const struct kl_recorder *recorder, int error)
{
	return error ? kl_fail_about(error, recorder->path) : 0;
}

static void keep_first(struct kl_recorder *recorder, int error)
{
	if (!recorder->failed)
		recorder->failed = error;
}

/* ---------------------------------------------------------------- creation */

int kl_recorder_describe(const struct kl_record_source *source, const struct kl_abi_time *time,
			 struct kl_trace_info *info)
{
	kl_trace_info_init(info);
	kl_trace_clock_read(&info->clock);
	memcpy(info->uuid, source->config->uuid, sizeof(info->uuid));
	snprintf(info->trace_name, sizeof(info->trace_name), "%s", source->config->name);
	return kl_timebase_fit(&info->timebase, time, NULL);
}

static int create_trace(struct kl_recorder *recorder)
{
	const struct kl_record_source *source = &recorder->source;
	struct kl_trace_info info;

	kl_recorder_describe(source, &recorder->first, &info);
	snprintf(info.scope, sizeof(info.scope), "%s", source->scope);
	info.command = source->command;
	recorder->writer = kl_trace_create(recorder->path, source->schema, &info);
	if (!recorder->writer)
		return about_path(recorder, -errno);
	if (!recorder->params.compress ||
	    !kl_trace_compress(recorder->writer, recorder->params.compress))
		return 0;
	kl_trace_finish(recorder->writer, NULL);
	recorder->writer = NULL;
	kl_record_discard(recorder->path);
	return kl_fail(ENOMEM, "out of memory");
}

int kl_recorder_init(struct kl_recorder *recorder, const struct kl_record_source *source,
		     const struct kl_recorder_params *params)
{
	int ret;

	recorder->source = *source;
	recorder->params = *params;
	recorder->cpus = kl_device_info(source->device)->cpus;
	recorder->path = strdup(params->path);
	if (!recorder->path)
		return kl_fail(ENOMEM, "out of memory");
	if (!params->names) {
		recorder->params.names = kl_record_names_create(source, true);
		recorder->own_names = true;
		if (!recorder->params.names)
			return -errno;
	}
	ret = kl_record_clear(params->path, params->force);
	if (!ret)
		ret = kl_device_time(source->device, &recorder->first);
	return ret ? ret : create_trace(recorder);
}

void kl_recorder_deinit(struct kl_recorder *recorder)
{
	if (recorder->own_names)
		kl_record_names_destroy(recorder->params.names);
	free(recorder->path);
}

struct kl_recorder *kl_recorder_create(const struct kl_record_source *source,
				       const struct kl_recorder_params *params)
{
	struct kl_recorder *recorder = calloc(1, sizeof(*recorder));
	int ret;

	if (!recorder) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	ret = kl_recorder_init(recorder, source, params);
	recorder->unsaved = true;
	if (!ret)
		return recorder;
	kl_recorder_deinit(recorder);
	free(recorder);
	errno = -ret;
	return NULL;
}

void kl_recorder_destroy(struct kl_recorder *recorder)
{
	if (!recorder)
		return;
	kl_recorder_finish(recorder);
	kl_recorder_deinit(recorder);
	free(recorder);
}

/* ----------------------------------------------------------------- reading */

int kl_recorder_open(struct kl_recorder *recorder, unsigned int flags)
{
	const struct kl_record_source *source = &recorder->source;
	int fd = kl_session_reader(source->session, flags);

	if (fd < 0)
		return fd;
	recorder->reader =
		kl_reader_create(fd, recorder->cpus, source->config->block_bytes, KL_BACKEND_MMAP);
	return recorder->reader ? 0 : -errno;
}

static bool overwrites(const struct kl_recorder *recorder)
{
	return recorder->source.config->mode == KL_MODE_OVERWRITE;
}

int kl_recorder_attach(struct kl_recorder *recorder)
{
	return overwrites(recorder) ? 0 : kl_recorder_open(recorder, KL_READER_HOLD);
}

int kl_recorder_fd(const struct kl_recorder *recorder)
{
	return recorder->reader && !recorder->stuck ? kl_reader_fd(recorder->reader) : -1;
}

static void note_unstored(struct kl_recorder *recorder, int error)
{
	if (!error || recorder->counts.error)
		return;
	recorder->counts.error = error;
	kl_recorder_notify(recorder, KL_RECORD_UNSTORED, error);
}

static uint64_t count_unstored(const struct kl_recorder *recorder)
{
	uint64_t records = 0;
	struct kl_loss loss;

	for (unsigned int cpu = 0; recorder->counts.error && cpu < recorder->cpus; cpu++)
		if (kl_trace_unstored(recorder->writer, cpu, &loss))
			records += loss.records;
	return records;
}

int kl_recorder_flush(struct kl_recorder *recorder, uint64_t age_ns)
{
	note_unstored(recorder, kl_trace_flush(recorder->writer, age_ns));
	recorder->counts.bytes = kl_trace_written(recorder->writer);
	recorder->counts.unstored = count_unstored(recorder);
	return recorder->counts.error;
}

int kl_recorder_read(struct kl_recorder *recorder, bool partial)
{
	struct kl_reader_block block;
	int got;

	while ((got = kl_reader_next_block(recorder->reader, partial, &block)) > 0)
		note_unstored(recorder, kl_trace_append(recorder->writer, block.block, block.to));
	if (got < 0) {
		recorder->stuck = true;
		keep_first(recorder, got);
		kl_recorder_notify(recorder, KL_RECORD_STUCK, got);
	}
	kl_reader_counts(recorder->reader, &recorder->counts.read);
	kl_recorder_flush(recorder, KEEP_NS);
	return got;
}

int kl_recorder_drain(struct kl_recorder *recorder)
{
	if (recorder->stuck)
		return kl_fail(EIO, "%s: the buffers can no longer be read", recorder->path);
	return recorder->reader ? kl_recorder_read(recorder, false) : 0;
}

/* Store the names in a flight recorder's session. */
static void publish_names(struct kl_recorder *recorder)
{
	struct kl_record_names *names = recorder->params.names;
	struct kl_id_names all = {
		.stacks = kl_record_names_stacks(names),
		.cgroups = kl_record_names_cgroups(names),
	};
	struct kl_buffer bytes = {};

	/* Without them, a trace after a crash has addresses. */
	if (!kl_id_names_write(&all, &bytes))
		kl_session_set_names(recorder->source.session, bytes.data, bytes.length);
	kl_buffer_deinit(&bytes);
	kl_error_clear();
}

int kl_recorder_save_stacks(struct kl_recorder *recorder)
{
	struct kl_record_names *names = recorder->params.names;
	bool stacks = kl_record_names_has_stacks(names);
	int got = stacks ? kl_record_names_collect(names, false) : 0;
	uint64_t began = kl_monotonic_ns();

	recorder->unsaved |= got > 0;
	/* All are written each time, which may take a fiftieth of the time. */
	if (!recorder->unsaved || began < recorder->save_ns)
		return got < 0 ? got : 0;
	if (overwrites(recorder) && (stacks || kl_record_names_has_cgroups(names)))
		publish_names(recorder);
	/* A failure is repeated, and reported, at the end. */
	if (stacks)
		kl_stacks_save(kl_record_names_stacks(names), recorder->path);
	recorder->unsaved = false;
	recorder->save_ns = began + 50 * (kl_monotonic_ns() - began);
	return got < 0 ? got : 0;
}

/* ------------------------------------------------------- beginning and end */

int kl_recorder_began(struct kl_recorder *recorder)
{
	struct kl_abi_stats stats;
	int error = kl_session_stats(recorder->source.session, -1, &stats);

	recorder->began = true;
	/* Some may be removed before the end. */
	kl_record_names_read_cgroups(recorder->params.names);
	if (!error)
		error = kl_trace_set_begin(recorder->writer, stats.begin_cycles);
	return about_path(recorder, error);
}

static int set_totals(struct kl_recorder *recorder)
{
	struct kl_abi_stats all, stats;
	int error = kl_session_stats(recorder->source.session, -1, &all);

	for (unsigned int cpu = 0; cpu < recorder->cpus && !error; cpu++) {
		/* A CPU ID that does not exist has no records. */
		error = kl_session_stats(recorder->source.session, (int)cpu, &stats);
		if (!error)
			error = kl_trace_set_total(recorder->writer, cpu, stats.written,
						   stats.lost);
		all.lost -= stats.lost;
	}
	if (!error)
		kl_trace_set_end(recorder->writer, all.end_cycles, all.lost);
	return about_path(recorder, error);
}

void kl_recorder_report_missing(const struct kl_recorder *recorder)
{
	struct kl_record_notice notice = { .kind = KL_RECORD_MISSING, .path = recorder->path };
	struct kl_loss loss;

	if (!recorder->params.notify)
		return;
	notice.loss = &loss;
	for (unsigned int cpu = 0; recorder->counts.error && cpu < recorder->cpus; cpu++)
		if (kl_trace_unstored(recorder->writer, cpu, &loss))
			recorder->params.notify(recorder->params.context, &notice);
}

int kl_recorder_name_stacks(const struct kl_recorder *recorder)
{
	int error = kl_record_names_save_stacks(recorder->params.names, recorder->path);

	if (!error)
		error = kl_record_names_save_cgroups(recorder->params.names, recorder->path);
	return kl_recorder_failure(recorder, error);
}

int kl_recorder_name_addresses(const struct kl_recorder *recorder)
{
	int got = kl_record_names_save_addresses(recorder->params.names, recorder->path);

	if (!got)
		kl_recorder_notify(recorder, KL_RECORD_UNNAMED, 0);
	return got < 0 ? kl_recorder_failure(recorder, got) : 0;
}

int kl_recorder_ended(struct kl_recorder *recorder)
{
	int error = overwrites(recorder) ? kl_recorder_open(recorder, KL_READER_HOLD) : 0;

	keep_first(recorder, kl_recorder_failure(recorder, error));
	if (!recorder->failed)
		kl_recorder_drain(recorder);
	kl_recorder_flush(recorder, 0);
	keep_first(recorder, recorder->counts.error);
	kl_recorder_failure(recorder, set_totals(recorder));
	kl_recorder_report_missing(recorder);
	if (!recorder->failed)
		recorder->failed = kl_recorder_name_stacks(recorder);
	return recorder->failed;
}

int kl_recorder_close(struct kl_recorder *recorder)
{
	struct kl_device *device = recorder->source.device;
	struct kl_timebase timebase;
	struct kl_abi_time last;
	bool fitted;
	int error;

	kl_reader_destroy(recorder->reader);
	recorder->reader = NULL;
	if (!recorder->writer)
		return 0;
	fitted = !kl_device_time(device, &last) &&
		 !kl_timebase_fit(&timebase, &recorder->first, &last);
	error = kl_trace_finish(recorder->writer, fitted ? &timebase : NULL);
	recorder->writer = NULL;
	error = kl_recorder_failure(recorder, about_path(recorder, error));
	if (!recorder->began)
		kl_record_discard(recorder->path);
	return error;
}

int kl_recorder_finish(struct kl_recorder *recorder)
{
	int error;

	if (!recorder->writer)
		return 0;
	error = kl_recorder_close(recorder);
	keep_first(recorder, error);
	if (!recorder->failed && recorder->began)
		error = kl_recorder_name_addresses(recorder);
	return error;
}

const struct kl_recorder_counts *kl_recorder_counts(const struct kl_recorder *recorder)
{
	return &recorder->counts;
}

const struct kl_snapshot_counts *kl_recorder_snapshots(const struct kl_recorder *recorder)
{
	return &recorder->snapshots;
}
