// SPDX-License-Identifier: GPL-2.0
/*
 * What wakes a task: another task, or an interrupt by its own name, never the task that it
 * interrupted; and for whom the waker itself had waited. Probes at the entries and exits of
 * handlers, softirqs and timers track what a CPU is doing.
 */
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <trace/events/irq.h>
#include <trace/events/timer.h>
#include <asm/irq_regs.h>

#include "../core/stack.h"
#include "../source/source.h"
#include "latency_internal.h"

/* ----------------------------------------------------------- interrupts */

/*
 * What a CPU is doing, for all profiles. Written only by that CPU, in interrupts, which do not
 * migrate. 0 means nothing.
 */
struct doing {
	u64 timer[2]; /* function; [0] in hard interrupts, [1] in softirqs */
	const char *irq_name;
	u32 irq; /* number + 1 */
	u32 softirq; /* number + 1 */
};

static DEFINE_PER_CPU(struct doing, doing);

/* Number of profiles that use it. */
static DEFINE_MUTEX(users_lock);
static u32 users;

static void on_irq(void *data, int irq, struct irqaction *action)
{
	this_cpu_write(doing.irq_name, action->name);
	this_cpu_write(doing.irq, irq + 1);
}

static void on_irq_end(void *data, int irq, struct irqaction *action, int ret)
{
	this_cpu_write(doing.irq, 0);
}

static void on_softirq(void *data, unsigned int number)
{
	this_cpu_write(doing.softirq, number + 1);
}

static void on_softirq_end(void *data, unsigned int number)
{
	this_cpu_write(doing.softirq, 0);
}

static void on_hrtimer(void *data, struct hrtimer *timer,
		       ktime_t KL_OLD_hrtimer_expire_by_value(*) now)
{
	this_cpu_write(doing.timer[!in_hardirq()],
		       (unsigned long)READ_ONCE(ACCESS_PRIVATE(timer, function)));
}

static void on_hrtimer_end(void *data, struct hrtimer *timer)
{
	this_cpu_write(doing.timer[!in_hardirq()], 0);
}

static void on_timer(void *data, struct timer_list *timer, unsigned long base)
{
	this_cpu_write(doing.timer[1], (unsigned long)READ_ONCE(timer->function));
}

static void on_timer_end(void *data, struct timer_list *timer)
{
	this_cpu_write(doing.timer[1], 0);
}

/*
 * Attach exits first: an entry whose exit is missed would be blamed for everything that the CPU
 * does until its next event of that kind, which may take long.
 */
static const struct point {
	const char *name;
	void *probe;
} points[] = {
	{ "irq_handler_exit", on_irq_end },	   { "irq_handler_entry", on_irq },
	{ "softirq_exit", on_softirq_end },	   { "softirq_entry", on_softirq },
	{ "hrtimer_expire_exit", on_hrtimer_end }, { "hrtimer_expire_entry", on_hrtimer },
	{ "timer_expire_exit", on_timer_end },	   { "timer_expire_entry", on_timer },
};

static void __maybe_unused check_prototypes(void)
{
	check_trace_callback_type_irq_handler_entry(on_irq);
	check_trace_callback_type_irq_handler_exit(on_irq_end);
	check_trace_callback_type_softirq_entry(on_softirq);
	check_trace_callback_type_softirq_exit(on_softirq_end);
	check_trace_callback_type_hrtimer_expire_entry(on_hrtimer);
	check_trace_callback_type_hrtimer_expire_exit(on_hrtimer_end);
	check_trace_callback_type_timer_expire_entry(on_timer);
	check_trace_callback_type_timer_expire_exit(on_timer_end);
}

static void detach_points(u32 n)
{
	while (n--)
		tracepoint_probe_unregister(kl_tracepoint_find(points[n].name), points[n].probe,
					    NULL);
}

static int attach_points(struct kl_error *why)
{
	int cpu;

	/* Clear what the last profile left, as no exits have been seen since. */
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&doing, cpu), 0, sizeof(doing));
	for (u32 i = 0; i < ARRAY_SIZE(points); i++) {
		struct tracepoint *point = kl_tracepoint_find(points[i].name);
		int error = -ENOENT;

		if (point)
			error = tracepoint_probe_register(point, points[i].probe, NULL);
		if (error) {
			detach_points(i);
			return kl_fail(why, error, "cannot attach to tracepoint %s",
				       points[i].name);
		}
	}
	return 0;
}

/**
 * kl_latency_attach_wakers - let CPUs track what they are doing
 * @why: set on failure; nothing is attached then
 *
 * Shared by all profiles. Context: may sleep.
 */
int kl_latency_attach_wakers(struct kl_error *why)
{
	int error = 0;

	mutex_lock(&users_lock);
	if (!users)
		error = attach_points(why);
	if (!error)
		users++;
	mutex_unlock(&users_lock);
	return error;
}

/**
 * kl_latency_detach_wakers - undo kl_latency_attach_wakers
 */
void kl_latency_detach_wakers(void)
{
	mutex_lock(&users_lock);
	if (!--users)
		detach_points(ARRAY_SIZE(points));
	mutex_unlock(&users_lock);
}

/* --------------------------------------------------------------- sources */

/* Create a source. Returns 0 if the table is full. A name is copied while its handler runs. */
static noinline u32 make_source(struct kl_latency *l, u32 kind, u64 number, const char *name,
				u64 key)
{
	struct kl_latency_source *source;
	unsigned long flags;
	u32 id = 0;

	raw_spin_lock_irqsave(&l->lock, flags);
	for (u32 i = 0; !id && i < l->n_sources; i++)
		if (l->source[i].key == key)
			id = i + 1;
	if (!id && l->n_sources < KL_LATENCY_SOURCES) {
		source = &l->source[l->n_sources];
		source->is = (struct kl_abi_latency_source){ .kind = kind, .number = number };
		if (name)
			strscpy(source->is.name, name, sizeof(source->is.name));
		source->is.id = l->n_sources + 1;
		source->key = key;
		id = l->n_sources + 1;
		/*
		 * Initialize the source before publishing it. Pairs with the acquires in
		 * find_source and in number_of of read.c.
		 */
		smp_store_release(&l->n_sources, id);
	}
	raw_spin_unlock_irqrestore(&l->lock, flags);
	return id;
}

static u32 find_source(struct kl_latency *l, u32 kind, u64 number, const char *name)
{
	u64 key = number << 3 | kind;
	u32 n = smp_load_acquire(&l->n_sources); /* pairs with make_source */

	for (u32 i = 0; i < n; i++)
		if (l->source[i].key == key)
			return i + 1;
	return make_source(l, kind, number, name, key);
}

static const char *name_of_softirq(u32 number)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return number < ARRAY_SIZE(names) ? names[number] : NULL;
}

static struct kl_abi_latency_hop interrupt(struct kl_latency *l)
{
	const struct doing *cpu = this_cpu_ptr(&doing);
	struct kl_abi_latency_hop hop = { .kind = KL_LATENCY_WAKER_INTERRUPT };
	u64 timer = cpu->timer[!in_hardirq()];

	if (timer) {
		hop.kind = KL_LATENCY_WAKER_TIMER;
		hop.id = find_source(l, hop.kind, timer, NULL);
	} else if (in_hardirq() && cpu->irq) {
		hop.kind = KL_LATENCY_WAKER_IRQ;
		hop.id = find_source(l, hop.kind, cpu->irq - 1, cpu->irq_name);
	} else if (!in_hardirq() && cpu->softirq) {
		hop.kind = KL_LATENCY_WAKER_SOFTIRQ;
		hop.id = find_source(l, hop.kind, cpu->softirq - 1,
				     name_of_softirq(cpu->softirq - 1));
	}
	if (!hop.id)
		hop.kind = KL_LATENCY_WAKER_INTERRUPT;
	return hop;
}

/* ---------------------------------------------------------------- chains */

/* When did the current sleep begin? 0 if it has not yet, or its switch is under way. */
static u64 asleep_since(const struct kl_latency_task *t)
{
	u32 state = READ_ONCE(t->state);

	/*
	 * Pairs with A of docs/design/latency.md: a switch clears `since` before it changes the
	 * state.
	 */
	smp_rmb();
	return kl_latency_is_asleep(state) ? READ_ONCE(t->since) : 0;
}

/* How much of the sleep came after @since? */
static u64 overlap(const struct kl_latency_sleep *sleep, u64 since)
{
	return sleep->wake.at > since ? sleep->wake.at - max(since, sleep->since) : 0;
}

/*
 * The waker was itself woken while @t waited, so @t waited for the waker's waker, too. The waker
 * is the running task, so its sleeps cannot change concurrently. The sleep that made up most of
 * the wait counts; it need not be the last one.
 */
static void add_chain(const struct kl_latency_task *t, const struct kl_latency_task *waker,
		      struct kl_latency_wake *wake, u64 now)
{
	const struct kl_latency_sleep *sleep = &waker->last;
	u64 since = asleep_since(t), part;

	if (!since || since >= now)
		return;
	if (overlap(&waker->longest, since) > overlap(sleep, since))
		sleep = &waker->longest;
	part = overlap(sleep, since);
	for (u32 i = 0; part && i < sleep->wake.hops && wake->hops < KL_LATENCY_HOPS; i++) {
		if (sleep->wake.hop_at[i] <= since)
			break;
		wake->hop[wake->hops] = sleep->wake.hop[i];
		wake->hop_at[wake->hops] = sleep->wake.hop_at[i];
		if (!i && 2 * part < now - since)
			wake->hop[wake->hops].flags |= KL_LATENCY_HOP_UNCERTAIN;
		wake->hops++;
	}
}

static struct kl_abi_latency_hop running_task(struct kl_latency *l, struct kl_latency_task **waker)
{
	struct kl_abi_latency_hop hop = { .kind = KL_LATENCY_WAKER_TASK };
	struct kl_latency_task *w;

	if (l->session->gate & KL_GATE_OWN && !kl_access_may_see(l->session->owner, current)) {
		hop.kind = KL_LATENCY_WAKER_HIDDEN;
		hop.flags = KL_LATENCY_HOP_OUTSIDE;
		return hop;
	}
	w = kl_latency_find(l, current);
	if (!w)
		w = kl_latency_enter(l, current, KL_LATENCY_OUTSIDE, kl_clock());
	if (!w) {
		hop.kind = KL_LATENCY_WAKER_UNKNOWN;
		hop.flags = KL_LATENCY_HOP_OUTSIDE;
		return hop;
	}
	hop.id = w->serial;
	if (READ_ONCE(w->state) == KL_LATENCY_OUTSIDE)
		hop.flags = KL_LATENCY_HOP_OUTSIDE;
	*waker = w;
	return hop;
}

/* Where a hard interrupt interrupted the kernel: frames from there on are not the waker's. Or 0. */
static unsigned long interrupted(void)
{
	const struct pt_regs *regs = in_hardirq() ? get_irq_regs() : NULL;

	return regs && !user_mode((struct pt_regs *)regs) ? regs->ip : 0;
}

/**
 * kl_latency_take_waker - record what wakes a task
 * @l: profile
 * @t: the task
 * @now: time of the wakeup
 *
 * Context: the tracepoint sched_waking, under the task's pi_lock.
 */
void kl_latency_take_waker(struct kl_latency *l, struct kl_latency_task *t, u64 now)
{
	bool task = in_task() && current->pid;
	struct kl_latency_task *waker = NULL;
	struct kl_latency_wake *wake = &t->wake;
	u32 flags = kl_latency_flags(l);

	wake->hop[0] = task ? running_task(l, &waker) : interrupt(l);
	wake->hop_at[0] = now;
	wake->hops = 1;
	if (waker && READ_ONCE(waker->state) != KL_LATENCY_OUTSIDE)
		add_chain(t, waker, wake, now);
	wake->kstack = 0;
	wake->ustack = 0;
	if (!(flags & KL_LATENCY_WAKER_STACKS) || wake->hop[0].kind == KL_LATENCY_WAKER_HIDDEN)
		return;
	if (flags & KL_LATENCY_KERNEL_STACKS)
		wake->kstack = kl_stack_kernel_until(l->session, interrupted());
	if (flags & KL_LATENCY_USER_STACKS && task)
		wake->ustack = kl_stack_user(l->session, false);
}
