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
struct kl_place kl_fire_begin(struct kl_session *s, u32 id, u8 action, u32 bytes);
void kl_fire_end(struct kl_session *s, u32 id, u8 action, struct kl_place place, u32 bytes);

int kl_fire_init(void);
void kl_fire_deinit(void);

#endif /* KL_SESSION_FIRE_H */
