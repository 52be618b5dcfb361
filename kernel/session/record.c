// SPDX-License-Identifier: GPL-2.0
/*
 * The rarer half of writing a record: changed variables, a new block, records
 * of interrupts; and the gates of sessions that may not see everything. More than
 * 600 lines, as all that may write the delta state stands in one place.
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

/* What is to be known of a value: the word at its place, or itself. */
static u64 read_known(const struct kl_variable_slot *slot, struct task_struct *t, bool shown)
{
	const u8 *base = (const u8 *)t;

	if (!slot->base)
		return read_value(slot, t, shown);
	if (slot->base != KL_BASE_TASK)
		base = kl_variable_base(t, &kl_variable_bases[slot->base]);
	return kl_word_at(base, slot->offset) & slot->mask;
}

/* A value of what is known; its lower bytes are right. */
static __always_inline u64 value_of(const struct kl_variable_slot *slot, u64 known)
{
	return likely(!slot->calculated) ? known : (known << slot->shift) + slot->add;
}

/* What changed, as bits of a record, and the bytes of it. */
struct change {
	u64 bits;
	u32 bytes;
};

/* Of the values, which become what is read now. */
static void change_values(const struct kl_variables *v, u64 *known, bool shown,
			  struct change *change)
{
	const struct kl_variable_slot *slot = v->slot, *end = slot + v->n_slots;
	struct task_struct *t = current;

	for (; slot < end; slot++) {
		u64 word = read_known(slot, t, shown);

		if (word == READ_ONCE(known[slot->at]))
			continue;
		WRITE_ONCE(known[slot->at], word);
		if (change->bits & slot->changed)
			continue;
		change->bits |= slot->changed;
		change->bytes += slot->bytes;
	}
}

/* And of the task, too. */
static void change_all(struct kl_session *s, struct kl_cpu *cpu, u64 *known, struct change *change)
{
	u64 words[3], *task = (u64 *)&cpu->task;
	bool shown = is_shown(s);

	change_values(s->variables, known, shown, change);
	read_shown_task(shown, words);
	if (words[0] == task[0] && words[1] == task[1] && words[2] == task[2])
		return;
	memcpy(task, words, sizeof(words));
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

/* A variable whose first slot this is. */
static __always_inline u8 *write_value(u8 *at, const struct kl_variable_slot *slot, u64 known,
				       u64 known_second)
{
	if (!slot->is_text)
		return write_number(at, value_of(slot, known), slot->bytes);
	return write_number(write_number(at, known, 8), known_second, 8);
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
				    const u64 *known, const struct kl_slot *slot, u32 id, u32 bytes,
				    u64 changed)
{
	u8 *at = write_changed(slot->at, slot, id, changed, slot->at + v->prefix);
	u32 more = slot->bytes - bytes - KL_RECORD_PREFIX_BYTES;

	if (changed & KL_CHANGED_TASK) {
		memcpy(at, &cpu->task, sizeof(cpu->task));
		at += sizeof(cpu->task);
	}
	for (u64 left = changed >> 1; left; left &= left - 1) {
		const struct kl_variable_slot *from = &v->slot[v->of[__ffs(left)].slot];

		at = write_value(at, from, known[from->at],
				 from->is_text ? known[from->at + 1] : 0);
	}
	if (more)
		kl_ring_commit_bytes(slot->base, more);
	return (struct kl_place){ .at = at, .base = slot->base };
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

		at = write_value(at, from, read_known(from, current, shown),
				 from->is_text ? read_known(from + 1, current, shown) : 0);
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
	u64 *known_words = this_cpu_ptr(v->known), old;
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
		change_all(s, cpu, known_words, &change);
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
		place = write_values(cpu, v, known_words, &slot, id, bytes, change.bits);
	} else if (change.bits) {
		known = false;
	}
	cpu->base = cpu->ring.base[KL_POS_SEQ(cpu->ring.shared->position) & 1];
	/* Who has to be asked each time need not look whether nothing has changed. */
	cpu->changing = !v->quick;
	barrier();
	if (!known)
		leave_state(cpu, KL_STATE_UNKNOWN);
	else
		leave_state(cpu, v->quick ? KL_STATE_VALUES : KL_STATE_KNOWN);
	return place;
}

/**
 * kl_values_read_same - do functions tell what is known of the values?
 * @v: a session's variables
 *
 * Of those that are in no place. Context: any, preemption off.
 */
bool kl_values_read_same(const struct kl_variables *v)
{
	const struct kl_variable_slot *slot = v->slot, *end = slot + v->n_slots;
	const u64 *known = this_cpu_ptr(v->known);

	/* Not to walk a stack twice, once to compare it and once to tell it. */
	if (v->walks)
		return false;
	for (; slot < end; slot++)
		if (!slot->base && slot->read(slot, current) != known[slot->at])
			return false;
	return true;
}

/* A text, whose slots are never in a place, is told as a whole. Returns what comes behind it. */
static noinline u8 *stage_text(const struct kl_variable_slot *slot, u64 *known, u8 *at, u64 *bits)
{
	u64 first = slot->read(slot, current), second = slot[1].read(slot + 1, current);

	known += slot->at;
	if (first == known[0] && second == known[1])
		return at;
	WRITE_ONCE(known[0], first);
	WRITE_ONCE(known[1], second);
	*bits |= slot->changed;
	return write_number(write_number(at, first, 8), second, 8);
}

/* One that is in no place. */
static noinline u8 *stage_value(const struct kl_variable_slot *slot, u64 *known, u8 *at, u64 *bits)
{
	u64 value = slot->read(slot, current);

	known += slot->at;
	if (value == *known)
		return at;
	WRITE_ONCE(*known, value);
	*bits |= slot->changed;
	return write_number(at, value, slot->bytes);
}

/*
 * What has changed, as it will be in the record, is put to @at, which has room for
 * all and 8 bytes more; it becomes known. Returns what comes behind it.
 */
static __always_inline u8 *stage_changes(const struct kl_variables *v, u64 *known, u8 *at,
					 u64 *bits, bool all_placed)
{
	const struct kl_variable_slot *slot = v->slot, *end = slot + v->n_slots;
	const struct kl_variable_group *group = v->group;
	const u8 *base[KL_BASE_COUNT], **last = base;
	u64 word;

	for (*last = (const u8 *)current; !group->is_last;)
		*++last = kl_variable_base(current, ++group);
	for (; slot < end; slot++) {
		if (!all_placed && !slot->base) {
			if (slot->is_text)
				at = stage_text(slot++, known, at, bits);
			else
				at = stage_value(slot, known, at, bits);
			continue;
		}
		word = kl_word_at(base[slot->group], slot->offset) & slot->mask;
		if (word == known[slot->at])
			continue;
		WRITE_ONCE(known[slot->at], word);
		*bits |= slot->changed;
		*(u64 *)at = value_of(slot, word);
		at += slot->bytes;
	}
	return at;
}

static noinline u8 *stage_mixed(const struct kl_variables *v, u64 *known, u8 *at, u64 *bits)
{
	return stage_changes(v, known, at, bits, false);
}

/*
 * A record's header, and before its end the staged bytes, in words from the last
 * one backwards: the first may begin in the header, which is written then.
 */
static __always_inline struct kl_place write_staged(const struct kl_variables *v,
						    const struct kl_slot *slot, u32 id, u64 bits,
						    const u8 *stage, s64 staged)
{
	u8 *at = slot->at + v->prefix;
	u32 more = v->prefix - KL_RECORD_PREFIX_BYTES + staged;

	for (s64 left = staged; left > 0; left -= sizeof(u64))
		*(u64 *)(at + left - sizeof(u64)) = *(const u64 *)(stage + left - sizeof(u64));
	write_changed(slot->at, slot, id, bits, at);
	if (likely(more))
		kl_ring_commit_bytes(slot->base, more);
	return (struct kl_place){ .at = at + staged, .base = slot->base };
}

/**
 * kl_record_changed - room for a record of a session with variables
 * @s: the session
 * @cpu: its state on this CPU
 * @id: event
 * @bytes: size of the event's fields and strings
 *
 * As kl_record_begin, where kl_record_same has found that something has changed.
 * Mostly all is known, there is room, the owner may see all, and the clock is the
 * time stamp counter. What it has changed when it finds that it is another case
 * is as for a record that was not written. Context: any, preemption off.
 */
struct kl_place kl_record_changed(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	const struct kl_variables *v = s->variables;
	struct kl_abi_ring *shared = cpu->ring.shared;
	u64 old = READ_ONCE(shared->position), state = KL_STATE_VALUES, bits = 0;
	u64 *known = this_cpu_ptr(v->known);
	u8 *stage = (u8 *)(known + v->n_slots), *end = stage;
	struct kl_place place;
	struct kl_slot slot;

	barrier();
	if (unlikely(!kl_local_try_cmpxchg(&cpu->state, &state, KL_STATE_BUSY)))
		return begin_variables(s, cpu, id, bytes);
	if (unlikely(!kl_is_task(cpu, current))) {
		read_task(current, (u64 *)&cpu->task);
		memcpy(end, &cpu->task, sizeof(cpu->task));
		end += sizeof(cpu->task);
		bits = KL_CHANGED_TASK;
	}
	if (likely(v->placed == v->n_slots))
		end = stage_changes(v, known, end, &bits, true);
	else
		end = stage_mixed(v, known, end, &bits);
	slot.time = rdtsc();
	slot.bytes = bytes + v->prefix + (end - stage);
	slot.base = cpu->base;
	if (unlikely(!kl_ring_fits(&cpu->ring, old, slot.time, slot.bytes)))
		goto other;
	slot.at = slot.base + KL_POS_OFFSET(old);
	if (unlikely(
		    !kl_local_try_cmpxchg(&shared->position, &old, kl_ring_after(old, slot.bytes))))
		goto other;
	cpu->ring.last_time = slot.time;
	cpu->changing = bits;
	place = write_staged(v, &slot, id, bits, stage, end - stage);
	leave_state(cpu, KL_STATE_VALUES);
	return place;
other:
	WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
	barrier();
	return begin_variables(s, cpu, id, bytes);
}

static noinline struct kl_place begin_values(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					     u32 bytes)
{
	u32 more = s->variables->prefix - KL_RECORD_PREFIX_BYTES;
	u64 old = kl_values_same(s);
	struct kl_place place = {};

	if (likely(old))
		place = kl_record_same(s, old, id, bytes);
	if (unlikely(!place.at))
		return kl_record_changed(s, cpu, id, bytes);
	if (more)
		kl_ring_commit_bytes(place.base, more);
	return place;
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
