// SPDX-License-Identifier: GPL-2.0
/* Turns event patterns, as users write them, into a map of handlers. */
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/buffer.h>
#include <kernlens/match.h>
#include "../base/base.h"
#include "../base/names.h"

#define PATTERN_MAX 128
#define NEAR_MAX 4 /* suggestions for an unknown name */

enum pattern_kind {
	PATTERN_NAME, /* or glob */
	PATTERN_GROUP,
	PATTERN_DEFAULT,
	PATTERN_ALL,
};

struct pattern {
	enum pattern_kind kind;
	bool except;
	unsigned int handler;
	const char *group; /* NULL: any */
	const char *name;
};

static bool is_group(const struct kl_schema *schema, const char *name)
{
	const struct kl_class *class = NULL;

	while ((class = kl_schema_next(schema, class)))
		if (!strcmp(class->group, name))
			return true;
	return false;
}

static bool matches(const struct pattern *pattern, const struct kl_class *class)
{
	switch (pattern->kind) {
	case PATTERN_DEFAULT:
		return class->set == KL_SET_DEFAULT;
	case PATTERN_ALL:
		return class->set != KL_SET_REQUEST;
	case PATTERN_GROUP:
		return !strcmp(class->group, pattern->group) &&
		       (pattern->except || class->set != KL_SET_REQUEST);
	default:
		if (pattern->group && strcmp(class->group, pattern->group))
			return false;
		return !fnmatch(pattern->name, class->name, 0);
	}
}

/* Fail with suggestions: event names that contain @name or are close to it. */
static int fail_unknown(const struct kl_schema *schema, const char *text, const char *name)
{
	const struct kl_class *class = NULL;
	struct kl_buffer near = { 0 };
	unsigned int found = 0;
	int ret;

	while ((class = kl_schema_next(schema, class)) && found < NEAR_MAX) {
		if (!(*name && strstr(class->name, name)) &&
		    kl_name_distance(name, class->name) > 1 + strlen(name) / 5 &&
		    kl_name_distance(name, class->group) > 1 + strlen(name) / 5)
			continue;
		kl_buffer_printf(&near, "%s%s", found++ ? ", " : "", class->name);
	}
	if (found && !near.error)
		ret = kl_fail(EINVAL, "no event matches '%s'; similar: %s", text, near.data);
	else
		ret = kl_fail(EINVAL, "no event, group or handler matches '%s'", text);
	kl_buffer_deinit(&near);
	return ret;
}

/* Does it look like the name of a user-defined event? */
static bool is_defined_name(const char *text)
{
	return !strncmp(text, "tp:", 3) || !strncmp(text, "fn:", 3) || !strncmp(text, "tick:", 5) ||
	       !strncmp(text, "uprobe:", 7) || !strncmp(text, "usdt:", 5);
}

/* Parse @text, which is cut up in place. */
static int parse_pattern(const struct kl_schema *schema, char *text, struct pattern *pattern)
{
	char *colon = strrchr(text, ':');
	int handler = colon ? kl_handler_find(colon + 1) : -ENOENT;

	if (handler >= 0) {
		pattern->handler = handler;
		*colon = 0;
		colon = strrchr(text, ':');
	}
	pattern->kind = PATTERN_NAME;
	pattern->name = text;
	pattern->group = NULL;
	if (is_defined_name(text)) {
		/* The colon is part of the name. */
	} else if (colon) {
		*colon = 0;
		pattern->group = text;
		pattern->name = colon + 1;
		if (!is_group(schema, text))
			return kl_fail(EINVAL, "'%s' is not a group of events", text);
	} else if (!strcmp(text, "default")) {
		pattern->kind = PATTERN_DEFAULT;
	} else if (!strcmp(text, "all")) {
		pattern->kind = PATTERN_ALL;
	} else if (is_group(schema, text) && !kl_schema_find(schema, text)) {
		pattern->kind = PATTERN_GROUP;
		pattern->group = text;
	}
	return 0;
}

static int apply_pattern(const struct kl_schema *schema, const char *text, size_t length,
			 unsigned int handler, uint8_t *map)
{
	struct pattern pattern = { .handler = handler };
	const struct kl_class *class = NULL;
	char whole[PATTERN_MAX], parts[PATTERN_MAX];
	bool any = false;
	int ret;

	if (length >= PATTERN_MAX)
		return kl_fail(EINVAL, "a pattern must not exceed %d bytes", PATTERN_MAX - 1);
	pattern.except = *text == '!';
	text += pattern.except;
	length -= pattern.except;
	memcpy(whole, text, length);
	whole[length] = 0;
	memcpy(parts, whole, length + 1);
	ret = parse_pattern(schema, parts, &pattern);
	if (ret)
		return ret;
	while ((class = kl_schema_next(schema, class))) {
		if (!matches(&pattern, class))
			continue;
		map[class->id] = pattern.except ? KL_HANDLER_nothing : pattern.handler;
		any = true;
	}
	return any ? 0 : fail_unknown(schema, whole, pattern.name);
}

int kl_events_match(const struct kl_schema *schema, const char *patterns, unsigned int handler,
		    uint8_t map[KL_EV_IDS])
{
	uint8_t result[KL_EV_IDS];
	const char *at = patterns;
	int ret, events = 0;

	memcpy(result, map, sizeof(result));
	if (!*at)
		return kl_fail(EINVAL, "no events given");
	for (;;) {
		size_t length = strcspn(at, ",");

		if (!length)
			return kl_fail(EINVAL, "empty pattern in '%s'", patterns);
		ret = apply_pattern(schema, at, length, handler, result);
		if (ret)
			return ret;
		at += length;
		if (!*at)
			break;
		at++;
	}
	memcpy(map, result, sizeof(result));
	for (unsigned int id = 0; id < KL_EV_IDS; id++)
		events += map[id] != KL_HANDLER_nothing;
	return events;
}
