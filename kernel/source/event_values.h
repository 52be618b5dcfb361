/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers with which rows of events.def compute values: used by the probes generated from the rows
 * and by compat/probe_rows.c. All of it runs with preemption off in any context, so nothing here
 * locks, sleeps or dereferences more than the tracepoint's own code in the kernel does.
 */
#ifndef KL_SOURCE_EVENT_VALUES_H
#define KL_SOURCE_EVENT_VALUES_H

#include "../../uapi/kernlens.h"
#include "base/task_iter.h"
#include "compat/compat_config.h"
#include "compat/lock.h"
#include "compat/prototypes.h"
#include "trace_headers.h"

/* An address as a number, for fields of format ptr. */
#define kl_addr(pointer) ((u64)(unsigned long)(pointer))

/* A string that may be NULL. */
static inline const char *kl_str(const char *string)
{
	return string ? string : "";
}

/**
 * struct kl_change - what process_set reports about a change
 * @tid: of the task; the requested number if there is no such task
 * @pid: its process; 0 if there is none
 * @what: enum kl_set_what
 *
 * Values and texts are as in struct kl_abi_set.
 */
struct kl_change {
	s32 tid;
	s32 pid;
	u32 what;
	s32 error;
	s64 old_value;
	s64 new_value;
	char old_text[KL_STRING_MAX];
	char new_text[KL_STRING_MAX];
	char asked[KL_STRING_MAX];
};

/* ------------------------------------------------------------------ tasks */

/* The state a switched-out task is left in, as the bits that sched_switch reports. */
static inline s64 kl_task_state(bool preempt, unsigned int prev_state,
				const struct task_struct *prev)
{
	unsigned int index;

	if (preempt)
		return TASK_REPORT_MAX;
	index = __task_state_index(prev_state, prev->exit_state);
	return index ? 1 << (index - 1) : 0;
}

/* The number of a task's pid namespace, 0 if the task has no pid any more. */
static inline u32 kl_pid_ns_inum(struct task_struct *task)
{
	struct pid_namespace *ns = task_active_pid_ns(task);

	return ns ? ns->ns.inum : 0;
}

/* How deep a task's pid namespace is nested. */
static inline s32 kl_pid_ns_level(struct task_struct *task)
{
	struct pid_namespace *ns = task_active_pid_ns(task);

	return ns ? ns->level : 0;
}

/* A task's thread id as the task itself sees it. */
static inline s32 kl_vtid(struct task_struct *task)
{
	struct pid_namespace *ns = task_active_pid_ns(task);

	return ns ? task_pid_nr_ns(task, ns) : 0;
}

/* A task's process id as the task itself sees it. */
static inline s32 kl_vpid(struct task_struct *task)
{
	struct pid_namespace *ns = task_active_pid_ns(task);

	return ns ? task_tgid_nr_ns(task, ns) : 0;
}

/*
 * The process id of a task's parent, in the initial namespace. A task that has been released may
 * outlive its parent, so the parent is not dereferenced then.
 */
static inline s32 kl_ppid(struct task_struct *task)
{
	s32 ppid = 0;

	rcu_read_lock();
	if (kl_task_is_alive(task))
		ppid = task_tgid_nr(rcu_dereference(task->real_parent));
	rcu_read_unlock();
	return ppid;
}

/* The process id of a task's parent as the task itself sees it. */
static inline s32 kl_vppid(struct task_struct *task)
{
	struct pid_namespace *ns = task_active_pid_ns(task);
	s32 ppid = 0;

	rcu_read_lock();
	if (ns && kl_task_is_alive(task))
		ppid = task_tgid_nr_ns(rcu_dereference(task->real_parent), ns);
	rcu_read_unlock();
	return ppid;
}

/* The priority that a task inherits from its most urgent waiter, if it has one. */
static inline int kl_pi_prio(const struct task_struct *task, const struct task_struct *waiter)
{
	return waiter ? min(task->normal_prio, waiter->prio) : task->normal_prio;
}

/* ------------------------------------------------------------------ locks */

#ifdef LCB_F_SPIN
/*
 * The thread ID of the task that holds a lock which another is about to wait for; 0: none,
 * several, or one that is not known. A task may have exited with the lock: it is looked up, as its
 * memory may be another's now.
 */
static inline s32 kl_lock_holder(const void *lock, unsigned int flags)
{
	const struct task_struct *owner = (void *)kl_lock_owner_word(lock, flags);
	pid_t tid;

	if (!owner || get_kernel_nofault(tid, &owner->pid))
		return 0;
	rcu_read_lock();
	if (pid_task(find_pid_ns(tid, &init_pid_ns), PIDTYPE_PID) != owner)
		tid = 0;
	rcu_read_unlock();
	return tid;
}
#endif

/* Does a signal carry information, or is this one of the kernel's two placeholders? */
static inline bool kl_siginfo_is_real(const struct kernel_siginfo *info)
{
	return info != SEND_SIG_NOINFO && info != SEND_SIG_PRIV;
}

/* A signal's error number. */
static inline s32 kl_sig_error(const struct kernel_siginfo *info)
{
	return kl_siginfo_is_real(info) ? info->si_errno : 0;
}

/*
 * Four words of a signal's information, whose meaning depends on its code. The kernel clears what
 * is unused, as it copies all of it to the receiver.
 */
static inline u64 kl_sig_word(const struct kernel_siginfo *info, unsigned int index)
{
	static_assert(sizeof(info->_sifields) == 4 * sizeof(u64));
	return kl_siginfo_is_real(info) ? ((const u64 *)&info->_sifields)[index] : 0;
}

/* A signal's code: who or what sent it. */
static inline s32 kl_sig_code(const struct kernel_siginfo *info)
{
	if (kl_siginfo_is_real(info))
		return info->si_code;
	return info == SEND_SIG_PRIV ? SI_KERNEL : SI_USER;
}

/* ----------------------------------------------------------------- memory */

/* A page's frame number; all ones if there is no page. */
static inline u64 kl_pfn(const struct page *page)
{
	return page ? page_to_pfn(page) : -1UL;
}

/* The device of a mapping's file system, or of the device file itself. */
static inline u32 kl_mapping_dev(const struct address_space *mapping)
{
	const struct inode *inode = mapping->host;

	return inode->i_sb ? inode->i_sb->s_dev : inode->i_rdev;
}

/* Which of xsave's features an FPU state holds; 0 on a CPU without xsave. */
static inline u64 kl_fpu_features(const struct fpu *fpu)
{
	if (!boot_cpu_has(X86_FEATURE_OSXSAVE))
		return 0;
	return fpu->fpstate->regs.xsave.header.xfeatures;
}

/* Bytes of one kind of memory in an address space, summed over the CPUs' pending changes. */
#ifdef KL_HAVE_RSS_STAT_COUNTER
static inline s64 kl_rss_bytes(struct mm_struct *mm, int member)
{
	const struct percpu_counter *counter = &mm->rss_stat[member];
	s64 pages = counter->count;
	int cpu;

	/* Like percpu_counter_sum_positive, but without its lock. */
	for_each_online_cpu(cpu)
		pages += *per_cpu_ptr(counter->counters, cpu);
	return max_t(s64, pages, 0) << PAGE_SHIFT;
}
#endif

/* A time in jiffies that may lie in the past. */
static inline s64 kl_signed_msecs(long time)
{
	return time < 0 ? -(s64)jiffies_to_msecs(-time) : jiffies_to_msecs(time);
}

/* Approximate kilobytes of one kind of memory (MM_FILEPAGES ...) in an address space. */
static inline u64 kl_mm_kb(struct mm_struct *mm, int member)
{
	return mm ? get_mm_counter(mm, member) << (PAGE_SHIFT - 10) : 0;
}

/* ------------------------------------------------------------------ block */

/* LTTng's bits of a block operation; Trace Compass reads bit 0 as a write. */
enum kl_rwbs {
	KL_RWBS_WRITE = 1 << 0,
	KL_RWBS_DISCARD = 1 << 1,
	KL_RWBS_READ = 1 << 2,
	KL_RWBS_RAHEAD = 1 << 3,
	KL_RWBS_SYNC = 1 << 5,
	KL_RWBS_META = 1 << 6,
	KL_RWBS_SECURE = 1 << 7,
	KL_RWBS_FLUSH = 1 << 8,
	KL_RWBS_FUA = 1 << 9,
	KL_RWBS_PREFLUSH = 1 << 10,
};

/* A request's or bio's operation and flags in those bits. */
static inline u32 kl_rwbs(blk_opf_t opf)
{
	u32 rwbs = 0;

	switch (opf & REQ_OP_MASK) {
	case REQ_OP_READ:
		rwbs = KL_RWBS_READ;
		break;
	case REQ_OP_WRITE:
		rwbs = KL_RWBS_WRITE;
		break;
	case REQ_OP_DISCARD:
		rwbs = KL_RWBS_DISCARD;
		break;
	case REQ_OP_SECURE_ERASE:
		rwbs = KL_RWBS_DISCARD | KL_RWBS_SECURE;
		break;
	case REQ_OP_FLUSH:
		rwbs = KL_RWBS_FLUSH;
		break;
	}
	if (opf & REQ_RAHEAD)
		rwbs |= KL_RWBS_RAHEAD;
	if (opf & REQ_SYNC)
		rwbs |= KL_RWBS_SYNC;
	if (opf & REQ_META)
		rwbs |= KL_RWBS_META;
	if (opf & REQ_FUA)
		rwbs |= KL_RWBS_FUA;
	if (opf & REQ_PREFLUSH)
		rwbs |= KL_RWBS_PREFLUSH;
	return rwbs;
}

/* A request's disk, 0 if it has none. */
static inline u32 kl_rq_dev(const struct request *rq)
{
	return rq->q->disk ? disk_devt(rq->q->disk) : 0;
}

/* The name of the device that an inode is written back to. */
static inline const char *kl_bdi_name(struct inode *inode)
{
	return bdi_dev_name(inode ? inode_to_bdi(inode) : NULL);
}

/* An inode's I_* flags. */
static inline u64 kl_inode_state(struct inode *inode)
{
	return KL_NEW_inode_state_read(inode_state_read_once(inode))
		KL_OLD_inode_state_read(inode->i_state);
}

/* What mce_record passes. */
#ifdef KL_HAVE_MCE_HW_ERROR
#define kl_mce(error) (&(error)->m)
#else
#define kl_mce(error) (error)
#endif

/* The device of an inode's file system. */
static inline u32 kl_inode_dev(const struct inode *inode)
{
	return inode->i_sb->s_dev;
}

/* -------------------------------------------------------------------- net */

/* A device's name; empty if there is no device. */
static inline const char *kl_dev_name(const struct net_device *dev)
{
	return dev ? dev->name : "";
}

/* The driver of a network device; empty if it has no hardware. */
static inline const char *kl_dev_driver(const struct net_device *dev)
{
	return dev->dev.parent ? dev_driver_string(dev->dev.parent) : "";
}

/* An address as IPv6, in @room if it is a mapped IPv4 address, as in the kernel's own events. */
static inline const struct in6_addr *kl_address6(const struct sock *sk, __be32 v4,
						 const struct in6_addr *v6, struct in6_addr *room)
{
	if (IS_ENABLED(CONFIG_IPV6) && sk->sk_family == AF_INET6)
		return v6;
	ipv6_addr_set_v4mapped(v4, room);
	return room;
}

/* A socket's own address. */
static inline const struct in6_addr *kl_own6(const struct sock *sk, struct in6_addr *room)
{
#if IS_ENABLED(CONFIG_IPV6)
	return kl_address6(sk, inet_sk(sk)->inet_saddr, &sk->sk_v6_rcv_saddr, room);
#else
	return kl_address6(sk, inet_sk(sk)->inet_saddr, NULL, room);
#endif
}

/* The address of a socket's peer. */
static inline const struct in6_addr *kl_peer6(const struct sock *sk, struct in6_addr *room)
{
#if IS_ENABLED(CONFIG_IPV6)
	return kl_address6(sk, inet_sk(sk)->inet_daddr, &sk->sk_v6_daddr, room);
#else
	return kl_address6(sk, inet_sk(sk)->inet_daddr, NULL, room);
#endif
}

/* The compound literal lives as long as the block in which these macros are used. */
#define kl_sk_saddr6(sk) kl_own6(sk, &(struct in6_addr){})
#define kl_sk_daddr6(sk) kl_peer6(sk, &(struct in6_addr){})

/* A number of pages in KiB. */
static inline u64 kl_kib(unsigned long pages)
{
	return (u64)pages << (PAGE_SHIFT - 10);
}

/* Does a socket have the members of struct inet_sock? Request and time-wait sockets do not. */
static inline bool kl_sk_is_inet(const struct sock *sk)
{
	return sk && sk_fullsock(sk);
}

/*
 * The sender and receiver of a reset: from the socket, or, if there is none in a suitable state,
 * from the packet that the reset answers, with source and destination swapped. That packet's IPv4
 * header and its TCP header (at data) have been checked.
 */
static inline u16 kl_reset_sport(const struct sock *sk, const struct sk_buff *skb)
{
	if (kl_sk_is_inet(sk))
		return ntohs(inet_sk(sk)->inet_sport);
	return skb ? ntohs(((const struct tcphdr *)skb->data)->dest) : 0;
}

static inline u16 kl_reset_dport(const struct sock *sk, const struct sk_buff *skb)
{
	if (kl_sk_is_inet(sk))
		return ntohs(inet_sk(sk)->inet_dport);
	return skb ? ntohs(((const struct tcphdr *)skb->data)->source) : 0;
}

static inline u32 kl_reset_saddr(const struct sock *sk, const struct sk_buff *skb)
{
	if (kl_sk_is_inet(sk))
		return (__force u32)inet_sk(sk)->inet_saddr;
	return skb && ip_hdr(skb)->version == 4 ? (__force u32)ip_hdr(skb)->daddr : 0;
}

static inline u32 kl_reset_daddr(const struct sock *sk, const struct sk_buff *skb)
{
	if (kl_sk_is_inet(sk))
		return (__force u32)inet_sk(sk)->inet_daddr;
	return skb && ip_hdr(skb)->version == 4 ? (__force u32)ip_hdr(skb)->saddr : 0;
}

/*
 * Where a packet's network header begins: a sent packet has it set; a received one that no
 * protocol has handled yet begins with it.
 */
enum kl_way {
	KL_SENT,
	KL_RECEIVED
};

static inline int kl_l3_offset(const struct sk_buff *skb, enum kl_way way)
{
	return way == KL_SENT ? skb_network_offset(skb) : 0;
}

/* A part of a packet that lies in its linear area, or NULL. */
static inline const void *kl_skb_part(const struct sk_buff *skb, int offset, int bytes)
{
	if (offset < 0 || offset > (int)skb_headlen(skb) - bytes)
		return NULL;
	return skb->data + offset;
}

/* A packet's IPv4 header, or NULL. */
static inline const struct iphdr *kl_ipv4(const struct sk_buff *skb, enum kl_way way)
{
	const struct iphdr *ip = kl_skb_part(skb, kl_l3_offset(skb, way), sizeof(*ip));

	if (skb->protocol != htons(ETH_P_IP) || !ip || ip->version != 4 || ip->ihl < 5)
		return NULL;
	return ip;
}

/* A packet's IPv6 header, or NULL. */
static inline const struct ipv6hdr *kl_ipv6(const struct sk_buff *skb, enum kl_way way)
{
	const struct ipv6hdr *ip = kl_skb_part(skb, kl_l3_offset(skb, way), sizeof(*ip));

	if (skb->protocol != htons(ETH_P_IPV6) || !ip || ip->version != 6)
		return NULL;
	return ip;
}

/* The protocol above IP; for IPv6 the first next header. 0 if it is not an IP packet. */
static inline u8 kl_ip_proto(const struct sk_buff *skb, enum kl_way way)
{
	const struct iphdr *ip4 = kl_ipv4(skb, way);
	const struct ipv6hdr *ip6 = kl_ipv6(skb, way);

	if (ip4)
		return ip4->protocol;
	return ip6 ? ip6->nexthdr : 0;
}

/* A packet's header of protocol `proto`, or NULL; also NULL for all fragments but the first. */
static inline const void *kl_l4(const struct sk_buff *skb, enum kl_way way, u8 proto, int bytes)
{
	const struct iphdr *ip4 = kl_ipv4(skb, way);
	int offset = kl_l3_offset(skb, way);

	if (kl_ip_proto(skb, way) != proto)
		return NULL;
	if (ip4 && (ip4->frag_off & htons(0x1fff)))
		return NULL;
	return kl_skb_part(skb, offset + (ip4 ? ip4->ihl * 4 : (int)sizeof(struct ipv6hdr)), bytes);
}

/* A packet's TCP header, or NULL. */
static inline const struct tcphdr *kl_tcp(const struct sk_buff *skb, enum kl_way way)
{
	return kl_l4(skb, way, IPPROTO_TCP, sizeof(struct tcphdr));
}

/* A packet's TCP or UDP ports, source first, or NULL. */
static inline const __be16 *kl_ports(const struct sk_buff *skb, enum kl_way way)
{
	const __be16 *ports = kl_l4(skb, way, IPPROTO_TCP, 4);

	return ports ? ports : kl_l4(skb, way, IPPROTO_UDP, 4);
}

/* A packet's source port, 0 if it has none. */
static inline u16 kl_skb_sport(const struct sk_buff *skb, enum kl_way way)
{
	const __be16 *ports = kl_ports(skb, way);

	return ports ? ntohs(ports[0]) : 0;
}

/* A packet's destination port, 0 if it has none. */
static inline u16 kl_skb_dport(const struct sk_buff *skb, enum kl_way way)
{
	const __be16 *ports = kl_ports(skb, way);

	return ports ? ntohs(ports[1]) : 0;
}

/* A packet's IPv4 source in network order, 0 if it is not IPv4. */
static inline u32 kl_skb_saddr(const struct sk_buff *skb, enum kl_way way)
{
	const struct iphdr *ip = kl_ipv4(skb, way);

	return ip ? (__force u32)ip->saddr : 0;
}

/* A packet's IPv4 destination in network order, 0 if it is not IPv4. */
static inline u32 kl_skb_daddr(const struct sk_buff *skb, enum kl_way way)
{
	const struct iphdr *ip = kl_ipv4(skb, way);

	return ip ? (__force u32)ip->daddr : 0;
}

/* A packet's TCP sequence number, 0 if it is not TCP. */
static inline u32 kl_skb_seq(const struct sk_buff *skb, enum kl_way way)
{
	const struct tcphdr *tcp = kl_tcp(skb, way);

	return tcp ? ntohl(tcp->seq) : 0;
}

/* A packet's TCP acknowledgment number, 0 if it is not TCP. */
static inline u32 kl_skb_ack_seq(const struct sk_buff *skb, enum kl_way way)
{
	const struct tcphdr *tcp = kl_tcp(skb, way);

	return tcp ? ntohl(tcp->ack_seq) : 0;
}

/* A packet's TCP flags as in the header's byte 13: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32. */
static inline u8 kl_skb_tcp_flags(const struct sk_buff *skb, enum kl_way way)
{
	const struct tcphdr *tcp = kl_tcp(skb, way);

	return tcp ? ((const u8 *)tcp)[13] : 0;
}

/* A neighbour's IPv4 address in network order, 0 for another family. */
static inline u32 kl_neigh_addr(const struct neighbour *n)
{
	return n->tbl->family == AF_INET ? *(const u32 *)n->primary_key : 0;
}

#endif /* KL_SOURCE_EVENT_VALUES_H */
