// SPDX-License-Identifier: GPL-2.0
/*
 * Writes records of sessions with variables: those variables that have changed since the newest
 * record of this CPU that carried them. Called by record.c and probes; reads the variables of
 * variable.h; docs/design/session.md has the rules.
 */
#include <linux/preempt.h>

#include "record_internal.h"
#include "record_values.h"

/* May the running task be shown to the session's owner now? */
static bool is_shown(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) || kl_access_shows_current(s);
}

static void read_shown_task(bool shown, u64 words[3])
{
	if (shown)
		kl_read_task(current, words);
	else
		memset(words, 0, 3 * sizeof(*words));
}

static __always_inline u64 read_value(const struct kl_variable_slot *slot, struct task_struct *t,
				      bool shown)
{
	return !shown && slot->is_own ? 0 : slot->read(slot, t);
}

/* The word to compare for a value: the word at its location, or what its function returns. */
static u64 read_known(const struct kl_variable_slot *slot, struct task_struct *t, bool shown)
{
	const u8 *base = (const u8 *)t;

	if (!slot->base)
		return read_value(slot, t, shown);
	if (slot->base != KL_BASE_TASK)
		base = kl_variable_base(t, &kl_variable_bases[slot->base]);
	return kl_word_at(base, slot->offset) & slot->mask;
}

/* What has changed, as bits of a record, and its size in bytes. */
struct change {
	u64 bits;
	u32 bytes;
};

/* Find which values have changed, and update the known words. */
static void change_values(const struct kl_variables *v, struct kl_known *known, bool shown,
			  struct change *change)
{
	const struct kl_variable_slot *slot = v->slot, *end = slot + v->n_slots;
	struct task_struct *t = current;

	for (; slot < end; slot++) {
		struct kl_word *at = kl_word_of(known, slot);
		u64 word = read_known(slot, t, shown);

		if (word == READ_ONCE(at->known))
			continue;
		WRITE_ONCE(at->known, word);
		if (change->bits & slot->changed)
			continue;
		change->bits |= slot->changed;
		change->bytes += slot->bytes;
	}
}

/* Find which values have changed, and whether the task has. */
static void change_all(struct kl_session *s, struct kl_cpu *cpu, struct change *change)
{
	u64 words[3], *task = (u64 *)&cpu->task;
	bool shown = is_shown(s);

	change_values(s->variables, cpu->known, shown, change);
	read_shown_task(shown, words);
	if (words[0] == task[0] && words[1] == task[1] && words[2] == task[2])
		return;
	memcpy(task, words, sizeof(words));
	if (change->bits & KL_CHANGED_TASK)
		return;
	change->bits |= KL_CHANGED_TASK;
	change->bytes += sizeof(struct kl_abi_task);
}

/* Write the variable whose first slot this is. */
static __always_inline u8 *write_value(u8 *at, const struct kl_variable_slot *slot, u64 known,
				       u64 known_second)
{
	if (!slot->is_text)
		return kl_write_number(at, kl_value_of(slot, known), slot->bytes);
	return kl_write_number(kl_write_number(at, known, 8), known_second, 8);
}

/* Write everything before the fields, and commit the part that kl_record_end does not include. */
static struct kl_reservation write_values(const struct kl_cpu *cpu, const struct kl_variables *v,
					  const struct kl_slot *slot, u32 id, u32 bytes,
					  u64 changed)
{
	u8 *at = kl_write_changed(slot->at, slot, id, changed, slot->at + v->prefix);
	u32 more = slot->bytes - bytes - KL_RECORD_PREFIX_BYTES;

	if (changed & KL_CHANGED_TASK) {
		memcpy(at, &cpu->task, sizeof(cpu->task));
		at += sizeof(cpu->task);
	}
	for (u64 left = changed >> 1; left; left &= left - 1) {
		const struct kl_variable_slot *from = &v->slot[v->of[__ffs(left)].slot];

		at = write_value(at, from, kl_word_of(cpu->known, from)->known,
				 from->is_text ? kl_word_of(cpu->known, from + 1)->known : 0);
	}
	if (more)
		kl_ring_commit_bytes(slot->base, more);
	return (struct kl_reservation){ .at = at, .base = slot->base };
}

/* A record that interrupts a writer carries all variables and leaves the state unchanged. */
static noinline struct kl_reservation begin_nested(struct kl_session *s, struct kl_cpu *cpu, u32 id,
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
		return (struct kl_reservation){};
	WRITE_ONCE(cpu->state, KL_STATE_SPOILT);
	if (result == KL_RING_WRITTEN_FIRST)
		kl_waiters_kick(&s->waiters, &cpu->wake);
	shown = is_shown(s);
	at = kl_write_changed(slot.at, &slot, id, v->all, slot.at + v->prefix);
	read_shown_task(shown, (u64 *)at);
	at += sizeof(struct kl_abi_task);
	for (u32 i = 0; i < v->n; i++) {
		const struct kl_variable_slot *from = &v->slot[v->of[i].slot];

		at = write_value(at, from, read_known(from, current, shown),
				 from->is_text ? read_known(from + 1, current, shown) : 0);
	}
	kl_ring_commit_bytes(slot.base, full - bytes - KL_RECORD_PREFIX_BYTES);
	return (struct kl_reservation){ .at = at, .base = slot.base };
}

/**
 * kl_record_variables - reserve room for a record in which anything may have changed
 * @s: a session with variables
 * @cpu: the session's state on this CPU
 * @id: event id
 * @bytes: size of the event's fields and strings
 *
 * As kl_record_begin(). Only the outermost writer changes `task` and the known words, in place. If
 * its record is not written, the state becomes unknown, so the next record carries all variables.
 * Context: any, preemption off.
 */
struct kl_reservation kl_record_variables(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					  u32 bytes)
{
	const struct kl_variables *v = s->variables;
	u32 plain = bytes + v->prefix, full = plain + sizeof(struct kl_abi_task) + v->bytes;
	struct change change = {};
	enum kl_ring_result result;
	struct kl_reservation place = {};
	struct kl_slot slot;
	bool known;
	u64 old;

	if (unlikely(kl_state_is_nested(cpu)))
		return begin_nested(s, cpu, id, bytes);
	known = kl_state_take(cpu);
	do {
		old = READ_ONCE(cpu->ring.shared->position);
		barrier();
		/* As in begin_any. */
		known = known && READ_ONCE(cpu->state) == KL_STATE_BUSY;
		change_all(s, cpu, &change);
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
			kl_waiters_kick(&s->waiters, &cpu->wake);
		}
		place = write_values(cpu, v, &slot, id, bytes, change.bits);
	} else if (change.bits) {
		known = false;
	}
	cpu->base = kl_state_base(cpu);
	/* A session that must be checked each time does not gain from testing for no change. */
	cpu->changing = !v->quick;
	barrier();
	if (!known)
		kl_state_leave(cpu, KL_STATE_UNKNOWN);
	else
		kl_state_leave(cpu, v->quick ? KL_STATE_VALUES : KL_STATE_KNOWN);
	return place;
}

/* Do the functions of values without a location return what is known? As kl_word_is_same. */
static bool read_same(const struct kl_variables *v, struct kl_known *known)
{
	const struct kl_variable_slot *slot = v->slot, *end = slot + v->n_slots;

	/* Avoids walking a stack twice, once to compare it and once to record it. */
	if (v->walks)
		return false;
	for (; slot < end; slot++)
		if (!slot->base &&
		    slot->read(slot, current) != kl_racy(kl_word_of(known, slot)->known))
			return false;
	return true;
}

/**
 * kl_values_rest_same - do readers know the remaining values?
 * @cpu: of a session with variables
 *
 * These are more than one pointer away from the task, or have no location. Context: any, preemption
 * off.
 */
bool kl_values_rest_same(const struct kl_cpu *cpu)
{
	const struct kl_variables *v = cpu->session->variables;
	const struct kl_variable_group *group = v->group + v->plain_groups;
	const struct kl_variable_group *last = v->group + v->groups;
	const struct kl_word *word = cpu->known->hop_end;

	for (; group < last; group++) {
		const struct kl_word *end = cpu->known->word + group->end;
		const u8 *base = kl_variable_base(current, group);

		for (; word < end; word++)
			if (!kl_word_is_same(word, base))
				return false;
	}
	return v->placed == v->guards + v->n_slots || read_same(v, cpu->known);
}

/**
 * kl_stage_functions - stage the changed values that have no location
 * @slot: the first slot
 * @end: after the last slot
 * @known: what readers know
 * @staged: what has been staged so far
 *
 * A text, whose slots never have a location, is staged as a whole. Context: any, preemption off,
 * and the state is BUSY.
 */
struct kl_staged kl_stage_functions(const struct kl_variable_slot *slot,
				    const struct kl_variable_slot *end, struct kl_known *known,
				    struct kl_staged staged)
{
	for (; slot < end; slot++) {
		const struct kl_variable_slot *first = slot;
		struct kl_word *word = kl_word_of(known, slot);
		u64 value = slot->read(slot, current), second = 0;
		bool same = value == word->known;

		WRITE_ONCE(word->known, value);
		if (slot->is_text) {
			slot++;
			word = kl_word_of(known, slot);
			second = slot->read(slot, current);
			same &= second == word->known;
			WRITE_ONCE(word->known, second);
		}
		if (same)
			continue;
		staged.bits |= first->changed;
		staged.at = kl_write_number(staged.at, value, first->is_text ? 8 : first->bytes);
		if (first->is_text)
			staged.at = kl_write_number(staged.at, second, 8);
	}
	return staged;
}

/**
 * kl_record_changed - reserve room for a record of a session with variables
 * @s: the session
 * @cpu: the session's state on this CPU
 * @id: event id
 * @bytes: size of the event's fields and strings
 *
 * As kl_record_begin(), after kl_values_same() or kl_record_same() has returned false. Context:
 * any, preemption off.
 */
struct kl_reservation kl_record_changed(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	struct kl_reservation place;
	u32 all;

	if (unlikely(!kl_record_change(s->variables, cpu, id, bytes, &place, &all)))
		return kl_record_variables(s, cpu, id, bytes);
	kl_ring_commit_bytes(place.base, all - bytes - KL_RECORD_PREFIX_BYTES);
	return place;
}

/**
 * kl_record_values - reserve room for a record of a session with variables, in any case
 * @s: the session
 * @cpu: the session's state on this CPU
 * @id: event id
 * @bytes: size of the event's fields and strings
 *
 * As kl_record_begin, which calls it. Context: any, preemption off.
 */
struct kl_reservation kl_record_values(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes)
{
	struct kl_reservation place;
	u64 old;

	/* A hint, which a writer that we have interrupted may be about to change. */
	if (unlikely(kl_racy(cpu->changing)) || !kl_values_same(cpu, cpu->rest, &old) ||
	    !kl_record_same(cpu, old, id, bytes, &place))
		return kl_record_changed(s, cpu, id, bytes);
	kl_ring_commit_bytes(place.base, cpu->prefix - KL_RECORD_PREFIX_BYTES);
	return place;
}
