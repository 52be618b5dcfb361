/* SPDX-License-Identifier: GPL-2.0 */
/* The last context switch of each CPU, as variables: see switch.c. */
#ifndef KL_CORE_SWITCH_H
#define KL_CORE_SWITCH_H

#include <linux/percpu.h>
#include <linux/sched.h>

struct kl_error;
struct kl_session;

/**
 * struct kl_switch - a context switch
 * @prev_comm, @prev_tid: the task that the CPU switched from; 0 before the first switch
 * @next_comm, @next_tid: the task that it switched to
 */
struct kl_switch {
	char prev_comm[TASK_COMM_LEN];
	char next_comm[TASK_COMM_LEN];
	s32 prev_tid;
	s32 next_tid;
};

DECLARE_PER_CPU(struct kl_switch, kl_last_switch);

bool kl_switch_is_variable(u32 id);
int kl_switch_prepare(struct kl_session *s, struct kl_error *why);
void kl_switch_release(struct kl_session *s);

#endif /* KL_CORE_SWITCH_H */
