// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots: copy the buffers while the session continues. Requests that arrive before a snapshot
 * is begun are coalesced into it; those that arrive during it lead to the next one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kernlens/record_copy.h>
#include "../base/base.h"
#include "recorder.h"

/* How long a copy waits for a record that is still being written. */
#define COPY_TRIES 50
#define COPY_PAUSE_NS 1000000

/* Path of a snapshot, counted from 1; to be freed. NULL if memory runs out. */
static char *path_of(const struct kl_recorder *recorder, uint64_t number)
{
	char *path;

	if (asprintf(&path, "%s.%llu", recorder->path, (unsigned long long)number) >= 0)
		return path;
	kl_fail(ENOMEM, "out of memory");
	return NULL;
}

int kl_recorder_clear_snapshots(struct kl_recorder *recorder, bool force)
{
	int ret = 0;

	for (uint64_t i = 1; i <= recorder->params.snapshots && !ret; i++) {
		char *path = path_of(recorder, i);

		if (!path)
			return -ENOMEM;
		ret = kl_record_clear(path, force);
		/* An empty directory would look like a snapshot. */
		if (!ret && force)
			rmdir(path);
		free(path);
	}
	return ret;
}

/* A record that is still being written is finished soon, unless its CPU is held up. */
static int read_to_end(struct kl_recorder *copy)
{
	const struct timespec pause = { .tv_nsec = COPY_PAUSE_NS };
	int ret;

	for (int i = 0; !(ret = kl_recorder_read(copy, true)) && !kl_reader_at_end(copy->reader);
	     i++) {
		if (i == COPY_TRIES) {
			kl_recorder_notify(copy, KL_RECORD_UNREAD, 0);
			break;
		}
		nanosleep(&pause, NULL);
	}
	kl_recorder_flush(copy, 0);
	return ret ? ret : copy->counts.error;
}

/* Write the copy's blocks. */
static int write_blocks(struct kl_recorder *copy)
{
	struct kl_abi_time now;
	int ret = kl_recorder_open(copy, 0);

	if (!ret)
		ret = kl_reader_end_here(copy->reader);
	ret = kl_recorder_failure(copy, ret);
	if (!ret) {
		kl_recorder_failure(copy, kl_recorder_began(copy));
		ret = read_to_end(copy);
	}
	if (!kl_device_time(copy->source.device, &now))
		kl_trace_set_end(copy->writer, now.cycles, 0);
	kl_recorder_report_missing(copy);
	return ret;
}

int kl_record_copy(const struct kl_record_source *source, const struct kl_recorder_params *params,
		   const struct kl_abi_time *first, struct kl_recorder_counts *counts)
{
	struct kl_recorder copy = { .began = true };
	struct kl_abi_time now;
	int ret, closed;

	ret = kl_recorder_failure(&copy, kl_recorder_init(&copy, source, params));
	copy.first = *first;
	/* The wall clock may have been set since then; the times of the window are those of now. */
	if (!kl_device_time(source->device, &now) && now.monotonic_ns >= first->monotonic_ns)
		copy.first.realtime_ns = now.realtime_ns - (now.monotonic_ns - first->monotonic_ns);
	if (!ret)
		ret = write_blocks(&copy);
	closed = kl_recorder_close(&copy);
	if (!ret)
		ret = closed;
	/* After the blocks, which contain the IDs of the stack traces. */
	if (!ret)
		ret = kl_recorder_name_stacks(&copy);
	if (!ret)
		ret = kl_recorder_name_addresses(&copy);
	if (counts)
		*counts = copy.counts;
	kl_recorder_deinit(&copy);
	return ret;
}

static void write_snapshot(struct kl_recorder *recorder)
{
	char *path = path_of(recorder, recorder->snapshots.written + 1);
	struct kl_recorder_params params = recorder->params;
	int ret;

	params.path = path;
	params.force = false;
	ret = path ? kl_record_copy(&recorder->source, &params, &recorder->first, NULL) :
		     kl_recorder_failure(recorder, -ENOMEM);
	if (ret)
		recorder->snapshots.failed++;
	else
		recorder->snapshots.written++;
	free(path);
}

void kl_recorder_take_snapshots(struct kl_recorder *recorder, uint64_t requests)
{
	struct kl_snapshot_counts *counts = &recorder->snapshots;
	uint64_t more = requests - recorder->requests;

	if (!more)
		return;
	recorder->requests = requests;
	/* A failed snapshot is not retried: its remains would be in the way. */
	if (counts->written == recorder->params.snapshots || counts->failed) {
		counts->beyond += more;
		return;
	}
	counts->merged += more - 1;
	write_snapshot(recorder);
}
