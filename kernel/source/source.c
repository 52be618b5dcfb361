// SPDX-License-Identifier: GPL-2.0
/*
 * The event table at run time: which rows are available on this kernel, and attaching and
 * detaching a session whatever the kind of source.
 */
#include <linux/init.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "../core/session.h"
#include "../handler/dispatch.h"
#include "../handler/handler.h"
#include "hub.h"
#include "probes.h"
#include "source.h"

/* By event id: row + 1, or 0; and its tracepoint, if it has one. */
static u16 row_of[KL_EV_SYSCALL_ENTRY];
static struct tracepoint *tracepoint_of[KL_EV_SYSCALL_ENTRY];

/**
 * kl_event_of - the row of an event
 * @id: any number
 *
 * Returns NULL for system calls and numbers that are not events.
 */
const struct kl_event *kl_event_of(u32 id)
{
	u16 row;

	if (id >= KL_EV_SYSCALL_ENTRY)
		return NULL;
	row = row_of[array_index_nospec(id, KL_EV_SYSCALL_ENTRY)];
	return row ? &kl_events[row - 1] : NULL;
}

/**
 * kl_event_is_syscall - is this the entry or exit of a known system call?
 * @id: any number
 */
bool kl_event_is_syscall(u32 id)
{
	return id >= KL_EV_SYSCALL_ENTRY && id < KL_EV_MAX &&
	       kl_syscall_is_known((id - KL_EV_SYSCALL_ENTRY) % KL_EV_SYSCALL_MAX);
}

/**
 * kl_event_is_fired_by_syscalls - do the probes of system calls fire an event?
 * @id: any number
 * @exit: set to true if the probes of the exits do
 *
 * True for the events of system calls themselves and for those of 32-bit programs.
 */
bool kl_event_is_fired_by_syscalls(u32 id, bool *exit)
{
	const struct kl_event *e = kl_event_of(id);

	if (e) {
		*exit = e->probe == kl_probe_compat_syscall_exit;
		return *exit || e->probe == kl_probe_compat_syscall_entry;
	}
	*exit = id >= KL_EV_SYSCALL_EXIT;
	return true;
}

/**
 * kl_event_set - the smallest built-in maskset that contains an event
 * @id: an event
 *
 * Returns enum kl_set.
 */
u8 kl_event_set(u32 id)
{
	const struct kl_event *e = kl_event_of(id);

	return e ? e->set : KL_SET_DEFAULT;
}

/**
 * kl_event_place - the probe point of an event
 * @id: an event that is available on this kernel
 * @name: set to the probe point's name
 *
 * Returns an address that is the same for all events that fire there, including those that a
 * session has defined: that of the tracepoint, if there is one.
 */
const void *kl_event_place(u32 id, const char **name)
{
	const struct kl_event *e = kl_event_of(id);
	const struct tracepoint *tp;
	bool exit;

	if (kl_event_is_fired_by_syscalls(id, &exit))
		tp = kl_syscall_tracepoint(exit);
	else
		tp = tracepoint_of[id];
	*name = tp ? tp->name : e->name;
	return tp ? (const void *)tp : e;
}

/**
 * kl_event_absent - is an event available on this kernel?
 * @id: any number
 * @reason: set to a sentence, empty if it is
 *
 * Returns enum kl_absent. Context: any.
 */
u32 kl_event_absent(u32 id, char reason[KL_ERROR_TEXT_MAX])
{
	const struct kl_event *e = kl_event_of(id);

	reason[0] = 0;
	if (!e) {
		if (kl_event_is_syscall(id))
			return KL_PRESENT;
		strscpy(reason, "no such event", KL_ERROR_TEXT_MAX);
		return KL_ABSENT_BUILD;
	}
	if (!e->probe) {
		strscpy(reason, e->absent, KL_ERROR_TEXT_MAX);
		return KL_ABSENT_BUILD;
	}
	if (e->source == KL_SOURCE_TRACEPOINT && !tracepoint_of[id]) {
		snprintf(reason, KL_ERROR_TEXT_MAX, "this kernel was built without tracepoint %s",
			 e->target);
		return KL_ABSENT_KERNEL;
	}
	if (e->source == KL_SOURCE_FUNCTION && !e->function) {
		snprintf(reason, KL_ERROR_TEXT_MAX, "this kernel does not export function %s",
			 e->target);
		return KL_ABSENT_KERNEL;
	}
	return KL_PRESENT;
}

/**
 * kl_event_is_allowed - is an opener allowed to use an event at all?
 * @may: the opener's KL_MAY_*
 * @id: the event
 * @why: set to the reason if not; may be NULL
 *
 * Context: may sleep.
 */
bool kl_event_is_allowed(u32 may, u32 id, struct kl_error *why)
{
	const struct kl_event *e = kl_event_of(id);
	u32 needs;

	if (!e)
		return true; /* a system call concerns only its own task */
	needs = kl_event_needs(e->access, e->source);
	if (!kl_rights_lack(may, needs))
		return true;
	if (why && kl_rights_lack(may, needs & KL_MAY_SEE_ALL))
		kl_fail(why, -EPERM, "%s reports on the whole system: it needs CAP_PERFMON",
			e->name);
	else if (why)
		kl_fail(why, -EPERM,
			"%s hooks a kernel function: it needs CAP_SYS_ADMIN and no kernel lockdown",
			e->name);
	return false;
}

/**
 * kl_source_attach - make an event fire for a session
 * @s: the session; its lock is held
 * @id: an event that is available, not a system call
 * @why: set on failure
 *
 * Context: may sleep.
 */
int kl_source_attach(struct kl_session *s, u32 id, struct kl_error *why)
{
	const struct kl_event *e = kl_event_of(id);
	int error;

	lockdep_assert_held(&s->lock);
	switch (e->source) {
	case KL_SOURCE_TRACEPOINT:
		error = kl_hub_attach(s, tracepoint_of[id], e->probe, s);
		break;
	case KL_SOURCE_FUNCTION:
		return kl_function_attach(s, e, why);
	default:
		return kl_notifier_attach(s, e, why);
	}
	if (error)
		return kl_fail(why, error, "cannot attach to tracepoint %s", e->target);
	return 0;
}

/**
 * kl_source_detach - undo kl_source_attach
 * @s: the session; its lock is held
 * @id: an event that is attached
 *
 * A probe may still be running: kl_source_synchronize waits for it.
 */
void kl_source_detach(struct kl_session *s, u32 id)
{
	const struct kl_event *e = kl_event_of(id);

	lockdep_assert_held(&s->lock);
	switch (e->source) {
	case KL_SOURCE_TRACEPOINT:
		kl_hub_detach(s, tracepoint_of[id], e->probe, s);
		break;
	case KL_SOURCE_FUNCTION:
		kl_function_detach(s, e);
		break;
	default:
		kl_notifier_detach(s, e);
	}
}

/**
 * kl_source_hub - the probe to register with a tracepoint for sessions with a gate
 * @tp: the tracepoint
 *
 * Returns NULL if no row of events.def has it. Compares addresses, as another module's tracepoint
 * may have the same name.
 */
void *kl_source_hub(const struct tracepoint *tp)
{
	for (u32 i = 0; i < kl_event_count; i++)
		if (kl_events[i].hub && tracepoint_of[kl_events[i].id] == tp)
			return kl_events[i].hub;
	return NULL;
}

/**
 * kl_source_init - look up what is available on this kernel
 *
 * Returns 0 or -EINVAL if the table is broken.
 */
int __init kl_source_init(void)
{
	for (u32 i = 0; i < kl_event_count; i++) {
		const struct kl_event *e = &kl_events[i];

		if (WARN_ON(!e->id || e->id >= KL_EV_SYSCALL_ENTRY || row_of[e->id]))
			return -EINVAL;
		row_of[e->id] = i + 1;
		if (e->source == KL_SOURCE_TRACEPOINT && e->probe)
			tracepoint_of[e->id] = kl_tracepoint_find(e->target);
	}
	kl_alarm_set_probe(kl_probe_alarm);
	return kl_syscall_init();
}

/**
 * kl_source_deinit - undo kl_source_init
 */
void kl_source_deinit(void)
{
	kl_source_synchronize();
	kl_syscall_deinit();
}
