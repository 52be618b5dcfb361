// SPDX-License-Identifier: GPL-2.0
/*
 * Decides who can see what. An opener's rights are taken from the credentials
 * it opened the device with, and asked again for each record
 * (kl_access_may_see).
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "../compat/nofault.h"
#include "../compat/task.h"
#include "lsm.h"
#include "session.h"
#include "stack.h"

/**
 * kl_access_of_opener - what the opener of the device may do
 * @cred: of the open file
 *
 * Returns KL_MAY_* bits. Context: the opener's system call; may sleep.
 */
u32 kl_access_of_opener(const struct cred *cred)
{
	bool admin, perfmon;

	if (cred->user_ns != &init_user_ns)
		return 0;
	/* Nothing is refused to an opener without them, so there is nothing to audit. */
	admin = ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
	perfmon = admin || ns_capable_noaudit(&init_user_ns, CAP_PERFMON);
	if (perfmon && !kl_lsm_may_trace_all())
		return 0;
	return kl_rights_of(perfmon, admin, admin && security_locked_down(LOCKDOWN_KPROBES));
}

/*
 * Can other processes of the same user look into the program of @t? Its memory
 * descriptor is not ours to hold: read it without faulting, and believe the
 * answer only if it still is the task's afterwards. A task drops its descriptor
 * before it frees it.
 */
static bool is_dumpable(struct task_struct *t)
{
	/* What exits or executes a program writes it without a mark. */
	struct mm_struct *mm = data_race(READ_ONCE(t->mm));
	unsigned long flags;

	/* The task is exiting, or a kernel thread, which never belongs to an owner. */
	if (!mm)
		return kl_was_dumpable(t);
	if (kl_nofault(copy_from_kernel_nofault(&flags, &mm->flags, sizeof(flags))))
		return false;
	/* The flags before the second look at t->mm; pairs with exit and exec. */
	smp_rmb();
	return data_race(READ_ONCE(t->mm)) == mm && (flags & MMF_DUMPABLE_MASK) == SUID_DUMP_USER;
}

/**
 * kl_access_may_see - the kernel's ptrace read rule, for an owner without privilege
 * @owner: credentials of the session's opener
 * @t: any task that exists as long as the caller's probe
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
	/* Other flags of it may be changing; this one never does. */
	return same && !(data_race(t->flags) & PF_KTHREAD) && is_dumpable(t);
}

/**
 * kl_access_may_read_now - may the caller of a system call read a task?
 * @opener: credentials of the device's opener, without privilege
 * @t: any task, with a reference or under RCU
 *
 * As kl_access_may_see, and the security modules must agree. Context: a system call; any,
 * preemption off.
 */
bool kl_access_may_read_now(const struct cred *opener, struct task_struct *t)
{
	return kl_access_may_see(opener, t) && kl_lsm_may_read(t);
}

/**
 * kl_access_sees - may an opener see a task, in a system call of its own?
 * @cred: of the opener
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
 * Has an opener all that kl_access_may_see compares between a session's owner and a
 * task? Then whatever that lets in would be let in for the opener.
 */
static bool is_like_owner(const struct kl_session *s, const struct cred *cred)
{
	const struct cred *owner = s->owner;

	return !s->sealed && uid_eq(owner->fsuid, cred->fsuid) &&
	       gid_eq(owner->fsgid, cred->fsgid) && owner->user_ns == cred->user_ns &&
	       cap_issubset(owner->cap_effective, cred->cap_effective);
}

/**
 * kl_access_may_read - could a session of an opener's own show all that one shows?
 * @s: another's session
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 */
bool kl_access_may_read(const struct kl_session *s, const struct cred *cred, u32 may)
{
	return !kl_rights_lack(may, kl_session_needs(s->may, is_like_owner(s, cred)));
}

/**
 * kl_access_may_change - may an opener switch a session that another has made?
 * @s: the session
 * @cred: of the opener
 * @may: the opener's KL_MAY_*
 */
bool kl_access_may_change(const struct kl_session *s, const struct cred *cred, u32 may)
{
	bool same = uid_eq(s->owner->fsuid, cred->fsuid);

	return kl_access_may_read(s, cred, may) &&
	       !kl_rights_lack(may, kl_session_change_needs(s->may, same));
}

/**
 * kl_access_is_sealed - is the running program one that its user may not look into?
 *
 * Set-user-id programs and those that protect themselves. Context: a system call.
 */
bool kl_access_is_sealed(void)
{
	return !current->mm ||
	       (READ_ONCE(current->mm->flags) & MMF_DUMPABLE_MASK) != SUID_DUMP_USER;
}

/**
 * kl_access_shows_current - may the running task be shown to a session's owner now?
 * @s: the session
 *
 * What an interrupt does is not the interrupted task's doing. A tick is fired for an
 * owner without privilege only if it has interrupted the task itself. Context: any,
 * preemption off.
 */
bool kl_access_shows_current(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) ||
	       ((in_task() || kl_tick_registers()) && kl_access_may_see(s->owner, current));
}
