/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories to write files to. In a directory that all users share, anyone may have planted a
 * path, so we write only to directories that the effective user owns, and follow no symbolic link.
 * Used by everything that writes traces.
 */
#ifndef KL_LIB_BASE_FOLDER_H
#define KL_LIB_BASE_FOLDER_H

#include <stdbool.h>

/*
 * Open the directory @name, relative to @dir (or AT_FDCWD), to write files to it. With @make,
 * create it if it does not exist, accessible to its owner only. Returns a descriptor, or a negative
 * errno with an error text: -ELOOP for a symbolic link, -EPERM if another user owns the directory.
 * That holds for root, too, unless the file system assigns everything we create to that user.
 */
int kl_folder_open(int dir, const char *name, bool make);

/*
 * Create a file that only its owner can read, in a directory that kl_folder_open() opened. An
 * existing file or link of this name is removed first. Returns a descriptor to write to, or a
 * negative errno without an error text.
 */
int kl_folder_create(int folder, const char *name);

#endif /* KL_LIB_BASE_FOLDER_H */
