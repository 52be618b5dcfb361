// SPDX-License-Identifier: GPL-2.0
/*
 * Makes system calls in a stopped thread, at an existing system call instruction of its process.
 * Its registers are restored before it continues, including the number of the interrupted system
 * call, so that the kernel restarts that as usual. Its signals are blocked in the meantime.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../base/base.h"
#include "tracer.h"

#define STOPS_MAX 64

/* Wait for the next stop. False: the thread is gone. */
static bool wait_stop(struct kl_remote *r, int *status)
{
	pid_t got;

	do
		got = waitpid(r->tid, status, __WALL);
	while (got < 0 && errno == EINTR);
	if (got == r->tid && WIFSTOPPED(*status))
		return true;
	kl_tracee_drop(r->k, r->tid);
	r->tid = 0;
	return false;
}

int kl_remote_begin(struct kl_remote *r, struct kl_tracer *k, struct kl_tracee *t, uint64_t at)
{
	uint64_t none = ~0ull;

	*r = (struct kl_remote){ .k = k, .tid = t->tid, .at = at };
	if (ptrace(PTRACE_GETREGS, r->tid, NULL, &r->regs) ||
	    ptrace(PTRACE_GETSIGMASK, r->tid, sizeof(r->mask), &r->mask) ||
	    ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(none), &none)) {
		r->tid = 0;
		return kl_tracer_fail(k, errno, "cannot inject a system call into thread %d: %s",
				      t->tid, strerror(errno));
	}
	return 0;
}

/* Run to the entry or exit of a system call. SIGSTOP may come in between. */
static bool run_to_call(struct kl_remote *r)
{
	int signal = 0, status;

	for (int i = 0; i < STOPS_MAX; i++) {
		if (ptrace(PTRACE_SYSCALL, r->tid, NULL, (void *)(long)signal) ||
		    !wait_stop(r, &status))
			return false;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return true;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
	}
	return false;
}

int64_t kl_remote_call(struct kl_remote *r, long number, uint64_t first, uint64_t second,
		       uint64_t third, uint64_t fourth, int64_t fifth, uint64_t sixth)
{
	struct user_regs_struct regs = r->regs;

	if (!r->tid)
		return -EIO;
	regs.rip = r->at;
	regs.rax = (uint64_t)number;
	regs.orig_rax = ~0ull;
	regs.rdi = first;
	regs.rsi = second;
	regs.rdx = third;
	regs.r10 = fourth;
	regs.r8 = (uint64_t)fifth;
	regs.r9 = sixth;
	if (ptrace(PTRACE_SETREGS, r->tid, NULL, &regs) || !run_to_call(r) || !run_to_call(r) ||
	    ptrace(PTRACE_GETREGS, r->tid, NULL, &regs))
		return -EIO;
	return (int64_t)regs.rax;
}

/*
 * Stop the thread as it was before: by an interrupt, not at a system call, where the kernel would
 * interpret its registers differently. That stop comes before any signal.
 */
int kl_remote_end(struct kl_remote *r)
{
	int status, signal = 0;
	struct kl_tracee *t;

	if (!r->tid)
		return -ESRCH;
	if (ptrace(PTRACE_SETREGS, r->tid, NULL, &r->regs) ||
	    ptrace(PTRACE_SETSIGMASK, r->tid, sizeof(r->mask), &r->mask))
		return -ESRCH;
	for (int i = 0; i < STOPS_MAX; i++) {
		if (ptrace(PTRACE_INTERRUPT, r->tid, NULL, NULL) ||
		    ptrace(PTRACE_CONT, r->tid, NULL, (void *)(long)signal) ||
		    !wait_stop(r, &status))
			return -ESRCH;
		if (status >> 16 == PTRACE_EVENT_STOP) {
			t = kl_tracee_find(r->k, r->tid);
			if (t)
				t->group = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
			return 0;
		}
		signal = status >> 16 ? 0 : WSTOPSIG(status);
	}
	return -EIO;
}
