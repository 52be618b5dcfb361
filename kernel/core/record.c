// SPDX-License-Identifier: GPL-2.0
/*
 * The slow paths of writing a record: a change of task, a new block, records of interrupts; and the
 * gates of sessions that may not see everything. record_values.c continues with sessions that have
 * variables.
 */
#include <linux/preempt.h>

#include "cgroup.h"
#include "record.h"
#include "record_internal.h"

/* The running task as the session's owner may see it. */
static void task_words(const struct kl_session *s, u64 words[3])
{
	struct task_struct *t = current;

	if (s->gate & KL_GATE_OWN && !(in_task() && kl_access_may_see(s->owner, t))) {
		memset(words, 0, 3 * sizeof(*words));
		return;
	}
	kl_read_task(t, words);
}

/* What an owner without privilege is allowed to see is checked each time. */
static bool may_be_quick(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) && kl_clock_kind() == KL_CLOCK_TSC;
}

/* Write a record's header. Returns the address after it. */
static __always_inline u8 *write_prefix(u8 *at, u64 time, u32 id, u8 changed)
{
	*(u64 *)at = time << KL_RECORD_ID_BITS | id;
	at[8] = changed;
	return at + KL_RECORD_PREFIX_BYTES;
}

/* Write the task, whose bytes are committed here. Returns the address after it. */
static __always_inline u8 *write_task(u8 *at, u8 *base, const u64 words[3])
{
	memcpy(at, words, sizeof(struct kl_abi_task));
	kl_ring_commit_bytes(base, sizeof(struct kl_abi_task));
	return at + sizeof(struct kl_abi_task);
}

/* The general path, on which anything may have changed. */
static noinline struct kl_reservation begin_any(struct kl_session *s, struct kl_cpu *cpu, u32 id,
						u32 bytes)
{
	u32 plain = bytes + KL_RECORD_PREFIX_BYTES, full = plain + sizeof(struct kl_abi_task);
	bool nested = kl_state_is_nested(cpu), known = !nested && kl_state_take(cpu), all;
	enum kl_ring_result result;
	struct kl_slot slot;
	u64 words[3], old;
	u8 *at;

	do {
		old = READ_ONCE(cpu->ring.shared->position);
		barrier();
		/*
		 * A record that interrupted us before this point carried its
		 * own variables; one that comes after it makes the exchange
		 * fail.
		 */
		known = known && READ_ONCE(cpu->state) == KL_STATE_BUSY;
		task_words(s, words);
		all = !known || memcmp(words, &cpu->task, sizeof(words));
		result = kl_ring_reserve(&cpu->ring, old, kl_clock(), all ? full : plain, full,
					 &slot);
	} while (result == KL_RING_RETRY);
	all = result != KL_RING_LOST && slot.bytes != plain;
	if (nested) {
		if (all)
			WRITE_ONCE(cpu->state, KL_STATE_SPOILT);
	} else {
		if (all) {
			memcpy(&cpu->task, words, sizeof(words));
			known = true;
		}
		cpu->base = kl_state_base(cpu);
		barrier();
		if (!known)
			kl_state_leave(cpu, KL_STATE_UNKNOWN);
		else
			kl_state_leave(cpu, may_be_quick(s) ? *(u64 *)&cpu->task : KL_STATE_KNOWN);
	}
	if (result == KL_RING_LOST)
		return (struct kl_reservation){};
	if (result == KL_RING_WRITTEN_FIRST)
		kl_waiters_kick(&s->waiters, &cpu->wake);
	at = write_prefix(slot.at, slot.time, id, all ? KL_CHANGED_TASK : 0);
	if (all)
		at = write_task(at, slot.base, words);
	return (struct kl_reservation){ .at = at, .base = slot.base };
}

static struct kl_reservation begin_slow(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	if (s->variables)
		return kl_record_values(s, cpu, id, bytes);
	return begin_any(s, cpu, id, bytes);
}

/* As begin_slow, measured. The event of a suspension is always recorded. */
static noinline struct kl_reservation begin_measured(struct kl_session *s, struct kl_cpu *cpu,
						     u32 id, u32 bytes)
{
	struct kl_section section;
	struct kl_reservation place;

	if (unlikely(id == KL_EV_session_suspended))
		return begin_slow(s, cpu, id, bytes);
	if (unlikely(!kl_meter_begin(s, &section))) {
		kl_ring_count_lost(&cpu->ring);
		return (struct kl_reservation){};
	}
	place = begin_slow(s, cpu, id, bytes);
	kl_meter_end(s, &section);
	return place;
}

/**
 * kl_record_begin - reserve room for a record on this CPU
 * @s: the session
 * @cpu: the session's state on this CPU
 * @id: event id
 * @bytes: size of the event's fields and strings
 *
 * Handles all cases, including those of kl_record_try. Variables that are written are already
 * committed here, so that kl_record_end commits as many bytes as on the fast path. Returns where
 * the fields go; `at` is NULL if the record is lost (and counted). Context: any, preemption off.
 *
 * Usually only the task has changed since the last record, and everything else is as in
 * kl_record_try. That case is handled here; the others start again in begin_slow or begin_any.
 */
struct kl_reservation kl_record_begin(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	u32 full = bytes + KL_RECORD_PREFIX_BYTES + sizeof(struct kl_abi_task);
	struct kl_ring *ring = &cpu->ring;
	struct kl_abi_ring *shared = ring->shared;
	struct kl_reservation place;
	u64 old, time;
	u8 *base;

	if (kl_record_try(cpu, id, bytes, &place))
		return place;
	old = READ_ONCE(shared->position);
	barrier();
	if (unlikely(!KL_STATE_IS_IDS(READ_ONCE(cpu->state)))) {
		/* Set while probes run, which see it now or at the next event. */
		if (unlikely(data_race(s->meter.each)))
			return begin_measured(s, cpu, id, bytes);
		return begin_slow(s, cpu, id, bytes);
	}
	time = rdtsc();
	if (unlikely(!kl_ring_fits(ring, old, time, full)))
		return begin_any(s, cpu, id, bytes);
	/* As in kl_record_take. */
	base = kl_racy(cpu->base);
	/* From here an interrupt takes the general path. */
	WRITE_ONCE(cpu->state, KL_STATE_BUSY);
	barrier();
	if (unlikely(!kl_local_try_cmpxchg(&shared->position, &old, kl_ring_after(old, full)))) {
		WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
		barrier();
		return begin_any(s, cpu, id, bytes);
	}
	kl_store(ring->last_time, time);
	place.at = write_prefix(base + KL_POS_OFFSET(old), time, id, KL_CHANGED_TASK);
	place.base = base;
	kl_read_task(current, (u64 *)&cpu->task);
	place.at = write_task(place.at, base, (u64 *)&cpu->task);
	kl_state_leave(cpu, *(u64 *)&cpu->task);
	return place;
}

/**
 * kl_gate_task - does @t alone allow an event?
 * @s: a session with a gate
 * @t: a task that exists while the caller's probe runs
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
	if (gate & KL_GATE_CGROUP && !kl_cgroup_has(s->cgroup, s->cgroup_depth, t))
		return false;
	return !(gate & KL_GATE_OWN) || kl_access_may_see(s->owner, t);
}

/**
 * kl_gate_current - does the running task allow an event?
 * @s: a session with a gate
 *
 * An interrupt does not act for the task that it interrupted, so the task does not allow its events
 * for an unprivileged owner. Context: any, preemption off.
 */
bool kl_gate_current(const struct kl_session *s)
{
	if (s->gate & KL_GATE_OWN && !in_task())
		return false;
	return kl_gate_task(s, current);
}
