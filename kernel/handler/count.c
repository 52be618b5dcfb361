// SPDX-License-Identifier: GPL-2.0
/*
 * Handler `count`: one number an event and CPU. Read by kl_session_counts.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "handler.h"

/**
 * kl_count_prepare - have counters on each CPU
 * @s: the session; its lock is held
 *
 * Returns 0 or -ENOMEM; what was got stays until the session ends.
 */
int kl_count_prepare(struct kl_session *s)
{
	int cpu;

	lockdep_assert_held(&s->lock);
	for_each_possible_cpu(cpu) {
		struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);
		u64 *count;

		if (c->count)
			continue;
		count = kvzalloc_node(KL_EV_MAX * sizeof(*count), GFP_KERNEL_ACCOUNT,
				      cpu_to_node(cpu));
		if (!count)
			return -ENOMEM;
		WRITE_ONCE(c->count, count);
	}
	return 0;
}
