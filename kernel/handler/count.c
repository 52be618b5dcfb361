// SPDX-License-Identifier: GPL-2.0
/*
 * Handler `count`: one number an event and CPU. Read by kl_session_counts.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "../source/defined.h"
#include "handler.h"

/* More counters for a CPU. Events are defined only while no probe counts. */
static int grow(struct kl_cpu *c, u32 wanted, int node)
{
	struct kl_counts *new, *old = rcu_dereference_protected(c->counts, true);

	if (old && old->n >= wanted)
		return 0;
	new = kvzalloc_node(struct_size(new, of, wanted), GFP_KERNEL_ACCOUNT, node);
	if (!new)
		return -ENOMEM;
	new->n = wanted;
	if (old)
		memcpy(new->of, old->of, old->n * sizeof(*old->of));
	rcu_assign_pointer(c->counts, new);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

/**
 * kl_count_prepare - have counters on each CPU
 * @s: the session; its lock is held
 *
 * Returns 0 or -ENOMEM; what was got stays until the session ends.
 */
int kl_count_prepare(struct kl_session *s)
{
	int cpu, error;

	lockdep_assert_held(&s->lock);
	for_each_possible_cpu(cpu) {
		error = grow(per_cpu_ptr(s->cpu, cpu), KL_EV_MAX + kl_defined_number(s),
			     cpu_to_node(cpu));
		if (error)
			return error;
	}
	return 0;
}
