/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The general way of an event: filter, rule, handler. Fed by probes whose event
 * has a rule and by all defined events; leads to records and tables. See
 * docs/design/program.md.
 */
#ifndef KL_SESSION_FIRE_H
#define KL_SESSION_FIRE_H

#include "program.h"
#include "record.h"

/**
 * struct kl_scratch - room for one event's fields before they are a record
 * @fields: as in a record
 */
struct kl_scratch {
	u8 fields[KL_RECORD_MAX];
};

struct kl_scratch *kl_scratch_get(void);
void kl_scratch_put(void);

void kl_fire(struct kl_session *s, u32 id, u8 action, struct kl_firing *f);
void kl_fire_defined(struct kl_session *s, u32 id, const struct kl_program *fields,
		     const u64 *argument, u32 arguments);
void kl_fire_passed(struct kl_session *s, u32 id, const struct kl_program *fields,
		    const u64 *argument, u32 arguments);
struct kl_place kl_fire_room(struct kl_session *s);
void kl_fire_fields(struct kl_session *s, u32 id, u8 action, const u8 *fields, u32 bytes);

/**
 * kl_fire_begin - where a probe writes an event's fields that go the general way
 * @s: the session; its gate has let the event through
 * @id: event
 * @action: from the session's actions, without what is to be asked; not `count`
 * @bytes: of the fields and strings
 *
 * A record's place if it is only to be logged, else room before a rule looks at
 * them. Returns one with `at` NULL if there is none; else call kl_fire_end.
 */
static __always_inline struct kl_place kl_fire_begin(struct kl_session *s, u32 id, u8 action,
						     u32 bytes)
{
	if (likely(action == KL_HANDLER_log))
		return kl_record_begin(s, this_cpu_ptr(s->cpu), id, bytes);
	return kl_fire_room(s);
}

/* The fields are written. Arguments as given to kl_fire_begin; @place: what it returned. */
static __always_inline void kl_fire_end(struct kl_session *s, u32 id, u8 action,
					struct kl_place place, u32 bytes)
{
	if (likely(action == KL_HANDLER_log))
		return kl_record_end(place, bytes);
	kl_fire_fields(s, id, action, place.at, bytes);
}

int kl_fire_init(void);
void kl_fire_deinit(void);

#endif /* KL_SESSION_FIRE_H */
