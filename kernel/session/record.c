// SPDX-License-Identifier: GPL-2.0
/*
 * The rarer half of writing a record: changed variables, a new block, records
 * of interrupts; and the gates of sessions that may not see everything.
 */
#include <linux/preempt.h>

#include "record.h"
#include "variable.h"

static __always_inline void read_task(const struct task_struct *t, u64 words[3])
{
	words[0] = kl_task_ids(t);
	words[1] = kl_task_comm(t, 0);
	words[2] = kl_task_comm(t, 1);
}

/* The running task as the session's owner may see it. */
static void task_words(const struct kl_session *s, u64 words[3])
{
	struct task_struct *t = current;

	if (s->gate & KL_GATE_OWN && !(in_task() && kl_access_may_see(s->owner, t))) {
		memset(words, 0, 3 * sizeof(*words));
		return;
	}
	read_task(t, words);
}

/* What an owner without privilege may see is asked each time. */
static bool may_be_quick(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) && kl_clock_kind() == KL_CLOCK_TSC;
}

/* Is a writer that we have interrupted at work on the state? */
static bool is_nested(const struct kl_cpu *cpu)
{
	u64 state = READ_ONCE(cpu->state);

	return state == KL_STATE_BUSY || state == KL_STATE_SPOILT;
}

/* Begin to work on the state. Do readers know `task`? */
static bool take_state(struct kl_cpu *cpu)
{
	u64 state = READ_ONCE(cpu->state);

	while (!kl_local_try_cmpxchg(&cpu->state, &state, KL_STATE_BUSY))
		;
	return state != KL_STATE_UNKNOWN;
}

/* And end it. What an interrupt has told meanwhile, `task` does not have. */
static __always_inline void leave_state(struct kl_cpu *cpu, u64 state)
{
	u64 busy = KL_STATE_BUSY;

	if (unlikely(!kl_local_try_cmpxchg(&cpu->state, &busy, state)))
		WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
}

/* A record's header. Returns what comes behind it. */
static __always_inline u8 *write_prefix(u8 *at, u64 time, u32 id, u8 changed)
{
	*(u64 *)at = time << KL_RECORD_ID_BITS | id;
	at[8] = changed;
	return at + KL_RECORD_PREFIX_BYTES;
}

/* The variables, which are committed here. Returns what comes behind them. */
static __always_inline u8 *write_task(u8 *at, u8 *base, const u64 words[3])
{
	memcpy(at, words, sizeof(struct kl_abi_task));
	kl_ring_commit_bytes(base, sizeof(struct kl_abi_task));
	return at + sizeof(struct kl_abi_task);
}

/* ---------------------------------------- sessions with further variables */

/* May the running task be shown to the session's owner now? */
static bool is_shown(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) || kl_access_shows_current(s);
}

static void read_shown_task(bool shown, u64 words[3])
{
	if (shown)
		read_task(current, words);
	else
		memset(words, 0, 3 * sizeof(*words));
}

static __always_inline u64 read_value(const struct kl_variable_slot *slot, struct task_struct *t,
				      bool shown)
{
	return !shown && slot->is_own ? 0 : slot->read(slot, t);
}

/* Is this the task that readers were told of? */
static __always_inline bool is_task(const struct kl_cpu *cpu, const struct task_struct *t)
{
	const u64 *known = (const u64 *)&cpu->task;

	return known[0] == kl_task_ids(t) && known[1] == kl_task_comm(t, 0) &&
	       known[2] == kl_task_comm(t, 1);
}

/* What changed, as bits of a record, and the bytes of it. */
struct change {
	u64 bits;
	u32 bytes;
};

/* Of the values, which become what is read now. */
static __always_inline void change_values(const struct kl_variables *v, u64 *values, bool shown,
					  struct change *change)
{
	const struct kl_variable_slot *slot = v->slot, *end = slot + v->n_slots;
	struct task_struct *t = current;

	for (; slot < end; slot++, values++) {
		u64 value = read_value(slot, t, shown);

		if (value == *values)
			continue;
		*values = value;
		if (change->bits & slot->changed)
			continue;
		change->bits |= slot->changed;
		change->bytes += slot->bytes;
	}
}

/* And of the task, too. */
static void change_all(struct kl_session *s, struct kl_cpu *cpu, u64 *values, struct change *change)
{
	u64 words[3], *known = (u64 *)&cpu->task;
	bool shown = likely(!(s->gate & KL_GATE_OWN)) || is_shown(s);

	/* Twice, so that who may see all pays nothing for who may not. */
	if (likely(shown))
		change_values(s->variables, values, true, change);
	else
		change_values(s->variables, values, false, change);
	read_shown_task(shown, words);
	if (words[0] == known[0] && words[1] == known[1] && words[2] == known[2])
		return;
	memcpy(known, words, sizeof(words));
	if (change->bits & KL_CHANGED_TASK)
		return;
	change->bits |= KL_CHANGED_TASK;
	change->bytes += sizeof(struct kl_abi_task);
}

static __always_inline u8 *write_number(u8 *at, u64 value, u32 bytes)
{
	if (bytes == 8)
		*(u64 *)at = value;
	else if (bytes == 4)
		*(u32 *)at = value;
	else if (bytes == 2)
		*(u16 *)at = value;
	else
		*at = value;
	return at + bytes;
}

static __always_inline u8 *write_value(u8 *at, const u64 *words, u32 bytes)
{
	if (bytes != KL_COMM_LEN)
		return write_number(at, words[0], bytes);
	return write_number(write_number(at, words[0], 8), words[1], 8);
}

static __always_inline u8 *write_changed(u8 *at, const struct kl_slot *slot, u32 id, u64 changed,
					 const u8 *end)
{
	*(u64 *)at = slot->time << KL_RECORD_ID_BITS | id;
	for (at += sizeof(u64); at < end; changed >>= 8)
		*at++ = changed;
	return at;
}

/* All but the fields, and the part of it committed that kl_record_end does not know of. */
static struct kl_place write_values(const struct kl_cpu *cpu, const struct kl_variables *v,
				    const u64 *values, const struct kl_slot *slot, u32 id,
				    u32 bytes, u64 changed)
{
	u8 *at = write_changed(slot->at, slot, id, changed, slot->at + v->prefix);
	u32 more = slot->bytes - bytes - KL_RECORD_PREFIX_BYTES;

	if (changed & KL_CHANGED_TASK) {
		memcpy(at, &cpu->task, sizeof(cpu->task));
		at += sizeof(cpu->task);
	}
	for (u64 left = changed >> 1; left; left &= left - 1) {
		u32 i = __ffs(left);

		at = write_value(at, values + v->of[i].slot, v->of[i].bytes);
	}
	if (more)
		kl_ring_commit_bytes(slot->base, more);
	return (struct kl_place){ .at = at, .base = slot->base };
}

/* The same where nothing has changed. */
static __always_inline struct kl_place write_unchanged(const struct kl_variables *v,
						       const struct kl_slot *slot, u32 id)
{
	u32 more = v->prefix - KL_RECORD_PREFIX_BYTES;

	*(u64 *)slot->at = slot->time << KL_RECORD_ID_BITS | id;
	slot->at[sizeof(u64)] = 0;
	if (unlikely(more)) {
		memset(slot->at + KL_RECORD_PREFIX_BYTES, 0, more);
		kl_ring_commit_bytes(slot->base, more);
	}
	return (struct kl_place){ .at = slot->at + v->prefix, .base = slot->base };
}

/* The record of who has interrupted a writer tells all, and leaves the state as it was. */
static noinline struct kl_place begin_nested(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					     u32 bytes)
{
	const struct kl_variables *v = s->variables;
	u32 full = bytes + v->prefix + sizeof(struct kl_abi_task) + v->bytes;
	enum kl_ring_result result;
	struct kl_slot slot;
	bool shown;
	u64 old;
	u8 *at;

	do {
		old = READ_ONCE(cpu->ring.shared->position);
		barrier();
		result = kl_ring_reserve(&cpu->ring, old, kl_clock(), full, full, &slot);
	} while (result == KL_RING_RETRY);
	if (result == KL_RING_LOST)
		return (struct kl_place){};
	WRITE_ONCE(cpu->state, KL_STATE_SPOILT);
	if (result == KL_RING_WRITTEN_FIRST && wq_has_sleeper(&s->wait))
		irq_work_queue(&cpu->wake);
	shown = is_shown(s);
	at = write_changed(slot.at, &slot, id, v->all, slot.at + v->prefix);
	read_shown_task(shown, (u64 *)at);
	at += sizeof(struct kl_abi_task);
	for (u32 i = 0; i < v->n; i++) {
		const struct kl_variable_slot *from = &v->slot[v->of[i].slot];
		u64 words[2] = { read_value(from, current, shown) };

		if (v->of[i].bytes == KL_COMM_LEN)
			words[1] = read_value(from + 1, current, shown);
		at = write_value(at, words, v->of[i].bytes);
	}
	kl_ring_commit_bytes(slot.base, full - bytes - KL_RECORD_PREFIX_BYTES);
	return (struct kl_place){ .at = at, .base = slot.base };
}

/*
 * As begin_any. Only the outermost writer changes `task` and the values, in
 * place: what it has changed for a record that is not written is told with all
 * others by the next, since the state is then unknown.
 */
static noinline struct kl_place begin_variables(struct kl_session *s, struct kl_cpu *cpu, u32 id,
						u32 bytes)
{
	const struct kl_variables *v = s->variables;
	u32 plain = bytes + v->prefix, full = plain + sizeof(struct kl_abi_task) + v->bytes;
	u64 *values = this_cpu_ptr(v->values), old;
	struct change change = {};
	enum kl_ring_result result;
	struct kl_place place = {};
	struct kl_slot slot;
	bool known;

	if (unlikely(is_nested(cpu)))
		return begin_nested(s, cpu, id, bytes);
	known = take_state(cpu);
	do {
		old = READ_ONCE(cpu->ring.shared->position);
		barrier();
		/* As in begin_any. */
		known = known && READ_ONCE(cpu->state) == KL_STATE_BUSY;
		change_all(s, cpu, values, &change);
		if (unlikely(!known || v->full)) {
			change.bits = v->all;
			change.bytes = full - plain;
		}
		result = kl_ring_reserve(&cpu->ring, old, kl_clock(), plain + change.bytes, full,
					 &slot);
	} while (result == KL_RING_RETRY);
	if (likely(result != KL_RING_LOST)) {
		known = true;
		if (result == KL_RING_WRITTEN_FIRST) {
			change.bits = v->all;
			if (wq_has_sleeper(&s->wait))
				irq_work_queue(&cpu->wake);
		}
		place = write_values(cpu, v, values, &slot, id, bytes, change.bits);
	} else if (change.bits) {
		known = false;
	}
	cpu->base = cpu->ring.base[KL_POS_SEQ(cpu->ring.shared->position) & 1];
	barrier();
	if (!known)
		leave_state(cpu, KL_STATE_UNKNOWN);
	else
		leave_state(cpu, v->quick ? KL_STATE_VALUES : KL_STATE_KNOWN);
	return place;
}

/*
 * The usual case of it: all is known, there is room, the owner may see all, and
 * the clock is the time stamp counter. What it has changed when it finds that it
 * is another case is as for a record that was not written.
 */
static noinline struct kl_place begin_values(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					     u32 bytes)
{
	const struct kl_variables *v = s->variables;
	struct kl_abi_ring *shared = cpu->ring.shared;
	u64 old = READ_ONCE(shared->position), state = KL_STATE_VALUES;
	u64 *values = this_cpu_ptr(v->values);
	struct change change = { .bytes = bytes + v->prefix };
	struct kl_place place;
	struct kl_slot slot;

	barrier();
	if (unlikely(!kl_local_try_cmpxchg(&cpu->state, &state, KL_STATE_BUSY)))
		return begin_variables(s, cpu, id, bytes);
	change_values(v, values, true, &change);
	if (unlikely(!is_task(cpu, current))) {
		read_task(current, (u64 *)&cpu->task);
		change.bits |= KL_CHANGED_TASK;
		change.bytes += sizeof(struct kl_abi_task);
	}
	slot.time = rdtsc();
	slot.bytes = change.bytes;
	slot.base = cpu->base;
	if (unlikely(!kl_ring_fits(&cpu->ring, old, slot.time, slot.bytes)))
		goto other;
	slot.at = slot.base + KL_POS_OFFSET(old);
	if (unlikely(
		    !kl_local_try_cmpxchg(&shared->position, &old, kl_ring_after(old, slot.bytes))))
		goto other;
	cpu->ring.last_time = slot.time;
	if (change.bits)
		place = write_values(cpu, v, values, &slot, id, bytes, change.bits);
	else
		place = write_unchanged(v, &slot, id);
	leave_state(cpu, KL_STATE_VALUES);
	return place;
other:
	WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
	barrier();
	return begin_variables(s, cpu, id, bytes);
}

/* All cases. */
static noinline struct kl_place begin_any(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					  u32 bytes)
{
	u32 plain = bytes + KL_RECORD_PREFIX_BYTES, full = plain + sizeof(struct kl_abi_task);
	bool nested = is_nested(cpu), known = !nested && take_state(cpu), all;
	enum kl_ring_result result;
	struct kl_slot slot;
	u64 words[3], old;
	u8 *at;

	do {
		old = READ_ONCE(cpu->ring.shared->position);
		barrier();
		/*
		 * A record that has interrupted us before this told its own
		 * variables; one that comes after it makes the exchange fail.
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
		cpu->base = cpu->ring.base[KL_POS_SEQ(cpu->ring.shared->position) & 1];
		barrier();
		if (!known)
			leave_state(cpu, KL_STATE_UNKNOWN);
		else
			leave_state(cpu, may_be_quick(s) ? *(u64 *)&cpu->task : KL_STATE_KNOWN);
	}
	if (result == KL_RING_LOST)
		return (struct kl_place){};
	if (result == KL_RING_WRITTEN_FIRST && wq_has_sleeper(&s->wait))
		irq_work_queue(&cpu->wake);
	at = write_prefix(slot.at, slot.time, id, all ? KL_CHANGED_TASK : 0);
	if (all)
		at = write_task(at, slot.base, words);
	return (struct kl_place){ .at = at, .base = slot.base };
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
 *
 * Mostly another task runs than at the last record, and all else is as in
 * kl_record_try. That case is done here; the others start again in begin_any.
 */
struct kl_place kl_record_begin(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	u32 full = bytes + KL_RECORD_PREFIX_BYTES + sizeof(struct kl_abi_task);
	struct kl_ring *ring = &cpu->ring;
	struct kl_abi_ring *shared = ring->shared;
	struct kl_place place;
	u64 old, time;
	u8 *base;

	if (kl_record_try(cpu, id, bytes, &place))
		return place;
	old = READ_ONCE(shared->position);
	barrier();
	if (unlikely(!KL_STATE_IS_IDS(READ_ONCE(cpu->state)))) {
		if (s->variables)
			return begin_values(s, cpu, id, bytes);
		return begin_any(s, cpu, id, bytes);
	}
	time = rdtsc();
	if (unlikely(!kl_ring_fits(ring, old, time, full)))
		return begin_any(s, cpu, id, bytes);
	base = cpu->base;
	/* From here an interrupt takes the other way. */
	WRITE_ONCE(cpu->state, KL_STATE_BUSY);
	barrier();
	if (unlikely(!kl_local_try_cmpxchg(&shared->position, &old, kl_ring_after(old, full)))) {
		WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
		barrier();
		return begin_any(s, cpu, id, bytes);
	}
	ring->last_time = time;
	place.at = write_prefix(base + KL_POS_OFFSET(old), time, id, KL_CHANGED_TASK);
	place.base = base;
	read_task(current, (u64 *)&cpu->task);
	place.at = write_task(place.at, base, (u64 *)&cpu->task);
	leave_state(cpu, *(u64 *)&cpu->task);
	return place;
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
