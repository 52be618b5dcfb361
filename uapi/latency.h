/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The latency profile of a session: where the time of its tasks goes. Included by kernlens.h,
 * whose compatibility rules apply. Times are in cycles of the device's clock
 * (kl_abi_info.clock_hz) unless their name says otherwise.
 */
#ifndef KL_UAPI_LATENCY_H
#define KL_UAPI_LATENCY_H

#include "types.h"

#define KL_LATENCY_KERNEL_STACKS 0x1u /* kernel stack of a wait; requires KL_MAY_SEE_ADDRESSES */
#define KL_LATENCY_USER_STACKS 0x2u /* user stack of a wait */
#define KL_LATENCY_WAKERS 0x4u /* who woke a task, and whom the waker had waited for */
#define KL_LATENCY_WAKER_STACKS 0x8u /* stacks of the waker, as far as the first two are set */
#define KL_LATENCY_OWNERS 0x10u /* who held the lock */
#define KL_LATENCY_ENTRIES 0x20u /* waits by system call, even without the flags above */
#define KL_LATENCY_TIMES 0x40u /* how long the times of all tasks were */
#define KL_LATENCY_FLAGS 0x7fu

#define KL_LATENCY_TASKS_DEFAULT 16384u
#define KL_LATENCY_TASKS_MIN 16u
#define KL_LATENCY_TASKS_MAX (1u << 18)
#define KL_LATENCY_ENTRIES_DEFAULT 65536u
#define KL_LATENCY_ENTRIES_MIN 64u
#define KL_LATENCY_ENTRIES_MAX (1u << 20)
/* Without KL_MAY_SEE_ALL: */
#define KL_LATENCY_TASKS_UNPRIVILEGED 4096u
#define KL_LATENCY_ENTRIES_UNPRIVILEGED 16384u

/* KL_IOC_LATENCY: gives the session a profile, which runs while the session does. */
struct kl_abi_latency {
	__u32 size;
	__u32 flags; /* KL_LATENCY_* */
	__u32 tasks; /* maximum number; 0: default; out: the value used */
	__u32 entries; /* maximum number; 0: default; out: the value used */
};

enum kl_latency_state {
	KL_LATENCY_RUNNING = 0,
	KL_LATENCY_RUNNABLE = 1, /* woken or new, and waiting for a CPU */
	KL_LATENCY_PREEMPTED = 2, /* descheduled without going to sleep */
	KL_LATENCY_INTERRUPTIBLE = 3,
	KL_LATENCY_UNINTERRUPTIBLE = 4,
	KL_LATENCY_IO = 5,
	KL_LATENCY_IDLE = 6, /* an idle kernel thread */
	KL_LATENCY_STOPPED = 7, /* stopped by a signal or debugger, parked or frozen */
	KL_LATENCY_STATES = 8,
};

struct kl_abi_latency_sum {
	__u64 count;
	__u64 sum;
	__u64 worst;
};

#define KL_LATENCY_TASK_ENDED 0x1u
#define KL_LATENCY_TASK_KERNEL 0x2u /* a kernel thread */
#define KL_LATENCY_TASK_OUTSIDE 0x4u /* only referred to by others: not measured */
#define KL_LATENCY_TASK_HIDDEN 0x8u /* no longer visible to the owner; data up to then */

struct kl_abi_latency_task {
	__u32 id; /* unique in the session */
	__s32 tid;
	__s32 pid;
	__u32 uid; /* in the reader's user namespace */
	__u32 flags; /* KL_LATENCY_TASK_* */
	__u32 state; /* enum kl_latency_state; for a task that has ended, its last */
	char comm[KL_COMM_LEN];
	__u64 since; /* when first seen */
	__u64 until; /* end of the task or profile, or now */
	struct kl_abi_latency_sum in[KL_LATENCY_STATES];
};

KL_ABI_ASSERT(sizeof(struct kl_abi_latency_task) == 248, "a task of a latency profile");

enum kl_latency_waker {
	KL_LATENCY_WAKER_NONE = 0, /* not requested, or not seen */
	KL_LATENCY_WAKER_TASK = 1, /* id: of the task */
	KL_LATENCY_WAKER_HIDDEN = 2, /* a task of another user */
	KL_LATENCY_WAKER_TIMER = 3, /* id: of the source */
	KL_LATENCY_WAKER_IRQ = 4, /* id: of the source */
	KL_LATENCY_WAKER_SOFTIRQ = 5, /* id: of the source */
	KL_LATENCY_WAKER_INTERRUPT = 6, /* another interrupt, or an idle CPU */
	KL_LATENCY_WAKER_UNKNOWN = 7, /* a task dropped because the table was full */
};

#define KL_LATENCY_HOP_UNCERTAIN 0x1u /* the task before it had also done other work */
#define KL_LATENCY_HOP_OUTSIDE 0x2u /* not measured: what it had waited for is unknown */
#define KL_LATENCY_HOPS 4 /* the waker, whom it had waited for, and so on */

struct kl_abi_latency_hop {
	__u8 kind; /* enum kl_latency_waker */
	__u8 flags; /* KL_LATENCY_HOP_* */
	__u16 reserved;
	__u32 id;
};

/* Waits of one task that began at the same place and ended in the same way. */
struct kl_abi_latency_entry {
	__u32 task; /* id of the task */
	__u16 state; /* enum kl_latency_state: a sleeping state */
	__s16 syscall; /* -1: none, or that of a 32-bit program */
	__u32 kstack; /* ids of stack traces (KL_IOC_STACKS), 0: none */
	__u32 ustack;
	__u32 waker_kstack;
	__u32 waker_ustack;
	__u32 owner; /* id of the task that held the lock; 0: unknown, or no lock */
	__u32 reserved;
	struct kl_abi_latency_hop hop[KL_LATENCY_HOPS];
	struct kl_abi_latency_sum asleep;
};

KL_ABI_ASSERT(sizeof(struct kl_abi_latency_entry) == 88, "an entry of a latency profile");

/* An interrupt that has woken tasks. */
struct kl_abi_latency_source {
	__u32 id;
	__u32 kind; /* TIMER, IRQ or SOFTIRQ of enum kl_latency_waker */
	/*
	 * address of the timer's function (0 if the caller may not see it), or number of the
	 * interrupt
	 */
	__u64 number;
	char name[24]; /* of the interrupt */
};

/* Bucket i has times of at most 1000 << i nanoseconds; the last one has longer ones. */
#define KL_LATENCY_BUCKETS 27

/*
 * All times in a state that have ended, of all tasks, including those that are no longer in the
 * profile. One for each state, with KL_LATENCY_TIMES.
 */
struct kl_abi_latency_times {
	__u32 state; /* enum kl_latency_state */
	__u32 reserved;
	__u64 sum;
	__u64 count[KL_LATENCY_BUCKETS];
};

KL_ABI_ASSERT(sizeof(struct kl_abi_latency_times) == 232, "the times of a latency profile");

enum kl_latency_what {
	KL_LATENCY_READ_TASKS = 0,
	KL_LATENCY_READ_ENTRIES = 1,
	KL_LATENCY_READ_SOURCES = 2,
	KL_LATENCY_READ_TIMES = 3,
};

/*
 * KL_IOC_LATENCY_READ: reads as many structs of `what` as fit. Repeat with the returned `first`
 * until `n` is 0.
 */
struct kl_abi_latency_read {
	__u32 size;
	__u32 what; /* enum kl_latency_what */
	__u64 buffer;
	__u32 n; /* in: capacity, in structs; out: structs written */
	__u32 reserved;
	__u64 first; /* in and out: 0 to begin */
	__u64 start; /* out: when the profile began; 0: not yet */
	__u64 until; /* out: end of the profile, or now */
	__u64 evicted_tasks; /* out: ended tasks that were evicted */
	__u64 evicted_entries; /* out: evicted entries; the sums of tasks still include them */
	__u64 no_entry; /* out: waits dropped because the entry table was full */
	__u64 missed; /* out: events of tasks dropped because the task table was full */
	__u64 unpaired; /* out: sleeps whose wakeup was not seen before the task ran */
};

#define KL_IOC_LATENCY _IOWR(KL_IOC_TYPE, 0x40, struct kl_abi_latency)
#define KL_IOC_LATENCY_READ _IOWR(KL_IOC_TYPE, 0x41, struct kl_abi_latency_read)

#endif /* KL_UAPI_LATENCY_H */
