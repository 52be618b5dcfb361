/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file that another process may change or truncate while we read it. It is not mapped, because
 * accessing a page beyond its end would kill the process; we only access copies.
 */
#ifndef KL_LIB_BASE_WINDOW_H
#define KL_LIB_BASE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct kl_window;

/**
 * struct kl_window_ops - a file that is not read as it is stored
 * @at: as kl_window_at(); @bytes are within `size`
 * @close: frees what `source` points to
 */
struct kl_window_ops {
	const void *(*at)(struct kl_window *window, uint64_t at, size_t bytes);
	void (*close)(struct kl_window *window);
};

/**
 * struct kl_window - a file, or bytes in memory, accessed in parts
 * @ops: how to read it, or NULL
 * @source: for @ops
 * @memory: all bytes; NULL for a file
 * @fd: the file; -1 if there is none
 * @size: bytes available; shrinks once a read returns fewer
 * @gone: bytes by which @size has shrunk
 */
struct kl_window {
	const struct kl_window_ops *ops;
	void *source;
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
 * @window: filled in; has no file on failure
 * @dir: directory that @name is relative to, or AT_FDCWD
 * @name: path
 *
 * Returns 0 or a negative errno.
 */
int kl_window_open(struct kl_window *window, int dir, const char *name);

/* A window on bytes in memory, which must outlive it. */
struct kl_window kl_window_on(const void *bytes, size_t length);

void kl_window_close(struct kl_window *window);

/**
 * kl_window_at - access a part of the file
 * @window: window
 * @at: offset
 * @bytes: length
 *
 * Returns the bytes, aligned as @at is and valid until the next call, or NULL if the file no longer
 * has all of them, cannot be read, or memory is short.
 */
const void *kl_window_at(struct kl_window *window, uint64_t at, size_t bytes);

/**
 * kl_window_read - copy the whole file
 * @window: window
 * @most: maximum length
 * @bytes: out: the copy, which the caller frees; NULL if the file is empty
 * @length: out: length of @bytes
 *
 * Returns 0, -EFBIG, -ENOMEM, or -EIO if some bytes cannot be restored.
 */
int kl_window_read(struct kl_window *window, size_t most, uint8_t **bytes, size_t *length);

#endif /* KL_LIB_BASE_WINDOW_H */
