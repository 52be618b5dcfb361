// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events in programs and libraries: at an instruction, at the return of the function that
 * begins there, or at a USDT marker. Fires in any task that executes it. Each definition holds a
 * reference to its file.
 *
 * A session's definitions of one kind at one place share the consumer of the first of them, and
 * fire in the order in which they were defined: the kernel calls the consumers of a place in an
 * order of its own. Like the definitions of a function, they are linked when the table is sealed.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#include "../../compat/uprobe.h"
#include "../../handler/dispatch.h"
#include "kinds.h"

#define ARGUMENTS 6 /* those in registers, in 64-bit programs */

/**
 * struct kl_uprobe - a definition's place in a program
 * @consumer: registered for all definitions of the place, if this is the first of them
 * @defined: the definition
 * @path: the file
 * @inode: of the real file below an overlay; held by @path
 * @offset: in the file
 * @semaphore: its offset in the file; 0: none
 * @first: the first definition of the place; constant once the table is sealed
 * @last: of @first, while the table is being sealed: the last definition of the place
 * @same_hash: the next place with the same hash, while the table is being sealed
 * @attached: of @first: how many definitions of the place are attached
 * @handle: of @first: valid while @attached is not 0
 */
struct kl_uprobe {
	struct uprobe_consumer consumer;
	struct kl_dynevent *defined;
	struct path path;
	struct inode *inode;
	u64 offset;
	u64 semaphore;
	struct kl_uprobe *first;
	struct kl_dynevent *last;
	struct kl_uprobe *same_hash;
	u32 attached;
	struct kl_uprobe_handle handle;
};

/* Handlers may sleep, but what a session reads when it fires is freed under RCU. */
static void fire(const struct uprobe_consumer *consumer, const u64 *argument)
{
	const struct kl_dynevent *d = container_of(consumer, struct kl_uprobe, consumer)->defined;

	preempt_disable();
	for (; d; d = d->next)
		if (READ_ONCE(d->attached))
			kl_fire_dynevent(d->session, d->fires, d->program, argument, d->arguments);
	preempt_enable();
}

static int on_place(KL_UPROBE_PARAMS(struct uprobe_consumer *consumer, struct pt_regs *regs))
{
	const u64 argument[ARGUMENTS] = {
		regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9,
	};

	fire(consumer, argument);
	return 0;
}

static int on_return(KL_UPROBE_PARAMS(struct uprobe_consumer *consumer, unsigned long function,
				      struct pt_regs *regs))
{
	const u64 value = regs_return_value(regs);

	fire(consumer, &value);
	return 0;
}

/* A marker's arguments can be in any register, or at an address that is computed from some. */
static int on_marker(KL_UPROBE_PARAMS(struct uprobe_consumer *consumer, struct pt_regs *regs))
{
	const u64 argument[KL_BLOCK_ARGUMENTS] = {
		regs->ax,
		regs->cx,
		regs->dx,
		regs->bx,
		regs->sp,
		regs->bp,
		regs->si,
		regs->di,
		regs->r8,
		regs->r9,
		regs->r10,
		regs->r11,
		regs->r12,
		regs->r13,
		regs->r14,
		regs->r15,
		[KL_BLOCK_FLAGS] = regs->flags,
		[KL_BLOCK_IP] = regs->ip,
	};

	fire(consumer, argument);
	return 0;
}

static int find_file(struct kl_uprobe *u, const char *name, u64 offset, struct kl_error *why)
{
	int error = kern_path(name, LOOKUP_FOLLOW, &u->path);

	if (error)
		return kl_fail(why, error, "cannot find file %s", name);
	if (!d_is_reg(u->path.dentry))
		return kl_fail(why, -EINVAL, "%s is not a regular file", name);
	u->inode = d_real_inode(u->path.dentry);
	u->offset = offset;
	if (offset >= i_size_read(u->inode))
		return kl_fail(why, -EINVAL, "%s ends before offset %llu", name, offset);
	if (u->semaphore % sizeof(u16) || u->semaphore >= i_size_read(u->inode))
		return kl_fail(why, -EINVAL, "%s has no semaphore at offset %llu", name,
			       u->semaphore);
	return 0;
}

static int create(struct kl_dynevent *d, const struct kl_dynevent_params *params,
		  struct kl_error *why)
{
	struct kl_uprobe *u;

	if (kl_rights_lack(d->session->may, kl_kind_needs(params->kind)))
		return kl_fail(why, -EPERM,
			       "hooking programs needs CAP_SYS_ADMIN and no kernel lockdown");
	if (!params->name || !params->name[0])
		return kl_fail(why, -EINVAL, "a probe point in a program requires the file's name");
	if (params->address && params->kind != KL_SOURCE_KIND_USDT)
		return kl_fail(why, -EINVAL,
			       "a probe point in a program takes an offset, not an address");
	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return kl_fail(why, -ENOMEM, "no memory for a probe point in a program");
	d->uprobe = u;
	u->defined = d;
	u->semaphore = params->address;
	if (params->kind == KL_SOURCE_KIND_UPROBE)
		u->consumer.handler = on_place;
	else if (params->kind == KL_SOURCE_KIND_USDT)
		u->consumer.handler = on_marker;
	else
		u->consumer.ret_handler = on_return;
	return find_file(u, params->name, params->arg, why);
}

static void destroy(struct kl_dynevent *d)
{
	if (!d->uprobe)
		return;
	path_put(&d->uprobe->path);
	kfree(d->uprobe);
}

static bool is_uprobe(const struct kl_dynevent *d)
{
	return d->kind == KL_SOURCE_KIND_UPROBE || d->kind == KL_SOURCE_KIND_URETPROBE ||
	       d->kind == KL_SOURCE_KIND_USDT;
}

static bool is_same_place(const struct kl_uprobe *a, const struct kl_uprobe *b)
{
	return a->inode == b->inode && a->offset == b->offset && a->semaphore == b->semaphore &&
	       a->defined->kind == b->defined->kind;
}

/* Links a definition to those of its place. @slot: of a hash table of the first ones. */
static void link_place(struct kl_uprobe **slot, struct kl_uprobe *u)
{
	struct kl_uprobe *first = *slot;

	while (first && !is_same_place(first, u))
		first = first->same_hash;
	u->defined->next = NULL;
	if (first) {
		first->last->next = u->defined;
	} else {
		first = u;
		u->same_hash = *slot;
		*slot = u;
	}
	u->first = first;
	u->attached = 0;
	first->last = u->defined;
}

/**
 * kl_uprobes_prepare - link the definitions of each place in a program
 * @table: the table, locked and about to be sealed
 *
 * May be called again after a failure. Context: may sleep.
 */
int kl_uprobes_prepare(struct kl_dynevent_table *table)
{
	struct kl_dynevent_batch *batch;
	struct kl_uprobe **slots;
	struct kl_dynevent *d;
	u32 bits, n = 0;

	for_each_defined(table, batch, d)
		n += is_uprobe(d);
	if (!n)
		return 0;
	bits = ilog2(n) + 1;
	slots = kvcalloc(1ul << bits, sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return -ENOMEM;
	for_each_defined(table, batch, d) {
		if (is_uprobe(d))
			link_place(&slots[hash_64(d->uprobe->offset, bits)], d->uprobe);
		cond_resched();
	}
	kvfree(slots);
	return 0;
}

static int attach(struct kl_dynevent *d, struct kl_error *why)
{
	struct kl_uprobe *first = d->uprobe->first;
	int error = 0;

	if (!first->attached)
		error = kl_uprobe_register(&first->handle, first->inode, first->offset,
					   first->semaphore, &first->consumer);
	if (error)
		return kl_fail(why, error, "cannot place a probe at offset %llu of %pd",
			       first->offset, d->uprobe->path.dentry);
	first->attached++;
	return 0;
}

static void detach(struct kl_dynevent *d)
{
	struct kl_uprobe *first = d->uprobe->first;

	if (!--first->attached)
		kl_uprobe_unregister(&first->handle, first->inode, first->offset, &first->consumer);
}

#define UPROBE_KIND(n)                                                                     \
	{                                                                                  \
		.arguments = (n), .name_max = PATH_MAX, .bytes = sizeof(struct kl_uprobe), \
		.create = create, .destroy = destroy, .attach = attach, .detach = detach,  \
	}

const struct kl_dynevent_kind kl_dynevent_uprobe = UPROBE_KIND(ARGUMENTS);
const struct kl_dynevent_kind kl_dynevent_uretprobe = UPROBE_KIND(1);
const struct kl_dynevent_kind kl_dynevent_usdt = UPROBE_KIND(KL_BLOCK_ARGUMENTS);
