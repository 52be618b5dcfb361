// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a trace while it is recorded. Blocks go from a private copy to their
 * file as they are; the clock in the metadata is fitted again at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "common.h"
#include "recorder.h"

/* How long a copy waits for a record that is being written. */
#define COPY_TRIES 50
#define COPY_PAUSE_NS 1000000

static bool is_stream(const char *name)
{
	return !strncmp(name, "cpu", 3) && name[3] &&
	       strspn(name + 3, "0123456789") == strlen(name + 3);
}

/* Entries of a directory that are part of a trace, and others. */
static void count_entries(DIR *dir, unsigned int *ours, unsigned int *others)
{
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!strcmp(entry->d_name, "metadata") || is_stream(entry->d_name))
			(*ours)++;
		else if (strcmp(entry->d_name, KL_STACKS_FOLDER) != 0)
			(*others)++;
	}
}

/* Take the files of the trace that is there away, and only those. */
static int remove_trace(DIR *dir)
{
	const struct dirent *entry;

	rewinddir(dir);
	unlinkat(dirfd(dir), KL_STACKS_FILE, 0);
	unlinkat(dirfd(dir), KL_ADDRESSES_FILE, 0);
	unlinkat(dirfd(dir), KL_STACKS_FOLDER, AT_REMOVEDIR);
	while ((entry = readdir(dir)))
		if (!strcmp(entry->d_name, "metadata") || is_stream(entry->d_name))
			if (unlinkat(dirfd(dir), entry->d_name, 0))
				return -errno;
	return 0;
}

/* Nothing was recorded: leave nothing behind. */
static void discard_trace(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir)
		return;
	remove_trace(dir);
	closedir(dir);
	rmdir(path);
}

int cli_recorder_clear(const char *path, bool force)
{
	unsigned int ours = 0, others = 0;
	int error = 0;
	DIR *dir = opendir(path);

	if (!dir && errno == ENOENT)
		return CLI_OK;
	if (!dir)
		return cli_error(-errno, "%s: %s", path, strerror(errno));
	count_entries(dir, &ours, &others);
	if (others && !ours)
		error = cli_error(-ENOTEMPTY, "%s has other files in it; choose another with -o",
				  path);
	else if (ours && !force)
		error = cli_error(-EEXIST, "%s has a trace in it; --force replaces it", path);
	else if (ours)
		error = remove_trace(dir);
	closedir(dir);
	if (error < 0)
		error = cli_error(error, "%s: cannot remove the old trace: %s", path,
				  strerror(-error));
	return error;
}

int cli_recorder_init(struct cli_recorder *recorder, struct cli_run *run, const char *path,
		      bool force)
{
	struct cli_session *s = run->session;
	struct kl_trace_info info;
	int error, status;

	*recorder = (struct cli_recorder){ .run = run, .path = path };
	status = cli_recorder_clear(path, force);
	if (status)
		return status;
	error = kl_device_time(s->device, &recorder->first);
	if (error)
		return cli_library_error(error, NULL);
	kl_trace_info_init(&info);
	memcpy(info.uuid, s->config.uuid, sizeof(info.uuid));
	snprintf(info.trace_name, sizeof(info.trace_name), "%s", s->config.name);
	kl_timebase_fit(&info.timebase, &recorder->first, NULL);
	recorder->writer = kl_trace_create(path, s->schema, &info);
	return recorder->writer ? CLI_OK : cli_library_error(-errno, "%s", path);
}

static int attach(struct cli_recorder *recorder, unsigned int flags)
{
	struct cli_session *s = recorder->run->session;
	unsigned int cpus = kl_device_info(s->device)->cpus;
	int fd = kl_session_reader(s->session, flags);

	if (fd < 0)
		return cli_library_error(fd, NULL);
	recorder->reader = kl_reader_create(fd, cpus, s->config.block_bytes, KL_BACKEND_MMAP);
	return recorder->reader ? CLI_OK : cli_library_error(-errno, NULL);
}

int cli_recorder_attach(struct cli_recorder *recorder)
{
	return attach(recorder, KL_READER_HOLD);
}

int cli_recorder_fd(const struct cli_recorder *recorder)
{
	return recorder->reader && !recorder->error ? kl_reader_fd(recorder->reader) : -1;
}

/* @partial: also what is there of blocks that are being filled, for the last time. */
static bool drain(struct cli_recorder *recorder, bool partial)
{
	struct kl_reader_block block;
	int got;

	while ((got = kl_reader_next_block(recorder->reader, partial, &block)) > 0) {
		got = kl_trace_append(recorder->writer, block.block, block.to);
		if (got < 0)
			break;
	}
	kl_reader_counts(recorder->reader, &recorder->counts);
	recorder->bytes = kl_trace_written(recorder->writer);
	if (got < 0) {
		recorder->error = got;
		cli_library_error(got, "%s: the recording ends here", recorder->path);
	}
	return !recorder->error;
}

bool cli_recorder_drain(struct cli_recorder *recorder)
{
	if (!recorder->reader || recorder->error)
		return !recorder->error;
	return drain(recorder, false);
}

/* A record that is just being written is finished soon, unless its CPU is held up. */
static int drain_to_end(struct cli_recorder *copy)
{
	const struct timespec pause = { .tv_nsec = COPY_PAUSE_NS };

	for (int i = 0; drain(copy, true) && !kl_reader_at_end(copy->reader); i++) {
		if (i == COPY_TRIES) {
			cli_note("%s: a CPU's last block could not be read", copy->path);
			break;
		}
		nanosleep(&pause, NULL);
	}
	return copy->error ? CLI_FAILED : CLI_OK;
}

int cli_recorder_copy(const struct cli_recorder *recorder, const char *path)
{
	struct cli_recorder copy;
	int status = cli_recorder_init(&copy, recorder->run, path, false), finished;

	copy.first = recorder->first;
	if (!status)
		status = attach(&copy, 0);
	if (!status && kl_reader_end_here(copy.reader))
		status = cli_library_error(-EINVAL, "%s", path);
	if (!status)
		status = drain_to_end(&copy);
	finished = cli_recorder_deinit(&copy);
	return status ? status : finished;
}

int cli_recorder_deinit(struct cli_recorder *recorder)
{
	struct kl_device *device = recorder->run->session->device;
	struct kl_timebase timebase;
	struct kl_abi_time last;
	bool fitted;
	int error;

	kl_reader_destroy(recorder->reader);
	recorder->reader = NULL;
	if (!recorder->writer)
		return CLI_OK;
	fitted = !kl_device_time(device, &last) &&
		 !kl_timebase_fit(&timebase, &recorder->first, &last);
	error = kl_trace_finish(recorder->writer, fitted ? &timebase : NULL);
	recorder->writer = NULL;
	if (!recorder->run->began_ns)
		discard_trace(recorder->path);
	return error ? cli_library_error(error, "%s", recorder->path) : CLI_OK;
}
