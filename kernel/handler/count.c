// SPDX-License-Identifier: GPL-2.0
/*
 * Handler `count`. In a maskset without a rule it is a number for each event and CPU, which
 * kl_session_counts reads; in a rule it has a table.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "handler.h"

const struct kl_handler kl_handler_count = {
	.flags = KL_HANDLES_PLAIN | KL_HANDLES_TABLE,
	.fastpath = KL_FASTPATH_COUNT,
	.operations = KL_HANDLER_OPERATIONS_TABLE,
};

static u64 bytes_of(u32 n)
{
	const struct kl_counts *counts = NULL;

	return kl_memory_size(struct_size(counts, of, n));
}

/*
 * Replace a CPU's counters by more of them; the old ones are added to @replaced. Events are defined
 * only while no probe counts.
 */
static int grow(struct kl_session *s, struct kl_cpu *c, u32 wanted, int node,
		struct kl_counts **replaced, struct kl_error *why)
{
	struct kl_counts *new, *old = rcu_dereference_protected(c->counts, true);
	int error;

	if (old && old->n >= wanted)
		return 0;
	error = kl_memory_charge(&s->payer, bytes_of(wanted), why);
	if (error)
		return error;
	new = kvzalloc_node(struct_size(new, of, wanted), GFP_KERNEL_ACCOUNT, node);
	if (!new) {
		kl_memory_uncharge(&s->payer, bytes_of(wanted));
		return kl_fail(why, -ENOMEM, "no memory for counters");
	}
	new->n = wanted;
	if (old)
		memcpy(new->of, old->of, old->n * sizeof(*old->of));
	rcu_assign_pointer(c->counts, new);
	if (old) {
		old->next = *replaced;
		*replaced = old;
	}
	return 0;
}

/* Readers may be using them. */
static void free_counts(struct kl_session *s, struct kl_counts *counts)
{
	struct kl_counts *next;

	if (counts)
		synchronize_rcu();
	for (; counts; counts = next) {
		u64 bytes = bytes_of(counts->n);

		next = counts->next;
		kvfree(counts);
		kl_memory_uncharge(&s->payer, bytes);
	}
}

/**
 * kl_count_prepare - allocate counters for each CPU
 * @s: the session; its lock is held
 * @n: number of events
 * @why: set on failure
 *
 * Returns 0 or a negative errno. The counters stay until the session ends.
 */
int kl_count_prepare(struct kl_session *s, u32 n, struct kl_error *why)
{
	struct kl_counts *replaced = NULL;
	int cpu, error = 0;

	lockdep_assert_held(&s->lock);
	for_each_possible_cpu(cpu) {
		error = grow(s, per_cpu_ptr(s->cpu, cpu), n, cpu_to_node(cpu), &replaced, why);
		if (error)
			break;
	}
	free_counts(s, replaced);
	return error;
}
