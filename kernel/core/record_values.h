/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fast path of a record in which variables have changed: nothing is interrupted, the record
 * fits into the block, the owner may see everything, and the clock is the time stamp counter. Used
 * by record_values.c, and by probes that must not call a function for it.
 */
#ifndef KL_CORE_RECORD_VALUES_H
#define KL_CORE_RECORD_VALUES_H

#include "record.h"
#include "record_internal.h"
#include "variable.h"

/*
 * Values staged for a record, in its layout: the end of the staged bytes, and the bits of what has
 * changed.
 */
struct kl_staged {
	u8 *at;
	u64 bits;
};

struct kl_staged kl_stage_functions(const struct kl_variable_slot *slot,
				    const struct kl_variable_slot *end, struct kl_known *known,
				    struct kl_staged staged);
struct kl_reservation kl_record_variables(struct kl_session *s, struct kl_cpu *cpu, u32 id,
					  u32 bytes);

/* A slot's value, made from its known word; only the value's own lower bytes are valid. */
static __always_inline u64 kl_value_of(const struct kl_variable_slot *slot, u64 known)
{
	return likely(!slot->calculated) ? known : (known << slot->shift) + slot->add;
}

static __always_inline u8 *kl_write_number(u8 *at, u64 value, u32 bytes)
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

static __always_inline u8 *kl_write_changed(u8 *at, const struct kl_slot *slot, u32 id, u64 changed,
					    const u8 *end)
{
	*(u64 *)at = slot->time << KL_RECORD_ID_BITS | id;
	for (at += sizeof(u64); at < end; changed >>= 8)
		*at++ = changed;
	return at;
}

/*
 * Stage what has changed and update the known words. There is room for all values and 8 more bytes.
 * The known words of a run are consecutive, too.
 */
static __always_inline struct kl_staged kl_stage(const struct kl_variables *v,
						 struct kl_known *known, struct kl_staged staged)
{
	const struct kl_variable_run *run = v->run, *last = v->last_run;
	const struct kl_variable_slot *slot = v->slot;

	do {
		const struct kl_variable_slot *end = run->end;
		struct kl_word *place = kl_word_of(known, slot);
		const u8 *base = (const u8 *)current;

		if (unlikely(run->functions)) {
			staged = kl_stage_functions(slot, end, known, staged);
			slot = end;
			continue;
		}
		if (run->base.hop)
			base = kl_variable_base(current, &run->base);
		do {
			u64 word = kl_word_at(base, place->offset) & place->mask;

			if (word == place->known)
				continue;
			WRITE_ONCE(place->known, word);
			staged.bits |= slot->changed;
			*(u64 *)staged.at = kl_value_of(slot, word);
			staged.at += slot->bytes;
		} while (place++, ++slot != end);
	} while (++run != last);
	return staged;
}

/*
 * Write a record's header and, before its fields, the staged bytes. They are copied in words from
 * the end of the values backwards; the first word may begin in the header, which is written
 * afterwards.
 */
static __always_inline u8 *kl_write_staged(const struct kl_cpu *cpu, const struct kl_slot *slot,
					   u32 id, struct kl_staged staged)
{
	u8 *values = slot->at + cpu->prefix;
	s64 bytes = staged.at - cpu->known->stage, left = -((bytes + 7) & ~7ll);
	u8 *to = values + bytes;

	for (; left; left += sizeof(u64))
		*(u64 *)(to + left) = *(const u64 *)(staged.at + left);
	/* Usually one byte of bits is enough. */
	if (likely(cpu->prefix == KL_RECORD_PREFIX_BYTES)) {
		*(u64 *)slot->at = slot->time << KL_RECORD_ID_BITS | id;
		slot->at[sizeof(u64)] = staged.bits;
	} else {
		kl_write_changed(slot->at, slot, id, staged.bits, values);
	}
	return to;
}

/**
 * kl_record_change - reserve room for a record in which variables may have changed
 * @v: the session's variables
 * @cpu: the session's state on this CPU
 * @id: event id
 * @bytes: size of the event's fields and strings
 * @place: where the fields go, on success
 * @all: on success, size of the record, to be committed after its fields are written
 *
 * Returns false if this is not the fast path: use kl_record_variables(). If known words have been
 * updated by then, the state is unknown, as for a record that was not written. Context: any,
 * preemption off.
 */
static __always_inline bool kl_record_change(const struct kl_variables *v, struct kl_cpu *cpu,
					     u32 id, u32 bytes, struct kl_reservation *place,
					     u32 *all)
{
	struct kl_abi_ring *shared = cpu->ring.shared;
	u64 old = READ_ONCE(shared->position), state = KL_STATE_VALUES;
	struct kl_staged staged = { .at = cpu->known->stage };
	struct kl_slot slot;

	barrier();
	if (unlikely(!kl_local_try_cmpxchg(&cpu->state, &state, KL_STATE_BUSY)))
		return false;
	if (unlikely(!kl_is_task(cpu, current))) {
		kl_read_task(current, (u64 *)&cpu->task);
		memcpy(staged.at, &cpu->task, sizeof(cpu->task));
		staged.at += sizeof(cpu->task);
		staged.bits = KL_CHANGED_TASK;
	}
	staged = kl_stage(v, cpu->known, staged);
	slot.time = rdtsc();
	slot.bytes = bytes + cpu->prefix + (staged.at - cpu->known->stage);
	slot.base = cpu->base;
	if (unlikely(!kl_ring_fits(&cpu->ring, old, slot.time, slot.bytes)))
		goto other;
	slot.at = slot.base + KL_POS_OFFSET(old);
	if (unlikely(
		    !kl_local_try_cmpxchg(&shared->position, &old, kl_ring_after(old, slot.bytes))))
		goto other;
	kl_store(cpu->ring.last_time, slot.time);
	cpu->changing = staged.bits;
	place->at = kl_write_staged(cpu, &slot, id, staged);
	place->base = slot.base;
	*all = slot.bytes;
	kl_state_leave(cpu, KL_STATE_VALUES);
	return true;
other:
	WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
	barrier();
	return false;
}

#endif /* KL_CORE_RECORD_VALUES_H */
