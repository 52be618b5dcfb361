// SPDX-License-Identifier: GPL-2.0
/*
 * Perf counters as variables: a pinned event on each CPU, shared by the sessions that use it,
 * created for the first and freed with the last. `counters_lock` protects everything except
 * reading, which takes no lock. It is held while perf takes the CPU hotplug lock, so the callback
 * that runs under that lock only queues work. Read by variables.c; docs/design/counter.md has the
 * rules.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "counter.h"
#include "session.h"

struct counter_kind {
	u32 type;
	u64 config;
	const char *perf_name;
	const char *lack;
};

static const struct counter_kind kinds[KL_COUNTER_COUNT] = {
#define KL_COUNTER(name, type_, config_, perf)                           \
	[KL_COUNTER_##name] = {                                          \
		.type = PERF_TYPE_##type_,                               \
		.config = PERF_COUNT_##config_,                          \
		.perf_name = perf,                                       \
		.lack = "this machine has no hardware counter for " perf \
			"; virtual machines usually have none",          \
	},
#include "counters.def"
#undef KL_COUNTER
};

/* Their variables have consecutive ids, in the same order. */
#define KL_COUNTER(name, type, config, perf) \
	static_assert(KL_VARIABLE_ID_##name - KL_VARIABLE_ID_cpu_cycles == (int)KL_COUNTER_##name);
#include "counters.def"
#undef KL_COUNTER

/* Available counters, found when the module is loaded; constant since. */
static bool is_there[KL_COUNTER_COUNT] __ro_after_init;

/**
 * struct cpu_counters - counters of one CPU
 * @event: what counts, or NULL; replaced by any CPU, used by readers on the CPU itself
 * @before: counts of freed events, from before the CPU was offline
 * @gone: an event removed from @event, until it is freed; under counters_lock
 * @reading: an event is being read
 */
struct cpu_counters {
	struct perf_event *event[KL_COUNTER_COUNT];
	u64 before[KL_COUNTER_COUNT];
	struct perf_event *gone;
	bool reading;
};

static DEFINE_PER_CPU(struct cpu_counters, cpu_counters);

/* counters_lock protects `users`, the number of sessions that use each counter. */
static DEFINE_MUTEX(counters_lock);
static u32 users[KL_COUNTER_COUNT];

/**
 * struct kl_session_counters - counters of a session
 * @wanted: bitmap of the counters that it uses; under counters_lock
 * @began: by CPU, the count of each counter when the session requested it
 */
struct kl_session_counters {
	u32 wanted;
	u64 __percpu *began;
};

/* ---------------------------------------------------------------- reading */

/*
 * Interrupts are off. An event that is not stopped has its counter to itself: see
 * docs/design/counter.md. An NMI or a probe that runs during the call below returns the count as
 * last updated, and does not call it again, which would recurse.
 */
static u64 count_of(struct cpu_counters *here, struct perf_event *event)
{
	if (likely(!READ_ONCE(here->reading) &&
		   READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE &&
		   READ_ONCE(event->oncpu) == raw_smp_processor_id() &&
		   !(READ_ONCE(event->hw.state) & PERF_HES_STOPPED))) {
		WRITE_ONCE(here->reading, true);
		barrier();
		event->pmu->read(event);
		barrier();
		WRITE_ONCE(here->reading, false);
	}
	return local64_read(&event->count);
}

/* This CPU's count since some session first requested the counter. */
static u64 count_here(enum kl_counter which)
{
	struct cpu_counters *here = this_cpu_ptr(&cpu_counters);
	u64 count = KL_UNCOUNTED;
	struct perf_event *event;
	unsigned long flags;

	/* Not local_irq_save, which can hit tracepoints. */
	raw_local_irq_save(flags);
	/* Pairs with give: the event before what was counted earlier. */
	event = smp_load_acquire(&here->event[which]);
	if (likely(event && READ_ONCE(event->state) >= PERF_EVENT_STATE_INACTIVE))
		count = here->before[which] + count_of(here, event);
	raw_local_irq_restore(flags);
	return count;
}

/**
 * kl_counter_read - this CPU's count since a session requested the counter
 * @s: the session, which has been prepared for the counter
 * @which: the counter
 *
 * Returns KL_UNCOUNTED if the counter does not count now. Context: any, preemption off.
 */
u64 kl_counter_read(const struct kl_session *s, enum kl_counter which)
{
	const struct kl_session_counters *counters = READ_ONCE(s->counters);
	u64 count;

	if (unlikely(!counters))
		return KL_UNCOUNTED;
	count = count_here(which);
	return likely(count != KL_UNCOUNTED) ? count - this_cpu_ptr(counters->began)[which] : count;
}

/**
 * kl_counter_lacks - why a counter is unavailable on this machine
 * @which: the counter
 *
 * Returns NULL if it is available. Context: any.
 */
const char *kl_counter_lacks(enum kl_counter which)
{
	return is_there[which] ? NULL : kinds[which].lack;
}

/**
 * kl_counter_is_variable - is a variable a counter?
 * @id: any number
 */
bool kl_counter_is_variable(u32 id)
{
	return id - KL_VARIABLE_ID_cpu_cycles < KL_COUNTER_COUNT;
}

/* ---------------------------------------------------------- creating events */

static struct perf_event *make_event(enum kl_counter which, int cpu, bool disabled)
{
	struct perf_event_attr attr = {
		.type = kinds[which].type,
		.size = sizeof(attr),
		.config = kinds[which].config,
		.pinned = 1,
		.disabled = disabled,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
}

static bool has_stopped(const struct perf_event *event)
{
	return READ_ONCE(event->state) < PERF_EVENT_STATE_INACTIVE;
}

/* Remove the events of some CPUs; what they have counted is retained. */
static void take_away(enum kl_counter which, const struct cpumask *cpus)
{
	struct cpu_counters *at;
	bool any = false;
	int cpu;

	lockdep_assert_held(&counters_lock);
	for_each_cpu(cpu, cpus) {
		at = per_cpu_ptr(&cpu_counters, cpu);
		at->gone = at->event[which];
		WRITE_ONCE(at->event[which], NULL);
		any |= !!at->gone;
	}
	/* Readers run with preemption off. */
	if (any)
		synchronize_rcu();
	for_each_cpu(cpu, cpus) {
		at = per_cpu_ptr(&cpu_counters, cpu);
		if (!at->gone)
			continue;
		at->before[which] += local64_read(&at->gone->count);
		perf_event_release_kernel(at->gone);
		at->gone = NULL;
	}
}

/*
 * Count on a CPU, also if something has stopped the event: the CPU was offline, or another user
 * took the counter. For a CPU that is not online, this is done when it comes online (give_all).
 */
static int give(enum kl_counter which, int cpu)
{
	struct cpu_counters *at = per_cpu_ptr(&cpu_counters, cpu);
	struct perf_event *event = at->event[which];

	lockdep_assert_held(&counters_lock);
	if (event && !has_stopped(event))
		return 0;
	take_away(which, cpumask_of(cpu));
	event = make_event(which, cpu, false);
	if (IS_ERR(event))
		return cpu_online(cpu) ? PTR_ERR(event) : 0;
	if (has_stopped(event)) {
		perf_event_release_kernel(event);
		return cpu_online(cpu) ? -EBUSY : 0;
	}
	/* Pairs with count_here. */
	smp_store_release(&at->event[which], event);
	return 0;
}

/* The last session that used the counter has ended. */
static void forget(enum kl_counter which)
{
	int cpu;

	take_away(which, cpu_possible_mask);
	for_each_possible_cpu(cpu)
		per_cpu_ptr(&cpu_counters, cpu)->before[which] = 0;
}

/* ----------------------------------------------------------------- sessions */

struct start {
	struct kl_session_counters *counters;
	enum kl_counter which;
};

static void start_here(void *info)
{
	const struct start *start = info;
	u64 count = count_here(start->which);

	if (count != KL_UNCOUNTED)
		this_cpu_ptr(start->counters->began)[start->which] = count;
}

/* CPUs that are offline continue from their last count. */
static void start_counting(struct kl_session_counters *counters, enum kl_counter which)
{
	struct start start = { counters, which };
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu_ptr(counters->began, cpu)[which] =
			per_cpu_ptr(&cpu_counters, cpu)->before[which];
	on_each_cpu(start_here, &start, true);
}

static int take(struct kl_session_counters *counters, enum kl_counter which, struct kl_error *why)
{
	int cpu, error = 0;

	lockdep_assert_held(&counters_lock);
	for_each_online_cpu(cpu) {
		error = give(which, cpu);
		if (error)
			break;
	}
	if (!error) {
		users[which]++;
		counters->wanted |= BIT(which);
		start_counting(counters, which);
		return 0;
	}
	if (!users[which])
		forget(which);
	if (error == -EBUSY || error == -ENOSPC || error == -EAGAIN)
		return kl_fail(why, -EBUSY, "all counters of CPU %d that can count %s are in use",
			       cpu, kinds[which].perf_name);
	return kl_fail(why, error, "CPU %d cannot count %s: error %d", cpu, kinds[which].perf_name,
		       -error);
}

static struct kl_session_counters *make_counters(void)
{
	struct kl_session_counters *counters = kzalloc(sizeof(*counters), GFP_KERNEL_ACCOUNT);

	if (!counters)
		return NULL;
	counters->began = __alloc_percpu_gfp(KL_COUNTER_COUNT * sizeof(u64), sizeof(u64),
					     GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (counters->began)
		return counters;
	kfree(counters);
	return NULL;
}

/**
 * kl_counters_prepare - count with a counter until a session ends
 * @s: the session, locked
 * @id: of a variable that is a counter
 * @why: set on failure
 *
 * Returns 0 or a negative errno. Context: may sleep; not under the CPU hotplug lock.
 */
int kl_counters_prepare(struct kl_session *s, u32 id, struct kl_error *why)
{
	enum kl_counter which = id - KL_VARIABLE_ID_cpu_cycles;
	int error = 0;

	lockdep_assert_held(&s->lock);
	if (!s->counters) {
		u64 bytes = kl_memory_size(sizeof(*s->counters)) +
			    kl_memory_percpu(KL_COUNTER_COUNT * sizeof(u64));
		struct kl_session_counters *made;

		error = kl_memory_charge(&s->payer, bytes, why);
		if (error)
			return error;
		made = make_counters();
		if (!made) {
			kl_memory_uncharge(&s->payer, bytes);
			return kl_fail(why, -ENOMEM, "no memory for counters");
		}
		WRITE_ONCE(s->counters, made);
	}
	mutex_lock(&counters_lock);
	if (!(s->counters->wanted & BIT(which)))
		error = take(s->counters, which, why);
	mutex_unlock(&counters_lock);
	return error;
}

/**
 * kl_counters_destroy - release the counters of a session that ends
 * @counters: counters that nothing reads any more, or NULL
 *
 * Context: as kl_counters_prepare.
 */
void kl_counters_destroy(struct kl_session_counters *counters)
{
	if (!counters)
		return;
	mutex_lock(&counters_lock);
	for (u32 which = 0; which < KL_COUNTER_COUNT; which++)
		if (counters->wanted & BIT(which) && !--users[which])
			forget(which);
	mutex_unlock(&counters_lock);
	free_percpu(counters->began);
	kfree(counters);
}

/* ------------------------------------------------------------------ CPU hotplug */

static void give_all(struct work_struct *work)
{
	int cpu, error;

	mutex_lock(&counters_lock);
	for (u32 which = 0; which < KL_COUNTER_COUNT; which++) {
		if (!users[which])
			continue;
		for_each_online_cpu(cpu) {
			error = give(which, cpu);
			if (error)
				pr_warn("kernlens: CPU %d cannot count %s: error %d\n", cpu,
					kinds[which].perf_name, -error);
		}
	}
	mutex_unlock(&counters_lock);
}

static DECLARE_WORK(give_work, give_all);
static int hotplug_state;

/* Under the hotplug lock, which perf takes for some events, so leave it to a worker. */
static int on_cpu_online(unsigned int cpu)
{
	schedule_work(&give_work);
	return 0;
}

/**
 * kl_counters_init - find the available counters
 *
 * Returns 0 or a negative errno. Context: before the first session; may sleep.
 */
int kl_counters_init(void)
{
	for (u32 which = 0; which < KL_COUNTER_COUNT; which++) {
		struct perf_event *event = make_event(which, cpumask_first(cpu_online_mask), true);

		is_there[which] = !IS_ERR(event);
		if (is_there[which])
			perf_event_release_kernel(event);
	}
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kernlens:counters",
						  on_cpu_online, NULL);
	return hotplug_state < 0 ? hotplug_state : 0;
}

/**
 * kl_counters_deinit - stop watching CPU hotplug, after the last session
 */
void kl_counters_deinit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	cancel_work_sync(&give_work);
}
