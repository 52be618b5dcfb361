/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rights that something needs, as KL_MAY_* of which its user must have all. They are defined
 * only here. This file depends on nothing but the uapi header, so it also compiles in user space,
 * where scripts/access-doc generates docs/access.md from it.
 */
#ifndef KL_CORE_RIGHTS_H
#define KL_CORE_RIGHTS_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <linux/types.h>
#include <stdbool.h>
typedef __u32 u32;
#endif

#include "../../uapi/kernlens.h"

/* Columns `source` and `access` of events.def. */
enum kl_source {
	KL_SOURCE_TRACEPOINT,
	KL_SOURCE_FUNCTION,
	KL_SOURCE_OWN, /* raised by the module itself */
};

enum kl_access {
	KL_ACCESS_SELF,
	KL_ACCESS_ABOUT,
	KL_ACCESS_SYSTEM,
};

/* Column `access` of variables.def. */
enum kl_variable_access {
	KL_VARIABLE_own, /* anyone who may see the running task */
	KL_VARIABLE_parent, /* and its parent, too */
	KL_VARIABLE_any,
	KL_VARIABLE_all, /* KL_MAY_SEE_ALL */
	KL_VARIABLE_address, /* KL_MAY_SEE_ADDRESSES */
};

/* What an owner without KL_MAY_SEE_ALL may define in a session. */
#define KL_DEFINED_UNPRIVILEGED_MAX 256 /* events */
#define KL_DEFINED_UNPRIVILEGED_TRAPS 8192 /* in addition to these */
#define KL_DEFINED_UNPRIVILEGED_HZ 1000 /* ticks per second in total */

/* Is a right missing? */
static inline bool kl_rights_lack(u32 may, u32 needs)
{
	return needs & ~may;
}

/* Rights that capabilities in the initial user namespace grant. */
static inline u32 kl_rights_of(bool perfmon, bool admin, bool locked_down)
{
	u32 may = 0;

	if (perfmon || admin)
		may |= KL_MAY_SEE_ALL;
	if (admin)
		may |= KL_MAY_SEE_ADDRESSES;
	if (admin && !locked_down)
		may |= KL_MAY_HOOK_FUNCTIONS;
	return may;
}

/* Rights for an event of events.def. */
static inline u32 kl_event_needs(enum kl_access access, enum kl_source source)
{
	return (access == KL_ACCESS_SYSTEM ? KL_MAY_SEE_ALL : 0) |
	       (source == KL_SOURCE_FUNCTION ? KL_MAY_HOOK_FUNCTIONS : 0);
}

/* Rights for a variable. */
static inline u32 kl_variable_needs(enum kl_variable_access access)
{
	switch (access) {
	case KL_VARIABLE_all:
		return KL_MAY_SEE_ALL;
	case KL_VARIABLE_address:
		return KL_MAY_SEE_ADDRESSES;
	default:
		return 0;
	}
}

/* Rights for an event that a session defines, by enum kl_source_kind. */
static inline u32 kl_kind_needs(u32 kind)
{
	switch (kind) {
	case KL_SOURCE_KIND_TRACEPOINT:
	case KL_SOURCE_KIND_TICK:
	case KL_SOURCE_KIND_TRAP: /* of the owner's own processes */
		return 0;
	default:
		return KL_MAY_HOOK_FUNCTIONS;
	}
}

/*
 * Rights for a handler of another module, by KL_HANDLER_*. It can access everything in the kernel,
 * so it needs the same rights as a program that reads kernel memory, unless it promises to report
 * nothing that records would not contain.
 */
static inline u32 kl_handler_needs(u32 flags)
{
	return flags & KL_HANDLER_FOR_ALL ? 0 : KL_MAY_HOOK_FUNCTIONS;
}

/* Rights for reading a session whose owner has the rights @of. */
static inline u32 kl_session_needs(u32 of, bool same_user)
{
	return of | (same_user ? 0 : KL_MAY_SEE_ALL);
}

/*
 * Rights for changing a session that another descriptor has created: its masksets and rules, and
 * requesting a snapshot of it. For another user's session KL_MAY_SEE_ALL is not enough: it needs
 * KL_MAY_SEE_ADDRESSES, which only CAP_SYS_ADMIN grants.
 */
static inline u32 kl_session_change_needs(u32 of, bool same_user)
{
	return kl_session_needs(of, same_user) | (same_user ? 0 : KL_MAY_SEE_ADDRESSES);
}

/* What a kind of process details needs, in addition to the right to see the process. */
enum kl_guard {
	KL_GUARD_NONE,
	KL_GUARD_PARTS, /* some parts only for a user that may trace the process */
	KL_GUARD_TRACER, /* everything only for such a user */
	KL_GUARD_ADDRESSES, /* KL_MAY_SEE_ADDRESSES */
};

/* By enum kl_detail_kind. */
static inline enum kl_guard kl_detail_guard(u32 what)
{
	switch (what) {
	case KL_DETAIL_WAIT:
		return KL_GUARD_PARTS;
	case KL_DETAIL_SYSCALL:
	case KL_DETAIL_ENVIRONMENT:
		return KL_GUARD_TRACER;
	case KL_DETAIL_STACK:
	case KL_DETAIL_FRAMES:
		return KL_GUARD_ADDRESSES;
	default:
		return KL_GUARD_NONE;
	}
}

static inline u32 kl_detail_needs(u32 what)
{
	return kl_detail_guard(what) == KL_GUARD_ADDRESSES ? KL_MAY_SEE_ADDRESSES : 0;
}

/* Rights for splices, which change the kernel's text. */
static inline u32 kl_splice_needs(void)
{
	return KL_MAY_HOOK_FUNCTIONS;
}

/* Rights for a latency profile, by KL_LATENCY_*. */
static inline u32 kl_latency_needs(u32 flags)
{
	return flags & KL_LATENCY_KERNEL_STACKS ? KL_MAY_SEE_ADDRESSES : 0;
}

#endif /* KL_CORE_RIGHTS_H */
