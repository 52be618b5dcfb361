/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file that somebody else may change or cut short while it is read. It is not mapped,
 * as a page that is gone would end the process: what is looked at is a copy.
 */
#ifndef KL_LIB_BASE_WINDOW_H
#define KL_LIB_BASE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct kl_window - a file, or bytes in memory, of which a part is looked at
 * @memory: all of it; NULL: it is a file
 * @fd: the file; -1: there is none
 * @size: bytes that there are; fewer once a read has found fewer
 * @gone: by how many
 */
struct kl_window {
	const uint8_t *memory;
	int fd;
	uint64_t size;
	uint64_t gone;
	uint8_t *copy;
	size_t room;
	uint64_t copy_at;
	size_t copy_bytes;
};

/**
 * kl_window_open - open a regular file
 * @window: filled in; no file if that fails
 * @dir: where @name begins, or AT_FDCWD
 * @name: path
 *
 * Returns 0 or a negative errno.
 */
int kl_window_open(struct kl_window *window, int dir, const char *name);

/* Bytes in memory, which must outlive the window. */
struct kl_window kl_window_on(const void *bytes, size_t length);

void kl_window_close(struct kl_window *window);

/**
 * kl_window_at - look at a part
 * @window: window
 * @at: where it begins
 * @bytes: of it
 *
 * Returns the bytes, until the next call, aligned as @at is; or NULL if the file does not
 * have all of them any more, cannot be read, or there is no memory.
 */
const void *kl_window_at(struct kl_window *window, uint64_t at, size_t bytes);

/**
 * kl_window_read - a copy of all of it
 * @window: window
 * @most: bytes that it may have
 * @bytes: out: to be freed; NULL if there are none
 * @length: out: of it
 *
 * Returns 0, -EFBIG or -ENOMEM.
 */
int kl_window_read(struct kl_window *window, size_t most, uint8_t **bytes, size_t *length);

#endif /* KL_LIB_BASE_WINDOW_H */
