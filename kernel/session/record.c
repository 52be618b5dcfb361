// SPDX-License-Identifier: GPL-2.0
/*
 * The rarer half of writing a record: the running task's variables, and the
 * gates of sessions that may not see everything.
 */
#include <linux/preempt.h>

#include "record.h"

/* The running task as the session's owner may see it. */
static void task_words(const struct kl_session *s, u64 words[3])
{
	struct task_struct *t = current;

	if (s->gate & KL_GATE_OWN && !(in_task() && kl_access_may_see(s->owner, t))) {
		memset(words, 0, 3 * sizeof(*words));
		return;
	}
	words[0] = kl_task_ids(t);
	words[1] = kl_task_comm(t, 0);
	words[2] = kl_task_comm(t, 1);
}

/**
 * kl_record_task_is_known - kl_task_is_known for an owner without privilege
 * @cpu: this CPU's state
 *
 * Context: any, preemption off.
 */
bool kl_record_task_is_known(struct kl_cpu *cpu)
{
	u64 words[3];

	task_words(cpu->session, words);
	return !memcmp(words, kl_task_words(&cpu->task), sizeof(words));
}

/**
 * kl_record_task - write the running task's variables, and note that we did
 * @w: a reserved record
 * @to: where the variables go
 *
 * Context: any, preemption off.
 */
void kl_record_task(struct kl_writer *w, u8 *to)
{
	struct kl_cpu *cpu = w->cpu;
	u64 words[3];

	task_words(cpu->session, words);
	memcpy(to, words, sizeof(words));
	if (cpu->nest > 1) {
		kl_local_add(&cpu->stale, 1);
		return;
	}
	/*
	 * No record came between reading w->stale and this one's reservation,
	 * or the reservation would have failed. An interrupt from here on leaves
	 * the state alone and makes `stale` differ from `known`.
	 */
	memcpy(kl_task_words(&cpu->task), words, sizeof(words));
	barrier();
	cpu->known = w->stale;
}

/**
 * kl_gate_task - does @t alone let an event through?
 * @s: a session with a gate
 * @t: a task that exists as long as the caller's probe
 *
 * Context: any, preemption off.
 */
bool kl_gate_task(const struct kl_session *s, struct task_struct *t)
{
	u32 gate = s->gate;

	if (gate & KL_GATE_TASKS && !kl_taskset_has(s->tasks, t->pid))
		return false;
	if (gate & KL_GATE_UID && !uid_eq(task_uid(t), s->uid))
		return false;
	return !(gate & KL_GATE_OWN) || kl_access_may_see(s->owner, t);
}

/**
 * kl_gate_current - does the running task let an event through?
 * @s: a session with a gate
 *
 * What an interrupt does is not the interrupted task's doing: without privilege
 * it does not count. Context: any, preemption off.
 */
bool kl_gate_current(const struct kl_session *s)
{
	if (s->gate & KL_GATE_OWN && !in_task())
		return false;
	return kl_gate_task(s, current);
}
