/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set of tasks by thread id, asked in every probe of a session that follows
 * some tasks only, and extended in the fork probe. Two bits a thread id: is it
 * in, and will what it creates be in. Bits are changed by fork probes and under
 * the session's lock; readers take no lock.
 */
#ifndef KL_SESSION_TASKSET_H
#define KL_SESSION_TASKSET_H

#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/threads.h>

#define KL_TASKSET_PER_PAGE (PAGE_SIZE * BITS_PER_BYTE / 2)
#define KL_TASKSET_PAGES (PID_MAX_LIMIT / KL_TASKSET_PER_PAGE)

/**
 * struct kl_taskset - a set of thread ids
 * @page: bitmaps, made when first needed; bits 2n and 2n+1 belong to id n
 * @failed: tasks not entered for want of memory
 */
struct kl_taskset {
	unsigned long *page[KL_TASKSET_PAGES];
	atomic64_t failed;
};

static __always_inline bool kl_taskset_has(const struct kl_taskset *set, pid_t tid)
{
	const unsigned long *page = READ_ONCE(set->page[(u32)tid / KL_TASKSET_PER_PAGE]);

	return page && test_bit(2 * ((u32)tid % KL_TASKSET_PER_PAGE), page);
}

struct kl_taskset *kl_taskset_create(void);
void kl_taskset_destroy(struct kl_taskset *set);
int kl_taskset_set(struct kl_taskset *set, pid_t tid, bool in, bool inherit, gfp_t gfp);
void kl_taskset_fork(struct kl_taskset *set, pid_t parent, pid_t child);

#endif /* KL_SESSION_TASKSET_H */
