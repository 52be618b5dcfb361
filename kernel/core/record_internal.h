/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files that may write the delta state of a CPU: record.c and
 * record_values.c. docs/design/session.md has the moves.
 */
#ifndef KL_CORE_RECORD_INTERNAL_H
#define KL_CORE_RECORD_INTERNAL_H

#include "record.h"

/* What is told of a task. */
static __always_inline void kl_read_task(const struct task_struct *t, u64 words[3])
{
	words[0] = kl_task_ids(t);
	words[1] = kl_task_comm(t, 0);
	words[2] = kl_task_comm(t, 1);
}

/* Is a writer that we have interrupted at work on the state? */
static __always_inline bool kl_state_is_nested(const struct kl_cpu *cpu)
{
	u64 state = READ_ONCE(cpu->state);

	return state == KL_STATE_BUSY || state == KL_STATE_SPOILT;
}

/* Begin to work on the state. Do readers know `task`? */
static __always_inline bool kl_state_take(struct kl_cpu *cpu)
{
	u64 state = READ_ONCE(cpu->state);

	while (!kl_local_try_cmpxchg(&cpu->state, &state, KL_STATE_BUSY))
		;
	return state != KL_STATE_UNKNOWN;
}

/* And end it. What an interrupt has told meanwhile, `task` does not have. */
static __always_inline void kl_state_leave(struct kl_cpu *cpu, u64 state)
{
	u64 busy = KL_STATE_BUSY;

	if (unlikely(!kl_local_try_cmpxchg(&cpu->state, &busy, state)))
		WRITE_ONCE(cpu->state, KL_STATE_UNKNOWN);
}

/*
 * The block being filled, for @base of the state, which is BUSY. If an interrupt changes
 * blocks meanwhile the state is spoilt, and nobody uses @base.
 */
static __always_inline u8 *kl_state_base(struct kl_cpu *cpu)
{
	u64 position = READ_ONCE(cpu->ring.shared->position);

	return kl_racy(cpu->ring.base[KL_POS_SEQ(position) & 1]);
}

struct kl_place kl_record_values(struct kl_session *s, struct kl_cpu *cpu, u32 id, u32 bytes);

#endif /* KL_CORE_RECORD_INTERNAL_H */
