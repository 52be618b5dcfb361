/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When tasks have got a flag, of a flag that some program asks since when it is set. A fixed number
 * of tasks: of each bucket the one that has it longest is forgotten. Written by the handler `set`,
 * for the running task only, read by programs that run in it; no locks. See flag_time.c.
 */
#ifndef KL_SESSION_FLAG_TIME_H
#define KL_SESSION_FLAG_TIME_H

#include <linux/types.h>

struct kl_abi_op;
struct kl_error;
struct kl_flag_times;
struct kl_session;

void kl_flag_times_destroy(struct kl_flag_times *times);
int kl_flag_prepare(struct kl_session *s, const struct kl_abi_op *ops, u32 n_ops,
		    struct kl_error *why);
void kl_flag_note(struct kl_session *s, u32 flag);

#endif /* KL_SESSION_FLAG_TIME_H */
