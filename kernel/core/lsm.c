// SPDX-License-Identifier: GPL-2.0
/*
 * Security modules (AppArmor, SELinux, Smack, Landlock ...) may forbid a process to read another
 * one of the same user, and may forbid tracing the whole machine. The kernel consults them in
 * ptrace_may_access() and perf_event_open(). This file calls the same functions, which the kernel
 * does not export.
 *
 * They decide about the running task, may allocate, and may write to the audit log. So they can
 * only be called in a system call of the task that requests access, not when an event is hit.
 */
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/security.h>

#include "../base/function.h"
#include "compat_config.h"
#include "lsm.h"

#ifdef CONFIG_SECURITY

KL_FUNCTION_DEFINE(security_ptrace_access_check, typeof(security_ptrace_access_check));
KL_FUNCTION_DEFINE(security_perf_event_open, typeof(security_perf_event_open));

/**
 * kl_lsm_init - find the functions that consult the security modules
 *
 * Functions that are not found are skipped, which is reported in the kernel log.
 */
void kl_lsm_init(void)
{
	bool ptrace, perf;

	KL_FUNCTION_FIND(security_ptrace_access_check);
	KL_FUNCTION_FIND(security_perf_event_open);
	ptrace = KL_FUNCTION_IS_SET(security_ptrace_access_check);
	perf = KL_FUNCTION_IS_SET(security_perf_event_open);
	if (!ptrace || !perf)
		pr_notice("kernlens: LSM checks are skipped when %s%s%s\n",
			  ptrace ? "" : "reading tasks", ptrace || perf ? "" : ", ",
			  perf ? "" : "tracing the machine");
}

static bool may_ptrace(struct task_struct *t, unsigned int mode)
{
	return !KL_FUNCTION_IS_SET(security_ptrace_access_check) ||
	       !KL_CALL(security_ptrace_access_check)(t, mode | PTRACE_MODE_NOAUDIT);
}

/**
 * kl_lsm_may_read - do the security modules allow the caller to read a task, as by ptrace?
 * @t: a task that cannot be freed during the call
 *
 * Context: a system call of the task that requests access; does not sleep.
 */
bool kl_lsm_may_read(struct task_struct *t)
{
	return may_ptrace(t, PTRACE_MODE_READ_FSCREDS);
}

/**
 * kl_lsm_may_trace - do the security modules (yama is one) allow the caller to trace a task?
 * @t: a task that cannot be freed during the call
 *
 * Context: as for kl_lsm_may_read().
 */
bool kl_lsm_may_trace(struct task_struct *t)
{
	return may_ptrace(t, PTRACE_MODE_ATTACH_FSCREDS);
}

static bool may_perf(int type)
{
	if (!KL_FUNCTION_IS_SET(security_perf_event_open))
		return true;
#ifdef KL_HAVE_PERF_SECURITY_ATTR
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT };

	return !KL_CALL(security_perf_event_open)(&attr, type);
#else
	return !KL_CALL(security_perf_event_open)(type);
#endif
}

/**
 * kl_lsm_may_trace_all - do the security modules allow the caller to trace the machine?
 *
 * Checks the same permissions as perf. Context: a system call of the task that requests access; may
 * sleep.
 */
bool kl_lsm_may_trace_all(void)
{
	return may_perf(PERF_SECURITY_OPEN) && may_perf(PERF_SECURITY_CPU) &&
	       may_perf(PERF_SECURITY_KERNEL) && may_perf(PERF_SECURITY_TRACEPOINT);
}
#endif /* CONFIG_SECURITY */
