// SPDX-License-Identifier: GPL-2.0
/* Finds and opens the files of a trace in a directory or in a pack. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kernlens/compress.h>
#include "../base/base.h"
#include "files.h"
#include "frame.h"

/* What a file that is read as a whole may expand to: none compresses nearly as well. */
#define EXPANSION_MAX 256
#define EXPANSION_FREE (1u << 20)

int kl_files_open(struct kl_files *files, const char *path)
{
	struct stat about;

	*files = (struct kl_files){ .dir = -1, .pack.fd = -1 };
	if (!stat(path, &about) && S_ISREG(about.st_mode))
		return kl_pack_open(&files->pack, path);
	files->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return files->dir < 0 ? kl_fail_system(errno, "%s", path) : 0;
}

void kl_files_close(struct kl_files *files)
{
	if (files->dir >= 0)
		close(files->dir);
	files->dir = -1;
	kl_pack_close(&files->pack);
}

/* ----------------------------------------------------------------- streams */

/* The stream that an entry of a directory is. */
static bool is_stream(const char *name, struct kl_stream_file *stream)
{
	char plain[KL_PACK_NAME_MAX];
	size_t length = strlen(name), suffix = strlen(KL_TRACE_COMPRESSED);

	stream->compressed = length > suffix &&
			     !strcmp(name + length - suffix, KL_TRACE_COMPRESSED);
	if (stream->compressed)
		length -= suffix;
	if (length >= sizeof(plain))
		return false;
	memcpy(plain, name, length);
	plain[length] = 0;
	return kl_stream_name(plain, &stream->cpu);
}

static int add_stream(struct kl_stream_file **streams, size_t *n, size_t *capacity,
		      const struct kl_stream_file *stream)
{
	struct kl_stream_file *more = kl_array_grow(*streams, *n, capacity, sizeof(*more));

	if (!more)
		return -ENOMEM;
	*streams = more;
	more[(*n)++] = *stream;
	return 0;
}

static int list_directory(int dir, struct kl_stream_file **streams, size_t *n)
{
	struct kl_stream_file stream;
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	size_t capacity = 0;

	if (!list) {
		ret = -errno;
		if (copy >= 0)
			close(copy);
		return kl_fail_system(-ret, "directory");
	}
	while (!ret && (entry = readdir(list)))
		if (is_stream(entry->d_name, &stream))
			ret = add_stream(streams, n, &capacity, &stream);
	closedir(list);
	return ret;
}

static int list_pack(const struct kl_pack *pack, struct kl_stream_file **streams, size_t *n)
{
	struct kl_stream_file stream = { .compressed = true };
	size_t capacity = 0;
	int ret = 0;

	for (size_t i = 0; i < pack->n && !ret; i++)
		if (kl_stream_name(pack->files[i].entry.name, &stream.cpu))
			ret = add_stream(streams, n, &capacity, &stream);
	return ret;
}

static int compare_streams(const void *a, const void *b)
{
	const struct kl_stream_file *first = a, *second = b;

	return first->cpu < second->cpu ? -1 : first->cpu > second->cpu;
}

int kl_files_streams(struct kl_files *files, struct kl_stream_file **streams, size_t *n)
{
	int ret;

	*streams = NULL;
	*n = 0;
	ret = files->dir >= 0 ? list_directory(files->dir, streams, n) :
				list_pack(&files->pack, streams, n);
	if (!ret && *n)
		qsort(*streams, *n, sizeof(**streams), compare_streams);
	for (size_t i = 1; i < *n && !ret; i++)
		if ((*streams)[i].cpu == (*streams)[i - 1].cpu)
			ret = kl_fail(EINVAL, "cpu%u is there twice, once compressed",
				      (*streams)[i].cpu);
	if (ret) {
		free(*streams);
		*streams = NULL;
		*n = 0;
	}
	return ret;
}

/* ------------------------------------------------------------------- files */

static int open_compressed(int dir, const char *name, struct kl_window *window)
{
	int fd = kl_open_regular_at(dir, name), error;
	struct stat about;

	*window = (struct kl_window){ .fd = -1 };
	if (fd < 0)
		return fd;
	if (!fstat(fd, &about))
		return kl_frames_open(window, fd, true, 0, (uint64_t)about.st_size);
	error = kl_fail_system(errno, "%s", name);
	close(fd);
	return error;
}

int kl_files_stream(const struct kl_files *files, const struct kl_stream_file *stream,
		    struct kl_window *window)
{
	char name[KL_PACK_NAME_MAX];

	snprintf(name, sizeof(name), "cpu%u%s", stream->cpu,
		 files->dir >= 0 && stream->compressed ? KL_TRACE_COMPRESSED : "");
	if (files->dir >= 0 && stream->compressed)
		return open_compressed(files->dir, name, window);
	return kl_files_window(files, name, window);
}

int kl_files_window(const struct kl_files *files, const char *name, struct kl_window *window)
{
	const struct kl_packed *file;

	if (files->dir >= 0)
		return kl_window_open(window, files->dir, name);
	*window = (struct kl_window){ .fd = -1 };
	file = kl_pack_find(&files->pack, name);
	if (!file)
		return kl_fail(ENOENT, "the pack has no file %s", name);
	return kl_pack_window(&files->pack, file, window);
}

int kl_files_read(const struct kl_files *files, const char *name, size_t most, uint8_t **bytes,
		  size_t *size)
{
	const struct kl_packed *file = kl_pack_find(&files->pack, name);
	struct kl_window window;
	int ret = kl_files_window(files, name, &window);

	*bytes = NULL;
	*size = 0;
	if (ret)
		return ret;
	if (file && window.size > EXPANSION_FREE && window.size / EXPANSION_MAX > file->stored)
		most = 0;
	ret = kl_window_read(&window, most, bytes, size);
	if (ret == -EFBIG)
		ret = kl_fail(EINVAL, "%s is too large: %llu bytes", name,
			      (unsigned long long)window.size);
	else if (ret)
		kl_fail_about(ret, name);
	kl_window_close(&window);
	return ret;
}
