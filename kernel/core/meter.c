// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the CPU time that a session's probes take. Events on the general path
 * (handler/dispatch.c, record.c) are timed: every one for unprivileged owners and for expensive
 * sessions, else one of KL_METER_EVERY. On a CPU whose interrupts are off no worker can run, so
 * events are refused there as soon as probes have taken too much of a window. session/watchdog.c
 * sets the limits and suspends sessions; docs/design/budget.md has the rules.
 */
#include <linux/module.h>
#include <linux/percpu.h>

#include "../compat/clock.h"
#include "meter.h"
#include "program.h"
#include "session.h"

static unsigned int cpu_percent_unprivileged = 10;
module_param(cpu_percent_unprivileged, uint, 0644);
MODULE_PARM_DESC(
	cpu_percent_unprivileged,
	"maximum percentage of all CPU time that an unprivileged user's probes can use with "
	"interrupts off; 0: unlimited");

static unsigned int cpu_percent_privileged = 50;
module_param(cpu_percent_privileged, uint, 0644);
MODULE_PARM_DESC(
	cpu_percent_privileged,
	"maximum percentage of all CPU time that other sessions' probes can use; 0: unlimited");

#define EXPENSIVE 4096 /* operations; every event of such a session is measured */

/**
 * struct window - CPU time that probes have recently taken on a CPU with interrupts off
 * @inner: cycles measured in sections nested in the open one
 * @begun: when the window began
 * @spent: cycles since then, by kind of session
 */
struct window {
	u64 inner;
	u64 begun;
	u64 spent[KL_METER_KINDS];
};

static DEFINE_PER_CPU(struct window, windows);

struct kl_meters kl_meters;

/**
 * kl_meter_percent - limit on the CPU time of probes
 * @kind: kind of session; the limit applies to an unprivileged user, or to each other session
 *
 * Returns percent of all CPU time, 0 if there is no limit.
 */
u32 kl_meter_percent(enum kl_meter_kind kind)
{
	return kind == KL_METER_PRIVILEGED ? READ_ONCE(cpu_percent_privileged) :
					     READ_ONCE(cpu_percent_unprivileged);
}

static bool is_spent(struct window *w, enum kl_meter_kind kind, u64 now)
{
	if (now - w->begun > kl_meters.window_cycles) {
		w->begun = now;
		memset(w->spent, 0, sizeof(w->spent));
		return false;
	}
	return w->spent[kind] > READ_ONCE(kl_meters.allowed_cycles[kind]);
}

/**
 * kl_meter_begin - begin to measure an event
 * @s: the session
 * @section: set
 *
 * Returns false if the event must not be handled: count it as lost. Context: any, preemption off.
 */
bool kl_meter_begin(struct kl_session *s, struct kl_section *section)
{
	struct window *w = this_cpu_ptr(&windows);
	bool off = irqs_disabled();
	u64 now = kl_clock();

	if (unlikely(READ_ONCE(s->meter.stopped)))
		return false;
	/*
	 * Interrupts are off. An NMI that changes the window at the same time makes a difference of
	 * about one event.
	 */
	if (off && unlikely(data_race(is_spent(w, kl_meter_kind(s), now)))) {
		this_cpu_inc(s->cpu->meter.refused);
		return false;
	}
	section->begun = now;
	section->off = off;
	section->weight = READ_ONCE(s->meter.each) ? 1 : KL_METER_EVERY;
	/*
	 * A section that interrupts this one restores the value that it found, plus its own time.
	 */
	section->outer = READ_ONCE(w->inner);
	WRITE_ONCE(w->inner, 0);
	barrier();
	return true;
}

/**
 * kl_meter_end - end the measurement of an event
 * @s: the session
 * @section: set by kl_meter_begin()
 */
void kl_meter_end(struct kl_session *s, const struct kl_section *section)
{
	struct window *w = this_cpu_ptr(&windows);
	u64 took = kl_clock() - section->begun, inner, own;
	enum kl_meter_kind kind = kl_meter_kind(s);

	barrier();
	inner = READ_ONCE(w->inner);
	WRITE_ONCE(w->inner, section->outer + took);
	own = took > inner ? took - inner : 0;
	own = min(own, s->meter.most) * section->weight;
	/* Otherwise the scheduler charges a task for what its own events cost. */
	if (section->off || kind == KL_METER_PRIVILEGED)
		this_cpu_add(s->cpu->meter.spent, own);
	if (section->off) {
		this_cpu_add(s->cpu->meter.spent_off, own);
		/* Only an NMI can interrupt this; its own time may be lost then. */
		data_race(w->spent[kind] += own);
		/* From here on every event must be measured. */
		if (unlikely(data_race(w->spent[kind]) > READ_ONCE(kl_meters.allowed_cycles[kind])))
			WRITE_ONCE(s->meter.each, true);
	}
	if (unlikely(!READ_ONCE(kl_meters.is_looking)))
		irq_work_queue(&kl_meters.waking);
}

/**
 * kl_meter_note_cost - note the cost of a session's new program or variables
 * @s: the session
 * @cost: upper bound of their cost
 */
void kl_meter_note_cost(struct kl_session *s, struct kl_cost cost)
{
	u64 walks = (cost.kernel_walks + cost.user_walks) * 2048ull;
	u32 operations = min_t(u64, cost.operations + walks, U32_MAX / 16);

	s->meter.max_operations = max(s->meter.max_operations, operations);
	if (operations >= EXPENSIVE)
		WRITE_ONCE(s->meter.each, true);
}
