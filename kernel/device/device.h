/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptors in user space: those of the device, which may have become a session's, and those of
 * readers.
 */
#ifndef KL_DEVICE_DEVICE_H
#define KL_DEVICE_DEVICE_H

#include "../session/session.h"

struct kl_inspect_sink;
struct vm_area_struct;

int kl_device_init(void);
void kl_device_deinit(void);

int kl_mailbox_init(void);
void kl_mailbox_deinit(void);

int kl_keep_mmap(struct vm_area_struct *vma);

/* task.c */
int kl_task_inspect(struct kl_abi_inspect *params, const struct cred *cred, u32 may,
		    struct kl_inspect_sink *sink, struct kl_payer *payer, struct kl_error *why);
int kl_task_detail(struct kl_abi_detail *call, const struct cred *cred, u32 may,
		   struct kl_payer *payer, struct kl_error *why);

int kl_reader_create(struct kl_session *s, struct kl_abi_reader *params, struct kl_error *why);

#endif /* KL_DEVICE_DEVICE_H */
