// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events that are ticks: a timer on each online CPU, started and stopped by CPU hotplug,
 * so that CPUs that come online later have it, too. Fires in the timer's interrupt, with the
 * interrupted task current, and takes no lock there. Each tick interrupts the running task,
 * whoever owns it, so attached ticks are charged.
 */
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <asm/irq_regs.h>

#include "../../compat/interrupt.h"
#include "../../core/stack.h"
#include "../../handler/dispatch.h"
#include "kinds.h"

#define ARGUMENTS 2 /* interrupted instruction; whether it is in user mode */
#define TICKS_MAX 64 /* attached definitions per session */

struct kl_tick_cpu {
	struct hrtimer timer;
	struct kl_tick *tick;
};

/**
 * struct kl_tick - a tick that is attached
 * @node: in the list of the hotplug state
 * @defined: its event
 * @missed: of the session's table
 * @period: between two ticks of a CPU
 * @cpu: a timer per CPU
 */
struct kl_tick {
	struct hlist_node node;
	const struct kl_dynevent *defined;
	u64 __percpu *missed;
	ktime_t period;
	struct kl_tick_cpu __percpu *cpu;
};

static int hotplug_state;

/* ------------------------------------------------------------------- timers */

/*
 * An interrupt or softirq does not run on behalf of the task that it interrupted: an unprivileged
 * owner does not get the ticks that hit one.
 */
static bool is_for_owner(const struct kl_session *s)
{
	return !(s->gate & KL_GATE_OWN) ||
	       (hardirq_count() == HARDIRQ_OFFSET && !in_serving_softirq());
}

static enum hrtimer_restart on_tick(struct hrtimer *timer)
{
	struct kl_tick *tick = container_of(timer, struct kl_tick_cpu, timer)->tick;
	const struct kl_dynevent *d = tick->defined;
	struct pt_regs *regs = get_irq_regs();
	u64 periods = hrtimer_forward_now(timer, tick->period);
	const u64 argument[ARGUMENTS] = {
		regs ? instruction_pointer(regs) : 0,
		regs && user_mode(regs),
	};

	/* A tick that would not have been recorded does not count as missed. */
	if (unlikely(periods > 1) && kl_action_defined(d->session, d->id))
		this_cpu_add(*tick->missed, periods - 1);
	if (is_for_owner(d->session) && (!d->session->gate || kl_gate_task(d->session, current))) {
		/* Stack traces begin at the interrupted instruction. */
		this_cpu_write(kl_stack_origin, regs);
		kl_fire_allowed(d->session, d->id, d->program, argument, d->arguments);
		this_cpu_write(kl_stack_origin, NULL);
	}
	return HRTIMER_RESTART;
}

/* Runs on the CPU itself, when it comes online or the tick is attached. */
static int start_cpu(unsigned int cpu, struct hlist_node *node)
{
	struct kl_tick *tick = hlist_entry(node, struct kl_tick, node);
	struct kl_tick_cpu *c = per_cpu_ptr(tick->cpu, cpu);

	c->tick = tick;
	kl_hrtimer_setup(&c->timer, on_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&c->timer, tick->period, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

/* The CPU goes offline, or the tick is detached. */
static int stop_cpu(unsigned int cpu, struct hlist_node *node)
{
	struct kl_tick *tick = hlist_entry(node, struct kl_tick, node);

	hrtimer_cancel(&per_cpu_ptr(tick->cpu, cpu)->timer);
	return 0;
}

static int create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		  struct kl_error *why)
{
	if (params->name || params->address)
		return kl_fail(why, -EINVAL, "a tick must have neither a name nor an address");
	if (!params->arg || params->arg > KL_TICK_HZ_MAX)
		return kl_fail(why, -EINVAL,
			       "%llu ticks per second requested, the range is 1 to %u", params->arg,
			       KL_TICK_HZ_MAX);
	d->tick.hz = params->arg;
	return 0;
}

static void destroy(struct kl_dynevent *d)
{
}

static u32 count_attached(const struct kl_dynevent_table *table)
{
	struct kl_dynevent_batch *batch;
	struct kl_dynevent *d;
	u32 number = 0;

	for_each_defined(table, batch, d)
		number += d->kind == KL_SOURCE_KIND_TICK && d->attached;
	return number;
}

static int attach(struct kl_dynevent *d, struct kl_error *why)
{
	struct kl_dynevent_table *table = d->session->defined;
	struct kl_payer *payer = &d->session->payer;
	struct kl_tick *tick;
	int error = -ENOMEM;

	if (count_attached(table) >= TICKS_MAX)
		return kl_fail(why, -ENOSPC, "a session can attach at most %u ticks at a time",
			       TICKS_MAX);
	tick = kzalloc(sizeof(*tick), GFP_KERNEL);
	if (!tick)
		return kl_fail(why, error, "no memory for a tick");
	tick->defined = d;
	error = kl_payer_charge(payer, KL_LIMIT_ticks, d->tick.hz, why);
	if (error) {
		kfree(tick);
		return error;
	}
	error = -ENOMEM;
	tick->missed = table->missed;
	tick->period = ns_to_ktime(NSEC_PER_SEC / d->tick.hz);
	tick->cpu = alloc_percpu(struct kl_tick_cpu);
	if (tick->cpu)
		error = cpuhp_state_add_instance(hotplug_state, &tick->node);
	if (error) {
		kl_payer_uncharge(payer, KL_LIMIT_ticks, d->tick.hz);
		free_percpu(tick->cpu);
		kfree(tick);
		return kl_fail(why, error, "cannot start a tick");
	}
	d->tick.state = tick;
	return 0;
}

static void detach(struct kl_dynevent *d)
{
	struct kl_tick *tick = d->tick.state;

	d->tick.state = NULL;
	cpuhp_state_remove_instance(hotplug_state, &tick->node);
	kl_payer_uncharge(&d->session->payer, KL_LIMIT_ticks, d->tick.hz);
	free_percpu(tick->cpu);
	kfree(tick);
}

const struct kl_dynevent_kind kl_dynevent_tick = {
	.arguments = ARGUMENTS,
	.bytes = sizeof(struct kl_tick),
	.percpu_bytes = sizeof(struct kl_tick_cpu),
	.create = create,
	.destroy = destroy,
	.attach = attach,
	.detach = detach,
};

/**
 * kl_ticks_init - set up a hotplug state, after that of the sessions' buffers
 *
 * Returns 0 or a negative errno.
 */
int kl_ticks_init(void)
{
	hotplug_state =
		cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "kernlens:tick", start_cpu, stop_cpu);
	return hotplug_state < 0 ? hotplug_state : 0;
}

/**
 * kl_ticks_deinit - undo kl_ticks_init; no tick is attached
 */
void kl_ticks_deinit(void)
{
	cpuhp_remove_multi_state(hotplug_state);
}
