// SPDX-License-Identifier: GPL-2.0
/*
 * Measures what a session's probes take. A firing of the general path (handler/dispatch.c,
 * record.c) is timed: all of them for owners without privilege and for dear sessions, else one of
 * KL_METER_EVERY. On a CPU whose interrupts are off no worker may run: there firings are refused as
 * soon as probes have taken too much of a window. session/watchdog.c sets the limits and suspends
 * sessions; docs/design/budget.md has the rules.
 */
#include <linux/module.h>
#include <linux/percpu.h>

#include "../compat/clock.h"
#include "meter.h"
#include "program.h"
#include "session.h"

static unsigned int cpu_percent_unprivileged = 10;
module_param(cpu_percent_unprivileged, uint, 0644);
MODULE_PARM_DESC(cpu_percent_unprivileged,
		 "percent of all CPU time that the probes of an unprivileged user can use with "
		 "interrupts off; 0: unlimited");

static unsigned int cpu_percent_privileged = 50;
module_param(cpu_percent_privileged, uint, 0644);
MODULE_PARM_DESC(
	cpu_percent_privileged,
	"percent of all CPU time that the probes of any other session can use; 0: unlimited");

#define DEAR 4096 /* operations: each firing of such a session is measured */

/**
 * struct window - what probes have lately taken on a CPU with interrupts off
 * @inner: cycles that were measured inside the section that is open
 * @begun: when the window began
 * @spent: since then, by kind of session
 */
struct window {
	u64 inner;
	u64 begun;
	u64 spent[KL_METER_KINDS];
};

static DEFINE_PER_CPU(struct window, windows);

struct kl_meters kl_meters;

/**
 * kl_meter_percent - of all CPU time, for the probes of a user without privilege, or of a session
 * @kind: whose
 *
 * Returns 0 if there is no limit.
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
 * kl_meter_begin - a firing that is to be measured begins
 * @s: the session
 * @section: set
 *
 * Returns false if it must not be done: count it as lost. Context: any, preemption off.
 */
bool kl_meter_begin(struct kl_session *s, struct kl_section *section)
{
	struct window *w = this_cpu_ptr(&windows);
	bool off = irqs_disabled();
	u64 now = kl_clock();

	if (unlikely(READ_ONCE(s->meter.stopped)))
		return false;
	/* Interrupts are off; what an NMI does to the window meanwhile is a hit more or less. */
	if (off && unlikely(data_race(is_spent(w, kl_meter_kind(s), now)))) {
		this_cpu_inc(s->cpu->meter.refused);
		return false;
	}
	section->begun = now;
	section->off = off;
	section->weight = READ_ONCE(s->meter.each) ? 1 : KL_METER_EVERY;
	/* What interrupts it puts back what it finds, with its own time added. */
	section->outer = READ_ONCE(w->inner);
	WRITE_ONCE(w->inner, 0);
	barrier();
	return true;
}

/**
 * kl_meter_end - it is done
 * @s: the session
 * @section: of kl_meter_begin
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
	/* The scheduler makes a task pay for what its own events cost. */
	if (section->off || kind == KL_METER_PRIVILEGED)
		this_cpu_add(s->cpu->meter.spent, own);
	if (section->off) {
		this_cpu_add(s->cpu->meter.spent_off, own);
		/* Only an NMI can come in between, whose own time may not be counted then. */
		data_race(w->spent[kind] += own);
		/* From here on every hit must be measured. */
		if (unlikely(data_race(w->spent[kind]) > READ_ONCE(kl_meters.allowed_cycles[kind])))
			WRITE_ONCE(s->meter.each, true);
	}
	if (unlikely(!READ_ONCE(kl_meters.is_looking)))
		irq_work_queue(&kl_meters.waking);
}

/**
 * kl_meter_note_cost - a session has got a program, or variables
 * @s: the session
 * @cost: of them at most
 */
void kl_meter_note_cost(struct kl_session *s, struct kl_cost cost)
{
	u64 walks = (cost.kernel_walks + cost.user_walks) * 2048ull;
	u32 operations = min_t(u64, cost.operations + walks, U32_MAX / 16);

	s->meter.dearest = max(s->meter.dearest, operations);
	if (operations >= DEAR)
		WRITE_ONCE(s->meter.each, true);
}
