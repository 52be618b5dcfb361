// SPDX-License-Identifier: GPL-2.0
/*
 * Events that a session defines: copies the caller's descriptions for
 * kernel/source/dynamic/dynamic.c. Called by kernel/device.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/caller.h"
#include "../core/program.h"
#include "../source/dynamic/dynamic.h"
#include "../splice/splice.h"
#include "session.h"

/**
 * struct wanted_events - copies of the events of a call
 * @payer: charged for the copies during the call
 * @charged: bytes charged
 * @of: the events
 */
struct wanted_events {
	struct kl_payer *payer;
	u64 charged;
	u32 n;
	struct kl_dynevent_params *of;
};

static int charge(struct wanted_events *w, u64 bytes, struct kl_error *why)
{
	int error = kl_memory_charge(w->payer, bytes, why);

	w->charged += error ? 0 : bytes;
	return error;
}

/* Size of a name including the NUL, or a negative errno. */
static long name_bytes(const struct kl_abi_event *e, struct kl_error *why)
{
	const u32 most = kl_dynevent_name_max(e->kind);
	long bytes;

	if (!most)
		return kl_fail(why, -EINVAL, "events of kind %u take no name", e->kind);
	bytes = kl_caller_string(e->name, most);
	if (!bytes)
		return kl_fail(why, -EFAULT, "cannot read the event's name from user memory");
	if (bytes > most)
		return kl_fail(why, -EINVAL, "the event's name is longer than %u bytes", most - 1);
	return bytes;
}

static int take_name(struct wanted_events *w, const struct kl_abi_event *e,
		     struct kl_dynevent_params *params, struct kl_error *why)
{
	long bytes = name_bytes(e, why);
	char *name;
	int error;

	if (bytes < 0)
		return bytes;
	error = charge(w, kl_memory_size(bytes), why);
	if (error)
		return error;
	name = kmalloc(bytes, GFP_KERNEL_ACCOUNT);
	if (!name)
		return kl_fail(why, -ENOMEM, "no memory for the event's name");
	params->name = name;
	if (!kl_caller_copy(name, e->name, bytes))
		return kl_fail(why, -EFAULT, "cannot read the event's name from user memory");
	/* The caller may have changed the name since it was measured. */
	name[bytes - 1] = 0;
	return 0;
}

static int take_event(struct kl_session *s, struct wanted_events *w, const struct kl_abi_event *e,
		      struct kl_dynevent_params *params, struct kl_error *why)
{
	int error = e->kind == KL_SOURCE_KIND_TRAP ? kl_splices_handle_breakpoints(why) : 0;

	if (error)
		return error;
	if (e->flags & ~(KL_EVENT_OPTIONAL | KL_EVENT_LOCATION))
		return kl_fail(why, -EINVAL, "unknown event flags: %#x", e->flags);
	params->kind = e->kind;
	params->optional = e->flags & KL_EVENT_OPTIONAL;
	params->is_location = e->flags & KL_EVENT_LOCATION;
	params->address = e->address;
	params->arg = e->arg;
	/* Enough for the event's own program, and for those of filters and keys. */
	params->arguments = READ_ONCE(s->defs.arguments);
	if (e->program) {
		params->program = kl_session_program(s, e->program);
		if (!params->program)
			return kl_fail(why, -ENOENT, "program %u does not exist", e->program);
	}
	return e->name ? take_name(w, e, params, why) : 0;
}

static void free_events(struct wanted_events *w)
{
	for (u32 i = 0; w->of && i < w->n; i++)
		kfree(w->of[i].name);
	kvfree(w->of);
	kl_memory_uncharge(w->payer, w->charged);
}

static int take_events(struct kl_session *s, struct wanted_events *w, struct kl_abi_events *e,
		       struct kl_error *why)
{
	int error = charge(w, kl_memory_size(w->n * sizeof(*w->of)), why);
	struct kl_abi_event one;

	if (error)
		return error;
	w->of = kvcalloc(w->n, sizeof(*w->of), GFP_KERNEL_ACCOUNT);
	if (!w->of)
		return kl_fail(why, -ENOMEM, "no memory for %u events", w->n);
	for (u32 i = 0; i < w->n; i++) {
		e->bad = i;
		if (!kl_caller_copy(&one, e->event + i * sizeof(one), sizeof(one)))
			return kl_fail(why, -EFAULT, "cannot read the events from user memory");
		error = take_event(s, w, &one, &w->of[i], why);
		if (error)
			return error;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * kl_session_add_events - define events
 * @s: a session that has never been started
 * @e: from the caller; `first`, or on failure `bad`, is set
 * @why: set on failure; no event is defined then
 *
 * Limits are checked before anything is copied. Context: the caller's system call; may sleep.
 */
int kl_session_add_events(struct kl_session *s, struct kl_abi_events *e, struct kl_error *why)
{
	struct wanted_events w = { .payer = &s->payer, .n = e->n };
	int error;

	e->bad = 0;
	error = kl_dynevent_check_number(s, e->n, why);
	if (error)
		return error;
	error = take_events(s, &w, e, why);
	if (!error)
		error = kl_dynevent_create(s, e, w.of, why);
	free_events(&w);
	return error;
}
