// SPDX-License-Identifier: GPL-2.0
/*
 * What each CPU has spent its time on, and how many tasks there are: the numbers of /proc/stat and
 * /proc/loadavg in one call, for the head of process lists. Called by kernel/device.
 */
#include <linux/cpumask.h>
#include <linux/kernel_stat.h>
#include <linux/sched/signal.h>
#include <linux/tick.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "../base/task_iter.h"
#include "cpus.h"

/* If a CPU stops its ticks when it is idle, the kernel has more exact times. */
static u64 idle_ns(unsigned int cpu, u64 (*ask)(int cpu, u64 *at), u64 ticked)
{
	u64 us = cpu_online(cpu) ? ask(cpu, NULL) : ~0ull;

	return us == ~0ull ? ticked : us * NSEC_PER_USEC;
}

static void write_cpu(struct kl_abi_cpu *to, unsigned int cpu)
{
	struct kernel_cpustat spent;
	const u64 *ns = spent.cpustat;

	kcpustat_cpu_fetch(&spent, cpu);
	*to = (struct kl_abi_cpu){
		.cpu = cpu,
		.online = cpu_online(cpu),
		.user_ns = ns[CPUTIME_USER],
		.nice_ns = ns[CPUTIME_NICE],
		.system_ns = ns[CPUTIME_SYSTEM],
		.irq_ns = ns[CPUTIME_IRQ],
		.softirq_ns = ns[CPUTIME_SOFTIRQ],
		.steal_ns = ns[CPUTIME_STEAL],
		.guest_ns = ns[CPUTIME_GUEST],
		.guest_nice_ns = ns[CPUTIME_GUEST_NICE],
		.idle_ns = idle_ns(cpu, get_cpu_idle_time_us, ns[CPUTIME_IDLE]),
		.iowait_ns = idle_ns(cpu, get_cpu_iowait_time_us, ns[CPUTIME_IOWAIT]),
		.interrupts = kstat_cpu_irqs_sum(cpu),
	};
	for (unsigned int i = 0; i < NR_SOFTIRQS; i++)
		to->softirqs += kstat_softirqs_cpu(i, cpu);
}

static int write_cpus(struct kl_abi_cpus *params, struct kl_error *why)
{
	struct kl_abi_cpu __user *to = u64_to_user_ptr(params->cpus);
	u32 room = params->n_cpus;
	unsigned int cpu;

	params->n_cpus = 0;
	for_each_possible_cpu(cpu) {
		struct kl_abi_cpu one;

		cond_resched();
		if (params->n_cpus++ >= room)
			continue;
		write_cpu(&one, cpu);
		if (copy_to_user(&to[params->n_cpus - 1], &one, sizeof(one)))
			return kl_fail(why, -EFAULT,
				       "cannot write the CPUs' numbers to user memory");
	}
	return 0;
}

static int count_tasks(struct kl_abi_cpus *params)
{
	struct kl_task_list l;
	int error = kl_tasks_list(&l, NULL, true);

	params->processes = 0;
	params->threads = 0;
	params->kernel_threads = 0;
	params->running = 0;
	if (error)
		return error;
	for (u32 i = 0; i < l.n; i++) {
		struct task_struct *t = l.task[i];

		if (kl_task_flags(t) & PF_KTHREAD)
			params->kernel_threads++;
		else
			params->threads++;
		params->processes += thread_group_leader(t) && !(kl_task_flags(t) & PF_KTHREAD);
		params->running += READ_ONCE(t->__state) == TASK_RUNNING && !kl_task_exit_state(t);
		if (i % 128 == 127)
			cond_resched();
	}
	kl_tasks_put(&l);
	return 0;
}

/**
 * kl_cpus - report what the CPUs have spent their time on, and how many tasks there are
 * @params: `n_cpus` is the room for the CPUs; filled in
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_cpus(struct kl_abi_cpus *params, struct kl_error *why)
{
	int error;

	params->monotonic_ns = ktime_get_ns();
	params->boottime_ns = ktime_get_boottime_ns();
	error = count_tasks(params);
	if (error == -ENOMEM)
		kl_fail(why, error, "no memory for a list of tasks");
	return error ?: write_cpus(params, why);
}
