/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a task in a cgroup of the default hierarchy, or below it? A cgroup is identified by its id and
 * its depth, not by a reference, so a session holds up nothing of a cgroup that is removed. An id
 * is not used again, and a cgroup does not move, so both stay valid.
 */
#ifndef KL_CORE_CGROUP_H
#define KL_CORE_CGROUP_H

#include <linux/sched.h>

#ifdef CONFIG_CGROUPS
#include <linux/cgroup.h>
#endif

/*
 * The deepest cgroup that a session can follow: depths are bits of a word, so the test of all
 * sessions together is bounded.
 */
#define KL_CGROUP_DEPTH_MAX 63

#ifdef CONFIG_CGROUPS

/*
 * Preemption is off, which keeps the css_set, its cgroup, and that cgroup's ancestors and nodes:
 * all of them are freed after an RCU grace period.
 */
static __always_inline struct cgroup *kl_cgroup_of(const struct task_struct *t)
{
	return rcu_dereference_sched(t->cgroups)->dfl_cgrp;
}

/**
 * kl_cgroup_has - is a task in a cgroup, or below it?
 * @id: of the cgroup
 * @depth: of the cgroup; 0: the root
 * @t: a task that exists while the caller's probe runs
 *
 * Context: any, preemption off.
 */
static __always_inline bool kl_cgroup_has(u64 id, u32 depth, const struct task_struct *t)
{
	struct cgroup *cgroup = cgroup_ancestor(kl_cgroup_of(t), depth);

	return cgroup && cgroup_id(cgroup) == id;
}

#else

/* No session can follow a cgroup. */
static __always_inline bool kl_cgroup_has(u64 id, u32 depth, const struct task_struct *t)
{
	return false;
}

#endif

#endif /* KL_CORE_CGROUP_H */
