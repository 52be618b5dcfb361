// SPDX-License-Identifier: GPL-2.0
/*
 * in v6.8: the file of a mapping on overlayfs is the lower one, which knows the user's path
 * ("fs: factor out backing_file_mmap() helper")
 */
#include <linux/fs.h>

static const struct inode *__maybe_unused kl_check_file_user_path(const struct file *file)
{
	const struct path *path = file_user_path(file);

	return path ? file_user_inode(file) : NULL;
}
