// SPDX-License-Identifier: GPL-2.0
/*
 * The general path of an event. Where a filter or handler reads its fields, they are written to a
 * scratch area of the CPU first and become a record only if the rule wants one. Rules are read
 * without a lock: they stay until the session ends.
 */
#include <linux/percpu.h>
#include <linux/slab.h>

#include "../core/gate.h"
#include "../core/program_values.h"
#include "../core/record.h"
#include "dispatch.h"
#include "table_hits.h"

/*
 * Events nest: a load of a filter can fault and so fire another event, and each of them may be
 * interrupted by a softirq, an interrupt or an NMI.
 */
#define LEVELS 8

struct levels {
	u32 depth;
	struct kl_scratch level[LEVELS];
};

static struct levels *levels_of[NR_CPUS];

/**
 * kl_scratch_get - get a scratch area for an event's fields
 *
 * Returns NULL if events are nested too deep. Release it with kl_scratch_put. An interrupt does so
 * before it returns, so a plain counter is enough.
 * Context: any, preemption off.
 */
struct kl_scratch *kl_scratch_get(void)
{
	struct levels *mine = levels_of[smp_processor_id()];
	u32 depth = READ_ONCE(mine->depth);

	if (unlikely(depth == LEVELS))
		return NULL;
	WRITE_ONCE(mine->depth, depth + 1);
	barrier();
	return &mine->level[depth];
}

/**
 * kl_scratch_put - undo the last successful kl_scratch_get
 */
void kl_scratch_put(void)
{
	struct levels *mine = levels_of[smp_processor_id()];

	barrier();
	/* An interrupt in between restores it. */
	data_race(mine->depth--);
}

static __always_inline void handle(struct kl_session *s, u32 id, const struct kl_rule *r,
				   struct kl_event_ctx *f)
{
	switch (r->handler) {
#define KL_HANDLER(number, name, help) \
	case number:                   \
		return kl_hit_##name(s, id, r, f);
#include "../../uapi/handlers.def"
#undef KL_HANDLER
	}
}

/**
 * kl_fire_fault - count an event that a program could not read in full
 * @r: the rule
 */
void kl_fire_fault(const struct kl_rule *r)
{
	this_cpu_inc(*r->faults);
}

static noinline void fire_wanted(struct kl_session *s, u32 id, const struct kl_rule *r,
				 struct kl_event_ctx *f)
{
	handle(s, id, r, f);
	if (unlikely(f->fault))
		kl_fire_fault(r);
}

static noinline void fire_rule(struct kl_session *s, u32 id, const struct kl_rule *r,
			       struct kl_event_ctx *f)
{
	if (!r->filter || kl_program_run(r->filter, f))
		handle(s, id, r, f);
	if (unlikely(f->fault))
		kl_fire_fault(r);
}

/*
 * Is this hit measured? Any one of KL_METER_EVERY will do, so it does not matter if an interrupt's
 * hits make the counter skip one, or if another CPU has just requested all of them.
 */
static __always_inline bool is_measured(struct kl_session *s)
{
	return unlikely(data_race(s->meter.each) ||
			!(data_race(++this_cpu_ptr(s->cpu)->meter.firings) % KL_METER_EVERY));
}

typedef void (*fire_fn)(struct kl_session *s, u32 id, const struct kl_rule *r,
			struct kl_event_ctx *f);

static __always_inline void measure(struct kl_session *s, u32 id, const struct kl_rule *r,
				    struct kl_event_ctx *f, fire_fn fire)
{
	struct kl_section section;

	if (unlikely(!kl_meter_begin(s, &section)))
		return kl_fire_drop(s, r);
	fire(s, id, r, f);
	kl_meter_end(s, &section);
}

static noinline void measure_wanted(struct kl_session *s, u32 id, const struct kl_rule *r,
				    struct kl_event_ctx *f)
{
	measure(s, id, r, f, fire_wanted);
}

static noinline void measure_rule(struct kl_session *s, u32 id, const struct kl_rule *r,
				  struct kl_event_ctx *f)
{
	measure(s, id, r, f, fire_rule);
}

/**
 * kl_fire_wanted - handle an event that its rule's filter allows
 * @s: the session
 * @id: event
 * @r: the rule
 * @f: as much of the event as its handler reads
 *
 * Context: any, preemption off.
 */
void kl_fire_wanted(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f)
{
	if (is_measured(s))
		return measure_wanted(s, id, r, f);
	fire_wanted(s, id, r, f);
}

/**
 * kl_fire_rule - filter and handle an event that has a rule
 * @s: the session; its gate allows the event
 * @id: event
 * @r: the rule
 * @f: as much of the event as the rule reads; `fault` is false
 *
 * Without KL_USES_OUT, the rule calls no function that can be hooked.
 * Context: any, preemption off.
 */
void kl_fire_rule(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f)
{
	if (is_measured(s))
		return measure_rule(s, id, r, f);
	fire_rule(s, id, r, f);
}

/**
 * kl_fire_filter_measured - run a filter in a session whose hits are all measured
 * @r: the rule, which has a filter
 * @f: as much of the event as it reads
 *
 * A hit that the meter refuses is rejected and counted as lost. Context: any, preemption off.
 */
bool kl_fire_filter_measured(const struct kl_rule *r, struct kl_event_ctx *f)
{
	struct kl_section section;
	bool wanted;

	if (unlikely(!kl_meter_begin(f->session, &section))) {
		kl_fire_drop(f->session, r);
		return false;
	}
	wanted = kl_program_run(r->filter, f);
	kl_meter_end(f->session, &section);
	return wanted;
}

/**
 * kl_fire_unseen - filter and handle an event whose rule reads no fields
 * @s: the session; its gate allows the event
 * @id: event
 * @r: the rule
 *
 * Context: any, preemption off.
 */
void kl_fire_unseen(struct kl_session *s, u32 id, const struct kl_rule *r)
{
	struct kl_event_ctx f;

	if (kl_fire_blind(r))
		return;
	kl_event_ctx_init(&f, s, NULL, 0);
	kl_fire_rule(s, id, r, &f);
}

/**
 * kl_fire - filter and handle an event with its fields
 * @s: the session; its gate allows the event
 * @id: event
 * @action: from the session's actions, without KL_ACTION_TASKS
 * @f: the fields as the owner may see them, and arguments
 *
 * Context: any, preemption off.
 */
void kl_fire(struct kl_session *s, u32 id, u8 action, struct kl_event_ctx *f)
{
	if (action == KL_HANDLER_log)
		return kl_hit_log(s, id, NULL, f);
	if (action < KL_ACTION_RULE)
		return kl_plain_hit(s, id, action);
	f->fault = false;
	kl_fire_rule(s, id, kl_rule_of(s, action), f);
}

/**
 * kl_fire_drop - count an event for whose fields there was no scratch area
 * @s: the session
 * @r: its rule, or NULL
 *
 * It counts as lost if it might have become a record, else among the rule's faults.
 */
void kl_fire_drop(struct kl_session *s, const struct kl_rule *r)
{
	if (r && !r->logs)
		kl_fire_fault(r);
	else
		kl_ring_count_lost(&this_cpu_ptr(s->cpu)->ring);
}

static void drop(struct kl_session *s, u8 action)
{
	kl_fire_drop(s, action >= KL_ACTION_RULE ? kl_rule_of(s, action) : NULL);
}

static __always_inline void fire_allowed(struct kl_session *s, u32 id,
					 const struct kl_program *fields, const u64 *argument,
					 u32 arguments)
{
	u8 action = kl_action_defined(s, id) & KL_ACTION_HANDLER;
	struct kl_event_ctx f = { .session = s, .argument = argument, .arguments = arguments };
	struct kl_scratch *scratch;

	if (action == KL_HANDLER_nothing)
		return;
	if (action == KL_HANDLER_count)
		return kl_count_hit(s, id);
	if (action >= KL_ACTION_RULE && !(kl_rule_of(s, action)->uses & KL_USES_FIELDS)) {
		if (!kl_fire_blind(kl_rule_of(s, action)))
			kl_fire_rule(s, id, kl_rule_of(s, action), &f);
		return;
	}
	scratch = kl_scratch_get();
	if (unlikely(!scratch))
		return drop(s, action);
	f.fields = scratch->fields;
	if (fields)
		f.bytes = kl_program_put(fields, &f, scratch->fields, KL_PROGRAM_OUT_MAX);
	kl_fire(s, id, action, &f);
	kl_scratch_put();
}

/* The measurement includes the fields. */
static noinline void fire_allowed_measured(struct kl_session *s, u32 id,
					   const struct kl_program *fields, const u64 *argument,
					   u32 arguments)
{
	u8 action = kl_action_defined(s, id) & KL_ACTION_HANDLER;
	struct kl_section section;

	if (action == KL_HANDLER_nothing)
		return;
	if (action == KL_HANDLER_count)
		return kl_count_hit(s, id);
	if (unlikely(!kl_meter_begin(s, &section)))
		return drop(s, action);
	fire_allowed(s, id, fields, argument, arguments);
	kl_meter_end(s, &section);
}

/**
 * kl_fire_allowed - fire an event that the session has defined, and that its gate allows
 * @s: the session
 * @id: KL_EV_DYNAMIC and up
 * @fields: program that outputs the record's fields; NULL: none
 * @argument: arguments of the source
 * @arguments: number of arguments
 *
 * Context: any, preemption off.
 */
void kl_fire_allowed(struct kl_session *s, u32 id, const struct kl_program *fields,
		     const u64 *argument, u32 arguments)
{
	if (unlikely(data_race(s->meter.each))) /* as in kl_fire_wants */
		return fire_allowed_measured(s, id, fields, argument, arguments);
	fire_allowed(s, id, fields, argument, arguments);
}

/**
 * kl_fire_dynevent - fire a defined event if the session's gate allows the running task
 * @s: the session
 * @id: KL_EV_DYNAMIC and up
 * @fields: program that outputs the record's fields; NULL: none
 * @argument: arguments of the source
 * @arguments: number of arguments
 *
 * Context: any, preemption off.
 */
void kl_fire_dynevent(struct kl_session *s, u32 id, const struct kl_program *fields,
		      const u64 *argument, u32 arguments)
{
	if (!s->gate || kl_gate_self(s))
		kl_fire_allowed(s, id, fields, argument, arguments);
}

/**
 * kl_fire_reserve - get the place where a probe writes an event's fields for a rule
 * @s: the session; its gate allows the event
 * @action: from the session's actions, without KL_ACTION_TASKS
 *
 * Returns a place with `at` NULL if the rule reads no fields and has been carried out, or if there
 * is no scratch area: then the event counts as lost if the rule would log it, else among the rule's
 * faults. Otherwise, call kl_fire_fields.
 */
struct kl_reservation kl_fire_reserve(struct kl_session *s, u8 action)
{
	struct kl_scratch *scratch;

	if (action >= KL_ACTION_RULE && kl_fire_blind(kl_rule_of(s, action)))
		return (struct kl_reservation){};
	scratch = kl_scratch_get();
	if (likely(scratch))
		return (struct kl_reservation){ .at = scratch->fields };
	drop(s, action);
	return (struct kl_reservation){};
}

/**
 * kl_fire_fields - handle an event whose fields are where kl_fire_reserve returned
 * @s: as given to kl_fire_reserve
 * @id: event
 * @action: from the session's actions, without KL_ACTION_TASKS
 * @fields: the place's `at`
 * @bytes: of the fields and strings
 */
void kl_fire_fields(struct kl_session *s, u32 id, u8 action, const u8 *fields, u32 bytes)
{
	struct kl_event_ctx f = { .session = s, .fields = fields, .bytes = bytes };

	kl_fire(s, id, action, &f);
	kl_scratch_put();
}

/**
 * kl_fire_init - allocate the scratch areas
 *
 * Returns 0, or -ENOMEM with nothing allocated.
 */
int kl_fire_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		levels_of[cpu] =
			kvzalloc_node(sizeof(*levels_of[cpu]), GFP_KERNEL, cpu_to_node(cpu));
		if (!levels_of[cpu]) {
			kl_fire_deinit();
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * kl_fire_deinit - undo kl_fire_init
 */
void kl_fire_deinit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(levels_of[cpu]);
}
