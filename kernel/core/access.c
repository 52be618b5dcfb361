// SPDX-License-Identifier: GPL-2.0
/*
 * Decides what an opener of the device may see. Its rights come from the credentials with which it
 * opened the device. What it may see of a task is checked for each record (kl_access_may_see).
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/security.h>

#include "../compat/nofault.h"
#include "../compat/task.h"
#include "lsm.h"
#include "session.h"
#include "stack.h"

/**
 * kl_access_of_opener - rights of the opener of the device
 * @cred: credentials of the open file
 *
 * Returns KL_MAY_* bits. Context: the opener's system call; may sleep.
 */
u32 kl_access_of_opener(const struct cred *cred)
{
	bool admin, perfmon;

	if (cred->user_ns != &init_user_ns)
		return 0;
	/* An opener may lack these capabilities, so there is no denial to audit. */
	admin = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	perfmon = admin || ns_capable_noaudit(&init_user_ns, CAP_PERFMON);
	if (perfmon && !kl_lsm_may_trace_all())
		return 0;
	return kl_rights_of(perfmon, admin, admin && security_locked_down(LOCKDOWN_KPROBES));
}

/**
 * kl_access_may_see - the kernel's ptrace read rule, for an owner without privilege
 * @owner: credentials of the session's opener
 * @t: a task that exists while the caller's probe runs
 *
 * As ptrace_may_access(PTRACE_MODE_READ_FSCREDS) with the capability check of the
 * default security module, but for a given credential, without locks, and without
 * the paths that need a capability. Context: any, preemption off.
 */
bool kl_access_may_see(const struct cred *owner, struct task_struct *t)
{
	const struct cred *c;
	bool same;

	rcu_read_lock();
	c = __task_cred(t);
	same = uid_eq(owner->fsuid, c->uid) && uid_eq(owner->fsuid, c->euid) &&
	       uid_eq(owner->fsuid, c->suid) && gid_eq(owner->fsgid, c->gid) &&
	       gid_eq(owner->fsgid, c->egid) && gid_eq(owner->fsgid, c->sgid) &&
	       owner->user_ns == c->user_ns && cap_issubset(c->cap_permitted, owner->cap_effective);
	rcu_read_unlock();
	/* Other flags of the task may be changing; this one never does. */
	return same && !(data_race(t->flags) & PF_KTHREAD) && kl_task_is_dumpable(t);
}

/**
 * kl_access_may_read_now - may the caller of a system call read a task?
 * @opener: credentials of the device's opener, without privilege
 * @t: any task, with a reference or under RCU
 *
 * As kl_access_may_see(), and the security modules must allow it too. Context: a system call; any,
 * preemption off.
 */
bool kl_access_may_read_now(const struct cred *opener, struct task_struct *t)
{
	return kl_access_may_see(opener, t) && kl_lsm_may_read(t);
}

/**
 * kl_access_may_trace_now - may the caller of a system call trace a task?
 * @opener: credentials of the device's opener
 * @t: any task, with a reference or under RCU
 *
 * The kernel's ptrace attach rule: each process may trace itself, an owner without privilege what
 * kl_access_may_see() allows, and CAP_SYS_PTRACE allows all; the security modules must agree.
 * Context: a system call; any, preemption off.
 */
bool kl_access_may_trace_now(const struct cred *opener, struct task_struct *t)
{
	if (same_thread_group(t, current))
		return true;
	return ((opener->user_ns == &init_user_ns &&
		 cap_raised(opener->cap_effective, CAP_SYS_PTRACE)) ||
		kl_access_may_see(opener, t)) &&
	       kl_lsm_may_trace(t);
}

/**
 * kl_access_sees - may an opener see a task, in its own system call?
 * @cred: the opener's credentials
 * @may: the opener's KL_MAY_*
 * @t: any task, with a reference or under RCU
 *
 * Context: process or under RCU; preemption may be on.
 */
bool kl_access_sees(const struct cred *cred, u32 may, struct task_struct *t)
{
	bool sees = may & KL_MAY_SEE_ALL;

	if (!sees) {
		preempt_disable();
		sees = kl_access_may_read_now(cred, t);
		preempt_enable();
	}
	return sees;
}

/*
 * Does an opener match the session's owner in all that kl_access_may_see compares with a task? Then
 * the opener may see every task that the owner may see.
 */
static bool is_like_owner(const struct kl_session *s, const struct cred *cred)
{
	const struct cred *owner = s->owner;

	return !s->sealed && uid_eq(owner->fsuid, cred->fsuid) &&
	       gid_eq(owner->fsgid, cred->fsgid) && owner->user_ns == cred->user_ns &&
	       cap_issubset(owner->cap_effective, cred->cap_effective);
}

/**
 * kl_access_may_read - could an opener's own session show everything that another one shows?
 * @s: session of another opener
 * @cred: the opener's credentials
 * @may: the opener's KL_MAY_*
 */
bool kl_access_may_read(const struct kl_session *s, const struct cred *cred, u32 may)
{
	return !kl_rights_lack(may, kl_session_needs(s->may, is_like_owner(s, cred)));
}

/**
 * kl_access_may_change - may an opener change a session that another opener created?
 * @s: the session
 * @cred: the opener's credentials
 * @may: the opener's KL_MAY_*
 */
bool kl_access_may_change(const struct kl_session *s, const struct cred *cred, u32 may)
{
	bool same = uid_eq(s->owner->fsuid, cred->fsuid);

	return kl_access_may_read(s, cred, may) &&
	       !kl_rights_lack(may, kl_session_change_needs(s->may, same));
}

/**
 * kl_access_is_sealed - is the running program one that its user may not inspect?
 *
 * True for set-user-id programs and for programs that made themselves undumpable. Context: a system
 * call.
 */
bool kl_access_is_sealed(void)
{
	return !current->mm || !kl_task_is_dumpable(current);
}

/**
 * kl_access_shows_current - may the running task be shown to a session's owner now?
 * @s: the session
 *
 * An interrupt does not act for the task that it interrupted, so its events are not shown to an
 * unprivileged owner. Ticks are an exception: one reaches such an owner if it interrupted the task
 * itself. Context: any, preemption off.
 */
bool kl_access_shows_current(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) ||
	       ((in_task() || kl_tick_registers()) && kl_access_may_see(s->owner, current));
}

/**
 * kl_access_reads_memory - may records contain memory of the tasks that a session shows?
 * @s: the session
 *
 * The kernel asks the security modules before a task's memory may be read (ptrace's attach rule),
 * which is not possible in a probe. An owner without privilege gets that of tasks for which they
 * were asked when the tasks were added to the session, and of the tasks that these create. Context:
 * any.
 */
bool kl_access_reads_memory(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) || (s->gate & KL_GATE_TASKS && !READ_ONCE(s->untraceable));
}
