// SPDX-License-Identifier: GPL-2.0
/*
 * Handles the stops of traced threads: new threads and children, exec, signals, which are
 * delivered, group stops, which are preserved, and system calls of a program's loader.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/base.h"
#include "tracer.h"

/* Let the thread continue. If it is to be held, it stops again before it runs anything. */
static void pass(struct kl_tracee *t, int signal)
{
	if (t->space && (t->space->hold || t->space->arrived))
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	t->group = 0;
	kl_tracee_resume(t, signal);
}

/* We stopped the thread, or its whole process is stopped. */
static void stay(struct kl_tracer *k, struct kl_tracee *t)
{
	struct kl_space *s = t->space;

	if (!s || s->hold)
		return;
	if (s->arrived) {
		s->arrived = false;
		kl_space_place(k, s);
		kl_space_release(k, s);
		return;
	}
	kl_tracee_resume(t, 0);
}

/* Handle a new thread or process. Its own stop and its parent's come in any order. */
static void take_child(struct kl_tracer *k, pid_t parent, bool waits)
{
	struct kl_space *s = kl_tracee_find(k, parent)->space;
	unsigned long pid = 0;
	struct kl_tracee *child;
	bool shares;

	if (ptrace(PTRACE_GETEVENTMSG, parent, NULL, &pid) || !pid)
		return;
	child = kl_tracee_find(k, (pid_t)pid);
	if (!child)
		child = kl_tracee_add(k, (pid_t)pid);
	if (!child || child->space)
		return;
	shares = child->tgid == kl_tracee_find(k, parent)->tgid ||
		 kl_tracee_shares(parent, (pid_t)pid);
	if (!shares)
		s = kl_space_add(k, s);
	if (!s)
		return;
	kl_tracee_join(child, s);
	if (waits && shares)
		kl_tracee_find(k, parent)->vforking = true;
	if (child->held)
		stay(k, child);
}

/* Handle exec: nothing of the old program remains, and its other threads are gone. */
static void take_program(struct kl_tracer *k, pid_t tid)
{
	struct kl_space *s = kl_space_add(k, NULL);
	struct kl_tracee *t = kl_tracee_find(k, tid);

	if (!s)
		return;
	for (size_t i = k->tasks; i-- > 0;)
		if (k->task[i].tgid == t->tgid && k->task[i].tid != tid) {
			kl_tracee_drop(k, k->task[i].tid);
			t = kl_tracee_find(k, tid);
		}
	kl_tracee_join(t, s);
	t->vforking = false;
	s->arrived = true;
}

/* The loader made a system call: has it mapped something, and is it still the loader? */
static void take_call(struct kl_tracee *t)
{
	struct kl_space *s = t->space;
	uint64_t at = (uint64_t)ptrace(PTRACE_PEEKUSER, t->tid,
				       (void *)offsetof(struct user_regs_struct, rip), NULL);
	long number = ptrace(PTRACE_PEEKUSER, t->tid,
			     (void *)offsetof(struct user_regs_struct, orig_rax), NULL);

	if (!s || !s->loading)
		return;
	if (at < s->loader || at >= s->loader_end)
		s->loading = false;
	else if (number == SYS_mmap)
		s->arrived = true;
}

static void take_stop(struct kl_tracer *k, struct kl_tracee *t, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	pid_t tid = t->tid;

	t->held = false;
	switch (event) {
	case PTRACE_EVENT_STOP:
		t->held = true;
		t->group = signal == SIGTRAP ? 0 : signal;
		stay(k, t);
		return;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		take_child(k, tid, event == PTRACE_EVENT_VFORK);
		break;
	case PTRACE_EVENT_VFORK_DONE:
		t->vforking = false;
		break;
	case PTRACE_EVENT_EXEC:
		take_program(k, tid);
		break;
	case 0:
		if (signal == (SIGTRAP | 0x80)) {
			take_call(t);
			break;
		}
		pass(t, signal);
		return;
	}
	t = kl_tracee_find(k, tid);
	if (t)
		pass(t, 0);
}

static void take_event(struct kl_tracer *k, pid_t tid, int status)
{
	struct kl_tracee *t = kl_tracee_find(k, tid);

	if (!WIFSTOPPED(status)) {
		kl_tracee_drop(k, tid);
		return;
	}
	if (!t)
		t = kl_tracee_add(k, tid);
	if (t)
		take_stop(k, t, status);
}

void kl_events_take(struct kl_tracer *k, int timeout_ms)
{
	struct pollfd polls = { .fd = k->signals, .events = POLLIN };
	struct signalfd_siginfo signal;
	int status;
	pid_t tid;

	poll(&polls, 1, timeout_ms);
	/*
	 * Drain the signals first: a later event queues another one, so the next call does not
	 * wait.
	 */
	while (read(k->signals, &signal, sizeof(signal)) == sizeof(signal))
		;
	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		take_event(k, tid, status);
}
