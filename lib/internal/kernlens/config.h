/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files in the user's configuration directory: $XDG_CONFIG_HOME/kernlens, or the same under
 * ~/.config.
 */
#ifndef KERNLENS_CONFIG_H
#define KERNLENS_CONFIG_H

#include <stddef.h>

#include <kernlens/buffer.h>

/**
 * kl_config_path - path of a file in the configuration directory
 * @name: of the file or directory, relative
 *
 * Returns a path that the caller frees, or NULL with errno and an error text: ENOENT if the user
 * has no home directory.
 */
char *kl_config_path(const char *name);

/**
 * kl_config_read - read a whole file
 * @name: of the file
 * @most: maximum size in bytes
 * @text: appended to
 *
 * Returns 0, or a negative errno with an error text: -ENOENT if there is none, -EFBIG if it is
 * larger, -EINVAL if it is not a regular file.
 */
int kl_config_read(const char *name, size_t most, struct kl_buffer *text);

/**
 * kl_config_write - replace a file completely, or leave it as it was
 * @name: of the file, which only its owner can access
 * @bytes: its new content
 * @length: size of @bytes
 *
 * Creates the directory if it is missing. Returns 0, or a negative errno with an error text: -EPERM
 * or -ELOOP if the directory belongs to another user or is a symbolic link.
 */
int kl_config_write(const char *name, const void *bytes, size_t length);

#endif /* KERNLENS_CONFIG_H */
