/* SPDX-License-Identifier: GPL-2.0 */
/* /proc/kernlens. */
#ifndef KL_DEVICE_PROC_H
#define KL_DEVICE_PROC_H

#include <linux/types.h>

struct file;
struct proc_dir_entry;

int kl_proc_init(void);
void kl_proc_deinit(void);
ssize_t kl_proc_read(struct file *file, char __user *to, size_t bytes, loff_t *at);

/* proc_processes.c */
int kl_proc_add_processes(struct proc_dir_entry *folder);

/* proc_reserved.c */
int kl_proc_add_reserved(struct proc_dir_entry *folder);

#endif /* KL_DEVICE_PROC_H */
