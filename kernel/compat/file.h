/* SPDX-License-Identifier: GPL-2.0 */
/* A program's file, and the locks on a file. */
#ifndef KL_COMPAT_FILE_H
#define KL_COMPAT_FILE_H

#include <linux/fs.h>
#include <linux/mm_types.h>

#include "compat_config.h"

/* With a reference; NULL: there is none. */
static inline struct file *kl_mm_exe_file(struct mm_struct *mm)
{
	struct file *file;

	rcu_read_lock();
#ifdef KL_HAVE_GET_FILE_RCU_POINTER
	file = get_file_rcu(&mm->exe_file);
#else
	file = rcu_dereference(mm->exe_file);
	if (file && !get_file_rcu(file))
		file = NULL;
#endif
	rcu_read_unlock();
	return file;
}

/* Of a mapping's file: what its program has opened. */
#ifdef KL_HAVE_FILE_USER_PATH
#define kl_file_user_path(file) file_user_path(file)
#define kl_file_user_inode(file) file_user_inode(file)
#else
#define kl_file_user_path(file) ((const struct path *)&(file)->f_path)
#define kl_file_user_inode(file) ((const struct inode *)file_inode(file))
#endif

#ifdef KL_HAVE_FILE_LOCK_CORE
#include <linux/filelock.h>

#define kl_for_each_lock(lock, list) list_for_each_entry(lock, list, c.flc_list)
#define kl_lock_type(lock) ((lock)->c.flc_type)
#define kl_lock_pid(lock) ((lock)->c.flc_pid)
#define kl_lock_file(lock) ((lock)->c.flc_file)
#define kl_lock_owner(lock) ((lock)->c.flc_owner)
#else
#define kl_for_each_lock(lock, list) list_for_each_entry(lock, list, fl_list)
#define kl_lock_type(lock) ((lock)->fl_type)
#define kl_lock_pid(lock) ((pid_t)(lock)->fl_pid)
#define kl_lock_file(lock) ((lock)->fl_file)
#define kl_lock_owner(lock) ((lock)->fl_owner)
#endif

#endif /* KL_COMPAT_FILE_H */
