// SPDX-License-Identifier: GPL-2.0
/* Applies a plan to a session: programs, events, rules, masksets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include <kernlens/schema_define.h>
#include <kernlens/session_define.h>
#include "../base/base.h"
#include "plan.h"

int kl_plan_apply_programs(struct kl_plan *plan, struct kl_session *session)
{
	for (size_t i = 0; i < plan->n_programs; i++) {
		struct kl_plan_program *program = &plan->programs[i];
		int ret;

		if (program->id)
			continue;
		ret = kl_session_add_program(session, program->ops, program->n_ops, program->data,
					     program->data_bytes);
		if (ret < 0)
			return ret;
		program->id = ret;
	}
	return 0;
}

/* A program's id in the session. */
static uint32_t id_of(const struct kl_plan *plan, unsigned int number)
{
	return number ? (uint32_t)plan->programs[number - 1].id : 0;
}

static int apply_events(struct kl_plan *plan, struct kl_session *session)
{
	struct kl_abi_event *events;
	size_t bad = 0;
	int ret;

	if (!plan->n_events || plan->joined)
		return 0;
	events = calloc(plan->n_events, sizeof(*events));
	if (!events)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < plan->n_events; i++)
		events[i] = (struct kl_abi_event){
			.kind = plan->events[i].kind,
			.flags = (plan->events[i].optional ? KL_EVENT_OPTIONAL : 0) |
				 (plan->events[i].is_location ? KL_EVENT_LOCATION : 0),
			.program = id_of(plan, plan->events[i].program),
			.address = plan->events[i].address,
			.arg = plan->events[i].arg,
			.name = (uintptr_t)plan->events[i].name,
		};
	ret = kl_session_add_events(session, events, plan->n_events, &bad, &plan->omitted);
	free(events);
	if (ret < 0 && bad < plan->n_events) {
		const struct kl_class *class =
			kl_schema_class(plan->schema, KL_EV_DYNAMIC + (unsigned int)bad);

		return kl_fail_about(ret, class ? class->name : "an event");
	}
	return ret < 0 ? ret : 0;
}

/* A rule's argument; a maskset is replaced by its id in the session. */
static uint64_t arg_of(const struct kl_plan *plan, const struct kl_plan_made *made)
{
	if (made->shown.handler != KL_HANDLER_use || made->arg < KL_MASKSET_FIRST_USER)
		return made->arg;
	return plan->masksets[made->arg - KL_MASKSET_FIRST_USER].id;
}

static int apply_rules(struct kl_plan *plan, struct kl_session *session)
{
	for (unsigned int i = 0; i < plan->n_rules; i++) {
		struct kl_plan_made *made = &plan->rules[i];
		struct kl_abi_rule rule = {
			.handler = made->shown.handler,
			.filter = id_of(plan, made->filter),
			.value = id_of(plan, made->value),
			.n_keys = made->shown.n_keys,
			.arg = arg_of(plan, made),
			.low = made->shown.low,
		};
		int ret;

		for (unsigned int k = 0; k < made->shown.n_keys; k++)
			rule.key[k] = id_of(plan, made->key[k]);
		memcpy(rule.text, made->text, sizeof(rule.text));
		ret = kl_session_add_rule(session, &rule);
		if (ret < 0)
			return kl_fail_about(ret, made->shown.text);
		made->shown.number = rule.rule;
		ret = kl_schema_set_rule(plan->schema, rule.rule, made->shown.text);
		if (ret)
			return ret;
	}
	return 0;
}

static int note_flags(struct kl_plan *plan)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < KL_FLAGS_MAX; i++)
		if (plan->flags[i])
			ret = kl_schema_set_flag(plan->schema, i, plan->flags[i]);
	return ret;
}

/*
 * Rules name the maskset that they switch to, and masksets contain rules. So a plan first gets ids
 * for masksets that are new to the session, with empty contents.
 */
static int find_ids(struct kl_plan *plan, struct kl_session *session)
{
	static const uint8_t nothing[KL_EV_MAX];
	int ret = 0;

	for (unsigned int i = 0; !ret && i < plan->n_masksets; i++) {
		struct kl_plan_maskset *m = &plan->masksets[i];

		for (unsigned int k = 0; m->id == KL_MASKSET_ANY && k < plan->n_masksets; k++)
			if (plan->masksets[k].is_there && !strcmp(plan->masksets[k].name, m->name))
				m->id = plan->masksets[k].id;
		if (m->id == KL_MASKSET_ANY)
			ret = kl_session_store_maskset(session, &m->id, m->name, nothing, NULL, 0);
	}
	return ret;
}

/* Replace the plan's numbers of rules by those in the session. */
static void number_rules(const struct kl_plan *plan, uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] < KL_ACTION_RULE ?
				from[i] :
				(uint8_t)(KL_ACTION_RULE +
					  plan->rules[from[i] - KL_ACTION_RULE].shown.number);
}

static int apply_maskset(const struct kl_plan *plan, const struct kl_plan_maskset *m,
			 struct kl_session *session)
{
	uint8_t map[KL_EV_MAX], *dynamic = calloc(plan->n_events + 1, 1);
	int ret;

	if (!dynamic)
		return kl_fail(ENOMEM, "out of memory");
	number_rules(plan, map, m->map, KL_EV_MAX);
	number_rules(plan, dynamic, m->dynamic, m->n_dynamic);
	ret = kl_session_write_masksets(session, m->id, m->name, map, dynamic, plan->n_events);
	free(dynamic);
	return ret;
}

int kl_plan_apply(struct kl_plan *plan, struct kl_session *session)
{
	int ret = find_ids(plan, session);

	if (!ret)
		ret = kl_plan_apply_programs(plan, session);
	if (!ret)
		ret = apply_events(plan, session);
	if (!ret)
		ret = apply_rules(plan, session);
	if (!ret)
		ret = note_flags(plan);
	for (unsigned int i = 0; !ret && i < plan->n_masksets; i++)
		if (!plan->masksets[i].is_there)
			ret = apply_maskset(plan, &plan->masksets[i], session);
	if (!ret)
		ret = kl_session_use_maskset(session, plan->masksets[0].id);
	/* This takes longest, and is useless if anything else fails. */
	if (!ret)
		ret = kl_plan_splice(plan, session);
	return ret;
}
