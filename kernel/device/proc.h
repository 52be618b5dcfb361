/* SPDX-License-Identifier: GPL-2.0 */
/* /proc/kernlens. */
#ifndef KL_DEVICE_PROC_H
#define KL_DEVICE_PROC_H

int kl_proc_init(void);
void kl_proc_deinit(void);

#endif /* KL_DEVICE_PROC_H */
