/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The latency profile of a session: where the time of its tasks goes. Created by KL_IOC_LATENCY,
 * runs while the session runs, read by KL_IOC_LATENCY_READ and /proc/kernlens/latency.
 * docs/design/latency.md has the rules.
 */
#ifndef KL_LATENCY_LATENCY_H
#define KL_LATENCY_LATENCY_H

#include <linux/types.h>

#include "../../uapi/kernlens.h"

struct kl_cost;
struct kl_error;
struct kl_latency;
struct kl_session;
struct task_struct;

int kl_latency_set(struct kl_session *s, struct kl_abi_latency *params, struct kl_error *why);
int kl_latency_prepare(struct kl_session *s, struct kl_error *why);
void kl_latency_start(struct kl_session *s, u64 now);
void kl_latency_stop(struct kl_session *s, u64 now);
struct kl_cost kl_latency_cost(const struct kl_latency *l);
void kl_latency_destroy(struct kl_latency *l);
void kl_latency_add(struct kl_session *s, struct task_struct *task);
void kl_latency_exec(struct kl_session *s, struct task_struct *task);
int kl_latency_read(struct kl_session *s, struct kl_abi_latency_read *call, struct kl_error *why);

#endif /* KL_LATENCY_LATENCY_H */
