// SPDX-License-Identifier: GPL-2.0
/*
 * The general path of an event. Where a filter or handler looks at its fields,
 * they are written to a scratch area of the CPU first and become a record only if
 * one is wanted. Reads rules without a lock: they stay until the session ends.
 */
#include <linux/percpu.h>
#include <linux/slab.h>

#include "external.h"
#include "handler.h"
#include "dispatch.h"
#include "../core/flag_time.h"
#include "../core/gate.h"
#include "../core/record.h"
#include "../core/stack.h"
#include "../core/program_values.h"

/*
 * Events in events: a filter's load can fault and so fire another, and each may
 * be interrupted, by a softirq, an interrupt, an NMI.
 */
#define LEVELS 8

struct levels {
	u32 depth;
	struct kl_scratch level[LEVELS];
};

static struct levels *levels_of[NR_CPUS];

/**
 * kl_scratch_get - room for an event's fields
 *
 * Returns NULL if events are nested too deep. Give it back with kl_scratch_put,
 * which an interrupt does before it returns, so a plain counter is enough.
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
 * kl_scratch_put - undo the last kl_scratch_get that gave one
 */
void kl_scratch_put(void)
{
	struct levels *mine = levels_of[smp_processor_id()];

	barrier();
	/* Whoever comes in between leaves it as it was. */
	data_race(mine->depth--);
}

static void write_record(struct kl_session *s, u32 id, const struct kl_event_ctx *f)
{
	struct kl_place place = kl_record_begin(s, this_cpu_ptr(s->cpu), id, f->bytes);

	if (unlikely(!place.at))
		return;
	memcpy(place.at, f->fields, f->bytes);
	kl_record_end(place, f->bytes);
}

/* Its variables refer to the stack traces that are made here. */
static void write_record_with_stack(struct kl_session *s, u32 id, const struct kl_event_ctx *f)
{
	bool asked = kl_stack_ask(s);

	write_record(s, id, f);
	if (asked)
		kl_stack_forget();
}

static void change_flag(struct kl_session *s, u64 flag, bool on)
{
	if (flag < KL_FLAGS_MAX / 2 && !kl_flags_are_shown(s))
		return;
	if (on && unlikely(READ_ONCE(s->defs.since) >> flag & 1))
		kl_flag_note(s, flag);
	if (flag < KL_FLAGS_MAX / 2) {
		kl_taskset_set(s->defs.task_flag[flag], current->pid, on);
		if (on)
			kl_gate_flag(s, current->pid);
	} else if (on) {
		/* One instruction each: an interrupt may change other flags. */
		this_cpu_or(s->cpu->flags, 1ull << flag);
	} else {
		this_cpu_and(s->cpu->flags, ~(1ull << flag));
	}
}

/* The event's probe is made of the table of events, as others are. */
static void (*alarm_probe)(void *session, u32 id, const char *text) __ro_after_init;

/**
 * kl_fire_set_alarm - what fires the event `alarm`
 * @probe: its probe
 *
 * Context: before the first session.
 */
void __init kl_fire_set_alarm(void (*probe)(void *session, u32 id, const char *text))
{
	alarm_probe = probe;
}

/* A rule of the event `alarm` must not fire it again: nothing would end that. */
static void fire_alarm(struct kl_session *s, u32 id, const char *text)
{
	if (id != KL_EV_alarm)
		alarm_probe(s, id, text);
}

static void sound_alarm(struct kl_session *s, u32 id, const struct kl_rule *r)
{
	fire_alarm(s, id, r->text);
	kl_notify_alarm(s, id, r);
	kl_waiters_kick(&s->waiters, &this_cpu_ptr(s->cpu)->wake);
}

/* Write the record first, so that the copy contains it. */
static void ask_snapshot(struct kl_session *s, u32 id)
{
	fire_alarm(s, id, "snapshot");
	kl_notify_snapshot(s);
}

static __always_inline void run_keys(const struct kl_rule *r, struct kl_event_ctx *f,
				     u64 key[KL_RULE_KEYS_MAX])
{
	for (u32 i = 0; i < r->keys; i++)
		key[i] = kl_program_run(r->key[i], f);
}

static void fire_external(struct kl_session *s, u32 id, const struct kl_rule *r,
			  struct kl_event_ctx *f)
{
	u64 key[KL_RULE_KEYS_MAX];

	run_keys(r, f, key);
	kl_external_fire(s, id, r, f, key);
}

static noinline void handle(struct kl_session *s, u32 id, const struct kl_rule *r,
			    struct kl_event_ctx *f)
{
	switch (r->handler) {
	case KL_HANDLER_log:
		return write_record(s, id, f);
	case KL_HANDLER_stack:
		return write_record_with_stack(s, id, f);
	case KL_HANDLER_set:
	case KL_HANDLER_clear:
		return change_flag(s, r->arg, r->handler == KL_HANDLER_set);
	case KL_HANDLER_freeze:
		return kl_deferred_freeze(s, r->arg);
	case KL_HANDLER_use:
		return kl_deferred_use(s, r->arg);
	case KL_HANDLER_alarm:
		return sound_alarm(s, id, r);
	case KL_HANDLER_snapshot:
		return ask_snapshot(s, id);
	case KL_HANDLER_external:
		return fire_external(s, id, r, f);
	}
}

static struct kl_abi_entry *find_entry(const struct kl_rule *r, struct kl_event_ctx *f)
{
	u64 key[KL_RULE_KEYS_MAX];

	run_keys(r, f, key);
	return kl_table_find(this_cpu_ptr(r->table), key);
}

/* Handle the event with a handler that has a table. */
static __always_inline void add_up(const struct kl_rule *r, struct kl_event_ctx *f)
{
	struct kl_abi_entry *entry = find_entry(r, f);
	s64 value;

	if (unlikely(!entry))
		return;
	if (r->handler == KL_HANDLER_count)
		return kl_entry_count(entry);
	value = kl_program_run(r->value, f);
	kl_entry_add(entry, value);
	if (r->handler == KL_HANDLER_hist)
		kl_entry_hist(this_cpu_ptr(r->table), entry, value, r->arg, r->low);
}

/**
 * kl_fire_fault - something of an event could not be read
 * @r: the rule
 */
void kl_fire_fault(const struct kl_rule *r)
{
	this_cpu_inc(*r->faults);
}

static noinline void fire_wanted(struct kl_session *s, u32 id, const struct kl_rule *r,
				 struct kl_event_ctx *f)
{
	if (r->table)
		add_up(r, f);
	else
		handle(s, id, r, f);
	if (unlikely(f->fault))
		kl_fire_fault(r);
}

static noinline void fire_rule(struct kl_session *s, u32 id, const struct kl_rule *r,
			       struct kl_event_ctx *f)
{
	if (!r->filter || kl_program_run(r->filter, f)) {
		if (r->table)
			add_up(r, f);
		else
			handle(s, id, r, f);
	}
	if (unlikely(f->fault))
		kl_fire_fault(r);
}

/*
 * Is this hit measured? Any one of so many will do, so one that an interrupt's firings make the
 * count forget does not matter; nor does it if another CPU has just asked for all of them.
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
		return kl_fire_no_room(s, r);
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
 * kl_fire_wanted - an event that its rule's filter lets through
 * @s: the session
 * @id: event
 * @r: the rule
 * @f: as much of the event as its handler looks at
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
 * kl_fire_rule - an event that has a rule: filter and handle it
 * @s: the session; its gate has let the event through
 * @id: event
 * @r: the rule
 * @f: as much of the event as the rule looks at; `fault` is false
 *
 * If the rule does not look out (KL_LOOKS_OUT), nothing that can be hooked is
 * called. Context: any, preemption off.
 */
void kl_fire_rule(struct kl_session *s, u32 id, const struct kl_rule *r, struct kl_event_ctx *f)
{
	if (is_measured(s))
		return measure_rule(s, id, r, f);
	fire_rule(s, id, r, f);
}

/**
 * kl_fire_filter_measured - what a filter says, in a session that is measured
 * @r: the rule, which has a filter
 * @f: as much of the event as it reads
 *
 * What is refused is not wanted, and lost. Context: any, preemption off.
 */
bool kl_fire_filter_measured(const struct kl_rule *r, struct kl_event_ctx *f)
{
	struct kl_section section;
	bool wanted;

	if (unlikely(!kl_meter_begin(f->session, &section))) {
		kl_fire_no_room(f->session, r);
		return false;
	}
	wanted = kl_program_run(r->filter, f);
	kl_meter_end(f->session, &section);
	return wanted;
}

/**
 * kl_fire_unseen - an event that has a rule which looks at no fields
 * @s: the session; its gate has let the event through
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
 * kl_fire - an event with its fields: filter and handle it
 * @s: the session; its gate has let the event through
 * @id: event
 * @action: from the session's actions, without what is to be asked
 * @f: the fields as the owner may see them, and arguments
 *
 * Context: any, preemption off.
 */
void kl_fire(struct kl_session *s, u32 id, u8 action, struct kl_event_ctx *f)
{
	if (action == KL_HANDLER_log)
		return write_record(s, id, f);
	if (action < KL_ACTION_RULE)
		return kl_handler_fire(s, id, action);
	f->fault = false;
	kl_fire_rule(s, id, kl_rule_of(s, action), f);
}

/**
 * kl_fire_no_room - there was no room for an event's fields
 * @s: the session
 * @r: its rule, or NULL
 *
 * It is lost if it might have become a record, else one of the rule's faults.
 */
void kl_fire_no_room(struct kl_session *s, const struct kl_rule *r)
{
	if (r && !kl_rule_logs(r))
		kl_fire_fault(r);
	else
		kl_ring_count_lost(&this_cpu_ptr(s->cpu)->ring);
}

static void count_no_room(struct kl_session *s, u8 action)
{
	kl_fire_no_room(s, action >= KL_ACTION_RULE ? kl_rule_of(s, action) : NULL);
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
		return kl_count_fire(s, id);
	if (action >= KL_ACTION_RULE && !(kl_rule_of(s, action)->looks & KL_LOOKS_FIELDS)) {
		if (!kl_fire_blind(kl_rule_of(s, action)))
			kl_fire_rule(s, id, kl_rule_of(s, action), &f);
		return;
	}
	scratch = kl_scratch_get();
	if (unlikely(!scratch))
		return count_no_room(s, action);
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
		return kl_count_fire(s, id);
	if (unlikely(!kl_meter_begin(s, &section)))
		return count_no_room(s, action);
	fire_allowed(s, id, fields, argument, arguments);
	kl_meter_end(s, &section);
}

/**
 * kl_fire_allowed - an event that the session has defined, and may have
 * @s: the session
 * @id: KL_EV_DYNAMIC and up
 * @fields: its output is the record's fields; NULL: none
 * @argument: of the source
 * @arguments: number of them
 *
 * Context: any, preemption off.
 */
void kl_fire_allowed(struct kl_session *s, u32 id, const struct kl_program *fields,
		     const u64 *argument, u32 arguments)
{
	if (unlikely(data_race(s->meter.each))) /* as in kl_fire_asks */
		return fire_allowed_measured(s, id, fields, argument, arguments);
	fire_allowed(s, id, fields, argument, arguments);
}

/**
 * kl_fire_dynevent - the same, if the session's gate lets the running task pass
 * @s: the session
 * @id: KL_EV_DYNAMIC and up
 * @fields: its output is the record's fields; NULL: none
 * @argument: of the source
 * @arguments: number of them
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
 * kl_fire_room - where a probe writes an event's fields that a rule looks at
 * @s: the session; its gate has let the event through
 * @action: from the session's actions, without what is to be asked
 *
 * Returns a place with `at` NULL if nobody looks at them, and the rule is done; or
 * if there is no room: the event is then counted as lost if the rule would log it,
 * else among the rule's faults. Else call kl_fire_fields.
 */
struct kl_place kl_fire_room(struct kl_session *s, u8 action)
{
	struct kl_scratch *scratch;

	if (action >= KL_ACTION_RULE && kl_fire_blind(kl_rule_of(s, action)))
		return (struct kl_place){};
	scratch = kl_scratch_get();
	if (likely(scratch))
		return (struct kl_place){ .at = scratch->fields };
	count_no_room(s, action);
	return (struct kl_place){};
}

/**
 * kl_fire_fields - the fields are written where kl_fire_room said
 * @s: as given to it
 * @id: event
 * @action: from the session's actions, without what is to be asked
 * @fields: the place
 * @bytes: of the fields and strings
 */
void kl_fire_fields(struct kl_session *s, u32 id, u8 action, const u8 *fields, u32 bytes)
{
	struct kl_event_ctx f = { .session = s, .fields = fields, .bytes = bytes };

	kl_fire(s, id, action, &f);
	kl_scratch_put();
}

/**
 * kl_fire_init - get the scratch areas
 *
 * Returns 0 or -ENOMEM; then there are none.
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
