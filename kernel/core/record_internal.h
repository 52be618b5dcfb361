/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by record.c, record_values.c and record_values.h, which write the delta state of a CPU.
 * docs/design/session.md has its transitions.
 */
#ifndef KL_CORE_RECORD_INTERNAL_H
#define KL_CORE_RECORD_INTERNAL_H

#include "record.h"

/* What records carry about a task: its ids and both halves of its name. */
static __always_inline void kl_read_task(const struct task_struct *t, u64 words[3])
{
	words[0] = kl_task_ids(t);
	words[1] = kl_task_comm(t, 0);
	words[2] = kl_task_comm(t, 1);
}

/* Have we interrupted a writer that is updating the state? */
static __always_inline bool kl_state_is_nested(const struct kl_cpu *cpu)
{
	u64 state = READ_ONCE(cpu->state);

	return state == KL_STATE_BUSY || state == KL_STATE_SPOILT;
}

/* Take the state for updating. Returns whether readers know `task`. */
static __always_inline bool kl_state_take(struct kl_cpu *cpu)
{
	u64 state = READ_ONCE(cpu->state);

	while (!kl_local_try_cmpxchg(&cpu->state, &state, KL_STATE_BUSY))
		;
	return state != KL_STATE_UNKNOWN;
}

/*
 * Release the state. If an interrupt spoilt it, `task` lacks what the interrupt's record carried.
 */
static __always_inline void kl_state_leave(struct kl_cpu *cpu, u64 state)
{
	u64 busy = KL_STATE_BUSY;

	if (unlikely(!kl_local_try_cmpxchg(&cpu->state, &busy, state)))
		WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
}

/*
 * The block being filled, to be stored in @base while the state is BUSY. If an interrupt switches
 * blocks in the meantime, the state is spoilt and @base is not used.
 */
static __always_inline u8 *kl_state_base(struct kl_cpu *cpu)
{
	u64 position = READ_ONCE(cpu->ring.shared->position);

	return kl_racy(cpu->ring.base[KL_POS_SEQ(position) & 1]);
}

struct kl_reservation kl_record_values(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes);

#endif /* KL_CORE_RECORD_INTERNAL_H */
