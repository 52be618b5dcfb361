/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of a trace, whether they are in a directory, compressed there, or in a pack. Used by
 * trace.c and to pack and unpack.
 */
#ifndef KL_LIB_READER_FILES_H
#define KL_LIB_READER_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include "../base/window.h"
#include "pack.h"

/* @dir: -1: it is @pack */
struct kl_files {
	int dir;
	struct kl_pack pack;
};

/* A stream. @compressed: in a directory, its name has the suffix */
struct kl_stream_file {
	uint32_t cpu;
	bool compressed;
};

/* Open a directory or a pack. Returns 0 or a negative errno with an error text. */
int kl_files_open(struct kl_files *files, const char *path);
void kl_files_close(struct kl_files *files);

/*
 * kl_files_streams - list the streams
 * @files: files
 * @streams: out: an array in order of CPUs, which the caller frees; NULL: there are none
 * @n: out: its length
 *
 * Returns 0, -EINVAL (a CPU has two streams), or another negative errno with an error text.
 */
int kl_files_streams(struct kl_files *files, struct kl_stream_file **streams, size_t *n);

/* Access a stream. As kl_window_open() and kl_frames_open(). */
int kl_files_stream(const struct kl_files *files, const struct kl_stream_file *stream,
		    struct kl_window *window);

/* Access another file. -ENOENT or -ENOTDIR: there is none. */
int kl_files_window(const struct kl_files *files, const char *name, struct kl_window *window);

/*
 * kl_files_read - read a whole file other than a stream
 * @files: files
 * @name: its name
 * @most: maximum size
 * @bytes: out: to be freed; NULL if the file is empty
 * @size: out: size of @bytes
 *
 * Returns 0, -ENOENT or -ENOTDIR (there is none), -EINVAL (too large, or expands to far more than
 * any such file), or another negative errno, with an error text.
 */
int kl_files_read(const struct kl_files *files, const char *name, size_t most, uint8_t **bytes,
		  size_t *size);

#endif /* KL_LIB_READER_FILES_H */
