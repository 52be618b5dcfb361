// SPDX-License-Identifier: GPL-2.0
/*
 * Defined events in programs and libraries: at an instruction, at the return of the function that
 * begins there, or at a USDT marker. Fires in any task that executes it. Each definition holds a
 * reference to its file.
 */
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#include "../../compat/uprobe.h"
#include "../../handler/dispatch.h"
#include "kinds.h"

#define ARGUMENTS 6 /* those in registers, in 64-bit programs */

struct kl_uprobe {
	struct uprobe_consumer consumer;
	struct kl_dynevent *defined;
	struct path path;
	struct inode *inode; /* of the real file below an overlay; held by the path */
	u64 offset;
	u64 semaphore; /* its offset in the file; 0: none */
	struct kl_uprobe_handle handle; /* valid while attached */
};

/* Handlers may sleep, but what a session reads when it fires is freed under RCU. */
static void fire(const struct kl_dynevent *d, const u64 *argument)
{
	preempt_disable();
	kl_fire_dynevent(d->session, d->fires, d->program, argument, d->arguments);
	preempt_enable();
}

static int on_place(KL_UPROBE_PARAMS(struct uprobe_consumer *consumer, struct pt_regs *regs))
{
	const u64 argument[ARGUMENTS] = {
		regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9,
	};

	fire(container_of(consumer, struct kl_uprobe, consumer)->defined, argument);
	return 0;
}

static int on_return(KL_UPROBE_PARAMS(struct uprobe_consumer *consumer, unsigned long function,
				      struct pt_regs *regs))
{
	const u64 value = regs_return_value(regs);

	fire(container_of(consumer, struct kl_uprobe, consumer)->defined, &value);
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

	fire(container_of(consumer, struct kl_uprobe, consumer)->defined, argument);
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

static int attach(struct kl_dynevent *d, struct kl_error *why)
{
	struct kl_uprobe *u = d->uprobe;
	int error = kl_uprobe_register(&u->handle, u->inode, u->offset, u->semaphore, &u->consumer);

	if (error)
		return kl_fail(why, error, "cannot place a probe at offset %llu of %pd", u->offset,
			       u->path.dentry);
	return 0;
}

static void detach(struct kl_dynevent *d)
{
	kl_uprobe_unregister(&d->uprobe->handle, d->uprobe->inode, d->uprobe->offset,
			     &d->uprobe->consumer);
}

#define UPROBE_KIND(n)                                                                     \
	{                                                                                  \
		.arguments = (n), .name_max = PATH_MAX, .bytes = sizeof(struct kl_uprobe), \
		.create = create, .destroy = destroy, .attach = attach, .detach = detach,  \
	}

const struct kl_dynevent_kind kl_dynevent_uprobe = UPROBE_KIND(ARGUMENTS);
const struct kl_dynevent_kind kl_dynevent_uretprobe = UPROBE_KIND(1);
const struct kl_dynevent_kind kl_dynevent_usdt = UPROBE_KIND(KL_BLOCK_ARGUMENTS);
