// SPDX-License-Identifier: GPL-2.0
/*
 * Write a trace while recording. Blocks go unchanged from a private copy to their file; the clock
 * in the metadata is fitted again at the end.
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

/* How long a copy waits for a record that is still being written. */
#define COPY_TRIES 50
#define COPY_PAUSE_NS 1000000

static bool is_stream(const char *name)
{
	return !strncmp(name, "cpu", 3) && name[3] &&
	       strspn(name + 3, "0123456789") == strlen(name + 3);
}

/* Open a directory that belongs to us: another owner could change what we find there. */
static int open_own(const char *path, DIR **dir)
{
	int fd = kl_trace_folder(AT_FDCWD, path);

	*dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !*dir)
		close(fd);
	return fd < 0 ? fd : *dir ? 0 : -errno;
}

/*
 * Count the entries of a directory that are part of a trace, and the others. Returns a negative
 * errno if its folder ".kernlens" must not be written to.
 */
static int count_entries(DIR *dir, unsigned int *ours, unsigned int *others)
{
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!strcmp(entry->d_name, KL_TRACE_FOLDER)) {
			int folder = kl_trace_folder(dirfd(dir), KL_TRACE_FOLDER);

			if (folder < 0)
				return folder;
			close(folder);
		} else if (!strcmp(entry->d_name, "metadata") || is_stream(entry->d_name)) {
			(*ours)++;
		} else {
			(*others)++;
		}
	}
	return 0;
}

static void remove_folder(int dir)
{
	static const char *const files[] = { KL_STACKS_FILE, KL_ADDRESSES_FILE, KL_MANIFEST_FILE };
	int folder = kl_trace_folder(dir, KL_TRACE_FOLDER);

	if (folder < 0)
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlinkat(folder, files[i] + sizeof(KL_TRACE_FOLDER), 0);
	close(folder);
	unlinkat(dir, KL_TRACE_FOLDER, AT_REMOVEDIR);
}

/* Remove the files of the existing trace, and only those. */
static int remove_trace(DIR *dir)
{
	const struct dirent *entry;

	rewinddir(dir);
	remove_folder(dirfd(dir));
	while ((entry = readdir(dir)))
		if (!strcmp(entry->d_name, "metadata") || is_stream(entry->d_name))
			if (unlinkat(dirfd(dir), entry->d_name, 0))
				return -errno;
	return 0;
}

void cli_recorder_discard(const char *path)
{
	DIR *dir;

	if (open_own(path, &dir))
		return;
	remove_trace(dir);
	closedir(dir);
	rmdir(path);
}

int cli_recorder_clear(const char *path, bool force)
{
	unsigned int ours = 0, others = 0;
	DIR *dir;
	int error = open_own(path, &dir);

	if (error == -ENOENT)
		return CLI_OK;
	if (error)
		return cli_library_error(error, NULL);
	error = count_entries(dir, &ours, &others);
	if (error)
		error = cli_library_error(error, "%s", path);
	else if (others && !ours)
		error = cli_error(-ENOTEMPTY,
				  "%s contains other files; choose another directory with -o",
				  path);
	else if (ours && !force)
		error = cli_error(-EEXIST, "%s already contains a trace; --force replaces it",
				  path);
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
	snprintf(info.scope, sizeof(info.scope), "%s", cli_session_scope(s));
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
	return recorder->reader && !recorder->stuck ? kl_reader_fd(recorder->reader) : -1;
}

static void take_block(struct cli_recorder *recorder, const struct kl_reader_block *block)
{
	int error = kl_trace_append(recorder->writer, block->block, block->to);

	if (!error || recorder->error)
		return;
	recorder->error = error;
	cli_note("%s: %s; from now on records are counted, not stored", recorder->path,
		 kl_error_text());
}

static uint64_t count_unstored(const struct cli_recorder *recorder)
{
	unsigned int cpus = kl_device_info(recorder->run->session->device)->cpus;
	uint64_t records = 0;
	struct kl_loss loss;

	for (unsigned int cpu = 0; recorder->error && cpu < cpus; cpu++)
		if (kl_trace_unstored(recorder->writer, cpu, &loss))
			records += loss.records;
	return records;
}

/* @partial: also read blocks that are still being filled, for the last time. */
static bool drain(struct cli_recorder *recorder, bool partial)
{
	struct kl_reader_block block;
	int got;

	while ((got = kl_reader_next_block(recorder->reader, partial, &block)) > 0)
		take_block(recorder, &block);
	kl_reader_counts(recorder->reader, &recorder->counts);
	recorder->bytes = kl_trace_written(recorder->writer);
	recorder->unstored = count_unstored(recorder);
	if (got < 0) {
		recorder->stuck = true;
		cli_library_error(got, "%s: recording stopped", recorder->path);
	}
	return !recorder->stuck;
}

bool cli_recorder_drain(struct cli_recorder *recorder)
{
	if (!recorder->reader || recorder->stuck)
		return !recorder->stuck;
	return drain(recorder, false);
}

void cli_recorder_began(struct cli_recorder *recorder)
{
	struct kl_abi_stats stats;
	int error = kl_session_stats(recorder->run->session->session, -1, &stats);

	if (!error)
		error = kl_trace_set_begin(recorder->writer, stats.begin_cycles);
	if (error)
		cli_library_error(error, "%s", recorder->path);
}

void cli_recorder_ended(struct cli_recorder *recorder)
{
	struct cli_session *s = recorder->run->session;
	unsigned int cpus = kl_device_info(s->device)->cpus;
	struct kl_abi_stats all, stats;
	int error = kl_session_stats(s->session, -1, &all);

	for (unsigned int cpu = 0; cpu < cpus && !error; cpu++) {
		/* A CPU ID that does not exist has no records. */
		error = kl_session_stats(s->session, (int)cpu, &stats);
		if (!error)
			error = kl_trace_set_total(recorder->writer, cpu, stats.written,
						   stats.lost);
		all.lost -= stats.lost;
	}
	if (error)
		cli_library_error(error, "%s", recorder->path);
	else
		kl_trace_set_end(recorder->writer, all.end_cycles, all.lost);
}

static double since(const struct kl_loss *loss, uint64_t ns)
{
	return ns > loss->origin_ns ? (double)(ns - loss->origin_ns) / 1e9 : 0;
}

void cli_recorder_print_unstored(const struct cli_recorder *recorder)
{
	unsigned int cpus = kl_device_info(recorder->run->session->device)->cpus;
	char number[2][CLI_NUMBER_MAX];
	struct kl_loss loss;

	for (unsigned int cpu = 0; recorder->error && cpu < cpus; cpu++)
		if (kl_trace_unstored(recorder->writer, cpu, &loss))
			cli_note("CPU %u: %s records in %s blocks starting at %llu were not "
				 "stored, from %.6f s to %.6f s",
				 cpu, cli_print_count(number[0], loss.records),
				 cli_print_count(number[1], loss.blocks),
				 (unsigned long long)loss.first_block, since(&loss, loss.begin_ns),
				 since(&loss, loss.end_ns));
}

/* A record that is still being written is finished soon, unless its CPU is held up. */
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
	return copy->error || copy->stuck ? CLI_FAILED : CLI_OK;
}

int cli_recorder_copy(const struct cli_recorder *recorder, const char *path)
{
	struct cli_recorder copy;
	struct kl_abi_time now;
	int status = cli_recorder_init(&copy, recorder->run, path, false), finished;

	copy.first = recorder->first;
	if (!status)
		status = attach(&copy, 0);
	if (!status && kl_reader_end_here(copy.reader))
		status = cli_library_error(-EINVAL, "%s", path);
	if (!status)
		cli_recorder_began(&copy);
	if (!status)
		status = drain_to_end(&copy);
	if (copy.writer && !kl_device_time(copy.run->session->device, &now))
		kl_trace_set_end(copy.writer, now.cycles, 0);
	cli_recorder_print_unstored(&copy);
	finished = cli_recorder_deinit(&copy);
	return status ? status : finished;
}

int cli_recorder_deinit(struct cli_recorder *recorder)
{
	struct kl_device *device;
	struct kl_timebase timebase;
	struct kl_abi_time last;
	bool fitted;
	int error;

	kl_reader_destroy(recorder->reader);
	recorder->reader = NULL;
	if (!recorder->writer)
		return CLI_OK;
	device = recorder->run->session->device;
	fitted = !kl_device_time(device, &last) &&
		 !kl_timebase_fit(&timebase, &recorder->first, &last);
	error = kl_trace_finish(recorder->writer, fitted ? &timebase : NULL);
	recorder->writer = NULL;
	if (!recorder->run->began_ns)
		cli_recorder_discard(recorder->path);
	return error ? cli_library_error(error, "%s", recorder->path) : CLI_OK;
}
