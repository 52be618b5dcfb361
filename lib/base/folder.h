/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Directories that files are written to. Anybody may have prepared a path in a directory that all
 * users share, so only a directory that the effective user owns is written to, and no symbolic
 * link is followed. Feeds what writes traces.
 */
#ifndef KL_LIB_BASE_FOLDER_H
#define KL_LIB_BASE_FOLDER_H

#include <stdbool.h>

/*
 * Open the directory @name in @dir (or AT_FDCWD) to write files to it; with @make it is created
 * if it does not exist, for its owner alone. Returns a descriptor, or a negative errno with an
 * error text: -ELOOP if it is a symbolic link, -EPERM if another user owns it. Root is refused
 * other users' directories, too, unless the file system gives that user all that we create.
 */
int kl_folder_open(int dir, const char *name, bool make);

/*
 * Create a file that only its owner may read, in a directory that kl_folder_open() has opened. A
 * file or link of this name is removed first. Returns a descriptor to write to, or a negative errno
 * without an error text.
 */
int kl_folder_create(int folder, const char *name);

#endif /* KL_LIB_BASE_FOLDER_H */
