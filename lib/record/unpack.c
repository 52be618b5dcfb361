// SPDX-License-Identifier: GPL-2.0
/*
 * Writes the files of a pack, or of a compressed trace, into a directory. The pack may come from a
 * stranger: only names of a trace's files are written, sizes are added up before the first is, and
 * each byte is checked. The metadata comes last, so that a part of a trace is not taken for one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/compress.h>
#include <kernlens/error.h>
#include <kernlens/metadata.h>
#include <kernlens/record.h>
#include "../base/base.h"
#include "../base/folder.h"
#include "../reader/files.h"
#include "../reader/frame.h"

#define PART_BYTES (64u << 10) /* written at once */
#define LIMIT_BYTES (1ull << 30)
#define LIMIT_FACTOR 100

struct unpacker {
	struct kl_files source;
	struct kl_stream_file *streams;
	size_t n_streams;
	int dir;
	struct kl_pack_counts *counts;
};

/* A callback for each file. */
typedef int (*file_fn)(struct unpacker *u, const char *name, struct kl_window *window);

/* ---------------------------------------------------------------- all files */

/* Nothing may be missing from a compressed file. */
static int check_whole(const struct unpacker *u, const char *name, const struct kl_window *window)
{
	const struct kl_packed *file = kl_pack_find(&u->source.pack, name);

	if (window->ops && window->gone)
		return kl_fail(EIO, "%s is damaged: %llu bytes of it cannot be read", name,
			       (unsigned long long)window->gone);
	if (file &&
	    (window->size != file->entry.plain_bytes || file->stored != file->entry.stored_bytes))
		return kl_fail(EIO, "%s is damaged: its size is wrong", name);
	return 0;
}

static int with_file(struct unpacker *u, const char *name, struct kl_window *window, file_fn use)
{
	int ret = check_whole(u, name, window);

	if (!ret)
		ret = use(u, name, window);
	kl_window_close(window);
	return ret;
}

static int each_file(struct unpacker *u, file_fn use)
{
	char stream[KL_PACK_NAME_MAX];
	struct kl_window window;
	const char *name;
	int ret = 0;

	for (size_t i = 0; i < u->n_streams && !ret; i++) {
		snprintf(stream, sizeof(stream), "cpu%u", u->streams[i].cpu);
		ret = kl_files_stream(&u->source, &u->streams[i], &window);
		if (!ret)
			ret = with_file(u, stream, &window, use);
	}
	for (size_t i = 0; !ret && (name = kl_pack_name(i)); i++) {
		ret = kl_files_window(&u->source, name, &window);
		if (!ret)
			ret = with_file(u, name, &window, use);
		else if ((ret == -ENOENT || ret == -ENOTDIR) && strcmp(name, "metadata"))
			ret = 0;
	}
	return ret;
}

static int count_file(struct unpacker *u, const char *name, struct kl_window *window)
{
	const struct kl_packed *file = kl_pack_find(&u->source.pack, name);

	u->counts->files++;
	u->counts->plain_bytes += window->size;
	u->counts->stored_bytes += file ? file->stored : 0;
	return 0;
}

/* Refuse what would expand to more than any trace does, before anything is written. */
static int check_size(struct unpacker *u, uint64_t limit)
{
	uint64_t stored = u->source.dir < 0 ? u->source.pack.bytes : 0;
	int ret = each_file(u, count_file);

	if (ret)
		return ret;
	if (!limit && u->source.dir >= 0)
		return 0;
	if (!limit)
		limit = stored > LIMIT_BYTES / LIMIT_FACTOR ? stored * LIMIT_FACTOR : LIMIT_BYTES;
	if (u->counts->plain_bytes > limit)
		return kl_fail(EFBIG, "it expands to %llu bytes, more than the limit of %llu",
			       (unsigned long long)u->counts->plain_bytes,
			       (unsigned long long)limit);
	return 0;
}

/* ----------------------------------------------------------------- writing */

static int write_parts(int fd, const char *name, struct kl_window *window)
{
	int ret = 0;

	for (uint64_t at = 0; at < window->size && !ret; at += PART_BYTES) {
		uint64_t rest = window->size - at;
		size_t length = rest < PART_BYTES ? (size_t)rest : PART_BYTES;
		const void *bytes = kl_window_at(window, at, length);

		if (!bytes)
			ret = kl_fail(EIO, "%s is damaged", name);
		else if (kl_write_all(fd, bytes, length))
			ret = kl_fail_system(errno, "%s", name);
	}
	return ret;
}

static int write_file(struct unpacker *u, const char *name, struct kl_window *window)
{
	const char *slash = strchr(name, '/');
	int dir = u->dir, fd, ret = 0;

	if (slash) {
		dir = kl_folder_open(u->dir, KL_TRACE_FOLDER, true);
		if (dir < 0)
			return dir;
	}
	fd = kl_folder_create(dir, slash ? slash + 1 : name);
	if (fd < 0)
		ret = kl_fail_system(-fd, "%s", name);
	if (window->ops)
		kl_frames_verify(window);
	if (!ret)
		ret = write_parts(fd, name, window);
	if (fd >= 0 && close(fd) && !ret)
		ret = kl_fail_system(errno, "%s", name);
	if (slash)
		close(dir);
	return ret;
}

static int write_files(struct unpacker *u, const char *output, bool force)
{
	int ret = kl_record_clear(output, force);

	if (ret)
		return ret;
	u->dir = kl_folder_open(AT_FDCWD, output, true);
	if (u->dir < 0)
		return u->dir;
	ret = each_file(u, write_file);
	close(u->dir);
	if (ret) {
		kl_fail_about(ret, output);
		kl_record_discard(output);
	}
	return ret;
}

/* A directory must not be unpacked into itself. */
static bool is_same(const struct unpacker *u, const char *output)
{
	struct stat from, to;

	return u->source.dir >= 0 && !fstat(u->source.dir, &from) && !stat(output, &to) &&
	       from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

int kl_unpack_trace(const char *path, const char *output, bool force, uint64_t limit,
		    struct kl_pack_counts *counts)
{
	struct unpacker u = { .dir = -1, .counts = counts };
	int ret = kl_files_open(&u.source, path);

	*counts = (struct kl_pack_counts){ 0 };
	if (ret)
		return ret;
	if (u.source.dir < 0 && !u.source.pack.whole)
		ret = kl_fail(EIO, "the pack is damaged, or its end is missing");
	else if (is_same(&u, output))
		ret = kl_fail(EINVAL, "a trace cannot be unpacked into itself");
	if (!ret)
		ret = kl_files_streams(&u.source, &u.streams, &u.n_streams);
	if (!ret)
		ret = check_size(&u, limit);
	if (ret)
		ret = kl_fail_about(ret, path);
	else
		ret = write_files(&u, output, force);
	free(u.streams);
	kl_files_close(&u.source);
	return ret;
}
