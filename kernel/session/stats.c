// SPDX-License-Identifier: GPL-2.0
/*
 * What a session has written, lost and counted. Reads without a lock what the CPUs write, so the
 * numbers are only consistent with each other while the session is not running.
 */
#include <linux/uaccess.h>

#include "../source/dynamic/dynamic.h"
#include "session.h"

/**
 * kl_session_stats - report what has been written and lost
 * @s: the session
 * @stats: `cpu` is read, where -1 means all CPUs; the rest is filled in
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

		if (stats->cpu >= 0 && stats->cpu != cpu)
			continue;
		stats->written += kl_ring_written(ring);
		stats->lost += READ_ONCE(ring->lost);
		stats->switches += READ_ONCE(ring->switches);
		stats->blocks += READ_ONCE(c->given);
	}
	if (stats->cpu < 0)
		stats->lost += kl_dynevent_missed(s);
	stats->buffer_bytes = (u64)stats->blocks * s->block_bytes;
	stats->running = READ_ONCE(s->running);
	stats->readers = READ_ONCE(s->reader_count);
	/*
	 * May be incomplete: a reader that a suspension wakes reads this again once it is
	 * complete.
	 */
	data_race(memcpy(&stats->suspended, &s->meter.suspended, sizeof(stats->suspended)));
	stats->frozen = READ_ONCE(s->frozen);
	stats->unswitched = READ_ONCE(s->deferred.failed);
	stats->alarms = atomic64_read(&s->notify.alarms);
	stats->snapshots = atomic64_read(&s->notify.snapshots);
	stats->begin_cycles = READ_ONCE(s->defs.began);
	stats->end_cycles = READ_ONCE(s->ended);
	rcu_read_lock();
	stats->maskset = READ_ONCE(rcu_dereference(s->actions)->maskset);
	rcu_read_unlock();
}

/**
 * kl_session_fill_status - report everything about a session but its user
 * @s: the session
 * @status: filled in
 */
void kl_session_fill_status(struct kl_session *s, struct kl_abi_status *status)
{
	struct kl_abi_stats stats = { .cpu = -1 };

	kl_session_stats(s, &stats);
	status->id = s->id;
	status->pid = s->creator;
	status->mode = s->mode;
	status->running = stats.running;
	status->readers = stats.readers;
	status->block_bytes = s->block_bytes;
	status->blocks = READ_ONCE(s->blocks);
	status->maskset = stats.maskset;
	/* Approximate: a start or stop may be attaching or detaching. */
	status->events = data_race(bitmap_weight(s->attached, KL_EV_MAX));
	status->written = stats.written;
	status->lost = stats.lost;
	status->suspended = stats.suspended.times;
	memcpy(status->name, s->name, sizeof(status->name));
}

/* The sum of all CPUs' counts of an event. */
static u64 count_of(struct kl_session *s, u32 id)
{
	u64 sum = 0;
	int cpu;

	rcu_read_lock();
	for_each_possible_cpu(cpu) {
		const struct kl_counts *counts = rcu_dereference(per_cpu_ptr(s->cpu, cpu)->counts);

		if (counts && id < counts->n)
			sum += READ_ONCE(counts->of[id]);
	}
	rcu_read_unlock();
	return sum;
}

/**
 * kl_session_counts - report what the handler `count` has counted on all CPUs
 * @s: the session
 * @counts: `n_dynamic` is the room for defined events; filled in
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_session_counts(struct kl_session *s, struct kl_abi_counts *counts, struct kl_error *why)
{
	u64 __user *dynamic = u64_to_user_ptr(counts->dynamic);
	u32 room = counts->n_dynamic, defined = kl_dynevent_number(s);

	for (u32 id = 0; id < KL_EV_MAX; id++) {
		counts->count[id] = count_of(s, id);
		cond_resched();
	}
	for (u32 i = 0; i < min(room, defined); i++)
		if (put_user(count_of(s, KL_EV_DYNAMIC + i), &dynamic[i]))
			return kl_fail(why, -EFAULT, "cannot write the counts to user memory");
	counts->n_dynamic = defined;
	return 0;
}
