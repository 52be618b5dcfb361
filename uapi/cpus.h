/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * CPU times and the number of tasks: KL_IOC_CPUS on any descriptor of the device. Available to
 * every user, like /proc/stat. Included by kernlens.h.
 */
#ifndef KL_UAPI_CPUS_H
#define KL_UAPI_CPUS_H

#include "types.h"

/* Since boot, in ns. Counted at timer ticks, except idle and iowait. */
struct kl_abi_cpu {
	__u32 cpu;
	__u32 online; /* 1; 0: the numbers do not change */
	__u64 user_ns; /* excludes nice_ns, includes guest_ns */
	__u64 nice_ns; /* includes guest_nice_ns */
	__u64 system_ns;
	__u64 irq_ns;
	__u64 softirq_ns;
	__u64 steal_ns;
	__u64 guest_ns;
	__u64 guest_nice_ns;
	__u64 idle_ns;
	__u64 iowait_ns; /* idle while a task that last ran here waited for storage */
	__u64 interrupts; /* from devices; not the local timer and inter-processor interrupts */
	__u64 softirqs;
};

struct kl_abi_cpus {
	__u32 size;
	__u32 n_cpus; /* in: capacity of `cpus`; out: possible CPUs, by number */
	__u64 cpus; /* struct kl_abi_cpu *: as many as fit are written */
	__u64 monotonic_ns; /* out: when the call began */
	__u64 boottime_ns; /* out: since boot, including suspend */
	/* out: in all pid namespaces */
	__u32 processes; /* excluding kernel threads */
	__u32 threads; /* of processes, including the main threads */
	__u32 kernel_threads;
	__u32 running; /* of both kinds: on a CPU or ready to run */
};

KL_ABI_ASSERT(sizeof(struct kl_abi_cpu) == 104, "a CPU's numbers");
KL_ABI_ASSERT(sizeof(struct kl_abi_cpus) == 48, "call for CPUs");

#endif /* KL_UAPI_CPUS_H */
