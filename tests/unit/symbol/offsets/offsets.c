// SPDX-License-Identifier: GPL-2.0
/*
 * The compiler's layout of the kernel's types, as lines in the assembly: "->STRUCT.MEMBER NUMBER".
 * The tests compare BTF with it.
 */
#include <linux/blkdev.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#define SAY(name, value) asm volatile("\n->" name " %c0" : : "i"(value))
#define MEMBER(type, member) SAY(#type "." #member, offsetof(struct type, member))
#define SIZE(type) SAY("sizeof." #type, sizeof(struct type))
#define CONSTANT(name) SAY("enum." #name, (long)(name))

void offsets(void);

/* More than 60 lines: one line per fact. */
void offsets(void)
{
	MEMBER(task_struct, __state);
	MEMBER(task_struct, prio);
	MEMBER(task_struct, se.vruntime);
	MEMBER(task_struct, se.load.weight);
	MEMBER(task_struct, mm);
	MEMBER(task_struct, exit_code);
	MEMBER(task_struct, personality);
	MEMBER(task_struct, atomic_flags);
	MEMBER(task_struct, restart_block.futex.uaddr);
	MEMBER(task_struct, pid);
	MEMBER(task_struct, tgid);
	MEMBER(task_struct, real_parent);
	MEMBER(task_struct, comm);
	MEMBER(task_struct, signal);
	MEMBER(task_struct, nsproxy);
	MEMBER(task_struct, thread.sp);
	MEMBER(signal_struct, nr_threads);
	MEMBER(signal_struct, rlim);
	/* In an anonymous struct whose layout may be randomized. */
	MEMBER(mm_struct, pgd);
	MEMBER(mm_struct, total_vm);
	MEMBER(mm_struct, arg_start);
	MEMBER(mm_struct, exe_file);
	/* In anonymous unions and structs within those. */
	MEMBER(page, flags);
	MEMBER(page, mapping);
	MEMBER(page, lru);
	MEMBER(page, private);
	MEMBER(page, pp);
	MEMBER(page, pp_magic);
	MEMBER(page, callback_head);
	MEMBER(page, _mapcount);
	MEMBER(page, _refcount);
	MEMBER(vm_area_struct, vm_start);
	MEMBER(vm_area_struct, vm_flags);
	MEMBER(vm_area_struct, vm_file);
	MEMBER(file, f_path.dentry);
	MEMBER(file, f_inode);
	MEMBER(file, f_pos);
	MEMBER(dentry, d_name.name);
	MEMBER(dentry, d_name.len);
	MEMBER(dentry, d_sb);
	MEMBER(dentry, d_parent);
	MEMBER(inode, i_mode);
	MEMBER(inode, i_ino);
	MEMBER(inode, i_nlink);
	MEMBER(inode, i_sb);
	MEMBER(super_block, s_dev);
	MEMBER(super_block, s_id);
	MEMBER(bio, bi_iter.bi_sector);
	MEMBER(sk_buff, dev);
	MEMBER(sk_buff, sk);
	MEMBER(sk_buff, len);
	MEMBER(sk_buff, protocol);
	MEMBER(sk_buff, skb_iif);
	MEMBER(sk_buff, head);
	MEMBER(sock, sk_rcvbuf);
	MEMBER(sock, __sk_common.skc_daddr);
	MEMBER(sock, __sk_common.skc_dport);
	MEMBER(sock, __sk_common.skc_family);
	MEMBER(net_device, name);
	MEMBER(net_device, ifindex);
	MEMBER(module, name);
	MEMBER(pid, numbers);
	SIZE(task_struct);
	SIZE(mm_struct);
	SIZE(page);
	SIZE(sk_buff);
	SIZE(inode);
	CONSTANT(PIDTYPE_TGID);
	CONSTANT(PIDTYPE_MAX);
	CONSTANT(MODULE_STATE_GOING);
	CONSTANT(HRTIMER_RESTART);
	CONSTANT(NET_RX_SOFTIRQ);
	CONSTANT(SKB_GSO_TCPV6);
	CONSTANT(ZONE_NORMAL);
}
