// SPDX-License-Identifier: GPL-2.0
/*
 * Causes events that no system call causes: insmod kl_cause.ko what=NAME does one thing in its init
 * function; some of it lasts until rmmod. Values that a record must have are constants here and
 * facts in tests/events/cause/module.c. More than 600 lines: a list of short actions that share
 * nothing.
 */
#include <linux/cpufreq.h>
#include <linux/cpuidle.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/pm_wakeup.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/thermal.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/arp.h>
#include <net/neighbour.h>
#include <asm/irq_vectors.h>

#include "interrupt.h"

static char *what = "";
module_param(what, charp, 0400);
MODULE_PARM_DESC(what, "what to do");

#define TIMES 10

struct wanted {
	const char *name;
	struct tracepoint *tp;
};

static void compare_name(struct tracepoint *tp, void *data)
{
	struct wanted *wanted = data;

	if (!strcmp(tp->name, wanted->name))
		wanted->tp = tp;
}

static struct tracepoint *find_tracepoint(const char *name)
{
	struct wanted wanted = { .name = name };

	for_each_kernel_tracepoint(compare_name, &wanted);
	return wanted.tp;
}

/* -------------------------------------------------- threads and work items */

static int wait_for_stop(void *data)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 42;
}

static int do_kthread(void)
{
	for (int i = 0; i < TIMES; i++) {
		struct task_struct *t = kthread_run(wait_for_stop, NULL, "kl_cause_%d", i);

		if (IS_ERR(t))
			return PTR_ERR(t);
		msleep(5);
		kthread_stop(t);
	}
	return 0;
}

static void no_work(struct kthread_work *work)
{
}

static int do_worker(void)
{
	struct kthread_worker *worker = kthread_create_worker(0, "kl_cause_worker");
	struct kthread_work work;

	if (IS_ERR(worker))
		return PTR_ERR(worker);
	kthread_init_work(&work, no_work);
	for (int i = 0; i < TIMES; i++) {
		kthread_queue_work(worker, &work);
		kthread_flush_work(&work);
	}
	kthread_destroy_worker(worker);
	return 0;
}

static void in_work(struct work_struct *work)
{
	udelay(10);
}

static int do_work(void)
{
	static DECLARE_WORK(work, in_work);

	for (int i = 0; i < TIMES; i++) {
		schedule_work_on(i & 1, &work);
		flush_work(&work);
	}
	return 0;
}

/* -------------------------------------------------------------- interrupts */

static int tasklets;

static void in_tasklet(struct tasklet_struct *t)
{
	tasklets++;
}

static DECLARE_TASKLET(tasklet, in_tasklet);

static int do_tasklet(void)
{
	for (int i = 0; i < TIMES; i++) {
		tasklet_schedule(&tasklet);
		msleep(2);
	}
	tasklet_kill(&tasklet);
	return tasklets == TIMES ? 0 : -EIO;
}

static void in_irq_work(struct irq_work *work)
{
}

static int do_irqwork(void)
{
	static DEFINE_IRQ_WORK(work, in_irq_work);

	for (int i = 0; i < TIMES; i++) {
		irq_work_queue(&work);
		irq_work_sync(&work);
	}
	return 0;
}

static void in_call(void *data)
{
}

static int do_smp(void)
{
	for (int i = 0; i < TIMES; i++) {
		smp_call_function_single(i & 1, in_call, NULL, 1);
		on_each_cpu(in_call, NULL, 1);
		preempt_disable();
		smp_call_function_many(cpu_online_mask, in_call, NULL, true);
		preempt_enable();
	}
	return 0;
}

/* Vectors that only failing hardware raises; the kernel logs them and continues. */
static int do_vectors(void)
{
	for (int i = 0; i < 3; i++) {
		asm volatile("int %0" : : "i"(ERROR_APIC_VECTOR));
		asm volatile("int %0" : : "i"(SPURIOUS_APIC_VECTOR));
		asm volatile("int %0" : : "i"(THERMAL_APIC_VECTOR));
		asm volatile("int %0" : : "i"(THRESHOLD_APIC_VECTOR));
		asm volatile("int %0" : : "i"(DEFERRED_ERROR_VECTOR));
		asm volatile("int %0" : : "i"(X86_PLATFORM_IPI_VECTOR));
	}
	return 0;
}

/* ------------------------------------------------------------------ timers */

static void on_timer(struct timer_list *timer)
{
}

static enum hrtimer_restart on_hrtimer(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

static int do_timer(void)
{
	static struct timer_list timer;
	static struct hrtimer hrtimer;

	for (int i = 0; i < TIMES; i++) {
		timer_setup(&timer, on_timer, 0);
		mod_timer(&timer, jiffies + HZ);
		timer_delete_sync(&timer);
		mod_timer(&timer, jiffies + 1);
		kl_hrtimer_setup(&hrtimer, on_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
		hrtimer_start(&hrtimer, ms_to_ktime(1000), HRTIMER_MODE_REL);
		hrtimer_cancel(&hrtimer);
		hrtimer_start(&hrtimer, ms_to_ktime(1), HRTIMER_MODE_REL);
		msleep(20);
		timer_delete_sync(&timer);
		hrtimer_cancel(&hrtimer);
	}
	return 0;
}

/* ------------------------------------------------------------------- power */

static int do_wakeup(void)
{
	struct wakeup_source *source = wakeup_source_register(NULL, "kl_cause");

	if (!source)
		return -ENOMEM;
	for (int i = 0; i < TIMES; i++) {
		__pm_stay_awake(source);
		__pm_relax(source);
	}
	wakeup_source_unregister(source);
	return 0;
}

static int runtime_ok(struct device *dev)
{
	return 0;
}

/*
 * The first device to be suspended, so that the suspend ends before it reaches any device that is
 * needed.
 */
static int refuse(struct device *dev)
{
	return -EBUSY;
}

static const struct dev_pm_ops willing_ops = {
	.suspend = runtime_ok,
	.resume = runtime_ok,
	.runtime_suspend = runtime_ok,
	.runtime_resume = runtime_ok,
};

static const struct dev_pm_ops unwilling_ops = {
	.suspend = refuse,
	.resume = runtime_ok,
};

static int no_probe(struct platform_device *pdev)
{
	return 0;
}

static struct platform_driver willing = {
	.probe = no_probe,
	.driver = { .name = "kl_cause_willing", .pm = &willing_ops },
};

static struct platform_driver unwilling = {
	.probe = no_probe,
	.driver = { .name = "kl_cause_unwilling", .pm = &unwilling_ops },
};

static struct platform_device *first, *second;

static int add_devices(bool second_too)
{
	int error;

	error = platform_driver_register(&willing);
	if (error)
		return error;
	error = platform_driver_register(&unwilling);
	if (error)
		return error;
	/* Devices are suspended in reverse order of registration. */
	if (second_too)
		second = platform_device_register_simple("kl_cause_unwilling", 0, NULL, 0);
	first = platform_device_register_simple("kl_cause_willing", 0, NULL, 0);
	return PTR_ERR_OR_ZERO(first) ?: PTR_ERR_OR_ZERO(second);
}

static void remove_devices(void)
{
	if (!first)
		return;
	platform_device_unregister(first);
	if (second)
		platform_device_unregister(second);
	platform_driver_unregister(&willing);
	platform_driver_unregister(&unwilling);
}

static int do_rpm(void)
{
	struct device *dev;
	int error = add_devices(false);

	if (error)
		return error;
	dev = &first->dev;
	pm_runtime_enable(dev);
	for (int i = 0; i < TIMES; i++) {
		pm_runtime_get_sync(dev);
		pm_runtime_get_noresume(dev);
		pm_runtime_put_noidle(dev);
		pm_runtime_put_sync(dev);
		pm_runtime_get(dev);
		pm_runtime_put(dev);
		pm_runtime_barrier(dev);
	}
	pm_runtime_disable(dev);
	return 0;
}

static int do_devqos(void)
{
	static struct dev_pm_qos_request request;
	int error = add_devices(false);

	if (error)
		return error;
	for (int i = 0; i < TIMES; i++) {
		error = dev_pm_qos_add_request(&first->dev, &request, DEV_PM_QOS_RESUME_LATENCY,
					       1000 + i);
		if (error < 0)
			return error;
		dev_pm_qos_update_request(&request, 2000 + i);
		dev_pm_qos_remove_request(&request);
	}
	return 0;
}

static int do_suspend(void)
{
	return add_devices(true);
}

static void on_alarm_suspend(void *data, ktime_t expires, int flag)
{
	/*
	 * Called while the alarm timer device is suspended; aborts the suspend before the next
	 * device.
	 */
	pm_system_wakeup();
}

static struct tracepoint *alarm_suspend;

static int do_alarm(void)
{
	alarm_suspend = find_tracepoint("alarmtimer_suspend");
	if (!alarm_suspend)
		return -ENOENT;
	return tracepoint_probe_register(alarm_suspend, on_alarm_suspend, NULL);
}

static void undo_alarm(void)
{
	if (alarm_suspend) {
		tracepoint_probe_unregister(alarm_suspend, on_alarm_suspend, NULL);
		tracepoint_synchronize_unregister();
	}
}

/* A thermal zone that reports one degree more each time. */
static int temperature = 40000;
static struct thermal_zone_device *zone;

static int get_temp(struct thermal_zone_device *tz, int *temp)
{
	*temp = temperature += 1000;
	return 0;
}

static struct thermal_zone_device_ops zone_ops = { .get_temp = get_temp };

static int do_thermal(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	zone = thermal_tripless_zone_device_register("kl_cause", NULL, &zone_ops, NULL);
#else
	zone = thermal_zone_device_register("kl_cause", 0, 0, NULL, &zone_ops, NULL, 0, 0);
#endif
	if (IS_ERR(zone))
		return PTR_ERR(zone);
	thermal_zone_device_enable(zone);
	for (int i = 0; i < TIMES; i++)
		thermal_zone_device_update(zone, THERMAL_EVENT_UNSPECIFIED);
	thermal_zone_device_unregister(zone);
	return 0;
}

static struct cpufreq_frequency_table frequencies[] = {
	{ .frequency = 1000000 },
	{ .frequency = 2000000 },
	{ .frequency = CPUFREQ_TABLE_END },
};
static unsigned int frequency = 1000000;

static int freq_init(struct cpufreq_policy *policy)
{
	policy->freq_table = frequencies;
	policy->cpuinfo.transition_latency = 1000;
	policy->cur = frequency;
	return 0;
}

static int freq_target(struct cpufreq_policy *policy, unsigned int index)
{
	frequency = frequencies[index].frequency;
	return 0;
}

static unsigned int freq_get(unsigned int cpu)
{
	return frequency;
}

static struct cpufreq_driver freq_driver = {
	.name = "kl_cause",
	.init = freq_init,
	.verify = cpufreq_generic_frequency_table_verify,
	.target_index = freq_target,
	.get = freq_get,
};
static bool has_freq;

static int do_cpufreq(void)
{
	int error = cpufreq_register_driver(&freq_driver);

	has_freq = !error;
	return error;
}

/* Both idle states just halt; the second pays off only after 1.5 ms. */
static int idle_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

static struct cpuidle_driver idle_driver = {
	.name = "kl_cause",
	.states = {
		{ .enter = idle_enter, .exit_latency = 1, .target_residency = 1, .name = "short",
		  .desc = "short" },
		{ .enter = idle_enter, .exit_latency = 2, .target_residency = 1500,
		  .name = "long", .desc = "long" },
	},
	.state_count = 2,
};
static bool has_idle;

static int do_cpuidle(void)
{
	int error = cpuidle_register(&idle_driver, NULL);

	has_idle = !error;
	return error;
}

/* ----------------------------------------------------------------- network */

static struct net_device *netdev;

static netdev_tx_t never_sent(struct sk_buff *skb, struct net_device *dev)
{
	netif_stop_queue(dev);
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static void on_timeout(struct net_device *dev, unsigned int queue)
{
	netif_wake_queue(dev);
}

static const struct net_device_ops net_ops = {
	.ndo_start_xmit = never_sent,
	.ndo_tx_timeout = on_timeout,
};

static void net_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &net_ops;
	dev->watchdog_timeo = HZ / 10;
	dev->flags |= IFF_NOARP;
	eth_hw_addr_random(dev);
}

static int do_txtimeout(void)
{
	int error;

	netdev = alloc_netdev(0, "klstuck%d", NET_NAME_UNKNOWN, net_setup);
	if (!netdev)
		return -ENOMEM;
	error = register_netdev(netdev);
	if (error) {
		free_netdev(netdev);
		netdev = NULL;
		return error;
	}
	netif_carrier_on(netdev);
	return 0;
}

/* Uses a neighbour entry that its device has dropped. */
static int do_neigh(void)
{
	__be32 address = htonl(0x0a060002);
	struct neighbour *neighbour;
	int error = do_txtimeout();

	if (error)
		return error;
	netdev->flags &= ~IFF_NOARP;
	for (int i = 0; i < TIMES; i++) {
		rtnl_lock();
		error = dev_open(netdev, NULL);
		rtnl_unlock();
		if (error)
			return error;
		neighbour = neigh_create(&arp_tbl, &address, netdev);
		if (IS_ERR(neighbour))
			return PTR_ERR(neighbour);
		rtnl_lock();
		dev_close(netdev);
		rtnl_unlock();
		neigh_event_send(neighbour, NULL);
		neigh_release(neighbour);
	}
	return 0;
}

/* ------------------------------------------------------------------ memory */

/* Much smaller than the requested order, so that the kernel considers compaction worthwhile. */
#define ORDER_OF_PIECES 7
#define ORDER_OF_LARGEST 10

static void free_list(struct list_head *pages, int order)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru) {
		list_del(&page->lru);
		__free_pages(page, order);
	}
}

static void on_fired(bool *fired)
{
	WRITE_ONCE(*fired, true);
}

/* Allocates pages repeatedly until a tracepoint has hit, within a limit. */
static int allocate_until(const char *name, gfp_t gfp, struct list_head *got)
{
	struct tracepoint *tp = find_tracepoint(name);
	bool fired = false;
	struct page *page;
	int error;

	if (!tp)
		return -ENOENT;
	error = tracepoint_probe_register(tp, on_fired, &fired);
	for (int i = 0; !error && i < 200 && !READ_ONCE(fired); i++) {
		page = alloc_pages(gfp | __GFP_NOWARN, ORDER_OF_LARGEST);
		if (page)
			list_add(&page->lru, got);
		else
			msleep(20);
	}
	if (!error)
		tracepoint_probe_unregister(tp, on_fired, &fired);
	tracepoint_synchronize_unregister();
	return error;
}

/* Allocates all memory in blocks, frees every other one, and requests larger blocks. */
static int do_fragment(void)
{
	struct page *page;
	LIST_HEAD(held);
	LIST_HEAD(other);
	int error;

	while ((page = alloc_pages(__GFP_MEMALLOC | __GFP_NOWARN, ORDER_OF_PIECES))) {
		list_add(&page->lru, page_to_pfn(page) >> ORDER_OF_PIECES & 1 ? &held : &other);
		cond_resched();
	}
	free_list(&other, ORDER_OF_PIECES);
	/* An allocation that may sleep retries hard; one that may not wakes the daemons. */
	error = allocate_until("compact_retry", GFP_KERNEL | __GFP_RETRY_MAYFAIL, &other) ?:
			allocate_until("mm_compaction_wakeup_kcompactd", GFP_NOWAIT, &other);
	free_list(&other, ORDER_OF_LARGEST);
	free_list(&held, ORDER_OF_PIECES);
	return error;
}

/* A file whose mmap blocks, with the address space locked, until a task writes to it. */
static DECLARE_WAIT_QUEUE_HEAD(mappers);
static bool may_map;

static int slow_mmap(struct file *file, struct vm_area_struct *vma)
{
	wait_event_timeout(mappers, READ_ONCE(may_map), 60 * HZ);
	return -EAGAIN;
}

static ssize_t slow_write(struct file *file, const char __user *data, size_t bytes, loff_t *at)
{
	WRITE_ONCE(may_map, true);
	wake_up_all(&mappers);
	return bytes;
}

static const struct file_operations slow_ops = {
	.owner = THIS_MODULE,
	.mmap = slow_mmap,
	.write = slow_write,
};

static struct miscdevice slow = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kl_cause",
	.fops = &slow_ops,
};
static bool has_slow;

static int do_slowmap(void)
{
	int error = misc_register(&slow);

	has_slow = !error;
	return error;
}

/* ----------------------------------------------------------------- trouble */

static int do_warn(void)
{
	WARN(1, "kl_cause warns\n");
	return 0;
}

static int do_oops(void)
{
	int *volatile nowhere = (int *)8;

	*nowhere = 1;
	return 0;
}

static void no_callback(struct rcu_head *head)
{
}

/* Longer than the shortest RCU stall timeout. */
static int do_stall(void)
{
	static struct rcu_head head;
	unsigned long end;

	/* The grace period in progress has the old timeout; the next one has the new. */
	synchronize_rcu();
	call_rcu(&head, no_callback);
	end = jiffies + 6 * HZ;
	preempt_disable();
	while (time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
	rcu_barrier();
	return 0;
}

static int do_hang(void)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_timeout(4 * HZ);
	return 0;
}

static int do_panic(void)
{
	panic("kl_cause panics with %d", 42);
}

static const struct {
	const char *name;
	int (*function)(void);
} actions[] = {
	{ "kthread", do_kthread }, { "worker", do_worker },	  { "work", do_work },
	{ "tasklet", do_tasklet }, { "irqwork", do_irqwork },	  { "smp", do_smp },
	{ "vectors", do_vectors }, { "timer", do_timer },	  { "wakeup", do_wakeup },
	{ "rpm", do_rpm },	   { "devqos", do_devqos },	  { "suspend", do_suspend },
	{ "alarm", do_alarm },	   { "thermal", do_thermal },	  { "cpufreq", do_cpufreq },
	{ "cpuidle", do_cpuidle }, { "txtimeout", do_txtimeout }, { "warn", do_warn },
	{ "oops", do_oops },	   { "stall", do_stall },	  { "hang", do_hang },
	{ "panic", do_panic },	   { "neigh", do_neigh },	  { "fragment", do_fragment },
	{ "slowmap", do_slowmap },
};

static int __init kl_cause_init(void)
{
	for (int i = 0; i < ARRAY_SIZE(actions); i++)
		if (!strcmp(actions[i].name, what))
			return actions[i].function();
	return -EINVAL;
}

static void __exit kl_cause_exit(void)
{
	undo_alarm();
	if (has_freq)
		cpufreq_unregister_driver(&freq_driver);
	if (has_idle)
		cpuidle_unregister(&idle_driver);
	if (has_slow)
		misc_deregister(&slow);
	if (netdev) {
		unregister_netdev(netdev);
		free_netdev(netdev);
	}
	remove_devices();
}

module_init(kl_cause_init);
module_exit(kl_cause_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Causes kernel events for the tests of kernlens");
