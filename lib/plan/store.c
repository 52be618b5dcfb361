// SPDX-License-Identifier: GPL-2.0
/* The contents of a plan: programs and rules, without duplicates, events and flags. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "plan.h"

#define HASH_SLOTS 4096

static bool is_program(const struct kl_plan_program *program, const struct kl_code *code)
{
	return program->n_ops == code->n_ops && program->data_bytes == code->data_bytes &&
	       !memcmp(program->ops, code->ops, code->n_ops * sizeof(*code->ops)) &&
	       !memcmp(program->data, code->data, code->data_bytes);
}

/* Make room for one more program and its link. */
static int grow(struct kl_plan *plan)
{
	unsigned int *chain;
	void *programs;

	programs = kl_array_grow(plan->programs, plan->n_programs, &plan->programs_room,
				 sizeof(*plan->programs));
	if (!programs)
		return -ENOMEM;
	plan->programs = programs;
	chain = kl_array_grow(plan->chain, plan->n_programs, &plan->chain_room, sizeof(*chain));
	if (!chain)
		return -ENOMEM;
	plan->chain = chain;
	if (!plan->heads)
		plan->heads = calloc(HASH_SLOTS, sizeof(*plan->heads));
	return plan->heads ? 0 : kl_fail(ENOMEM, "out of memory");
}

static int copy_program(struct kl_plan_program *to, const struct kl_code *code)
{
	to->n_ops = code->n_ops;
	to->data_bytes = code->data_bytes;
	to->ops = malloc(code->n_ops * sizeof(*to->ops));
	to->data = malloc(code->data_bytes + 1);
	if (!to->ops || !to->data) {
		free(to->ops);
		free(to->data);
		return kl_fail(ENOMEM, "out of memory");
	}
	memcpy(to->ops, code->ops, code->n_ops * sizeof(*to->ops));
	memcpy(to->data, code->data, code->data_bytes);
	return 0;
}

int kl_plan_store_program(struct kl_plan *plan, const struct kl_code *code)
{
	uint64_t hash = kl_hash_bytes(kl_hash_bytes(KL_HASH_START, code->ops,
						    code->n_ops * sizeof(*code->ops)),
				      code->data, code->data_bytes);
	unsigned int *head;
	int ret = grow(plan);

	if (ret)
		return ret;
	head = &plan->heads[hash % HASH_SLOTS];
	for (unsigned int number = *head; number; number = plan->chain[number - 1])
		if (plan->programs[number - 1].hash == hash &&
		    is_program(&plan->programs[number - 1], code))
			return (int)number;
	plan->programs[plan->n_programs] = (struct kl_plan_program){ .hash = hash };
	ret = copy_program(&plan->programs[plan->n_programs], code);
	if (ret)
		return ret;
	plan->chain[plan->n_programs] = *head;
	plan->n_programs++;
	*head = (unsigned int)plan->n_programs;
	return (int)plan->n_programs;
}

static bool is_rule(const struct kl_plan_made *a, const struct kl_plan_made *b)
{
	return a->shown.handler == b->shown.handler && a->shown.n_keys == b->shown.n_keys &&
	       a->filter == b->filter && a->value == b->value && a->arg == b->arg &&
	       a->shown.low == b->shown.low && !memcmp(a->key, b->key, sizeof(a->key)) &&
	       !strcmp(a->text, b->text) && !strcmp(a->shown.text, b->shown.text);
}

int kl_plan_store_rule(struct kl_plan *plan, const struct kl_plan_made *rule)
{
	unsigned int i = 0;

	while (i < plan->n_rules && !is_rule(&plan->rules[i], rule))
		i++;
	if (i == plan->n_rules) {
		if (i == KL_RULES_MAX)
			return kl_fail(ENOSPC,
				       "%s: too many different filters and handlers (maximum %d)",
				       rule->shown.text, KL_RULES_MAX);
		plan->rules[plan->n_rules++] = *rule;
	}
	return (int)(KL_ACTION_RULE + i);
}

int kl_plan_store_action(struct kl_plan *plan, size_t index, uint8_t action)
{
	struct kl_plan_maskset *m = &plan->masksets[plan->current];

	while (m->n_dynamic <= index) {
		uint8_t *grown = kl_array_grow(m->dynamic, m->n_dynamic, &m->dynamic_room, 1);

		if (!grown)
			return -ENOMEM;
		m->dynamic = grown;
		grown[m->n_dynamic++] = KL_HANDLER_nothing;
	}
	m->dynamic[index] = action;
	plan->events[index].used_by = plan->current + 1;
	return 0;
}

int kl_plan_store_event(struct kl_plan *plan, const struct kl_plan_event *event, uint8_t action)
{
	void *grown = kl_array_grow(plan->events, plan->n_events, &plan->events_room,
				    sizeof(*plan->events));
	int ret;

	if (!grown)
		return -ENOMEM;
	plan->events = grown;
	plan->events[plan->n_events] = *event;
	ret = kl_plan_store_action(plan, plan->n_events, action);
	/* On failure the caller still owns the name. */
	if (!ret)
		plan->n_events++;
	return ret;
}

int kl_plan_flag(struct kl_plan *plan, const char *name, bool of_cpu)
{
	int first = of_cpu ? KL_FLAGS_MAX / 2 : 0;
	int i = first;

	for (; i < first + KL_FLAGS_MAX / 2 && plan->flags[i]; i++)
		if (!strcmp(plan->flags[i], name))
			return i;
	/* Two users joining at the same time would take the same flag. */
	if (plan->joined)
		return kl_fail(EINVAL,
			       "the session has no flag %s: its flags were named when it was "
			       "created",
			       name);
	if (i == first + KL_FLAGS_MAX / 2)
		return kl_fail(ENOSPC, "too many flags (maximum %d)", KL_FLAGS_MAX / 2);
	plan->flags[i] = strdup(name);
	return plan->flags[i] ? i : kl_fail(ENOMEM, "out of memory");
}

/* ------------------------------------------------------ contents of a plan */

bool kl_plan_is_named(const struct kl_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n_lists; i++) {
		const char *list = plan->lists[i].text, *at = list;
		struct kl_spec spec;

		while (kl_spec_next(list, &at, &spec) > 0)
			if (kl_part_is(&spec.place, name))
				return true;
	}
	return false;
}

size_t kl_plan_defined(const struct kl_plan *plan)
{
	return plan->n_events;
}

const struct kl_plan_rule *kl_plan_rule(const struct kl_plan *plan, unsigned int index)
{
	return index < plan->n_rules ? &plan->rules[index].shown : NULL;
}

size_t kl_plan_omitted(const struct kl_plan *plan)
{
	return plan->omitted;
}

const char *kl_plan_note(const struct kl_plan *plan)
{
	return plan->note.data ? plan->note.data : "";
}
