// SPDX-License-Identifier: GPL-2.0
/*
 * Sets of thread ids follow forks: a task that a task of the session creates is added before it
 * runs for the first time, and state left over from a dead task is not taken for the new one's. A
 * task that a session awaits is added when it executes a program. Sessions with a gate share these
 * two probes, which return at once for other tasks; a session without a gate that keeps per-task
 * flags has its own fork probe. `followers_lock` guards the number of sessions that share the
 * probes.
 */
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "../compat/preempt.h"
#include "../core/gate.h"
#include "source.h"

/* Number of sessions that share the probes. */
static DEFINE_MUTEX(followers_lock);
static u32 followers;

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	kl_probe_begin();
	if (unlikely(kl_taskset_has(kl_gate.tasks, parent->pid) ||
		     kl_taskset_has(kl_gate.tasks, child->pid)))
		kl_gate_fork(parent->pid, child->pid);
	kl_probe_end();
}

static void on_fork_ungated(void *data, struct task_struct *parent, struct task_struct *child)
{
	kl_probe_begin();
	kl_gate_fork_session(data, parent->pid, child->pid);
	kl_probe_end();
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	kl_probe_begin();
	if (unlikely(kl_taskset_has(kl_gate.tasks, task->pid)))
		kl_gate_exec(task);
	kl_probe_end();
}

static void __maybe_unused check_prototypes(void)
{
	check_trace_callback_type_sched_process_exec(on_exec);
	check_trace_callback_type_sched_process_fork(on_fork);
	check_trace_callback_type_sched_process_fork(on_fork_ungated);
}

/* Run before the probes that check the task. */
static int attach(struct tracepoint *tp, void *probe, void *data)
{
	return tracepoint_probe_register_prio(tp, probe, data, TRACEPOINT_DEFAULT_PRIO + 1);
}

static int attach_shared(struct tracepoint *fork, struct tracepoint *exec)
{
	int error = attach(fork, on_fork, NULL);

	if (error)
		return error;
	error = attach(exec, on_exec, NULL);
	if (error)
		tracepoint_probe_unregister(fork, on_fork, NULL);
	return error;
}

static int attach_gated(struct tracepoint *fork, struct tracepoint *exec)
{
	int error = 0;

	mutex_lock(&followers_lock);
	if (!followers)
		error = attach_shared(fork, exec);
	if (!error)
		followers++;
	mutex_unlock(&followers_lock);
	return error;
}

static void detach_gated(struct tracepoint *fork, struct tracepoint *exec)
{
	mutex_lock(&followers_lock);
	if (!--followers) {
		tracepoint_probe_unregister(exec, on_exec, NULL);
		tracepoint_probe_unregister(fork, on_fork, NULL);
	}
	mutex_unlock(&followers_lock);
}

/**
 * kl_follow_attach - keep a session's sets of tasks up to date
 * @s: the session; its lock is held, and it is registered with the gate
 * @why: set on failure; may be NULL
 *
 * Does nothing if it is attached already. Context: may sleep.
 */
int kl_follow_attach(struct kl_session *s, struct kl_error *why)
{
	struct tracepoint *fork = kl_tracepoint_find("sched_process_fork");
	struct tracepoint *exec = kl_tracepoint_find("sched_process_exec");
	int error;

	lockdep_assert_held(&s->lock);
	if (s->following)
		return 0;
	if (!fork || !exec)
		return kl_fail(why, -ENOENT, "this kernel has no tracepoint for %s",
			       fork ? "executed programs" : "forks");
	error = s->gate ? attach_gated(fork, exec) : attach(fork, on_fork_ungated, s);
	s->following = !error;
	return error ? kl_fail(why, error, "cannot follow forks") : 0;
}

/**
 * kl_follow_detach - undo kl_follow_attach
 * @s: the session; its lock is held
 */
void kl_follow_detach(struct kl_session *s)
{
	struct tracepoint *fork = kl_tracepoint_find("sched_process_fork");
	struct tracepoint *exec = kl_tracepoint_find("sched_process_exec");

	lockdep_assert_held(&s->lock);
	if (!s->following)
		return;
	if (s->gate)
		detach_gated(fork, exec);
	else
		tracepoint_probe_unregister(fork, on_fork_ungated, s);
	s->following = false;
}
