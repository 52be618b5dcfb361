/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes a record: what it carries of the running task, the reservation, the header. Every probe
 * runs through here, so each instruction counts. Fed by kernel/source and kernel/task; writes to
 * kernel/ring.
 *
 * kl_record_take and kl_record_same only read the delta state (struct kl_cpu). All other paths
 * write it, but only the outermost writer on this CPU does. A writer that has interrupted another
 * one writes all its variables and marks the state as spoilt. See docs/design/session.md.
 */
#ifndef KL_CORE_RECORD_H
#define KL_CORE_RECORD_H

#include <linux/sched.h>
#include <linux/string.h>

#include "../compat/clock.h"
#include "../compat/preempt.h"
#include "session.h"
#include "variable.h"

/**
 * struct kl_reservation - where a record's fields go; returned in registers
 * @at: NULL if the record is lost
 * @base: the block
 */
struct kl_reservation {
	u8 *at;
	u8 *base;
};

/* Strings of a record, measured before their room is reserved. */
struct kl_strings {
	u32 n;
	u32 bytes;
	struct {
		const char *text;
		u32 bytes;
	} of[3];
};

/* Add a string of @length bytes and a NUL, together at most KL_STRING_MAX bytes. */
static __always_inline void kl_strings_add_measured(struct kl_strings *strings, const char *text,
						    u32 length)
{
	strings->of[strings->n].text = text;
	strings->of[strings->n].bytes = length + 1;
	strings->bytes += length + 1;
	strings->n++;
}

/* Add a string that ends at a NUL, or after @most bytes. */
static __always_inline void kl_strings_add_bounded(struct kl_strings *strings, const char *text,
						   size_t most)
{
	if (!text)
		text = "";
	kl_strings_add_measured(strings, text,
				strnlen(text, min_t(size_t, most, KL_STRING_MAX - 1)));
}

static __always_inline void kl_strings_add(struct kl_strings *strings, const char *text)
{
	kl_strings_add_bounded(strings, text, KL_STRING_MAX - 1);
}

/* A string may have shrunk since it was measured; it never outgrows its room. */
static __always_inline void kl_strings_copy(const struct kl_strings *strings, u8 *to)
{
	for (u32 i = 0; i < strings->n; i++) {
		u32 bytes = strings->of[i].bytes - 1;

		memcpy(to, strings->of[i].text, bytes);
		to[bytes] = 0;
		to += bytes + 1;
	}
}

static_assert(offsetof(struct task_struct, tgid) == offsetof(struct task_struct, pid) + 4);
static_assert(TASK_COMM_LEN == KL_COMM_LEN);

/*
 * Both ids of a task, and halves of its name, as words to compare and copy. Other tasks may rename
 * a task at any time, and a thread that executes a program gets its leader's ids. A record has the
 * values found when it was written; the next one has the new values.
 */
static __always_inline u64 kl_task_ids(const struct task_struct *t)
{
	return kl_racy(*(const u64 *)&t->pid);
}

static __always_inline u64 kl_task_comm(const struct task_struct *t, int half)
{
	u64 word;

	kl_racy(memcpy(&word, t->comm + 8 * half, sizeof(word)));
	return word;
}

/*
 * Do readers of this CPU's records already know the running task? An interrupt that changes `task`
 * during this test has written a record, so the exchange that follows fails.
 */
static __always_inline bool kl_task_is_known(const struct kl_cpu *cpu, const struct task_struct *t)
{
	const u64 *known = (const u64 *)&cpu->task;

	return likely(READ_ONCE(cpu->state) == kl_task_ids(t) &&
		      kl_racy(known[1]) == kl_task_comm(t, 0) &&
		      kl_racy(known[2]) == kl_task_comm(t, 1));
}

/**
 * kl_record_take - reserve room for a record, on the fast path
 * @cpu: the session's state on this CPU
 * @bytes: size of the event's fields and strings
 * @place: where the fields go, on success
 * @time: of the record, on success
 *
 * The fast path: nothing is interrupted, nothing has changed, the record fits into the block, and
 * the clock is the time stamp counter. It calls no function and changes nothing but the ring. While
 * kl_record_begin runs, `state` keeps interrupts off this path, so the block can differ from `base`
 * only if the position has moved.
 *
 * If it returns false, nothing has happened: use kl_record_begin; else call kl_record_head and
 * kl_record_end. Context: any, preemption off.
 */
static __always_inline bool kl_record_take(struct kl_cpu *cpu, u32 bytes,
					   struct kl_reservation *place, u64 *time)
{
	struct kl_ring *ring = &cpu->ring;
	u64 old = READ_ONCE(ring->shared->position);

	barrier();
	if (unlikely(!kl_task_is_known(cpu, current)))
		return false;
	*time = rdtsc();
	if (unlikely(!kl_ring_fits(ring, old, *time, bytes + KL_RECORD_PREFIX_BYTES)))
		return false;
	/* As in kl_task_is_known. */
	place->base = kl_racy(cpu->base);
	if (unlikely(!kl_local_try_cmpxchg(&ring->shared->position, &old,
					   kl_ring_after(old, bytes + KL_RECORD_PREFIX_BYTES))))
		return false;
	kl_store(ring->last_time, *time);
	/* Computed here, as above it would take one more register, and so a stack frame. */
	place->at = place->base + KL_POS_OFFSET(old) + KL_RECORD_PREFIX_BYTES;
	return true;
}

/* Write what precedes the fields of a record from kl_record_take. */
static __always_inline void kl_record_head(struct kl_reservation place, u64 time, u64 id)
{
	u8 *at = place.at - KL_RECORD_PREFIX_BYTES;

	*(u64 *)at = (time << KL_RECORD_ID_BITS) + id;
	at[8] = 0;
}

static __always_inline bool kl_record_try(struct kl_cpu *cpu, u32 id, u32 bytes,
					  struct kl_reservation *place)
{
	u64 time;

	if (!kl_record_take(cpu, bytes, place, &time))
		return false;
	kl_record_head(*place, time, id);
	return true;
}

struct kl_reservation kl_record_begin(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes);
struct kl_reservation kl_record_changed(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					u32 bytes);
bool kl_values_rest_same(const struct kl_cpu *cpu);

/*
 * Is this the task that readers know? Here and below, a writer that we have interrupted may have
 * updated only part of what is known, or an interrupt may change it under us: checking the state
 * afterwards detects both.
 */
static __always_inline bool kl_is_task(const struct kl_cpu *cpu, const struct task_struct *t)
{
	const u64 *known = (const u64 *)&cpu->task;

	return likely(kl_racy(known[0]) == kl_task_ids(t) &&
		      kl_racy(known[1]) == kl_task_comm(t, 0) &&
		      kl_racy(known[2]) == kl_task_comm(t, 1));
}

/* Is a word equal to what readers know? */
static __always_inline bool kl_word_is_same(const struct kl_word *word, const u8 *base)
{
	return likely(!((kl_word_at(base, word->offset) ^ kl_racy(word->known)) & word->mask));
}

/**
 * kl_values_same - do readers know the current task and values?
 * @cpu: state of a session with variables, none of which has changed in the previous record
 * @rest: some variables may be more than one pointer away from the task, or read by a function
 * @old: set to the ring position for which the result is valid, for kl_record_same
 *
 * What is known is valid if the state says so after all comparisons: an interrupt that comes
 * between them and changes it either writes a record, so that the position differs, or leaves the
 * state unknown. Context: any, preemption off.
 */
static __always_inline bool kl_values_same(const struct kl_cpu *cpu, bool rest, u64 *old)
{
	const struct kl_known *known = cpu->known;
	const struct kl_word *word = known->word;
	const u8 *task = (const u8 *)current;

	*old = READ_ONCE(cpu->ring.shared->position);
	barrier();
	if (!kl_is_task(cpu, current))
		return false;
	for (; word != known->task_end; word++)
		if (!kl_word_is_same(word, task))
			return false;
	for (; word != known->hop_end; word++)
		if (!kl_word_is_same(word, (const u8 *)kl_word_at(task, word->hop)))
			return false;
	if (rest && !kl_values_rest_same(cpu))
		return false;
	barrier();
	return likely(READ_ONCE(cpu->state) == KL_STATE_VALUES);
}

/**
 * kl_record_same - reserve room for a record in which no variable has changed
 * @cpu: state of a session with variables
 * @old: from kl_values_same
 * @id: event id
 * @bytes: size of the event's fields and strings
 * @place: where the fields go, on success
 *
 * As kl_record_take, it changes nothing but the ring. If it returns false, use kl_record_changed;
 * else write the fields and call kl_record_same_end. Context: any, preemption off.
 */
static __always_inline bool kl_record_same(struct kl_cpu *cpu, u64 old, u64 id, u32 bytes,
					   struct kl_reservation *place)
{
	u64 time = rdtsc();
	u8 *at;

	bytes += cpu->prefix;
	if (unlikely(!kl_ring_fits(&cpu->ring, old, time, bytes)))
		return false;
	/* It changes only with a record, which makes the exchange fail. */
	place->base = kl_racy(cpu->base);
	if (unlikely(!kl_local_try_cmpxchg(&cpu->ring.shared->position, &old,
					   kl_ring_after(old, bytes))))
		return false;
	kl_store(cpu->ring.last_time, time);
	at = place->base + KL_POS_OFFSET(old);
	place->at = at + cpu->prefix;
	/*
	 * No bit is set. The first of the 8 bytes before the fields may belong to the time, which
	 * is written next.
	 */
	*(u64 *)(place->at - sizeof(u64)) = 0;
	*(u64 *)at = (time << KL_RECORD_ID_BITS) + id;
	return true;
}

/* Commit a record whose fields are written. @bytes as passed to kl_record_same. */
static __always_inline void kl_record_same_end(const struct kl_cpu *cpu,
					       struct kl_reservation place, u32 bytes)
{
	kl_ring_commit_bytes(place.base, bytes + cpu->prefix);
}

/*
 * Commit a record whose fields are written. @bytes as passed to kl_record_begin or kl_record_try.
 */
static __always_inline void kl_record_end(struct kl_reservation place, u32 bytes)
{
	kl_ring_commit_bytes(place.base, bytes + KL_RECORD_PREFIX_BYTES);
}

/* ----------------------------------------------------- what is allowed */

bool kl_gate_task(const struct kl_session *s, struct task_struct *t);
bool kl_gate_current(const struct kl_session *s);

/* Is an event allowed that describes only the running task? */
static __always_inline bool kl_gate_self(const struct kl_session *s)
{
	u32 gate = s->gate;

	if (likely(gate == KL_GATE_TASKS))
		return kl_taskset_has(s->tasks, current->pid);
	return !gate || kl_gate_current(s);
}

/* Is an event allowed that describes the machine, whatever task runs? */
static __always_inline bool kl_gate_system(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) && kl_gate_self(s);
}

/* kl_gate_self for an event that also describes @t and perhaps @u. */
static __always_inline bool kl_gate_about(const struct kl_session *s, struct task_struct *t,
					  struct task_struct *u)
{
	return kl_gate_self(s) || (t && kl_gate_task(s, t)) || (u && kl_gate_task(s, u));
}

/* Can fields that describe @t be shown? */
static __always_inline bool kl_shows(const struct kl_session *s, struct task_struct *t)
{
	return likely(!(s->gate & KL_GATE_OWN)) || (t && kl_access_may_see(s->owner, t));
}

/* The current action for event @id: a handler, and perhaps KL_ACTION_ASK. */
static __always_inline u8 kl_action(const struct kl_session *s, size_t id)
{
	kl_probe_check();
	/* Probes run with preemption off, which is an RCU read-side critical section. */
	return rcu_dereference_sched(s->actions)->action[id];
}

/*
 * The same for an event that the session has defined. A maskset that was in use before the event
 * was defined does nothing with it.
 */
static __always_inline u8 kl_action_defined(const struct kl_session *s, u32 id)
{
	const struct kl_actions *actions;

	kl_probe_check();
	/*
	 * Without RCU's own check, which is a function that may be hooked or spliced itself: this
	 * is called before there is a guard against recursion, with preemption off.
	 */
	actions = rcu_dereference_raw(s->actions);
	return likely(id < actions->n) ? actions->action[id] : KL_HANDLER_nothing;
}

#endif /* KL_CORE_RECORD_H */
