// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events that a process fires itself, by a store to memory that it has mapped of the
 * session (KL_MMAP_STORES in uapi/kernlens.h). There is never a page: the fault is the event, and
 * the program goes on behind the instruction. Nobody else is disturbed, no register changes, no
 * system call is made that could be forbidden, and the mapping keeps session and module.
 */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../compat/vm.h"
#include "../session/fire.h"
#include "../session/session.h"
#include "../session/stack.h"
#include "defined_kinds.h"

/* movl $FROM, DISTANCE(%rip) */
struct store {
	u8 opcode[2];
	s32 distance;
	s32 from;
} __packed;

static bool is_store(const struct store *st)
{
	return st->opcode[0] == 0xc7 && st->opcode[1] == 0x05;
}

static void fire(const struct kl_defined *d, struct pt_regs *regs)
{
	/* The kernel has no part in it. */
	struct kl_stack_start before = kl_stack_begin(regs);

	kl_fire_defined(d->session, d->id, d->program, NULL, 0);
	kl_stack_end(before);
}

static const struct kl_defined *find(const struct kl_session *s, u64 i)
{
	const struct kl_defined_table *table = READ_ONCE(s->defined);
	const struct kl_defined **stores;

	/* Pairs with kl_stores_prepare(). */
	stores = table ? smp_load_acquire(&table->stores) : NULL;
	return stores && i < table->n ? stores[i] : NULL;
}

static vm_fault_t on_fault(struct vm_fault *vmf)
{
	u64 offset = ((u64)vmf->pgoff << PAGE_SHIFT) + offset_in_page(vmf->real_address);
	struct pt_regs *regs = task_pt_regs(current);
	const struct kl_defined *d;
	struct store st;

	/* The kernel itself, on somebody's behalf, and what is no such instruction. */
	if (!(vmf->flags & FAULT_FLAG_USER) || !user_64bit_mode(regs) ||
	    copy_from_user_nofault(&st, (const void __user *)regs->ip, sizeof(st)) ||
	    !is_store(&st))
		return VM_FAULT_SIGBUS;
	d = find(vmf->vma->vm_private_data, offset - KL_MMAP_STORES);
	/* What is read when it fires is freed under RCU. */
	preempt_disable();
	if (d && READ_ONCE(d->attached)) {
		regs->ip += st.from;
		fire(d, regs);
		regs->ip -= st.from;
	}
	preempt_enable();
	regs->ip += sizeof(st);
	return VM_FAULT_NOPAGE;
}

/* That there is this says that faults may come without the lock of the process's memory. */
static vm_fault_t map_none(struct vm_fault *vmf, pgoff_t first, pgoff_t last)
{
	return 0;
}

static const struct vm_operations_struct store_vm_ops = {
	.fault = on_fault,
	.map_pages = map_none,
};

/**
 * kl_defined_map_stores - the memory that a process fires a session's events by
 * @s: the session, which the mapping's file keeps
 * @vma: to be mapped
 *
 * Returns 0 or a negative errno.
 */
int kl_defined_map_stores(struct kl_session *s, struct vm_area_struct *vma)
{
	u64 first = (u64)vma->vm_pgoff << PAGE_SHIFT;

	if (first != KL_MMAP_STORES ||
	    vma->vm_end - vma->vm_start > PAGE_ALIGN(KL_EV_DYNAMIC_MAX) ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	kl_vm_flags_clear(vma, VM_MAYEXEC);
	kl_vm_flags_set(vma, VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = s;
	vma->vm_ops = &store_vm_ops;
	return 0;
}

/**
 * kl_stores_prepare - have them found by id
 * @table: nothing more is defined in it
 * @why: set on failure
 */
int kl_stores_prepare(struct kl_defined_table *table, struct kl_error *why)
{
	const struct kl_defined **stores = NULL;
	struct kl_defined_batch *batch;
	struct kl_defined *d;

	for_each_defined(table, batch, d) {
		if (d->kind != KL_SOURCE_KIND_STORE)
			continue;
		if (!stores)
			stores = kvcalloc(table->n, sizeof(*stores), GFP_KERNEL_ACCOUNT);
		if (!stores)
			return kl_fail(why, -ENOMEM, "no memory for %u events", table->n);
		stores[d->id - KL_EV_DYNAMIC] = d;
	}
	/* Pairs with find(): complete. */
	smp_store_release(&table->stores, stores);
	return 0;
}

static int create(struct kl_defined *d, const struct kl_defined_wish *wish, struct kl_error *why)
{
	if (kl_rights_lack(d->session->may, kl_kind_needs(wish->kind)))
		return kl_fail(why, -EPERM, "this session may have no such event");
	if (wish->address || wish->arg || wish->name)
		return kl_fail(why, -EINVAL, "an event that processes fire has no place");
	return 0;
}

static void destroy(struct kl_defined *d)
{
}

const struct kl_defined_kind kl_defined_store = {
	.create = create,
	.destroy = destroy,
};
