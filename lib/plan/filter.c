// SPDX-License-Identifier: GPL-2.0
/*
 * Selects recorded events with what option -e accepts: for each event of the trace, the program of
 * its filter, compiled in a scope of its fields and the recorded variables.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <kernlens/abi.h>
#include <kernlens/error.h>
#include <kernlens/filter.h>
#include <kernlens/filter_any.h>
#include <kernlens/match.h>
#include "../base/base.h"
#include "../symbol/run.h"
#include "spec.h"

/* What is done with an event; others are the number of a program plus FIRST_PROGRAM. */
enum {
	REJECTED,
	ACCEPTED,
	FIRST_PROGRAM,
};

struct kl_filter {
	unsigned int action[KL_EV_IDS];
	struct kl_run *program;
	size_t n, room;
};

static int add_program(struct kl_filter *filter, const struct kl_code *code)
{
	struct kl_run *grown =
		kl_array_grow(filter->program, filter->n, &filter->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	filter->program = grown;
	if (kl_run_init(&grown[filter->n], code))
		return -ENOMEM;
	filter->n++;
	return 0;
}

/* State while a list is compiled. */
struct maker {
	struct kl_filter *filter;
	const struct kl_schema *schema;
	struct kl_scope *scope;
	struct kl_code code;
	uint8_t map[KL_EV_IDS];
};

/* What precedes the filter. The caller frees it. */
static char *copy_pattern(const struct kl_spec *spec)
{
	const char *end = spec->whole.text + spec->whole.length;
	char *copy;

	if (spec->filter.text) {
		end = spec->filter.text;
		while (*--end != '/')
			;
		while (isspace((unsigned char)end[-1]))
			end--;
	}
	copy = strndup(spec->whole.text, (size_t)(end - spec->whole.text));
	if (!copy)
		kl_fail(ENOMEM, "out of memory");
	return copy;
}

/* Compile a filter for an event. */
static int compile(struct maker *m, const char *text, const struct kl_class *class)
{
	int ret;

	kl_scope_set_class(m->scope, class);
	ret = kl_expression_compile(m->scope, "filter", text, 0, &m->code);
	if (!ret)
		ret = kl_run_check(&m->code, text);
	if (!ret)
		ret = add_program(m->filter, &m->code);
	return ret;
}

static int add_spec(struct maker *m, const char *pattern, const char *text)
{
	struct kl_filter *filter = m->filter;
	bool except = *pattern == '!';
	int ret;

	for (unsigned int id = 0; id < KL_EV_IDS; id++)
		m->map[id] = except && filter->action[id] ? KL_HANDLER_log : KL_HANDLER_nothing;
	ret = kl_events_match(m->schema, pattern, KL_HANDLER_log, m->map);
	for (unsigned int id = 0; ret >= 0 && id < KL_EV_IDS; id++) {
		if (except && !m->map[id])
			filter->action[id] = REJECTED;
		if (except || !m->map[id])
			continue;
		filter->action[id] = ACCEPTED;
		if (!text)
			continue;
		ret = compile(m, text, kl_schema_class(m->schema, id));
		filter->action[id] = FIRST_PROGRAM + (unsigned int)filter->n - 1;
	}
	return ret < 0 ? ret : 0;
}

static int add_list(struct maker *m, const char *list)
{
	struct kl_spec spec;
	const char *at = list;
	int ret;

	while ((ret = kl_spec_next(list, &at, &spec)) > 0) {
		char *pattern, *text = NULL;

		if (spec.handler.text)
			return kl_spec_fail(list, spec.handler.text,
					    "recorded events can be filtered, but not handled");
		pattern = copy_pattern(&spec);
		if (!pattern)
			return -ENOMEM;
		if (spec.filter.text && *pattern == '!')
			ret = kl_spec_fail(list, spec.place.text,
					   "an excluded event (!) takes no filter");
		else if (spec.filter.text)
			text = strndup(spec.filter.text, spec.filter.length);
		if (ret > 0)
			ret = add_spec(m, pattern, text);
		free(pattern);
		free(text);
		if (ret < 0)
			return ret;
	}
	return ret;
}

/* Where an error is, as "WHAT:LINE:COLUMN: message" says. */
static unsigned int column_of(const char *text)
{
	unsigned int line, column;

	return sscanf(text, "%*[^:]:%u:%u:", &line, &column) == 2 ? line << 16 | column : 0;
}

/* If no event will do, the error is that of the one with which most of the text is valid. */
static int add_any(struct maker *m, const char *expression)
{
	const struct kl_class *class = NULL;
	char error[512] = "";
	int ret, failed = -EINVAL;

	while ((class = kl_schema_next(m->schema, class))) {
		ret = compile(m, expression, class);
		if (ret == -ENOMEM)
			return ret;
		if (!ret) {
			m->filter->action[class->id] =
				FIRST_PROGRAM + (unsigned int)m->filter->n - 1;
		} else if (!*error || column_of(kl_error_text()) > column_of(error)) {
			failed = ret;
			snprintf(error, sizeof(error), "%s", kl_error_text());
		}
	}
	return m->filter->n ? 0 : kl_fail(-failed, "%s", *error ? error : "no event has this");
}

static struct kl_filter *create(const struct kl_schema *schema, const char *text,
				int (*add)(struct maker *m, const char *text))
{
	struct maker *m = calloc(1, sizeof(*m));
	struct kl_filter *filter = calloc(1, sizeof(*filter));
	int ret = m && filter ? 0 : kl_fail(ENOMEM, "out of memory");

	if (!ret) {
		m->filter = filter;
		m->schema = schema;
		m->scope = kl_scope_create(NULL, NULL);
		ret = m->scope ? 0 : -ENOMEM;
	}
	if (!ret) {
		kl_scope_set_recorded(m->scope, schema);
		ret = add(m, text);
	}
	if (m)
		kl_scope_destroy(m->scope);
	free(m);
	if (!ret)
		return filter;
	kl_filter_destroy(filter);
	errno = -ret;
	return NULL;
}

struct kl_filter *kl_filter_create(const struct kl_schema *schema, const char *list)
{
	return create(schema, list, add_list);
}

struct kl_filter *kl_filter_create_any(const struct kl_schema *schema, const char *expression)
{
	return create(schema, expression, add_any);
}

void kl_filter_destroy(struct kl_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->n; i++)
		kl_run_deinit(&filter->program[i]);
	free(filter->program);
	free(filter);
}

bool kl_filter_wants(const struct kl_filter *filter, const struct kl_event *event)
{
	unsigned int action = event->id < KL_EV_IDS ? filter->action[event->id] : REJECTED;

	if (action < FIRST_PROGRAM)
		return action == ACCEPTED;
	return kl_run(&filter->program[action - FIRST_PROGRAM], event);
}

int kl_filter_next(const struct kl_filter *filter, struct kl_trace *trace, struct kl_item *item)
{
	while (kl_trace_next(trace, item) > 0)
		if (item->kind != KL_ITEM_EVENT || kl_filter_wants(filter, item->event))
			return 1;
	return 0;
}
