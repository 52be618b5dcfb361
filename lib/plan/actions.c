// SPDX-License-Identifier: GPL-2.0
/*
 * A plan's masksets: the one that -e and -m make, and those that `use` names, which are found in
 * the session or in files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/maskset.h>
#include "../base/base.h"
#include "plan.h"

static const char *const builtin[] = {
	[KL_MASKSET_RNOTHING] = "RNOTHING",
	[KL_MASKSET_RALL] = "RALL",
	[KL_MASKSET_RDEFAULT] = "RDEFAULT",
};

#define MASKSETS_MAX (KL_MASKSET_MAX - KL_MASKSET_FIRST_USER)

int kl_plan_new_maskset(struct kl_plan *plan, const char *name)
{
	unsigned int index = plan->n_masksets;
	struct kl_plan_maskset *m;

	if (index == MASKSETS_MAX)
		return kl_fail(ENOSPC, "too many masksets (maximum %d)", MASKSETS_MAX);
	m = reallocarray(plan->masksets, index + 1, sizeof(*m));
	if (!m)
		return kl_fail(ENOMEM, "out of memory");
	plan->masksets = m;
	m += index;
	*m = (struct kl_plan_maskset){ .id = KL_MASKSET_FIRST_USER + index };
	strncpy(m->name, name, sizeof(m->name) - 1);
	m->map = calloc(KL_EV_IDS, 1);
	if (!m->map)
		return kl_fail(ENOMEM, "out of memory");
	plan->n_masksets++;
	return (int)index;
}

int kl_plan_find_maskset(const struct kl_plan *plan, const char *name, size_t length)
{
	const struct kl_part part = { name, length };

	for (unsigned int i = 0; i < KL_ARRAY_SIZE(builtin); i++)
		if (kl_part_is(&part, builtin[i]))
			return (int)i;
	for (unsigned int i = 0; i < plan->n_masksets; i++)
		if (kl_part_is(&part, plan->masksets[i].name))
			return (int)(KL_MASKSET_FIRST_USER + i);
	return -ENOENT;
}

static int add_lines(struct kl_plan *plan, const struct kl_maskset *m, unsigned int index,
		     unsigned int handler)
{
	const struct kl_maskset_line *line;
	int ret = 0;

	for (size_t i = 0; !ret && (line = kl_maskset_line(m, i)); i++)
		ret = kl_plan_add_list(plan, &(struct kl_plan_list){
						     .text = (char *)line->text,
						     .handler = handler,
						     .maskset = index,
						     .origin = (char *)kl_maskset_origin(m),
						     .line = line->number,
					     });
	return ret;
}

int kl_plan_add_maskset(struct kl_plan *plan, const struct kl_maskset *maskset,
			unsigned int handler)
{
	return add_lines(plan, maskset, 0, handler);
}

int kl_plan_set_name(struct kl_plan *plan, const char *name)
{
	if (strlen(name) >= KL_NAME_MAX)
		return kl_fail(EINVAL, "a maskset's name must not exceed %d bytes",
			       KL_NAME_MAX - 1);
	strcpy(plan->masksets[0].name, name);
	return 0;
}

static int load(struct kl_plan *plan, const char *list, const struct kl_part *part,
		unsigned int handler)
{
	char name[KL_NAME_MAX];
	struct kl_maskset *m;
	int ret;

	if (part->length >= sizeof(name))
		return kl_spec_fail(list, part->text, "a maskset's name must not exceed %d bytes",
				    KL_NAME_MAX - 1);
	memcpy(name, part->text, part->length);
	name[part->length] = 0;
	m = kl_maskset_load(name);
	if (!m && errno == ENOENT)
		return kl_spec_fail(list, part->text,
				    "unknown maskset \"%s\" (kernlens maskset list shows them)",
				    name);
	if (!m)
		return -errno;
	ret = kl_plan_new_maskset(plan, name);
	if (ret >= 0 && plan->joined)
		plan->masksets[ret].id = KL_MASKSET_ANY;
	if (ret >= 0)
		ret = add_lines(plan, m, (unsigned int)ret, handler);
	kl_maskset_destroy(m);
	return ret;
}

static int load_of_list(struct kl_plan *plan, size_t index)
{
	/* The array of lists may move when others are added. */
	const char *list = plan->lists[index].text, *at = list;
	unsigned int handler = plan->lists[index].handler;
	struct kl_spec spec;
	int ret = 0;

	while (!ret && kl_spec_next(list, &at, &spec) > 0) {
		const struct kl_part *name = &spec.argument[0];

		if (!kl_part_is(&spec.handler, "use") || spec.arguments != 1 ||
		    kl_plan_find_maskset(plan, name->text, name->length) >= 0)
			continue;
		ret = load(plan, list, name, handler);
	}
	if (ret && plan->lists[index].origin)
		kl_spec_locate(ret, list, spec.whole.text, plan->lists[index].origin,
			       plan->lists[index].line);
	return ret;
}

/* Loaded masksets may name others, which are added to the lists. */
int kl_plan_load_masksets(struct kl_plan *plan)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < plan->n_lists; i++)
		ret = load_of_list(plan, i);
	return ret;
}

/* Note the names of the session's masksets. An existing one with the same name as ours is kept. */
static int note_masksets(struct kl_plan *plan, struct kl_session *session)
{
	struct kl_abi_maskset *m = malloc(sizeof(*m));
	int ret = m ? 0 : kl_fail(ENOMEM, "out of memory");

	for (uint32_t id = KL_MASKSET_FIRST_USER; !ret && id < KL_MASKSET_MAX; id++) {
		ret = kl_session_read_maskset(session, id, m);
		if (ret == -ENOENT) {
			ret = 0;
			continue;
		}
		if (!ret)
			ret = kl_plan_new_maskset(plan, m->name);
		if (ret < 0)
			break;
		plan->masksets[ret].id = id;
		plan->masksets[ret].is_there = true;
		ret = 0;
	}
	free(m);
	return ret;
}

int kl_plan_join(struct kl_plan *plan, struct kl_session *session)
{
	const struct kl_class *class = NULL;
	size_t n = 0;

	plan->joined = true;
	plan->masksets[0].id = KL_MASKSET_ANY;
	/* Not all ids have events. */
	while ((class = kl_schema_next(plan->schema, class)))
		if (class->id >= KL_EV_DYNAMIC)
			n = class->id - KL_EV_DYNAMIC + 1u;
	plan->events = calloc(n + 1, sizeof(*plan->events));
	if (!plan->events)
		return kl_fail(ENOMEM, "out of memory");
	plan->n_events = n;
	plan->events_room = n + 1;
	for (unsigned int i = 0; i < KL_FLAGS_MAX; i++) {
		if (!kl_schema_flag(plan->schema, i))
			continue;
		plan->flags[i] = strdup(kl_schema_flag(plan->schema, i));
		if (!plan->flags[i])
			return kl_fail(ENOMEM, "out of memory");
	}
	return note_masksets(plan, session);
}

uint8_t *kl_plan_maskset_map(struct kl_plan *plan, unsigned int index)
{
	return index < plan->n_masksets ? plan->masksets[index].map : NULL;
}

bool kl_plan_has_handler(const struct kl_plan *plan, unsigned int id, unsigned int handler)
{
	for (unsigned int i = 0; i < plan->n_masksets; i++) {
		const struct kl_plan_maskset *m = &plan->masksets[i];
		size_t index = id - KL_EV_DYNAMIC;

		if (id < KL_EV_MAX ? m->map[id] == handler :
				     index < m->n_dynamic && m->dynamic[index] == handler)
			return true;
	}
	return false;
}
