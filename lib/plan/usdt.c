// SPDX-License-Identifier: GPL-2.0
/*
 * USDT markers as events. A marker is one event, whatever the number of its locations: each
 * location has a probe and a program that outputs the same fields, because its arguments are
 * elsewhere. So filters, keys and values do not read the arguments but the fields, and one rule
 * serves all locations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/schema_define.h>
#include <kernlens/usdt.h>

#include "../base/base.h"
#include "plan.h"

/* Describe the event in the plan's capture, and set the event to one of its locations. */
static int set_location(struct kl_plan *plan, struct kl_plan_place *place, const char *path,
			const struct kl_usdt_marker *marker, size_t number)
{
	const struct kl_usdt_location *location = &marker->location[number];
	int program;

	kl_scope_set_usdt(plan->scope, marker, location);
	program = kl_plan_capture(plan, place);
	if (program < 0)
		return program;
	place->event = (struct kl_plan_event){
		.kind = KL_SOURCE_KIND_USDT,
		.is_location = number > 0,
		.program = (unsigned int)program,
		.address = location->semaphore,
		.arg = location->offset,
		.name = strdup(path),
	};
	return place->event.name ? 0 : kl_fail(ENOMEM, "out of memory");
}

/* The action, in a scope in which arguments are fields of @class. */
static int find_action(struct kl_plan *plan, const struct kl_plan_place *place,
		       const struct kl_class *class)
{
	int action;

	kl_scope_set_class(plan->scope, class);
	action = kl_plan_action(plan, place->list, place->spec, place->handler);
	kl_scope_set_class(plan->scope, NULL);
	return action;
}

static int add_first(struct kl_plan *plan, struct kl_plan_place *place, const char *path,
		     const struct kl_usdt_marker *marker)
{
	int ret = set_location(plan, place, path, marker, 0), action;

	if (ret)
		return ret;
	action = find_action(plan, place, &plan->capture.event_class);
	ret = action < 0 ? action : kl_plan_add_event(plan, place, action);
	if (ret)
		free(place->event.name);
	else if (kl_plan_is_log(plan, action))
		kl_plan_note_capture(plan, place);
	return ret;
}

/* Add a location to the event, which has @fields fields. It has an id of its own that is unused. */
static int add_location(struct kl_plan *plan, struct kl_plan_place *place, const char *path,
			const struct kl_usdt_marker *marker, size_t number, unsigned int fields)
{
	int ret = set_location(plan, place, path, marker, number);

	if (ret)
		return ret;
	if (plan->capture.event_class.n_fields != fields)
		ret = kl_fail(E2BIG, "%s: the fields differ between its locations", place->name);
	if (!ret)
		ret = kl_schema_skip(plan->schema);
	if (!ret)
		ret = kl_plan_store_event(plan, &place->event, KL_HANDLER_nothing);
	if (ret)
		free(place->event.name);
	return ret;
}

static int add_marker(struct kl_plan *plan, struct kl_plan_place *place, const char *path,
		      const struct kl_usdt_marker *marker)
{
	unsigned int fields;
	size_t index;
	int ret;

	if (kl_plan_find_event(plan, place->name, &index)) {
		unsigned int id = KL_EV_DYNAMIC + (unsigned int)index;

		kl_scope_set_usdt(plan->scope, marker, marker->location);
		ret = find_action(plan, place, kl_schema_class(plan->schema, id));
		return ret < 0 ? ret : kl_plan_store_action(plan, index, (uint8_t)ret);
	}
	ret = kl_plan_check_new(plan, place);
	if (!ret)
		ret = add_first(plan, place, path, marker);
	fields = plan->capture.event_class.n_fields;
	for (size_t i = 1; !ret && i < marker->n_locations; i++) {
		ret = kl_plan_check_new(plan, place);
		if (!ret)
			ret = add_location(plan, place, path, marker, i, fields);
	}
	return ret;
}

/* Add all that match. @path: as the user wrote it; @real: absolute. */
static int add_markers(struct kl_plan *plan, struct kl_plan_place *place,
		       const struct kl_usdt *usdt, const char *path, const char *real)
{
	const struct kl_spec *spec = place->spec;
	const struct kl_usdt_marker *marker;
	char provider[256], name[256];
	size_t position = 0;
	bool found = false;
	int ret = 0;

	snprintf(provider, sizeof(provider), "%.*s", (int)spec->provider.length,
		 spec->provider.text);
	snprintf(name, sizeof(name), "%.*s", (int)spec->symbol.length, spec->symbol.text);
	while (!ret && (marker = kl_usdt_next(usdt, provider, name, &position))) {
		found = true;
		if (snprintf(place->name, sizeof(place->name), "usdt:%s:%s:%s", path,
			     marker->provider, marker->name) >= (int)sizeof(place->name))
			return kl_spec_fail(place->list, spec->place.text, "the path is too long");
		snprintf(place->help, sizeof(place->help), "USDT marker %s of %s", marker->name,
			 marker->provider);
		ret = add_marker(plan, place, real, marker);
	}
	return found ? ret : kl_usdt_fail_unknown(usdt, path, provider, name);
}

int kl_plan_add_usdt(struct kl_plan *plan, struct kl_plan_place *place, const char *path)
{
	struct kl_usdt *usdt;
	char *real;
	int ret;

	if (!(plan->may & KL_MAY_HOOK_FUNCTIONS))
		return kl_fail(EPERM, "USDT markers need CAP_SYS_ADMIN and no kernel lockdown");
	usdt = kl_usdt_open(path);
	if (!usdt)
		return -errno;
	real = realpath(path, NULL);
	ret = real ? add_markers(plan, place, usdt, path, real) : kl_fail_system(errno, "%s", path);
	free(real);
	kl_usdt_close(usdt);
	return ret;
}
