/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers with which rows of variables.def compute a value. All of them run with preemption off,
 * which is an RCU read-side critical section, in any context: they take no lock, do not sleep and
 * do not fault. `t` is always the running task, and the code runs in that task or in an interrupt
 * on top of it, so whatever only the task itself changes is stable here.
 */
#ifndef KL_CORE_VARIABLE_VALUES_H
#define KL_CORE_VARIABLE_VALUES_H

#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/delayacct.h>
#include <linux/fdtable.h>
#include <linux/hardirq.h>
#include <linux/iocontext.h>
#include <linux/ioprio.h>
#include <linux/ipc_namespace.h>
#include <linux/kernel_stat.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/loadavg.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/swap.h>
#include <linux/topology.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <linux/vmstat.h>
#include <net/net_namespace.h>
#include <asm/cpufeature.h>
#include <asm/irq_regs.h>
#include <asm/msr.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#include "../base/task_iter.h"
#include "../compat/interrupt.h"
#include "compat_config.h"
#include "counter.h"
#include "layout.h"
#include "stack.h"
#include "switch.h"

/* ---------------------------------- features that a kernel or CPU may lack */

/* A row's `needs`: returns NULL if the feature is available, else the reason why not. */
static inline const char *kl_lacks_always(void)
{
	return NULL;
}

#define KL_LACKS(what, there, reason)                   \
	static inline const char *kl_lacks_##what(void) \
	{                                               \
		return (there) ? NULL : (reason);       \
	}

#define KL_BUILT_WITHOUT(config) "this kernel was built without CONFIG_" #config

KL_LACKS(net_ns, IS_ENABLED(CONFIG_NET_NS), KL_BUILT_WITHOUT(NET_NS))
KL_LACKS(ipc_ns, IS_ENABLED(CONFIG_IPC_NS), KL_BUILT_WITHOUT(IPC_NS))
KL_LACKS(cgroup, IS_ENABLED(CONFIG_CGROUPS), KL_BUILT_WITHOUT(CGROUPS))
KL_LACKS(seccomp, IS_ENABLED(CONFIG_SECCOMP), KL_BUILT_WITHOUT(SECCOMP))
KL_LACKS(sched_info, IS_ENABLED(CONFIG_SCHED_INFO), KL_BUILT_WITHOUT(SCHED_INFO))
KL_LACKS(io, IS_ENABLED(CONFIG_TASK_IO_ACCOUNTING), KL_BUILT_WITHOUT(TASK_IO_ACCOUNTING))
KL_LACKS(block, IS_ENABLED(CONFIG_BLOCK), KL_BUILT_WITHOUT(BLOCK))
KL_LACKS(delays, IS_ENABLED(CONFIG_TASK_DELAY_ACCT), KL_BUILT_WITHOUT(TASK_DELAY_ACCT))
KL_LACKS(swap, IS_ENABLED(CONFIG_SWAP), KL_BUILT_WITHOUT(SWAP))
KL_LACKS(vm_events, IS_ENABLED(CONFIG_VM_EVENT_COUNTERS), KL_BUILT_WITHOUT(VM_EVENT_COUNTERS))
KL_LACKS(swap_events, IS_ENABLED(CONFIG_SWAP) && IS_ENABLED(CONFIG_VM_EVENT_COUNTERS),
	 IS_ENABLED(CONFIG_SWAP) ? KL_BUILT_WITHOUT(VM_EVENT_COUNTERS) : KL_BUILT_WITHOUT(SWAP))
KL_LACKS(local_timer, IS_ENABLED(CONFIG_X86_LOCAL_APIC), KL_BUILT_WITHOUT(X86_LOCAL_APIC))
KL_LACKS(aperf, boot_cpu_has(X86_FEATURE_APERFMPERF),
	 "this CPU has no cycle counter APERF; virtual CPUs usually have none")
KL_LACKS(irperf, boot_cpu_has(X86_FEATURE_IRPERF),
	 "this CPU has no instruction counter IRPERF; cpu_instructions may be available")
KL_LACKS(thermal, boot_cpu_has(X86_FEATURE_DTHERM),
	 "this CPU has no thermal sensor (DTHERM); virtual CPUs usually have none")

KL_LACKS(sched_text, kl_layout.sched_bytes,
	 "in_sched_functions(), which is needed for it, was not found in this kernel")
KL_LACKS(run_queue, kl_layout.nr_running, kl_layout.no_run_queue)
KL_LACKS(path_walk, !kl_layout.no_path_walk, kl_layout.no_path_walk)

#define KL_COUNTER(name, type, config, perf_name)           \
	static inline const char *kl_lacks_##name(void)     \
	{                                                   \
		return kl_counter_lacks(KL_COUNTER_##name); \
	}
#include "counters.def"
#undef KL_COUNTER

/* --------------------------------------------------------------- identity */

/* A released task may outlive its parent: return init_task as the parent then. */
static inline const struct task_struct *kl_parent(const struct task_struct *t)
{
	return kl_task_is_alive(t) ? rcu_dereference_sched(t->real_parent) : &init_task;
}

static inline const struct cred *kl_cred(const struct task_struct *t)
{
	return rcu_dereference_sched(t->cred);
}

/* Eight bytes, aligned or not: half of a text, or bits that the kernel keeps in a struct. */
static inline u64 kl_unaligned_word(const void *at)
{
	u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* The id of a process group or session in the initial namespace; 0 while the task is exiting. */
static inline pid_t kl_signal_pid(const struct task_struct *t, enum pid_type type)
{
	return pid_nr(READ_ONCE(t->signal->pids[type]));
}

/* An id in the task's own pid namespace; 0 once the task has released its ids. */
static inline pid_t kl_inner_id(struct task_struct *t, enum pid_type type)
{
	struct pid_namespace *ns = task_active_pid_ns(t);

	return ns ? __task_pid_nr_ns(t, type, ns) : 0;
}

static inline u32 kl_pid_namespace(struct task_struct *t)
{
	struct pid_namespace *ns = task_active_pid_ns(t);

	return ns ? ns->ns.inum : 0;
}

/* The inode number of one of the task's namespaces, a member of nsproxy; 0 while it is exiting. */
#define KL_NAMESPACE(member)                                           \
	({                                                             \
		const struct nsproxy *proxy = READ_ONCE((t)->nsproxy); \
		proxy ? proxy->member->ns.inum : 0;                    \
	})
#ifdef CONFIG_NET_NS
#define KL_NET_NAMESPACE KL_NAMESPACE(net_ns)
#else
#define KL_NET_NAMESPACE 0
#endif
#ifdef CONFIG_IPC_NS
#define KL_IPC_NAMESPACE KL_NAMESPACE(ipc_ns)
#else
#define KL_IPC_NAMESPACE 0
#endif
#ifdef CONFIG_CGROUPS
#define KL_CGROUP_NAMESPACE KL_NAMESPACE(cgroup_ns)
#else
#define KL_CGROUP_NAMESPACE 0
#endif

static inline s32 kl_state(struct task_struct *t)
{
	u32 index = __task_state_index(READ_ONCE(t->__state), t->exit_state);

	return index ? 1 << (index - 1) : 0;
}

/* --------------------------------------------- memory, files, system calls */

/* A value computed from the task's `mm`; 0 for kernel threads and exiting tasks. */
#define KL_MM(value)                            \
	({                                      \
		struct mm_struct *mm = (t)->mm; \
		mm ? (u64)(value) : 0;          \
	})

#define kl_mm_pages(mm, member) get_mm_counter(mm, member)
#define kl_mm_rss(mm) get_mm_rss(mm)
#define kl_mm_highest_rss(mm) get_mm_hiwater_rss(mm)

#define KL_FILE_WORDS_MAX 64

/* If another thread replaces the table by a larger one, RCU delays freeing the old one. */
static inline u32 kl_open_files(const struct task_struct *t)
{
	const struct files_struct *files = READ_ONCE(t->files);
	const struct fdtable *table;
	u32 n = 0, words;

	if (!files)
		return 0;
	table = rcu_dereference_sched(files->fdt);
	words = min_t(u32, table->max_fds / BITS_PER_LONG, KL_FILE_WORDS_MAX);
	for (u32 i = 0; i < words; i++)
		if (table->open_fds[i])
			n += hweight_long(table->open_fds[i]);
	return n;
}

/* Returned if no registers are available: all of them are zero. */
static const struct pt_regs kl_no_registers;

/* Kernel threads have no saved user registers. */
static inline const struct pt_regs *kl_user_registers(const struct task_struct *t)
{
	return t->flags & PF_KTHREAD ? &kl_no_registers : task_pt_regs(t);
}

static inline s32 kl_syscall_number(struct task_struct *t)
{
	return t->flags & PF_KTHREAD ? -1 : (s32)task_pt_regs(t)->orig_ax;
}

/*
 * Bytes of the stack on which the first thread began. What lies below stack_start is that stack
 * only as far as it reaches or may grow: elsewhere the program has made a stack of its own.
 */
static inline u64 kl_user_stack_used(const struct task_struct *t, const struct mm_struct *mm,
				     u64 sp)
{
	u64 used = mm->start_stack - sp;
	u64 limit = READ_ONCE(t->signal->rlim[RLIMIT_STACK].rlim_cur);
	u64 most = (u64)mm->stack_vm << PAGE_SHIFT;

	if (limit != RLIM_INFINITY && limit > most)
		most = limit;
	return t == t->group_leader && used <= most ? used : 0;
}

/*
 * A member of the kernel's struct for the path lookup in progress, which is on the task's stack; -1
 * if there is none.
 */
static inline s32 kl_path_walk(const struct task_struct *t, u32 offset)
{
	unsigned long at = (unsigned long)READ_ONCE(t->nameidata) + offset;

	if (at - (unsigned long)task_stack_page(t) > THREAD_SIZE - sizeof(s32))
		return -1;
	return READ_ONCE(*(const s32 *)at);
}

/* --------------------------------------------------- values that are plain members */

/*
 * A row whose value is a plain member of a struct uses one of these. Here they are the value as an
 * expression over `t`; kernel/core/variables.c defines those of the first group once more, as the
 * location of the member.
 */
#define KL_OF_TASK(member) (t->member)
#define KL_OF_TASK_PLUS(member, add) (t->member + (add))
#define KL_OF_PARENT(member) (kl_parent(t)->member)
#define KL_OF_CRED(member) (kl_cred(t)->member)
#define KL_OF_SIGNAL(member) (t->signal->member)
#define KL_OF_MM(member) KL_MM(mm->member)
#define KL_OF_MM_PAGES(member) KL_MM((u64)mm->member << PAGE_SHIFT)
/* Registers of the program. */
#define KL_OF_REGISTERS(member) (kl_user_registers(t)->member)
/* An id that the threads of a process share: PGID or SID. */
#define KL_OF_ID(type) kl_signal_pid(t, PIDTYPE_##type)
/* kernel_cap_t is a struct of two u32 words before v6.3, and of one u64 since. */
#define KL_OF_CRED_BITS(member) kl_unaligned_word(&kl_cred(t)->member)
#define KL_OF_CGROUP_NODE(member) (rcu_dereference_sched(t->cgroups)->dfl_cgrp->kn->member)

/* Members that not all kernels have. */
#ifdef CONFIG_CGROUPS
#define KL_OF_CGROUP(member) KL_OF_CGROUP_NODE(member)
#else
#define KL_OF_CGROUP(member) 0
#endif
#ifdef CONFIG_SECCOMP
#define KL_OF_SECCOMP(member) KL_OF_TASK(seccomp.member)
#else
#define KL_OF_SECCOMP(member) 0
#endif
#ifdef CONFIG_SCHED_INFO
#define KL_OF_SCHED_INFO(member) KL_OF_TASK(sched_info.member)
#else
#define KL_OF_SCHED_INFO(member) 0
#endif
#ifdef CONFIG_TASK_IO_ACCOUNTING
#define KL_OF_IO(member) KL_OF_TASK(ioac.member)
#else
#define KL_OF_IO(member) 0
#endif

/* ------------------------------------------------------------ input and output */

/*
 * Only the task itself gives up its io_context, under its alloc_lock and after clearing the
 * pointer.
 */
static inline u32 kl_io_priority(const struct task_struct *t)
{
#ifdef CONFIG_BLOCK
	const struct io_context *context = READ_ONCE(t->io_context);

	if (context)
		return context->ioprio;
#endif
	return IOPRIO_DEFAULT;
}

/* A task has delays, until it is freed, if they were counted when it was created. */
#ifdef CONFIG_TASK_DELAY_ACCT
#define KL_DELAY(member)                                            \
	({                                                          \
		const struct task_delay_info *delays = (t)->delays; \
		delays ? delays->member : 0;                        \
	})
#else
#define KL_DELAY(member) 0
#endif

/* ------------------------------------------------------- execution context */

static inline u32 kl_stack_used(const struct task_struct *t)
{
	unsigned long top = (unsigned long)task_stack_page(t) + THREAD_SIZE;
	unsigned long used = top - current_stack_pointer;

	return used < THREAD_SIZE ? used : 0;
}

/* Subtracts one, because sources disable preemption once around each probe. */
static inline u32 kl_preempt_count(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_COUNT) ? preempt_count() - 1 : preempt_count();
}

static inline u8 kl_context(void)
{
	return in_nmi() ? 3 : in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0;
}

/* The registers that the current hard interrupt saved; zeroes outside of a hard interrupt. */
static inline const struct pt_regs *kl_irq_registers(void)
{
	const struct pt_regs *regs = in_hardirq() ? get_irq_regs() : NULL;

	return regs ? regs : &kl_no_registers;
}

/* Has the task left its run queue, to sleep? */
static inline bool kl_is_asleep(const struct task_struct *t)
{
#ifdef KL_HAVE_SCHED_DELAYED
	if (READ_ONCE(t->se.sched_delayed))
		return true;
#endif
	return !READ_ONCE(t->on_rq);
}

/* Nanoseconds since a task that sleeps was last given a CPU. */
static inline u64 kl_asleep_time(const struct task_struct *t)
{
#ifdef CONFIG_SCHED_INFO
	u64 arrival = READ_ONCE(t->sched_info.last_arrival), now;

	if (t == current || !arrival || !kl_is_asleep(t))
		return 0;
	now = local_clock();
	return now > arrival ? now - arrival : 0;
#else
	return 0;
#endif
}

/* A task that runs and is not in its run queue is about to be switched from. */
static inline u64 kl_wait_channel(const struct task_struct *t)
{
	return unlikely(kl_is_asleep(t)) && in_task() ? kl_stack_wait_channel() : 0;
}

/* ------------------------------------------------------------- the machine */

static inline u64 kl_softirqs(void)
{
	u64 sum = 0;

	for (int i = 0; i < NR_SOFTIRQS; i++)
		sum += __this_cpu_read(kstat.softirqs[i]);
	return sum;
}

static inline u32 kl_load_average(int n)
{
	return (avenrun[n] * 1000) >> FSHIFT;
}

static inline u64 kl_free_swap(void)
{
#ifdef CONFIG_SWAP
	return (u64)get_nr_swap_pages() << PAGE_SHIFT;
#else
	return 0;
#endif
}

#ifdef CONFIG_VM_EVENT_COUNTERS
#define kl_cpu_vm_event(item) this_cpu_read(vm_event_states.event[item])

/* When a CPU goes offline, its counts are added to those of another CPU. */
static inline u64 kl_vm_event(enum vm_event_item item)
{
	u64 sum = 0;
	int cpu;

	for_each_online_cpu(cpu)
		sum += READ_ONCE(per_cpu(vm_event_states, cpu).event[item]);
	return sum;
}
#else
#define kl_cpu_vm_event(item) 0
#define kl_vm_event(item) 0
#endif

#ifdef CONFIG_SWAP
#define kl_swap_event(item) kl_vm_event(item)
#else
#define kl_swap_event(item) 0
#endif

/*
 * Uses the primitive, because the usual accessors hit a tracepoint. The processor must have the
 * MSR.
 */
static inline u64 kl_msr(u32 which)
{
	return __rdmsr(which);
}

#endif /* KL_CORE_VARIABLE_VALUES_H */
