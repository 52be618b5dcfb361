// SPDX-License-Identifier: GPL-2.0
/* What a page has about growth: functions, stack traces with their frames as numbers, and times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "growth.h"

#define STACKS_MAX 20000 /* those that keep most */

/**
 * struct names - names of frames, each once
 * @number: by name
 * @list: names with their program or library
 */
struct names {
	json_t *number;
	json_t *list;
};

static json_t *pages_json(const uint32_t *pages, unsigned int n)
{
	json_t *to = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(to, json_integer((json_int_t)pages[i]));
	return to;
}

static json_t *row_json(const struct kl_growth_row *row, const struct kl_growth_history *h)
{
	json_t *process = row->pid ? json_pack("{s:i, s:o}", "pid", row->pid, "comm",
					       cli_json_text(row->comm)) :
				     json_null();

	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:[o, o, o]}", "process", process,
			 "kept", (json_int_t)row->kept, "touched", (json_int_t)row->touched,
			 "freed", (json_int_t)row->freed, "events", (json_int_t)row->events,
			 "age_ns", (json_int_t)row->age_ns, "oldest_ns", (json_int_t)row->oldest_ns,
			 "times", pages_json(row->times.touched, h->n),
			 pages_json(row->times.freed, h->n), pages_json(row->times.kept, h->n));
}

static json_t *functions_json(const struct cli_growth *g, const struct kl_growth_history *h,
			      bool calls)
{
	size_t n;
	struct kl_growth_row *row = kl_growth_rows(g->growth, KL_GROWTH_BY_FUNCTION, calls, &n);
	json_t *to = json_array();

	for (size_t i = 0; row && i < n; i++) {
		json_t *each = row_json(&row[i], h);

		json_object_set_new(each, "function", cli_json_text(row[i].function));
		json_object_set_new(each, "object",
				    row[i].object ? cli_json_text(row[i].object) : json_null());
		json_array_append_new(to, each);
	}
	free(row);
	return to;
}

/* The number of a function of a program or library, which is added if it is new. */
static json_int_t number_of(struct names *names, const struct kl_frame *frame)
{
	const char *path = frame->object ? frame->object : "", *file = strrchr(path, '/');
	char made[128];
	json_t *name = cli_json_text(kl_frame_label(frame, made, sizeof(made)));
	json_t *object = cli_json_text(file ? file + 1 : path);
	char *key = cli_format("%s\n%s", json_string_value(name), json_string_value(object));
	json_t *known = json_object_get(names->number, key);

	if (!known) {
		known = json_integer((json_int_t)json_array_size(names->list));
		json_object_set_new(names->number, key, known);
		json_array_append_new(names->list, json_pack("[O, O]", name, object));
	}
	json_decref(name);
	json_decref(object);
	free(key);
	return json_integer_value(known);
}

/* Outermost frame first. */
static json_t *frames_json(const struct cli_growth *g, struct names *names, uint32_t id)
{
	const struct kl_stack *stack = kl_stacks_get(kl_schema_stacks(g->schema), id);
	json_t *to = json_array();

	for (unsigned int i = stack ? stack->n : 0; i-- > 0;)
		json_array_append_new(to, json_integer(number_of(names, &stack->frame[i])));
	return to;
}

/* Stack traces, by what they keep, and how many are left out. */
static json_t *stacks_json(const struct cli_growth *g, const struct kl_growth_history *h,
			   struct names *names, size_t *left_out)
{
	size_t n;
	struct kl_growth_row *row = kl_growth_rows(g->growth, KL_GROWTH_BY_STACK, false, &n);
	json_t *to = json_array();

	*left_out = n > STACKS_MAX ? n - STACKS_MAX : 0;
	for (size_t i = 0; row && i < n && i < STACKS_MAX; i++) {
		json_t *each = row_json(&row[i], h);

		json_object_set_new(each, "frames", frames_json(g, names, row[i].stack));
		json_array_append_new(to, each);
	}
	free(row);
	return to;
}

json_t *cli_growth_page_json(const struct cli_growth *g)
{
	const struct kl_growth_totals *t = kl_growth_totals(g->growth);
	struct names names = { json_object(), json_array() };
	struct kl_growth_history h;
	size_t left_out;
	json_t *to, *stacks;

	kl_growth_history(g->growth, &h);
	stacks = stacks_json(g, &h, &names, &left_out);
	to = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, "
		       "s:o, s:o, s:o, s:o, s:o, s:I}",
		       "faults", (json_int_t)t->faults, "calls", (json_int_t)t->calls, "touched",
		       (json_int_t)t->touched, "kept", (json_int_t)t->kept, "freed",
		       (json_int_t)t->freed, "again", (json_int_t)t->again, "processes",
		       (json_int_t)t->processes, "gaps", (json_int_t)t->gaps, "sized", t->sized,
		       "history", cli_growth_history_json(g), "functions",
		       functions_json(g, &h, false), "freeing", functions_json(g, &h, true),
		       "names", names.list, "stacks", stacks, "left_out", (json_int_t)left_out);
	json_decref(names.number);
	if (!to)
		cli_error(-ENOMEM, "out of memory");
	return to;
}
