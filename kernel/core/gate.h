/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does any session that follows tasks or a user want this task? One test covers all of them; every
 * task on the machine pays for it at each tracepoint that such a session uses. It may give false
 * positives, but it never rejects a task that a session's own gate allows. See docs/design/gate.md.
 * Written by gate.c under its locks; read by probes without a lock.
 */
#ifndef KL_CORE_GATE_H
#define KL_CORE_GATE_H

#include <linux/cred.h>
#include <linux/jump_label.h>
#include <linux/sched.h>

#include "cgroup.h"
#include "session.h"

#define KL_GATE_UID_BITS 16
#define KL_GATE_CGROUP_BITS 10

/**
 * struct kl_gate - the tasks that any session with a gate wants
 * @tasks: thread ids that some session follows, watches, or keeps a flag for; allocated for the
 *         first session with a gate and then retained
 * @factor: odd and random; spreads user ids over @uids, and ids of cgroups over @cgroups
 * @depths: depths of the cgroups that privileged sessions follow, one bit each
 * @uids: hashes of the users that some session records
 * @cgroups: hashes of the cgroups that privileged sessions follow
 */
struct kl_gate {
	struct kl_taskset *tasks;
	u32 factor;
	u64 depths;
	unsigned long uids[BITS_TO_LONGS(1ul << KL_GATE_UID_BITS)];
	unsigned long cgroups[BITS_TO_LONGS(1ul << KL_GATE_CGROUP_BITS)];
};

extern struct kl_gate kl_gate;

/*
 * Does a privileged session follow a cgroup? While none does, this costs one instruction, which
 * does nothing.
 */
DECLARE_STATIC_KEY_FALSE(kl_gate_has_cgroups);

/* Real user id of a task, as kl_access_may_see and KL_GATE_UID compare it. */
static __always_inline kuid_t kl_gate_user(const struct task_struct *t)
{
	/* Preemption is off. */
	return rcu_dereference_sched(t->real_cred)->uid;
}

static __always_inline u32 kl_gate_hash(kuid_t uid)
{
	return __kuid_val(uid) * kl_gate.factor >> (32 - KL_GATE_UID_BITS);
}

/* Does a session want the task for its thread id or its user? */
static __always_inline bool kl_gate_wants_ids(const struct task_struct *t)
{
	return kl_taskset_has(kl_gate.tasks, t->pid) ||
	       test_bit(kl_gate_hash(kl_gate_user(t)), kl_gate.uids);
}

/**
 * kl_gate_wants - may any session with a gate want an event of a task?
 * @t: a task that exists while the caller's probe runs
 *
 * While a session follows a cgroup, the answer is yes for all tasks: the test of cgroups needs a
 * stack frame, so it is left to kl_gate_wants_surely(). Context: a probe of such a session: any,
 * preemption off.
 */
static __always_inline bool kl_gate_wants(const struct task_struct *t)
{
	return kl_gate_wants_ids(t) || static_branch_unlikely(&kl_gate_has_cgroups);
}

bool kl_gate_wants_surely(const struct task_struct *t);

/* Does a session find its tasks by their cgroup? Those of a user without privilege do by user. */
static __always_inline bool kl_gate_goes_by_cgroup(const struct kl_session *s)
{
	return (s->gate & (KL_GATE_CGROUP | KL_GATE_OWN)) == KL_GATE_CGROUP;
}

/* Will a task enter a session's sets when it executes a program? */
static __always_inline bool kl_gate_awaits(const struct kl_session *s, const struct task_struct *t)
{
	return s->gate & KL_GATE_TASKS && READ_ONCE(s->awaited) == t->pid;
}

/**
 * kl_gate_may_want - may one session with a gate want an event of a task?
 * @s: the session
 * @t: a task that exists while the caller's probe runs
 *
 * The session's own gate decides. Context: any, preemption off.
 */
static __always_inline bool kl_gate_may_want(const struct kl_session *s,
					     const struct task_struct *t)
{
	/* The exec call itself is an awaited task's first event. */
	if (s->gate & KL_GATE_TASKS ?
		    kl_taskset_has(s->tasks, t->pid) || READ_ONCE(s->awaited) == t->pid :
	    unlikely(kl_gate_goes_by_cgroup(s)) ? kl_cgroup_has(s->cgroup, s->cgroup_depth, t) :
						  uid_eq(kl_gate_user(t), s->gate_uid))
		return true;
	return s->watched && kl_taskset_has(s->watched, t->pid);
}

int kl_gate_enter(struct kl_session *s, struct kl_error *why);
void kl_gate_leave(struct kl_session *s);
void kl_gate_follow(struct kl_session *s, pid_t tid, bool in, bool heir);
void kl_gate_await(struct kl_session *s, pid_t tid, bool heir);
void kl_gate_forget(const struct kl_session *s);
void kl_gate_watch(struct kl_session *s, pid_t tid);
void kl_gate_flag(struct kl_session *s, pid_t tid);
void kl_gate_fork(pid_t parent, pid_t child);
bool kl_gate_fork_session(struct kl_session *s, pid_t parent, pid_t child);
void kl_gate_exec(struct task_struct *t);
void kl_gate_init(void);
void kl_gate_deinit(void);

#endif /* KL_CORE_GATE_H */
