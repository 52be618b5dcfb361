// SPDX-License-Identifier: GPL-2.0
/*
 * Fires a known number of events of two tracepoints that nothing else fires in a virtual machine
 * (cpu_frequency and suspend_resume, both exported), from each CPU and each kind of context, as
 * requested through /dev/kl_stimulus. The tests compare what kernlens wrote and lost with what was
 * fired here.
 *
 * The device's calls run under `lock`; only a source's own contexts, none of which interrupts
 * itself, use its numbers.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <trace/events/power.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "interrupt.h"
#include "stimulus.h"

/**
 * struct source - one CPU's events
 * @number: of the next event, by context
 * @nmi_wanted: one of our NMIs has been sent (1) or is being handled (2)
 */
struct source {
	u32 id;
	atomic_t number[KLS_CONTEXTS]; /* after hotplug, two CPUs may fire for one source */
	struct task_struct *thread;
	bool running;
	atomic_t nmi_wanted;
	struct tasklet_struct tasklet;
	struct irq_work irq_work;
	struct hrtimer timer;
};

static struct source sources[KLS_SOURCES];
static struct kls_plan plan;
static DEFINE_MUTEX(lock);

/*
 * What fire() changes in the running task; each context restores it, so that a context that is
 * interrupted in the middle of one of these functions sees no change when it continues.
 */
struct varied {
	u64 timer_slack_ns;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[TASK_COMM_LEN];
};

static const char *take(struct varied *to)
{
	const struct task_struct *t = current;

	to->timer_slack_ns = t->timer_slack_ns;
	to->min_flt = t->min_flt;
	to->maj_flt = t->maj_flt;
	return memcpy(to->comm, t->comm, sizeof(to->comm));
}

static const char *put(const struct varied *from)
{
	struct task_struct *t = current;

	t->timer_slack_ns = from->timer_slack_ns;
	t->min_flt = from->min_flt;
	t->maj_flt = from->maj_flt;
	return memcpy(t->comm, from->comm, sizeof(t->comm));
}

static void vary(struct varied *before, u32 source, u32 context, u32 number)
{
	struct varied now = {
		.timer_slack_ns = kls_value(KLS_TIMER_SLACK, source, context, number),
		.min_flt = kls_value(KLS_MIN_FAULTS, source, context, number),
		.maj_flt = kls_value(KLS_MAJ_FAULTS, source, context, number),
	};

	kls_name(context, number, now.comm);
	data_race(take(before));
	data_race(put(&now));
	barrier();
}

static void put_back(const struct varied *before)
{
	barrier();
	data_race(put(before));
}

static noinline u32 hash_callers(void)
{
	u64 frame[KLS_FRAMES + 1];
	u32 frames;

	BUILD_BUG_ON(sizeof(*frame) != sizeof(unsigned long));
	frames = stack_trace_save((unsigned long *)frame, ARRAY_SIZE(frame), 1);
	return kls_stack_hash(frame, frames);
}

static void fire(struct source *s, enum kls_context context)
{
	struct varied before;
	u32 number;

	preempt_disable_notrace();
	number = atomic_fetch_inc(&s->number[context]);
	if (plan.vary)
		vary(&before, s->id, context, number);
	if (plan.string_every && number % plan.string_every == 0)
		trace_suspend_resume(kls_text(number),
				     s->id << 28 | context << 24 | (number & 0xffffff), number & 1);
	else
		trace_cpu_frequency(plan.stacks ? hash_callers() : number,
				    kls_mark(s->id, context, number));
	if (plan.vary)
		put_back(&before);
	preempt_enable_notrace();
}

static void fire_some(struct source *s, enum kls_context context)
{
	for (u32 i = 0; i < plan.nested; i++)
		fire(s, context);
}

/* ----------------------------------------------------------------- contexts */

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct source *s;

	if (smp_processor_id() >= KLS_SOURCES)
		return NMI_DONE;
	s = &sources[smp_processor_id()];
	if (atomic_cmpxchg(&s->nmi_wanted, 1, 2) != 1)
		return NMI_DONE;
	fire_some(s, KLS_NMI);
	/* Its events are complete: pairs with the acquire in stop_sources. */
	atomic_set_release(&s->nmi_wanted, 0);
	return NMI_HANDLED;
}

/* Only one sender per target, so that each NMI sent is one NMI handled. */
static void send_nmi(struct source *to)
{
	if (!cpu_online(to->id) || atomic_read(&to->nmi_wanted))
		return;
	atomic_set(&to->nmi_wanted, 1);
	apic->icr_write(APIC_DM_NMI | APIC_DEST_PHYSICAL, cpu_physical_id(to->id));
}

static void on_irq_work(struct irq_work *work)
{
	fire_some(container_of(work, struct source, irq_work), KLS_IRQ_WORK);
}

/* Raises an interrupt in the middle of its burst: softirqs run with interrupts enabled. */
static void on_tasklet(struct tasklet_struct *tasklet)
{
	struct source *s = container_of(tasklet, struct source, tasklet);

	for (u32 i = 0; i < plan.nested; i++) {
		fire(s, KLS_SOFTIRQ);
		if (i == plan.nested / 2 && plan.irq_every)
			irq_work_queue(&s->irq_work);
	}
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct source *s = container_of(timer, struct source, timer);

	fire_some(s, KLS_TIMER);
	/*
	 * With one CPU there is no neighbor, so the timer, which comes at any point, sends the
	 * NMI.
	 */
	if (plan.nmi_every && hweight64(plan.cpus) == 1)
		send_nmi(s);
	if (plan.softirq_every)
		tasklet_schedule(&s->tasklet);
	if (!READ_ONCE(s->running))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, plan.timer_us * NSEC_PER_USEC);
	return HRTIMER_RESTART;
}

static struct source *neighbor(struct source *s)
{
	u32 id = s->id;

	do {
		id = (id + 1) % KLS_SOURCES;
	} while (!(plan.cpus & BIT_ULL(id)));
	return &sources[id];
}

static bool is_due(u64 n, u32 every)
{
	u64 rest = n;

	return every && do_div(rest, every) == every - 1;
}

static void fire_and_disturb(struct source *s, u64 n)
{
	fire(s, KLS_TASK);
	if (is_due(n, plan.irq_every))
		irq_work_queue(&s->irq_work);
	if (is_due(n, plan.softirq_every)) {
		local_bh_disable();
		tasklet_schedule(&s->tasklet);
		local_bh_enable();
	}
	if (is_due(n, plan.nmi_every) && hweight64(plan.cpus) > 1)
		send_nmi(neighbor(s));
}

static int run_source(void *data)
{
	struct source *s = data;

	if (plan.timer_us)
		hrtimer_start(&s->timer, ns_to_ktime(plan.timer_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
	for (u64 n = 0; n < plan.records && !kthread_should_stop(); n++) {
		fire_and_disturb(s, n);
		if (!is_due(n, plan.burst))
			continue;
		if (plan.pause_us)
			usleep_range(plan.pause_us, plan.pause_us + 1);
		else
			cond_resched();
	}
	WRITE_ONCE(s->running, false);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ / 100);
	return 0;
}

/* ----------------------------------------------------------------- functions */

/* For tests to hook; declared, so that it keeps its name and its calls. */
u64 kls_called(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);

noinline u64 kls_called(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	barrier();
	return a + f;
}

/* ------------------------------------------------------------------- device */

/* No context of a source fires after this returns. */
static void stop_source(struct source *s)
{
	if (!s->thread)
		return;
	kthread_stop(s->thread);
	put_task_struct(s->thread);
	s->thread = NULL;
	WRITE_ONCE(s->running, false);
	hrtimer_cancel(&s->timer);
	tasklet_kill(&s->tasklet);
	irq_work_sync(&s->irq_work);
}

static void stop_sources(void)
{
	for (int i = 0; i < KLS_SOURCES; i++)
		stop_source(&sources[i]);
	/* Wait for NMIs that were sent just before their senders stopped. */
	for (int i = 0; i < KLS_SOURCES; i++)
		while (i < nr_cpu_ids && cpu_online(i) &&
		       atomic_read_acquire(&sources[i].nmi_wanted))
			cond_resched();
}

static int start_sources(void)
{
	for (int i = 0; i < KLS_SOURCES; i++) {
		struct source *s = &sources[i];

		memset(s->number, 0, sizeof(s->number));
		atomic_set(&s->nmi_wanted, 0);
		if (!(plan.cpus & BIT_ULL(i)))
			continue;
		s->thread = kthread_create(run_source, s, KLS_COMM "%d", i);
		if (IS_ERR(s->thread)) {
			int error = PTR_ERR(s->thread);

			s->thread = NULL;
			stop_sources();
			return error;
		}
		get_task_struct(s->thread);
		kthread_bind(s->thread, i);
		s->running = true;
	}
	for (int i = 0; i < KLS_SOURCES; i++)
		if (sources[i].thread)
			wake_up_process(sources[i].thread);
	return 0;
}

static void count_probes(struct tracepoint *tp, void *data)
{
	const struct tracepoint_func *f;
	u32 *probes = data;

	rcu_read_lock_sched();
	f = rcu_dereference_sched(tp->funcs);
	for (; f && f->func; f++)
		(*probes)++;
	rcu_read_unlock_sched();
}

static void collect(struct kls_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	for (int i = 0; i < KLS_SOURCES; i++) {
		counts->running += READ_ONCE(sources[i].running);
		counts->tid[i] = sources[i].thread ? sources[i].thread->pid : 0;
		for (int c = 0; c < KLS_CONTEXTS; c++)
			counts->fired[i][c] = atomic_read(&sources[i].number[c]);
	}
	for_each_kernel_tracepoint(count_probes, &counts->probes);
}

static int start(const void __user *user)
{
	if (READ_ONCE(sources[0].running))
		return -EBUSY;
	stop_sources();
	if (copy_from_user(&plan, user, sizeof(plan)))
		return -EFAULT;
	if (plan.records >= 1 << 24 || !plan.cpus)
		return -EINVAL;
	for (int i = 0; i < 64; i++)
		if (plan.cpus & BIT_ULL(i) &&
		    (i >= KLS_SOURCES || i >= nr_cpu_ids || !cpu_online(i)))
			return -ENXIO;
	return start_sources();
}

static long on_ioctl(struct file *file, unsigned int command, unsigned long user)
{
	struct kls_counts *counts;
	long result = -ENOTTY;

	mutex_lock(&lock);
	switch (command) {
	case KLS_IOC_START:
		result = start((const void __user *)user);
		break;
	case KLS_IOC_CALL:
		for (u64 i = 0; i < user; i++)
			kls_called(i, 2 * i, 3 * i, 4 * i, 5 * i, 6 * i);
		result = 0;
		break;
	case KLS_IOC_STOP:
		stop_sources();
		result = 0;
		break;
	case KLS_IOC_COUNTS:
		counts = kmalloc(sizeof(*counts), GFP_KERNEL);
		if (!counts) {
			result = -ENOMEM;
			break;
		}
		collect(counts);
		result = copy_to_user((void __user *)user, counts, sizeof(*counts)) ? -EFAULT : 0;
		kfree(counts);
		break;
	}
	mutex_unlock(&lock);
	return result;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = on_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kl_stimulus",
	.fops = &fops,
	.mode = 0600,
};

static int __init stimulus_init(void)
{
	int error;

	for (int i = 0; i < KLS_SOURCES; i++) {
		struct source *s = &sources[i];

		s->id = i;
		tasklet_setup(&s->tasklet, on_tasklet);
		s->irq_work = IRQ_WORK_INIT_HARD(on_irq_work);
		kl_hrtimer_setup(&s->timer, on_timer, CLOCK_MONOTONIC,
				 HRTIMER_MODE_REL_PINNED_HARD);
	}
	error = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kl_stimulus");
	if (error)
		return error;
	error = misc_register(&device);
	if (error)
		unregister_nmi_handler(NMI_LOCAL, "kl_stimulus");
	return error;
}

static void __exit stimulus_exit(void)
{
	misc_deregister(&device);
	stop_sources();
	unregister_nmi_handler(NMI_LOCAL, "kl_stimulus");
}

module_init(stimulus_init);
module_exit(stimulus_exit);

MODULE_DESCRIPTION("Fires known events for the tests of kernlens");
MODULE_LICENSE("GPL");
