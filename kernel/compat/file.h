/* SPDX-License-Identifier: GPL-2.0 */
/* A program's file, and the locks on a file. */
#ifndef KL_COMPAT_FILE_H
#define KL_COMPAT_FILE_H

#include <linux/fs.h>
#include <linux/mm_types.h>

#include "compat_config.h"

/*
 * The file to which a pointer under RCU points, with a reference; NULL if there is none, or if its
 * last reference has been dropped.
 */
static inline struct file *kl_get_file_rcu(struct file __rcu **at)
{
#ifdef KL_HAVE_GET_FILE_RCU_POINTER
	return get_file_rcu(at);
#else
	struct file *file = rcu_dereference(*at);

	return file && get_file_rcu(file) ? file : NULL;
#endif
}

/*
 * Take a reference to a file that a lock keeps from being freed, but not from being closed. Returns
 * NULL if its last reference has been dropped.
 */
static inline struct file *kl_get_file_live(struct file *file)
{
#ifdef KL_HAVE_GET_FILE_RCU_POINTER
	return get_file_active(&file);
#else
	return get_file_rcu(file) ? file : NULL;
#endif
}

/* The executable of a task, with a reference, or NULL. */
static inline struct file *kl_mm_exe_file(struct mm_struct *mm)
{
	struct file *file;

	rcu_read_lock();
	file = kl_get_file_rcu(&mm->exe_file);
	rcu_read_unlock();
	return file;
}

/* The path and inode of a mapping's file, as the program has opened it. */
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
#define kl_lock_flags(lock) ((lock)->c.flc_flags)
#define kl_lock_pid(lock) ((lock)->c.flc_pid)
#define kl_lock_file(lock) ((lock)->c.flc_file)
#define kl_lock_owner(lock) ((lock)->c.flc_owner)
#else
#define kl_for_each_lock(lock, list) list_for_each_entry(lock, list, fl_list)
#define kl_lock_type(lock) ((lock)->fl_type)
#define kl_lock_flags(lock) ((lock)->fl_flags)
#define kl_lock_pid(lock) ((pid_t)(lock)->fl_pid)
#define kl_lock_file(lock) ((lock)->fl_file)
#define kl_lock_owner(lock) ((lock)->fl_owner)
#endif

#endif /* KL_COMPAT_FILE_H */
