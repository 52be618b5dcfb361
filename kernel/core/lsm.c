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

static typeof(security_ptrace_access_check) *ptrace_check;
static typeof(security_perf_event_open) *perf_check;

/**
 * kl_lsm_init - find the functions that consult the security modules
 *
 * Functions that cannot be called are skipped, which is reported in the kernel log.
 */
void kl_lsm_init(void)
{
	ptrace_check = kl_function_find("security_ptrace_access_check");
	perf_check = kl_function_find("security_perf_event_open");
	if (!ptrace_check || !perf_check)
		pr_notice("kernlens: LSM checks are skipped when %s%s%s\n",
			  ptrace_check ? "" : "reading tasks",
			  ptrace_check || perf_check ? "" : ", ",
			  perf_check ? "" : "tracing the machine");
}

/**
 * kl_lsm_may_read - do the security modules allow the caller to read a task, as by ptrace?
 * @t: a task that cannot be freed during the call
 *
 * Context: a system call of the task that requests access; does not sleep.
 */
bool kl_lsm_may_read(struct task_struct *t)
{
	return !ptrace_check || !ptrace_check(t, PTRACE_MODE_READ_FSCREDS | PTRACE_MODE_NOAUDIT);
}

/**
 * kl_lsm_may_trace - do the security modules (yama is one) allow the caller to trace a task?
 * @t: a task that cannot be freed during the call
 *
 * Context: as for kl_lsm_may_read().
 */
bool kl_lsm_may_trace(struct task_struct *t)
{
	return !ptrace_check || !ptrace_check(t, PTRACE_MODE_ATTACH_FSCREDS | PTRACE_MODE_NOAUDIT);
}

static bool may_perf(int type)
{
#ifdef KL_HAVE_PERF_SECURITY_ATTR
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT };

	return !perf_check || !perf_check(&attr, type);
#else
	return !perf_check || !perf_check(type);
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
