/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's trace headers and the structs that rows of events.def dereference. Used by the
 * probes' source and by compat/probe_rows.c. A trace header that a kernel lacks only makes its
 * rows unavailable, so each one is tested for before it is included.
 */
#ifndef KL_SOURCE_TRACE_HEADERS_H
#define KL_SOURCE_TRACE_HEADERS_H

#include <linux/alarmtimer.h>
#include <linux/backing-dev.h>
#include <linux/binfmts.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/blktrace_api.h>
#include <linux/buffer_head.h>
#include <linux/cgroup.h>
#include <linux/cpufreq.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/icmp.h>
#include <linux/inet.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/irq.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/oom.h>
#include <linux/pid_namespace.h>
#include <linux/pm_qos.h>
#include <linux/ptrace.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <linux/thermal.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/udp.h>
#include <linux/workqueue.h>
#include <linux/writeback.h>
#include <net/inet_sock.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <net/sch_generic.h>
#include <net/sock.h>
#include <net/tcp.h>
#if __has_include(<linux/filelock.h>)
#include <linux/filelock.h> /* in v6.3: split off linux/fs.h */
#endif
#if __has_include(<linux/shrinker.h>)
#include <linux/shrinker.h>
#endif
#if __has_include(<asm/mce.h>)
#include <asm/mce.h>
#endif
#if __has_include(<asm/fpu/api.h>)
#include <asm/fpu/api.h>
#endif

/* Private to mm/ and fs/: trace headers name them without declaring them. */
struct compact_control;
struct wb_writeback_work;

#if __has_include(<trace/events/alarmtimer.h>)
#include <trace/events/alarmtimer.h>
#endif
#if __has_include(<trace/events/block.h>)
#include <trace/events/block.h>
#endif
#if __has_include(<trace/events/cgroup.h>)
#include <trace/events/cgroup.h>
#endif
#if __has_include(<trace/events/compaction.h>)
#include <trace/events/compaction.h>
#endif
#if __has_include(<trace/events/cpuhp.h>)
#include <trace/events/cpuhp.h>
#endif
#if __has_include(<trace/events/csd.h>)
#include <trace/events/csd.h>
#endif
#if __has_include(<trace/events/error_report.h>)
#include <trace/events/error_report.h>
#endif
#if __has_include(<trace/events/exceptions.h>)
#include <trace/events/exceptions.h> /* in v6.16: for all architectures */
#endif
#if __has_include(<trace/events/fib.h>)
#include <trace/events/fib.h>
#endif
#if __has_include(<trace/events/filelock.h>)
#include <trace/events/filelock.h>
#endif
#if __has_include(<trace/events/filemap.h>)
#include <trace/events/filemap.h>
#endif
#if __has_include(<trace/events/icmp.h>)
#include <trace/events/icmp.h>
#endif
#if __has_include(<trace/events/ipi.h>)
#include <trace/events/ipi.h>
#endif
#if __has_include(<trace/events/irq.h>)
#include <trace/events/irq.h>
#endif
#if __has_include(<trace/events/kmem.h>)
#include <trace/events/kmem.h>
#endif
#if __has_include(<trace/events/lock.h>)
#include <trace/events/lock.h>
#endif
#if __has_include(<trace/events/mce.h>)
#include <trace/events/mce.h>
#endif
#if __has_include(<trace/events/migrate.h>)
#include <trace/events/migrate.h>
#endif
#if __has_include(<trace/events/mmap.h>)
#include <trace/events/mmap.h>
#endif
#if __has_include(<trace/events/mmap_lock.h>)
#include <trace/events/mmap_lock.h>
#endif
#if __has_include(<trace/events/module.h>)
#include <trace/events/module.h>
#endif
#if __has_include(<trace/events/napi.h>)
#include <trace/events/napi.h>
#endif
#if __has_include(<trace/events/neigh.h>)
#include <trace/events/neigh.h>
#endif
#if __has_include(<trace/events/net.h>)
#include <trace/events/net.h>
#endif
#if __has_include(<trace/events/nmi.h>)
#include <trace/events/nmi.h>
#endif
#if __has_include(<trace/events/oom.h>)
#include <trace/events/oom.h>
#endif
#if __has_include(<trace/events/power.h>)
#include <trace/events/power.h>
#endif
#if __has_include(<trace/events/printk.h>)
#include <trace/events/printk.h>
#endif
#if __has_include(<trace/events/qdisc.h>)
#include <trace/events/qdisc.h>
#endif
#if __has_include(<trace/events/rcu.h>)
#include <trace/events/rcu.h>
#endif
#if __has_include(<trace/events/rpm.h>)
#include <trace/events/rpm.h>
#endif
#if __has_include(<trace/events/sched.h>)
#include <trace/events/sched.h>
#endif
#if __has_include(<trace/events/signal.h>)
#include <trace/events/signal.h>
#endif
#if __has_include(<trace/events/skb.h>)
#include <trace/events/skb.h>
#endif
#if __has_include(<trace/events/sock.h>)
#include <trace/events/sock.h>
#endif
#if __has_include(<trace/events/task.h>)
#include <trace/events/task.h>
#endif
#if __has_include(<trace/events/tcp.h>)
#include <trace/events/tcp.h>
#endif
#if __has_include(<trace/events/thermal.h>)
#include <trace/events/thermal.h>
#endif
#if __has_include(<trace/events/timer.h>)
#include <trace/events/timer.h>
#endif
#if __has_include(<trace/events/tlb.h>)
#include <trace/events/tlb.h>
#endif
#if __has_include(<trace/events/udp.h>)
#include <trace/events/udp.h>
#endif
#if __has_include(<trace/events/vmscan.h>)
#include <trace/events/vmscan.h>
#endif
#if __has_include(<trace/events/workqueue.h>)
#include <trace/events/workqueue.h>
#endif
#if __has_include(<trace/events/writeback.h>)
#include <trace/events/writeback.h>
#endif
#if __has_include(<asm/trace/exceptions.h>)
#include <asm/trace/exceptions.h>
#endif
#if __has_include(<asm/trace/fpu.h>)
#include <asm/trace/fpu.h>
#endif
#if __has_include(<asm/trace/irq_vectors.h>)
#include <asm/trace/irq_vectors.h>
#endif
#endif /* KL_SOURCE_TRACE_HEADERS_H */
