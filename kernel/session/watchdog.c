// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps the machine usable, whatever sessions do. A worker compares the CPU time of sessions,
 * which core/meter.c measures, with their share, and suspends a session that takes too much; it
 * also sets the limit of the meter's windows. docs/design/budget.md describes the rules.
 * `watched_lock` guards the list of running sessions, and nests inside a session's lock.
 */
#include <linux/cred.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>

#include "../compat/clock.h"
#include "../core/record.h"
#include "budget.h"
#include "session.h"
#include "watchdog.h"

#define PERIOD_MS 100
#define WINDOW_MS 50
#define OVER_MAX 10 /* periods in a row */
#define REFUSED_MAX 3
#define NS_OF_OPERATION 100 /* more than an operation takes on any machine */
#define OPERATIONS_MORE 8192 /* cost of a hit in addition to its programs and variables */

static DEFINE_MUTEX(watched_lock);
static LIST_HEAD(watched);
static struct delayed_work looking;

/* ------------------------------------------------------- suspending */

static void write_event(struct kl_session *s)
{
	const struct kl_abi_suspended *is = &s->meter.suspended;
	/* The layout of its row in events.def. */
	const struct {
		u32 reason;
		u32 permille;
		u32 limit;
		s32 cpu;
	} __packed fields = { is->reason, is->permille, is->limit, is->cpu };
	struct kl_reservation place;

	preempt_disable();
	place = kl_record_begin(s, this_cpu_ptr(s->cpu), KL_EV_session_suspended, sizeof(fields));
	if (place.at) {
		memcpy(place.at, &fields, sizeof(fields));
		kl_record_end(place, sizeof(fields));
	}
	preempt_enable();
}

static void suspend(struct work_struct *work)
{
	struct kl_session *s = container_of(work, struct kl_session, meter.work);

	mutex_lock(&s->lock);
	if (s->running && s->meter.stopped) {
		write_event(s);
		kl_session_stop_locked(s);
		/*
		 * Complete the rest first: a reader that sees the number reads it. Pairs with the
		 * wakeup.
		 */
		WRITE_ONCE(s->meter.suspended.times, s->meter.suspended.times + 1);
	}
	mutex_unlock(&s->lock);
	kl_notify_wake(s);
}

static void suspend_soon(struct kl_session *s, u32 reason, u64 permille, u32 percent, int cpu)
{
	if (READ_ONCE(s->meter.stopped))
		return;
	s->meter.suspended.reason = reason;
	s->meter.suspended.permille = min_t(u64, permille, 1000);
	s->meter.suspended.limit = 10 * percent;
	s->meter.suspended.cpu = cpu;
	WRITE_ONCE(s->meter.stopped, true);
	/* Not on one of the kernel's workers: the session's lock may be held for long. */
	kl_worker_queue(&s->meter.work);
}

/* ------------------------------------------------------- checking */

static void set_allowed(void)
{
	for (enum kl_meter_kind kind = 0; kind < KL_METER_KINDS; kind++) {
		u32 percent = kl_meter_percent(kind);
		/* On one CPU allow a few times the share, but never all of the time. */
		u64 most = min(percent * (kind == KL_METER_PRIVILEGED ? 2 : 5), 80u);

		WRITE_ONCE(kl_meters.allowed_cycles[kind],
			   percent ? kl_meters.window_cycles * most / 100 : ~0ull);
	}
}

/* Microseconds of the machine's time: one CPU's time is divided among all of them. */
static u32 microseconds(u64 cycles)
{
	u64 us = div64_u64(cycles * 1000, div_u64(kl_clock_hz(), 1000) * num_online_cpus());

	return min_t(u64, us, U32_MAX);
}

/*
 * The session's share of all CPUs since the last check, in thousandths. An unprivileged user pays
 * with tokens, which neither a pause nor another session gives back.
 */
static u64 share_of(struct kl_session *s, u64 now)
{
	u64 spent = 0, share, elapsed, took;
	int cpu;

	for_each_possible_cpu(cpu)
		spent += READ_ONCE(per_cpu_ptr(s->cpu, cpu)->meter.spent);
	elapsed = (now - s->meter.looked) * num_online_cpus();
	took = spent - s->meter.spent;
	share = elapsed ? div64_u64(took * 1000, elapsed) : 0;
	if (took && kl_meter_kind(s) == KL_METER_UNPRIVILEGED)
		kl_payer_spend(&s->payer, KL_BUCKET_PROBES, microseconds(took));
	s->meter.looked = now;
	s->meter.spent = spent;
	return share;
}

/* The total of all sessions of an unprivileged owner; for other owners, the session's share. */
static u64 sum_of_user(const struct kl_session *s)
{
	const struct kl_session *other;
	u64 sum = 0;

	if (kl_meter_kind(s) == KL_METER_PRIVILEGED)
		return s->meter.share;
	list_for_each_entry(other, &watched, meter.list)
		if (kl_meter_kind(other) == KL_METER_UNPRIVILEGED &&
		    kl_payer_shares(&other->payer, &s->payer))
			sum += other->meter.share;
	return sum;
}

static bool is_largest(const struct kl_session *s)
{
	const struct kl_session *other;

	list_for_each_entry(other, &watched, meter.list)
		if (kl_meter_kind(other) == KL_METER_UNPRIVILEGED &&
		    kl_payer_shares(&other->payer, &s->payer) &&
		    other->meter.share > s->meter.share)
			return false;
	return true;
}

/* Is the user out of tokens, and is this session the user's largest? */
static bool is_user_over(const struct kl_session *s, u64 sum, u32 percent)
{
	return percent && sum > 10 * percent && is_largest(s) &&
	       kl_payer_delay(&s->payer, KL_BUCKET_PROBES);
}

/* Has the session exceeded its share for OVER_MAX periods in a row? */
static bool is_over(struct kl_session *s, u64 sum, u32 percent)
{
	s->meter.over = percent && sum > 10 * percent ? s->meter.over + 1 : 0;
	return s->meter.over >= OVER_MAX;
}

static void look_at_shares(void)
{
	struct kl_session *s;

	list_for_each_entry(s, &watched, meter.list) {
		u32 percent = kl_meter_percent(kl_meter_kind(s));
		/* Only few sessions have a share, as all shares together are a thousand. */
		u64 sum = s->meter.share ? sum_of_user(s) : 0;

		if (kl_meter_kind(s) == KL_METER_PRIVILEGED ? is_over(s, sum, percent) :
							      is_user_over(s, sum, percent))
			suspend_soon(s, KL_SUSPENDED_SHARE, sum, percent, -1);
		cond_resched();
	}
}

/* If a hit of this kind was refused on a CPU, find the session that used most of the time there. */
static struct kl_session *find_refused(enum kl_meter_kind kind, int cpu)
{
	struct kl_session *s, *found = NULL;
	u64 most = 0;
	bool refused = false;

	list_for_each_entry(s, &watched, meter.list) {
		struct kl_meter_cpu *m = &per_cpu_ptr(s->cpu, cpu)->meter;
		u64 spent = READ_ONCE(m->spent_off) - m->looked_off;

		if (kl_meter_kind(s) != kind)
			continue;
		refused |= READ_ONCE(m->refused) != m->looked_refused;
		m->looked_refused = READ_ONCE(m->refused);
		m->looked_off += spent;
		if (spent > most) {
			most = spent;
			found = s;
		}
		cond_resched();
	}
	return refused ? found : NULL;
}

static void look_at_refused(void)
{
	struct kl_session *s;
	int cpu;

	list_for_each_entry(s, &watched, meter.list)
		s->meter.blamed = -1;
	for_each_online_cpu(cpu)
		for (enum kl_meter_kind kind = 0; kind < KL_METER_KINDS; kind++) {
			s = find_refused(kind, cpu);
			if (s)
				s->meter.blamed = cpu;
		}
	list_for_each_entry(s, &watched, meter.list) {
		u32 percent = kl_meter_percent(kl_meter_kind(s));

		s->meter.refused = s->meter.blamed < 0 || !percent ? 0 : s->meter.refused + 1;
		if (s->meter.refused >= REFUSED_MAX)
			suspend_soon(s, KL_SUSPENDED_STOPPED, s->meter.share, percent,
				     s->meter.blamed);
	}
}

static void look(struct work_struct *work)
{
	struct kl_session *s;
	u64 now = kl_clock(), sum = 0;

	kl_crash_tick();
	set_allowed();
	mutex_lock(&watched_lock);
	list_for_each_entry(s, &watched, meter.list) {
		u64 before = s->meter.spent;

		s->meter.share = share_of(s, now);
		sum += s->meter.spent - before;
		cond_resched();
	}
	look_at_shares();
	look_at_refused();
	mutex_unlock(&watched_lock);
	/* Nothing was measured: the next hit starts the checks again. */
	if (sum)
		schedule_delayed_work(&looking, msecs_to_jiffies(PERIOD_MS));
	else
		WRITE_ONCE(kl_meters.is_looking, false);
}

static void begin_looking(struct irq_work *irq)
{
	if (!xchg(&kl_meters.is_looking, true))
		schedule_delayed_work(&looking, msecs_to_jiffies(PERIOD_MS));
}

/* ------------------------------------------------------- sessions */

/**
 * kl_watchdog_init_session - initialize the meter of a session
 * @s: a new session
 */
void kl_watchdog_init_session(struct kl_session *s)
{
	INIT_LIST_HEAD(&s->meter.list);
	INIT_WORK(&s->meter.work, suspend);
	s->meter.each = kl_meter_kind(s) == KL_METER_UNPRIVILEGED;
}

/**
 * kl_watchdog_start - begin to watch a session that is about to run
 * @s: the session; its lock is held
 */
void kl_watchdog_start(struct kl_session *s)
{
	u64 operations = OPERATIONS_MORE + (KL_RULE_KEYS_MAX + 3) * (u64)s->meter.max_operations;

	lockdep_assert_held(&s->lock);
	s->meter.most =
		div_u64(operations * NS_OF_OPERATION, 1000) * div_u64(kl_clock_hz(), 1000000);
	s->meter.looked = kl_clock();
	s->meter.over = 0;
	s->meter.refused = 0;
	WRITE_ONCE(s->meter.stopped, false);
	set_allowed();
	mutex_lock(&watched_lock);
	list_add_tail(&s->meter.list, &watched);
	mutex_unlock(&watched_lock);
}

/**
 * kl_watchdog_stop - stop watching a session
 * @s: the session; its lock is held
 */
void kl_watchdog_stop(struct kl_session *s)
{
	mutex_lock(&watched_lock);
	list_del_init(&s->meter.list);
	mutex_unlock(&watched_lock);
}

/**
 * kl_watchdog_forget - wait until no suspension of a session is under way
 * @s: a session that has been stopped for good; its lock is not held
 */
void kl_watchdog_forget(struct kl_session *s)
{
	cancel_work_sync(&s->meter.work);
}

/**
 * kl_watchdog_init - set up, before the first session and after the clock
 */
void kl_watchdog_init(void)
{
	kl_meters.window_cycles = div_u64(kl_clock_hz() * WINDOW_MS, 1000);
	init_irq_work(&kl_meters.waking, begin_looking);
	INIT_DELAYED_WORK(&looking, look);
	set_allowed();
}

/**
 * kl_watchdog_deinit - undo kl_watchdog_init, after the last session
 */
void kl_watchdog_deinit(void)
{
	irq_work_sync(&kl_meters.waking);
	cancel_delayed_work_sync(&looking);
}
