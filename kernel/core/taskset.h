/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set of tasks: one bit for each possible thread id, so that a test is one instruction and a
 * change never fails. Every probe of a session that follows only some tasks tests it. Bits are
 * changed atomically by probes and under the session's lock; readers take no lock.
 */
#ifndef KL_CORE_TASKSET_H
#define KL_CORE_TASKSET_H

#include <linux/bitops.h>
#include <linux/threads.h>

struct kl_error;
struct kl_payer;

/* 512 KiB. */
struct kl_taskset {
	unsigned long bit[BITS_TO_LONGS(PID_MAX_LIMIT)];
};

static __always_inline bool kl_taskset_has(const struct kl_taskset *set, pid_t tid)
{
	return test_bit(tid, set->bit);
}

static __always_inline void kl_taskset_set(struct kl_taskset *set, pid_t tid, bool in)
{
	assign_bit(tid, set->bit, in);
}

struct kl_taskset *kl_taskset_create(struct kl_payer *payer, struct kl_error *why);
void kl_taskset_destroy(struct kl_taskset *set);

#endif /* KL_CORE_TASKSET_H */
