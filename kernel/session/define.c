// SPDX-License-Identifier: GPL-2.0
/*
 * Events that a session defines: brings the caller's descriptions in, for
 * kernel/source/defined.c. Called by kernel/device.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../source/defined.h"
#include "program.h"
#include "session.h"

static int take_wish(struct kl_session *s, const struct kl_abi_event *e,
		     struct kl_defined_wish *wish, struct kl_error *why)
{
	wish->kind = e->kind;
	wish->address = e->address;
	wish->arg = e->arg;
	/* For the event's own program, and those of filters and keys. */
	wish->arguments = READ_ONCE(s->custom.arguments);
	if (e->program) {
		wish->program = kl_session_program(s, e->program);
		if (!wish->program)
			return kl_fail(why, -ENOENT, "there is no program %u", e->program);
	}
	if (!e->name)
		return 0;
	wish->name = strndup_user(u64_to_user_ptr(e->name), KL_SOURCE_NAME_MAX);
	if (!IS_ERR(wish->name))
		return 0;
	return kl_fail(why, PTR_ERR(wish->name), "the event's name cannot be read");
}

static void free_wishes(struct kl_defined_wish *wishes, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (!IS_ERR(wishes[i].name))
			kfree(wishes[i].name);
	kvfree(wishes);
}

static int take_wishes(struct kl_session *s, struct kl_abi_events *e,
		       struct kl_defined_wish *wishes, struct kl_error *why)
{
	struct kl_abi_event __user *from = u64_to_user_ptr(e->event);
	struct kl_abi_event one;
	int error;

	for (u32 i = 0; i < e->n; i++) {
		e->bad = i;
		if (copy_from_user(&one, &from[i], sizeof(one)))
			return kl_fail(why, -EFAULT, "the events cannot be read");
		error = take_wish(s, &one, &wishes[i], why);
		if (error)
			return error;
		cond_resched();
	}
	return 0;
}

/**
 * kl_session_add_events - define events
 * @s: the session; has never been started
 * @e: from the caller; `first`, and on failure `bad`, are set
 * @why: set on failure; then none is defined
 *
 * Context: the caller's system call; may sleep.
 */
int kl_session_add_events(struct kl_session *s, struct kl_abi_events *e, struct kl_error *why)
{
	struct kl_defined_wish *wishes;
	int error;

	if (!e->n || e->n > KL_EV_DYNAMIC_MAX)
		return kl_fail(why, -EINVAL, "%u events: from 1 to %u", e->n, KL_EV_DYNAMIC_MAX);
	wishes = kvcalloc(e->n, sizeof(*wishes), GFP_KERNEL_ACCOUNT);
	if (!wishes)
		return kl_fail(why, -ENOMEM, "no memory for %u events", e->n);
	error = take_wishes(s, e, wishes, why);
	if (!error)
		error = kl_defined_create(s, e, wishes, why);
	free_wishes(wishes, e->n);
	return error;
}
