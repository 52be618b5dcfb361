// SPDX-License-Identifier: GPL-2.0
/*
 * Compiles -e options into programs, rules and masksets. Lists are only parsed when they are added;
 * names are resolved when all lists are known. Events of the tables are handled here, those that
 * the session defines in place.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include <kernlens/match.h>
#include <kernlens/plan_kernel.h>
#include "../base/base.h"
#include "handler/handler.h"
#include "plan.h"

struct kl_plan *kl_plan_create(struct kl_schema *schema)
{
	struct kl_plan *plan = calloc(1, sizeof(*plan));

	if (!plan) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	plan->schema = schema;
	plan->may = ~0u;
	if (kl_plan_new_maskset(plan, "events") == 0)
		return plan;
	kl_plan_destroy(plan);
	errno = ENOMEM;
	return NULL;
}

void kl_plan_destroy(struct kl_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->n_lists; i++) {
		free(plan->lists[i].text);
		free(plan->lists[i].origin);
	}
	for (unsigned int i = 0; i < plan->n_masksets; i++) {
		free(plan->masksets[i].map);
		free(plan->masksets[i].dynamic);
	}
	for (size_t i = 0; i < plan->n_programs; i++) {
		free(plan->programs[i].ops);
		free(plan->programs[i].data);
	}
	for (unsigned int i = 0; i < plan->n_rules; i++) {
		free((char *)plan->rules[i].shown.text);
		for (unsigned int k = 0; k < plan->rules[i].shown.n_keys; k++)
			free((char *)plan->rules[i].shown.key_text[k]);
	}
	for (size_t i = 0; i < plan->n_events; i++)
		free(plan->events[i].name);
	for (size_t i = 0; i < KL_FLAGS_MAX; i++)
		free(plan->flags[i]);
	kl_plan_free_variables(plan);
	kl_scope_destroy(plan->scope);
	kl_plan_free_blocks(plan);
	kl_plan_free_calls(plan);
	kl_symbols_close(plan->symbols);
	kl_program_close(plan->program);
	kl_process_splices_destroy(plan->process);
	kl_plan_free_modules(plan);
	kl_btf_close(plan->btf);
	kl_buffer_deinit(&plan->note);
	free(plan->handlers);
	free(plan->lists);
	free(plan->programs);
	free(plan->heads);
	free(plan->chain);
	free(plan->events);
	free(plan->masksets);
	free(plan);
}

int kl_plan_set_kernel(struct kl_plan *plan, const char *types, const char *symbols)
{
	plan->is_foreign = true;
	if (types)
		plan->btf = kl_btf_open(types);
	if (types && !plan->btf)
		return -errno;
	plan->symbols = kl_symbols_open(symbols);
	return plan->symbols ? 0 : -errno;
}

const struct kl_btf *kl_plan_btf(struct kl_plan *plan)
{
	if (!plan->btf && plan->is_foreign)
		kl_fail(ENOENT, "the types of that kernel are not known");
	else if (!plan->btf)
		plan->btf = kl_btf_open(NULL);
	return plan->btf;
}

const struct kl_symbols *kl_plan_symbols(struct kl_plan *plan)
{
	if (!plan->symbols)
		plan->symbols = kl_symbols_open(NULL);
	return plan->symbols;
}

int kl_plan_add_list(struct kl_plan *plan, const struct kl_plan_list *list)
{
	struct kl_plan_list *grown;

	grown = kl_array_grow(plan->lists, plan->n_lists, &plan->lists_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	plan->lists = grown;
	grown += plan->n_lists;
	*grown = *list;
	grown->text = strdup(list->text);
	grown->origin = list->origin ? strdup(list->origin) : NULL;
	if (!grown->text || !grown->origin != !list->origin) {
		free(grown->text);
		free((char *)grown->origin);
		return kl_fail(ENOMEM, "out of memory");
	}
	plan->n_lists++;
	return 0;
}

/* The spec at @from failed with @ret. If it is another tool's, say how it is written here. */
static int explain(const struct kl_plan *plan, const char *list, const char *from, int ret)
{
	char theirs[KL_SPEC_NAME_MAX], ours[KL_SPEC_NAME_MAX];
	uint8_t map[KL_EV_IDS];
	size_t length;

	from += strspn(from, " \t");
	length = strcspn(from, ", \t");
	if (length >= sizeof(theirs))
		return ret;
	memcpy(theirs, from, length);
	theirs[length] = 0;
	/* A slash begins a filter, or a path. */
	if (!strstr(theirs, ":/"))
		theirs[strcspn(theirs, "/")] = 0;
	if (!kl_foreign_name(plan->schema, theirs, ours, sizeof(ours)) ||
	    kl_events_match(plan->schema, theirs, KL_HANDLER_log, map) > 0)
		return ret;
	return kl_spec_fail(list, from, "kernlens calls this %s", ours);
}

int kl_plan_add(struct kl_plan *plan, const char *list, unsigned int handler)
{
	const char *at = list, *from;
	struct kl_spec spec;
	int ret;

	do {
		from = at;
		ret = kl_spec_next(list, &at, &spec);
	} while (ret > 0);
	if (ret < 0)
		return explain(plan, list, from, ret);
	return kl_plan_add_list(plan,
				&(struct kl_plan_list){ .text = (char *)list, .handler = handler });
}

char *kl_plan_copy_part(const struct kl_part *part)
{
	char *copy = strndup(part->text, part->length);

	if (!copy)
		kl_fail(ENOMEM, "out of memory");
	return copy;
}

/* ------------------------------------------------------------- handlers */

static int find_handler(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
			unsigned int *handler)
{
	for (unsigned int i = 0; spec->handler.text && i < KL_ACTION_RULE; i++)
		if (i != KL_HANDLER_external && kl_handler_name(i) &&
		    kl_part_is(&spec->handler, kl_handler_name(i))) {
			*handler = i;
			return 0;
		}
	if (!spec->handler.text)
		return 0;
	*handler = KL_HANDLER_external;
	if (kl_plan_external(plan, spec))
		return 0;
	return kl_spec_fail(list, spec->handler.text,
			    "unknown handler \"%.*s\" (kernlens list handlers shows them)",
			    (int)spec->handler.length, spec->handler.text);
}

/* Compile a user's expression into a stored program. Returns 0 if there is no expression. */
int kl_plan_compile_part(struct kl_plan *plan, const char *what, const struct kl_part *part,
			 struct kl_result *result)
{
	char *text;
	int ret;

	if (!part->text)
		return 0;
	text = kl_plan_copy_part(part);
	if (!text)
		return -ENOMEM;
	ret = kl_expression_compile(plan->scope, what, text, 0, &plan->code);
	free(text);
	if (ret) {
		kl_spec_note_expression(part->text);
		return ret;
	}
	if (result)
		*result = plan->code.result;
	if (plan->code.note[0])
		kl_buffer_printf(&plan->note, "%s\n", plan->code.note);
	return kl_plan_store_program(plan, &plan->code);
}

static const struct kl_plan_handler *const handlers[] = {
#define KL_HANDLER(id, name, help) [id] = &kl_plan_handler_##name,
#include "../../uapi/handlers.def"
#undef KL_HANDLER
};

static void free_texts(struct kl_plan_made *rule)
{
	free((char *)rule->shown.text);
	for (unsigned int i = 0; i < rule->shown.n_keys; i++)
		free((char *)rule->shown.key_text[i]);
}

static int check_shape(const struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		       unsigned int handler)
{
	const struct kl_abi_handler_info *info =
		handler == KL_HANDLER_external ? kl_plan_external(plan, spec) : NULL;
	const char *name = info ? info->name : kl_handler_name(handler);
	unsigned int least = info ? !!(info->flags & KL_HANDLER_VALUE) : handlers[handler]->least;

	if (spec->arguments < least)
		return kl_spec_fail(list, spec->whole.text, "%s requires an argument: %s(...)",
				    name, name);
	if (spec->arguments > handlers[handler]->most)
		return kl_spec_fail(list, spec->argument[handlers[handler]->most].text,
				    "%s takes at most %u arguments", name, handlers[handler]->most);
	if (spec->keys && !(info ? info->flags & KL_HANDLER_KEYS : handlers[handler]->collects))
		return kl_spec_fail(list, spec->key[0].text, "%s takes no keys", name);
	return 0;
}

/* The byte in a maskset for a spec, in the current scope. */
int kl_plan_action(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		   unsigned int handler)
{
	struct kl_plan_made rule = {};
	unsigned int before = plan->n_rules;
	int ret = find_handler(plan, list, spec, &handler);
	struct kl_spec profile;

	if (!ret && handler == KL_HANDLER_stack && plan->profile) {
		ret = kl_plan_make_profile(plan, list, spec, &profile);
		spec = &profile;
		handler = KL_HANDLER_count;
	}
	if (!ret)
		ret = check_shape(plan, list, spec, handler);
	if (ret)
		return ret;
	if (!spec->filter.text && !spec->arguments && !spec->keys && handler <= KL_HANDLER_count)
		return (int)handler;
	rule.shown.handler = handler;
	rule.shown.collects = handlers[handler]->collects;
	snprintf(rule.shown.handler_name, sizeof(rule.shown.handler_name), "%.*s",
		 handler == KL_HANDLER_external ? (int)spec->handler.length : KL_HANDLER_NAME_MAX,
		 handler == KL_HANDLER_external ? spec->handler.text : kl_handler_name(handler));
	rule.shown.text = kl_plan_copy_part(&spec->whole);
	if (!rule.shown.text)
		return -ENOMEM;
	ret = kl_plan_compile_part(plan, "filter", &spec->filter, NULL);
	if (ret >= 0) {
		rule.filter = (unsigned int)ret;
		ret = handlers[handler]->take ? handlers[handler]->take(plan, list, spec, &rule) :
						0;
	}
	if (!ret)
		ret = kl_plan_take_keys(plan, list, spec, &rule);
	if (!ret)
		ret = kl_plan_store_rule(plan, &rule);
	/* The rule was a duplicate or failed, so its texts are not stored. */
	if (ret < 0 || plan->n_rules == before)
		free_texts(&rule);
	if (handlers[handler]->alarms && ret >= 0)
		plan->masksets[plan->current].map[KL_EV_alarm] = KL_HANDLER_log;
	return ret;
}

/* ------------------------------------------------------------ the tables */

/* Apply PATTERN or PATTERN:HANDLER to events of the tables. */
static int match_plain(struct kl_plan *plan, const struct kl_part *part, unsigned int handler,
		       uint8_t *map)
{
	char *text = kl_plan_copy_part(part);
	int ret;

	if (!text)
		return -ENOMEM;
	ret = kl_events_match(plan->schema, text, handler, map);
	free(text);
	return ret < 0 ? ret : 0;
}

static int add_event(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		     unsigned int handler)
{
	bool simple = !spec->filter.text && !spec->arguments && !spec->keys;
	uint8_t *map = plan->masksets[plan->current].map, *wanted;
	int ret = find_handler(plan, list, spec, &handler);

	if (ret)
		return ret;
	if (simple && handler <= KL_HANDLER_count)
		return match_plain(plan, &spec->place, handler, map);
	if (*spec->place.text == '!')
		return kl_spec_fail(list, spec->place.text,
				    "an excluded event (!) takes no filter");
	wanted = calloc(KL_EV_IDS, 1);
	if (!wanted)
		return kl_fail(ENOMEM, "out of memory");
	ret = match_plain(plan, &spec->place, KL_HANDLER_log, wanted);
	for (unsigned int id = 0; ret >= 0 && id < KL_EV_MAX; id++) {
		if (!wanted[id])
			continue;
		kl_scope_set_class(plan->scope, kl_schema_class(plan->schema, id));
		ret = kl_plan_action(plan, list, spec, handler);
		if (ret >= 0)
			map[id] = (uint8_t)ret;
	}
	kl_scope_set_class(plan->scope, NULL);
	free(wanted);
	return ret < 0 ? ret : 0;
}

/* Prefix the error text with the location, if the list is a line of a file. */
static int locate(const struct kl_plan_list *l, const struct kl_spec *spec, int ret)
{
	return l->origin ? kl_spec_locate(ret, l->text, spec->whole.text, l->origin, l->line) : ret;
}

/* Collect the names of all flags that any rule sets, so that earlier filters can use them. */
static int find_flags(struct kl_plan *plan)
{
	/* Flags of the session that the plan has joined. */
	for (unsigned int i = 0; i < KL_FLAGS_MAX; i++) {
		int ret = plan->flags[i] ? kl_scope_add_flag(plan->scope, plan->flags[i], i) : 0;

		if (ret)
			return ret;
	}
	for (size_t i = 0; i < plan->n_lists; i++) {
		const char *list = plan->lists[i].text, *at = list;
		struct kl_spec spec;

		while (kl_spec_next(list, &at, &spec) > 0) {
			uint64_t flag;
			int ret;

			if ((!kl_part_is(&spec.handler, "set") &&
			     !kl_part_is(&spec.handler, "clear")) ||
			    spec.arguments != 1)
				continue;
			ret = kl_plan_take_flag(plan, list, &spec.argument[0], &flag);
			if (!ret)
				ret = kl_scope_add_flag(plan->scope, plan->flags[flag],
							(unsigned int)flag);
			if (ret)
				return locate(&plan->lists[i], &spec, ret);
		}
	}
	return 0;
}

static const struct kl_btf *scope_types(void *plan)
{
	return kl_plan_btf(plan);
}

static const struct kl_symbols *scope_symbols(void *plan)
{
	return kl_plan_symbols(plan);
}

/* Types and symbols may be missing; whatever needs them then fails. */
static int make_scope(struct kl_plan *plan)
{
	const struct kl_scope_source source = {
		.types = scope_types,
		.symbols = scope_symbols,
		.data = plan,
	};

	plan->scope = kl_scope_create(NULL, NULL);
	if (!plan->scope)
		return -ENOMEM;
	kl_scope_set_source(plan->scope, &source);
	return 0;
}

static int compile_list(struct kl_plan *plan, const struct kl_plan_list *l)
{
	const char *list = l->text, *at = list;
	struct kl_spec spec;
	int ret = 0;

	plan->profile = l->handler == KL_HANDLER_count;
	while (!ret && kl_spec_next(list, &at, &spec) > 0)
		ret = spec.kind == KL_PLACE_EVENT ? add_event(plan, list, &spec, l->handler) :
						    kl_plan_define(plan, list, &spec, l->handler);
	if (ret && spec.kind == KL_PLACE_EVENT)
		ret = explain(plan, list, spec.whole.text, ret);
	return ret ? locate(l, &spec, ret) : 0;
}

int kl_plan_compile(struct kl_plan *plan)
{
	int ret = kl_plan_load_masksets(plan);

	if (!ret)
		ret = make_scope(plan);
	if (!ret)
		ret = find_flags(plan);
	if (!ret)
		ret = kl_plan_compile_variables(plan);
	for (unsigned int m = 0; !ret && m < plan->n_masksets; m++) {
		plan->current = m;
		plan->next_event = 0;
		for (size_t i = 0; !ret && i < plan->n_lists; i++)
			if (plan->lists[i].maskset == m)
				ret = compile_list(plan, &plan->lists[i]);
	}
	return ret ? ret : kl_plan_check_fields(plan);
}

uint8_t *kl_plan_map(struct kl_plan *plan)
{
	return plan->masksets[0].map;
}
