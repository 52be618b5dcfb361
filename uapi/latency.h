/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The latency profile of a session: where the time of its tasks goes. Part of
 * kernlens.h, whose rules of growth hold. Times are cycles of the device's clock
 * (kl_abi_info.clock_hz) unless their name says otherwise.
 */
#ifndef KL_UAPI_LATENCY_H
#define KL_UAPI_LATENCY_H

#include "types.h"

#define KL_LATENCY_KERNEL_STACKS 0x1u /* where in the kernel; KL_MAY_SEE_ADDRESSES */
#define KL_LATENCY_USER_STACKS 0x2u /* and in the program */
#define KL_LATENCY_WAKERS 0x4u /* who woke a task, and for whom that one had waited */
#define KL_LATENCY_WAKER_STACKS 0x8u /* and where; as far as the first two are set */
#define KL_LATENCY_OWNERS 0x10u /* who had the lock */
#define KL_LATENCY_ENTRIES 0x20u /* waits by system call, even without any of the others */
#define KL_LATENCY_FLAGS 0x3fu

#define KL_LATENCY_TASKS_DEFAULT 16384u
#define KL_LATENCY_TASKS_MIN 16u
#define KL_LATENCY_TASKS_MAX (1u << 18)
#define KL_LATENCY_ENTRIES_DEFAULT 65536u
#define KL_LATENCY_ENTRIES_MIN 64u
#define KL_LATENCY_ENTRIES_MAX (1u << 20)
/* Without KL_MAY_SEE_ALL: */
#define KL_LATENCY_TASKS_UNPRIVILEGED 4096u
#define KL_LATENCY_ENTRIES_UNPRIVILEGED 16384u

/* KL_IOC_LATENCY: the session gets a profile, which runs while it does. */
struct kl_abi_latency {
	__u32 size;
	__u32 flags; /* KL_LATENCY_* */
	__u32 tasks; /* to keep at most; 0: default; out: what it is */
	__u32 entries; /* the same */
};

enum kl_latency_state {
	KL_LATENCY_RUNNING = 0,
	KL_LATENCY_RUNNABLE = 1, /* woken, or new, and not running yet */
	KL_LATENCY_PREEMPTED = 2, /* not running any more, not asleep */
	KL_LATENCY_INTERRUPTIBLE = 3,
	KL_LATENCY_UNINTERRUPTIBLE = 4,
	KL_LATENCY_IO = 5,
	KL_LATENCY_IDLE = 6, /* a kernel thread with nothing to do */
	KL_LATENCY_STOPPED = 7, /* by a signal, a debugger; parked, frozen */
	KL_LATENCY_STATES = 8,
};

struct kl_abi_latency_sum {
	__u64 count;
	__u64 sum;
	__u64 worst;
};

#define KL_LATENCY_TASK_ENDED 0x1u
#define KL_LATENCY_TASK_KERNEL 0x2u /* a kernel thread */
#define KL_LATENCY_TASK_OUTSIDE 0x4u /* only named by others: not measured */
#define KL_LATENCY_TASK_HIDDEN 0x8u /* no longer visible to the owner: its data up to then */

struct kl_abi_latency_task {
	__u32 id; /* never used twice in a session */
	__s32 tid;
	__s32 pid;
	__u32 uid; /* in the reader's user namespace */
	__u32 flags; /* KL_LATENCY_TASK_* */
	__u32 state; /* enum kl_latency_state; of one that has ended: the last */
	char comm[KL_COMM_LEN];
	__u64 since; /* first seen */
	__u64 until; /* its end, the profile's, or now */
	struct kl_abi_latency_sum in[KL_LATENCY_STATES];
};

KL_ABI_ASSERT(sizeof(struct kl_abi_latency_task) == 248, "a task of a latency profile");

enum kl_latency_waker {
	KL_LATENCY_WAKER_NONE = 0, /* not asked for, or not seen */
	KL_LATENCY_WAKER_TASK = 1, /* id: of the task */
	KL_LATENCY_WAKER_HIDDEN = 2, /* another user's */
	KL_LATENCY_WAKER_TIMER = 3, /* id: of the source */
	KL_LATENCY_WAKER_IRQ = 4, /* id: of the source */
	KL_LATENCY_WAKER_SOFTIRQ = 5, /* id: of the source */
	KL_LATENCY_WAKER_INTERRUPT = 6, /* another, or an idle processor */
	KL_LATENCY_WAKER_UNKNOWN = 7, /* a task dropped because the table was full */
};

#define KL_LATENCY_HOP_UNCERTAIN 0x1u /* the task before it also did other work */
#define KL_LATENCY_HOP_OUTSIDE 0x2u /* not measured: what it waited for is not known */
#define KL_LATENCY_HOPS 4 /* the waker, and whom it had waited for */

struct kl_abi_latency_hop {
	__u8 kind; /* enum kl_latency_waker */
	__u8 flags; /* KL_LATENCY_HOP_* */
	__u16 reserved;
	__u32 id;
};

/* Waits of a task in one place that ended in one way. */
struct kl_abi_latency_entry {
	__u32 task; /* its id */
	__u16 state; /* enum kl_latency_state: one asleep */
	__s16 syscall; /* -1: none, or a 32-bit program's */
	__u32 kstack; /* ids of call traces (KL_IOC_STACKS), 0: none */
	__u32 ustack;
	__u32 waker_kstack;
	__u32 waker_ustack;
	__u32 owner; /* id of the task that had the lock; 0: not known, or no lock */
	__u32 reserved;
	struct kl_abi_latency_hop hop[KL_LATENCY_HOPS];
	struct kl_abi_latency_sum asleep;
};

KL_ABI_ASSERT(sizeof(struct kl_abi_latency_entry) == 88, "an entry of a latency profile");

/* An interrupt that has woken somebody. */
struct kl_abi_latency_source {
	__u32 id;
	__u32 kind; /* TIMER, IRQ or SOFTIRQ of enum kl_latency_waker */
	__u64 number; /* function's address (0 if it may not be shown); or the interrupt's */
	char name[24]; /* of the interrupt */
};

enum kl_latency_what {
	KL_LATENCY_READ_TASKS = 0,
	KL_LATENCY_READ_ENTRIES = 1,
	KL_LATENCY_READ_SOURCES = 2,
};

/*
 * KL_IOC_LATENCY_READ: as many structs of `what` as there is room for. Go on with
 * `first` as it came back until `n` is 0.
 */
struct kl_abi_latency_read {
	__u32 size;
	__u32 what; /* enum kl_latency_what */
	__u64 buffer;
	__u32 n; /* in: room, in structs; out: written */
	__u32 reserved;
	__u64 first; /* in and out: 0 to begin */
	__u64 start; /* out: since when the profile runs; 0: not yet */
	__u64 until; /* out: its end, or now */
	__u64 evicted_tasks; /* ended tasks that were evicted */
	__u64 evicted_entries; /* their time is in their tasks' sums only */
	__u64 no_entry; /* waits dropped because the entries were full */
	__u64 missed; /* events of tasks dropped because the table was full */
	__u64 unpaired; /* sleeps whose end was not seen before the switch */
};

#define KL_IOC_LATENCY _IOWR(KL_IOC_TYPE, 0x40, struct kl_abi_latency)
#define KL_IOC_LATENCY_READ _IOWR(KL_IOC_TYPE, 0x41, struct kl_abi_latency_read)

#endif /* KL_UAPI_LATENCY_H */
