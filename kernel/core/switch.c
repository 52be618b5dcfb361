// SPDX-License-Identifier: GPL-2.0
/*
 * The last context switch of each CPU as variables. The kernel does not keep it, so a probe at
 * sched_switch does, from when the first session requests these variables until the last one that
 * did ends. `switch_lock` protects `users`. Read by variables.c.
 */
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "../base/tracepoint.h"
#include "session.h"
#include "switch.h"

DEFINE_PER_CPU(struct kl_switch, kl_last_switch);

/* Number of sessions that use the variables. */
static DEFINE_MUTEX(switch_lock);
static u32 users;

/* An NMI in here reads some values of this switch, and some of the one before. */
static void on_switch(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		      unsigned int prev_state)
{
	struct kl_switch *last = this_cpu_ptr(&kl_last_switch);

	/* Others may rename the tasks meanwhile. */
	data_race(memcpy(last->prev_comm, prev->comm, TASK_COMM_LEN));
	data_race(memcpy(last->next_comm, next->comm, TASK_COMM_LEN));
	last->prev_tid = prev->pid;
	last->next_tid = next->pid;
}

static void __maybe_unused check_prototype(void)
{
	check_trace_callback_type_sched_switch(on_switch);
}

/**
 * kl_switch_is_variable - is a variable about the last context switch?
 * @id: any number
 */
bool kl_switch_is_variable(u32 id)
{
	return id == KL_VARIABLE_ID_prev_tid || id == KL_VARIABLE_ID_prev_comm ||
	       id == KL_VARIABLE_ID_next_tid || id == KL_VARIABLE_ID_next_comm;
}

static int attach(void)
{
	struct tracepoint *tp = kl_tracepoint_find("sched_switch");

	/* Before the probes of sessions, whose records of a switch carry its tasks. */
	return tp ? tracepoint_probe_register_prio(tp, on_switch, NULL,
						   TRACEPOINT_DEFAULT_PRIO + 1) :
		    -ENOENT;
}

/**
 * kl_switch_prepare - keep the last context switch until a session ends
 * @s: the session, locked
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep.
 */
int kl_switch_prepare(struct kl_session *s, struct kl_error *why)
{
	int error = 0;

	lockdep_assert_held(&s->lock);
	if (s->uses_switch)
		return 0;
	mutex_lock(&switch_lock);
	if (!users)
		error = attach();
	if (!error) {
		users++;
		s->uses_switch = true;
	}
	mutex_unlock(&switch_lock);
	return error ? kl_fail(why, error, "cannot attach to sched_switch: error %d", -error) : 0;
}

/**
 * kl_switch_release - a session that ends does not need the last context switch any more
 * @s: the session, whose probes have been detached
 *
 * Context: may sleep.
 */
void kl_switch_release(struct kl_session *s)
{
	int cpu;

	if (!s->uses_switch)
		return;
	mutex_lock(&switch_lock);
	if (!--users) {
		tracepoint_probe_unregister(kl_tracepoint_find("sched_switch"), on_switch, NULL);
		tracepoint_synchronize_unregister();
		for_each_possible_cpu(cpu)
			memset(per_cpu_ptr(&kl_last_switch, cpu), 0, sizeof(kl_last_switch));
	}
	mutex_unlock(&switch_lock);
}
