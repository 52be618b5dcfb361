/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that a session defines: other tracepoints, functions, ticks, probe points in programs.
 * Fed by KL_IOC_EVENTS; each hit calls kl_fire_dynevent with the arguments available there. See
 * docs/design/defined.md.
 *
 * A session calls, in this order:
 *
 *	kl_dynevent_create	before its first start, any number of times
 *	kl_dynevent_attach	under its lock: at start, and before another maskset
 *	kl_dynevent_detach	under its lock: after another maskset, and at stop
 *	kl_source_synchronize	after the detach of a stop, as for all sources
 *	kl_dynevent_destroy	when nothing uses it any more
 *
 * kl_dynevent_init registers for CPU hotplug and for loaded and unloaded modules,
 * kl_dynevent_deinit undoes that.
 */
#ifndef KL_DYNAMIC_DYNAMIC_H
#define KL_DYNAMIC_DYNAMIC_H

#include <linux/types.h>

#include "../../../uapi/kernlens.h"
#include "../../core/rights.h"

struct kl_error;
struct kl_program;
struct kl_session;
struct pt_regs;

/* Most arguments that an event can have; a kind of source may have fewer. */
#define KL_DEFINED_ARGUMENTS_MAX 12

/**
 * struct kl_dynevent_params - struct kl_abi_event, copied and with its program resolved
 * @kind: enum kl_source_kind
 * @optional: a function that cannot be hooked is left out
 * @is_location: another location of the preceding event
 * @arguments: highest index of an argument that any program of this event reads, plus 1; may
 *   exceed what the source has
 * @program: gives the record's fields; NULL if none; lives as long as the session
 * @address: as in the contract
 * @arg: as in the contract
 * @name: a NUL-terminated copy; NULL if the caller gave none
 */
struct kl_dynevent_params {
	u32 kind;
	bool optional;
	bool is_location;
	u32 arguments;
	const struct kl_program *program;
	u64 address;
	u64 arg;
	const char *name;
};

u32 kl_dynevent_name_max(u32 kind);
int kl_dynevent_check_number(const struct kl_session *s, u32 n, struct kl_error *why);
int kl_dynevent_create(struct kl_session *s, struct kl_abi_events *events,
		       const struct kl_dynevent_params *params, struct kl_error *why);
void kl_dynevent_destroy(struct kl_session *s);
u32 kl_dynevent_count_missing(struct kl_session *s, const u8 *action, u32 n);
int kl_dynevent_attach(struct kl_session *s, const u8 *action, u32 n, struct kl_error *why);
void kl_dynevent_detach(struct kl_session *s, const u8 *action, u32 n);
u32 kl_dynevent_number(const struct kl_session *s);
u64 kl_dynevent_missed(const struct kl_session *s);
bool kl_dynevent_trap_fire(struct pt_regs *regs);
void kl_traps_expect(bool more);
typedef void (*kl_dynevent_fn)(u32 id, u32 kind, const void *place, const char *name,
			       const struct kl_program *fields, void *data);
void kl_dynevent_visit(struct kl_session *s, kl_dynevent_fn fn, void *data);

int kl_dynevent_init(void);
void kl_dynevent_deinit(void);

#endif /* KL_DYNAMIC_DYNAMIC_H */
