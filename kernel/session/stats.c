// SPDX-License-Identifier: GPL-2.0
/*
 * What a session has written, lost and counted. Reads what the CPUs write, without
 * a lock: numbers of one instant only when the session does not run.
 */
#include "session.h"

/**
 * kl_session_stats - what has been written and lost
 * @s: the session
 * @stats: `cpu` in, the rest out; -1 means all CPUs
 */
void kl_session_stats(struct kl_session *s, struct kl_abi_stats *stats)
{
	int cpu;

	stats->written = 0;
	stats->lost = 0;
	stats->switches = 0;
	stats->blocks = 0;
	for_each_possible_cpu(cpu) {
		const struct kl_cpu *c = per_cpu_ptr(s->cpu, cpu);
		const struct kl_abi_ring *ring = c->ring.shared;
		u64 position = READ_ONCE(ring->position);

		if (stats->cpu >= 0 && stats->cpu != cpu)
			continue;
		stats->written += READ_ONCE(ring->records) + KL_POS_COUNT(position);
		stats->lost += READ_ONCE(ring->lost);
		stats->switches += READ_ONCE(ring->switches);
		stats->blocks += READ_ONCE(c->given);
	}
	stats->buffer_bytes = (u64)stats->blocks * s->block_bytes;
	stats->running = READ_ONCE(s->running);
	stats->readers = READ_ONCE(s->reader_count);
	rcu_read_lock();
	stats->maskset = rcu_dereference(s->actions)->maskset;
	rcu_read_unlock();
}

/**
 * kl_session_counts - what the handler `count` has counted, all CPUs
 * @s: the session
 * @counts: set
 */
void kl_session_counts(struct kl_session *s, struct kl_abi_counts *counts)
{
	int cpu;

	memset(counts->count, 0, sizeof(counts->count));
	for_each_possible_cpu(cpu) {
		const u64 *count = READ_ONCE(per_cpu_ptr(s->cpu, cpu)->count);

		if (!count)
			continue;
		for (u32 id = 0; id < KL_EV_MAX; id++)
			counts->count[id] += READ_ONCE(count[id]);
	}
}
