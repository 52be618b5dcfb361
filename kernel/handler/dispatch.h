/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The general path of an event: filter, rule, handler. Called by probes of events
 * that have a rule, and for all defined events; ends in records and tables. See
 * docs/design/program.md.
 */
#ifndef KL_HANDLER_DISPATCH_H
#define KL_HANDLER_DISPATCH_H

#include "../core/program.h"
#include "../core/record.h"
#include "table.h"

/**
 * struct kl_scratch - space for one event's fields before they become a record
 * @fields: as in a record
 */
struct kl_scratch {
	u8 fields[KL_RECORD_MAX];
};

struct kl_scratch *kl_scratch_get(void);
void kl_scratch_put(void);

/* The rule that an action names, without KL_ACTION_TASKS. */
static __always_inline const struct kl_rule *kl_rule_of(const struct kl_session *s, u8 action)
{
	return s->defs.rule[action - KL_ACTION_RULE];
}

/* The entry of a rule's table, if it is in the first slot of its search. */
static __always_inline bool kl_fastpath_entry(const struct kl_rule *r, struct kl_table *t,
					      struct kl_abi_entry **entry)
{
	u64 key = 0;

	if (r->one_key)
		key = (s64)((const s32 *)current)[r->key_offset / sizeof(s32)];
	return kl_table_has(t, key, entry);
}

/**
 * kl_fire_blind - carry out a rule that only counts
 * @r: the rule
 *
 * As kl_fire_fastpath, for events whose fields have not been read.
 */
static __always_inline bool kl_fire_blind(const struct kl_rule *r)
{
	struct kl_abi_entry *entry;

	if (r->fastpath != KL_FASTPATH_BLIND ||
	    !kl_fastpath_entry(r, this_cpu_ptr(r->table), &entry))
		return false;
	kl_entry_count(entry);
	return true;
}

/**
 * kl_fire_fastpath - carry out a rule that is as simple as most
 * @r: the rule
 * @word: the event's first field, a number of 64 bits
 *
 * It calls no function and needs no stack frame. Returns false if it did nothing: then call
 * kl_fire_rule. Context: any, preemption off.
 */
static __always_inline bool kl_fire_fastpath(const struct kl_rule *r, u64 word)
{
	struct kl_abi_entry *entry;
	struct kl_table *t;

	if (r->tested && (word - r->from <= r->span) == r->negate)
		return true;
	if (r->fastpath <= KL_FASTPATH_FILTER)
		return false;
	t = this_cpu_ptr(r->table);
	if (!kl_fastpath_entry(r, t, &entry))
		return false;
	if (r->fastpath <= KL_FASTPATH_COUNT) {
		kl_entry_count(entry);
		return true;
	}
	kl_entry_add(entry, word);
	if (r->fastpath == KL_FASTPATH_HIST)
		kl_entry_hist(t, entry, word, r->arg, r->low);
	return true;
}

/* An event with its fields and strings, and without arguments. */
static __always_inline void kl_event_ctx_init(struct kl_event_ctx *f, struct kl_session *s,
					      const void *fields, u32 bytes)
{
	f->session = s;
	f->fields = fields;
	f->bytes = bytes;
	f->argument = NULL;
	f->arguments = 0;
	f->fault = false;
}

void kl_fire_unseen(struct kl_session *s, u32 id, const struct kl_rule *r);
void kl_fire_fault(const struct kl_rule *r);
void kl_fire_wanted(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f);
void kl_fire_drop(struct kl_session *s, const struct kl_rule *r);
void kl_fire_rule(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f);
void kl_fire(struct kl_session *s, u32 id, u8 action, struct kl_event_ctx *f);
bool kl_fire_filter_measured(const struct kl_rule *r, struct kl_event_ctx *f);
void kl_fire_dynevent(struct kl_session *s, u32 id, const struct kl_program *fields,
		      const u64 *argument, u32 arguments);
void kl_fire_allowed(struct kl_session *s, u32 id, const struct kl_program *fields,
		     const u64 *argument, u32 arguments);
struct kl_reservation kl_fire_reserve(struct kl_session *s, u8 action);
void kl_fire_fields(struct kl_session *s, u32 id, u8 action, const u8 *fields, u32 bytes);

/* Does a rule's filter allow an event? @f: as much of it as the rule `reads`. */
static __always_inline bool kl_fire_wants(const struct kl_rule *r, struct kl_event_ctx *f)
{
	if (!r->filter)
		return true;
	/* Set while probes run: they see it now or at the next event. */
	if (unlikely(data_race(f->session->meter.each)) ? kl_fire_filter_measured(r, f) :
							  kl_program_run(r->filter, f))
		return true;
	if (unlikely(f->fault))
		kl_fire_fault(r);
	return false;
}

/* Does a rule's guard, with this number, make its filter reject an event? */
static __always_inline bool kl_fire_guards(const struct kl_rule *r, u64 number)
{
	return (number - r->guard_from <= r->guard_span) == r->guard_opposite;
}

/**
 * kl_fire_begin - get the place where a probe writes the fields of an event on the general path
 * @s: the session; its gate allows the event
 * @id: event
 * @action: from the session's actions, without KL_ACTION_TASKS; not `count`
 * @bytes: of the fields and strings
 *
 * Returns a record's place if the event is only logged, else a scratch area for a rule. If `at` is
 * NULL, there is none; otherwise, call kl_fire_end.
 */
static __always_inline struct kl_reservation kl_fire_begin(struct kl_session *s, u32 id, u8 action,
							   u32 bytes)
{
	if (likely(action == KL_HANDLER_log))
		return kl_record_begin(s, this_cpu_ptr(s->cpu), id, bytes);
	return kl_fire_reserve(s, action);
}

/* The fields are written. Arguments as given to kl_fire_begin; @place: what it returned. */
static __always_inline void kl_fire_end(struct kl_session *s, u32 id, u8 action,
					struct kl_reservation place, u32 bytes)
{
	if (likely(action == KL_HANDLER_log))
		return kl_record_end(place, bytes);
	kl_fire_fields(s, id, action, place.at, bytes);
}

int kl_fire_init(void);
void kl_fire_deinit(void);

#endif /* KL_HANDLER_DISPATCH_H */
