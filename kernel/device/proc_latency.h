/* SPDX-License-Identifier: GPL-2.0 */
/* The text of latency profiles, for kernel/device/proc.c. */
#ifndef KL_DEVICE_PROC_LATENCY_H
#define KL_DEVICE_PROC_LATENCY_H

#include <linux/types.h>

struct cred;
struct kl_latency_list;
struct seq_file;

struct kl_latency_list *kl_latency_list(const struct cred *cred, u32 may);
void kl_latency_list_free(struct kl_latency_list *list);
u32 kl_latency_list_lines(const struct kl_latency_list *list);
void kl_latency_list_show(const struct kl_latency_list *list, u32 index, struct seq_file *to);

#endif /* KL_DEVICE_PROC_LATENCY_H */
