/* SPDX-License-Identifier: GPL-2.0 */
/* The open files of any task, a batch at a time, with references. */
#ifndef KL_TASK_FILES_H
#define KL_TASK_FILES_H

#include <linux/types.h>

struct file;
struct task_struct;

#define KL_FILES_BATCH 64

/* Returned instead of a descriptor to continue with, after the last one. */
#define KL_FILES_END (~0ull)

/**
 * struct kl_file_batch - a batch of a task's open files
 * @file: @n files, with a reference each
 * @fd: their descriptors, ascending
 * @cloexec: whether execve() closes them
 */
struct kl_file_batch {
	struct file *file[KL_FILES_BATCH];
	u32 fd[KL_FILES_BATCH];
	bool cloexec[KL_FILES_BATCH];
	u32 n;
};

u64 kl_files_take(struct task_struct *t, struct kl_file_batch *b, u64 from);
void kl_files_put(struct kl_file_batch *b);
struct file *kl_files_get(struct task_struct *t, unsigned int fd);

#endif /* KL_TASK_FILES_H */
