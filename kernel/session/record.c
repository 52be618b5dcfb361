// SPDX-License-Identifier: GPL-2.0
/*
 * The rarer half of writing a record: changed variables, a new block, records
 * of interrupts; and the gates of sessions that may not see everything.
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

/* Equal to no count of stale records: kl_record_try is not for now. */
#define NOT_QUICK (~0ull)

/* What an owner without privilege may see is asked each time. */
static bool may_be_quick(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) && kl_clock_kind() == KL_CLOCK_TSC;
}

/* The header, and the variables if there is room for them; those are committed. */
static struct kl_place write_head(const struct kl_slot *slot, u32 id, u32 bytes, const u64 words[3])
{
	bool all = slot->bytes != bytes + KL_RECORD_PREFIX_BYTES;

	*(u64 *)slot->at = slot->time << KL_RECORD_ID_BITS | id;
	slot->at[8] = all ? KL_CHANGED_TASK : 0;
	if (all) {
		memcpy(slot->at + KL_RECORD_PREFIX_BYTES, words, sizeof(struct kl_abi_task));
		kl_ring_commit_bytes(slot->base, sizeof(struct kl_abi_task));
	}
	return (struct kl_place){ .at = slot->at + slot->bytes - bytes, .base = slot->base };
}

/**
 * kl_record_begin - room for a record of this session on this CPU
 * @s: the session
 * @cpu: its state on this CPU
 * @id: event
 * @bytes: size of the event's fields and strings
 *
 * All cases, those of kl_record_try too. Variables that are written are
 * committed here already, so that kl_record_end commits as many bytes as in the
 * usual case. Returns where the fields go; `at` is NULL if the record is lost
 * (and counted). Context: any, preemption off.
 */
struct kl_place kl_record_begin(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	u32 plain = bytes + KL_RECORD_PREFIX_BYTES, full = plain + sizeof(struct kl_abi_task);
	bool outermost = !cpu->nest++;
	enum kl_ring_result result;
	u64 words[3], stale, known;
	struct kl_slot slot;

	/* From here an interrupt takes this way, not kl_record_try's. */
	barrier();
	known = cpu->known;
	if (outermost)
		WRITE_ONCE(cpu->quick, NOT_QUICK);
	barrier();
	do {
		bool all;
		u64 old;

		stale = READ_ONCE(cpu->stale);
		barrier();
		old = READ_ONCE(cpu->ring.shared->position);
		barrier();
		task_words(s, words);
		all = !outermost || stale != known || memcmp(words, &cpu->task, sizeof(words));
		result = kl_ring_reserve(&cpu->ring, old, kl_clock(), all ? full : plain, full,
					 &slot);
	} while (result == KL_RING_RETRY);
	if (result != KL_RING_LOST && slot.bytes != plain) {
		/*
		 * No record came between reading `stale` and this reservation,
		 * or it would have failed; one that came since has made `stale`
		 * differ from what is noted here.
		 */
		if (outermost)
			memcpy(&cpu->task, words, sizeof(words));
		else
			kl_local_add(&cpu->stale, 1);
		known = stale;
	}
	if (outermost) {
		/*
		 * An interrupt that changes the block from here on writes a
		 * record, which makes `stale` differ from `known`.
		 */
		cpu->known = known;
		cpu->quick_base = cpu->ring.base[KL_POS_SEQ(cpu->ring.shared->position) & 1];
		barrier();
		if (may_be_quick(s))
			WRITE_ONCE(cpu->quick, known);
	}
	cpu->nest--;
	if (result == KL_RING_LOST)
		return (struct kl_place){};
	if (result == KL_RING_WRITTEN_FIRST && wq_has_sleeper(&s->wait))
		irq_work_queue(&cpu->wake);
	return write_head(&slot, id, bytes, words);
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
