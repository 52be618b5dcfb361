/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What the CPUs have done and how many tasks there are: KL_IOC_CPUS on any descriptor
 * of the device. It is open to every user, like /proc/stat. Included by kernlens.h.
 */
#ifndef KL_UAPI_CPUS_H
#define KL_UAPI_CPUS_H

#include "types.h"

/* Since the machine was started, in ns; counted at ticks but for idle and iowait. */
struct kl_abi_cpu {
	__u32 cpu;
	__u32 online; /* 1, or 0: the numbers stand still */
	__u64 user_ns; /* without nice_ns, with guest_ns */
	__u64 nice_ns; /* with guest_nice_ns */
	__u64 system_ns;
	__u64 irq_ns;
	__u64 softirq_ns;
	__u64 steal_ns;
	__u64 guest_ns;
	__u64 guest_nice_ns;
	__u64 idle_ns;
	__u64 iowait_ns; /* idle while a task that last ran here waited for storage */
	__u64 interrupts; /* of devices; not its own timer and messages between CPUs */
	__u64 softirqs;
};

struct kl_abi_cpus {
	__u32 size;
	__u32 n_cpus; /* in: room for so many; out: possible CPUs, by number */
	__u64 cpus; /* struct kl_abi_cpu *: as many are written as there is room for */
	__u64 monotonic_ns; /* out: when it was begun */
	__u64 boottime_ns; /* out: since the machine was started, with its sleep */
	/* out: of all pid namespaces */
	__u32 processes; /* without kernel threads */
	__u32 threads; /* of processes, their first ones, too */
	__u32 kernel_threads;
	__u32 running; /* of both kinds: on a CPU, or ready */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_cpu) == 104, "a CPU's numbers");
KL_ABI_ASSERT(sizeof(struct kl_abi_cpus) == 48, "call for CPUs");

#endif /* KL_UAPI_CPUS_H */
