// SPDX-License-Identifier: GPL-2.0
/*
 * Events that a plan defines: tracepoints, functions, ticks and probe points in programs. Each
 * becomes a class of the schema, with the arguments as fields if it is logged, and a description
 * for the session.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/schema_define.h>
#include "../base/base.h"
#include "../base/names.h"
#include "../symbol/elf_symbol.h"
#include "plan.h"

bool kl_plan_is_log(const struct kl_plan *plan, int action)
{
	unsigned int handler = action;

	if (action >= KL_ACTION_RULE)
		handler = plan->rules[action - KL_ACTION_RULE].shown.handler;
	return handler == KL_HANDLER_log || handler == KL_HANDLER_stack;
}

static int begin_class(struct kl_plan *plan, const struct kl_plan_place *place)
{
	return kl_capture_init(&plan->capture, (unsigned int)(KL_EV_DYNAMIC + plan->n_events),
			       place->name, place->group, place->help);
}

int kl_plan_capture(struct kl_plan *plan, const struct kl_plan_place *place)
{
	struct kl_capture *capture = &plan->capture;
	int ret = begin_class(plan, place);

	if (!ret && !place->without_arguments)
		ret = kl_capture_arguments(capture, plan->scope);
	if (!ret)
		ret = kl_plan_add_fields(plan);
	if (ret || !capture->event_class.n_fields)
		return ret;
	return kl_plan_store_program(plan, &capture->code);
}

void kl_plan_note_capture(struct kl_plan *plan, const struct kl_plan_place *place)
{
	if (plan->capture.note[0])
		kl_buffer_printf(&plan->note, "%s: %s\n", place->name, plan->capture.note);
}

/* Add the event's fields, if any action logs it. */
static int add_fields(struct kl_plan *plan, struct kl_plan_place *place, int action)
{
	int ret;

	/* With several masksets, another one may log it. */
	if (!kl_plan_is_log(plan, action) && plan->n_masksets == 1)
		return begin_class(plan, place);
	ret = kl_plan_capture(plan, place);
	if (ret < 0)
		return ret;
	kl_plan_note_capture(plan, place);
	place->event.program = (unsigned int)ret;
	return 0;
}

/*
 * A maskset that names an event twice has two. Matches of a pattern always come in the same order,
 * so start with the one after the last match.
 */
bool kl_plan_find_event(struct kl_plan *plan, const char *name, size_t *index)
{
	if (!plan->current && !plan->joined)
		return false;
	for (size_t i = 0; i < plan->n_events; i++) {
		size_t at = (plan->next_event + i) % plan->n_events;
		const struct kl_class *class =
			kl_schema_class(plan->schema, KL_EV_DYNAMIC + (unsigned int)at);

		if (plan->events[at].used_by == plan->current + 1 || !class ||
		    strcmp(class->name, name))
			continue;
		*index = at;
		plan->next_event = at + 1;
		return true;
	}
	return false;
}

int kl_plan_check_new(const struct kl_plan *plan, const struct kl_plan_place *place)
{
	if (plan->joined)
		return kl_spec_fail(place->list, place->spec->whole.text,
				    "the session has no event %s: its events were defined when "
				    "it was created",
				    place->name);
	if (plan->n_events == KL_EV_DYNAMIC_MAX)
		return kl_fail(ENOSPC, "%s: too many events (maximum %d)", place->name,
			       KL_EV_DYNAMIC_MAX);
	return 0;
}

int kl_plan_add_event(struct kl_plan *plan, const struct kl_plan_place *place, int action)
{
	int ret = kl_schema_define(plan->schema, &plan->capture.event_class);

	return ret < 0 ? ret : kl_plan_store_event(plan, &place->event, (uint8_t)action);
}

int kl_plan_add_place(struct kl_plan *plan, struct kl_plan_place *place)
{
	int action = kl_plan_action(plan, place->list, place->spec, place->handler);
	size_t index;
	int ret;

	if (action < 0)
		return action;
	if (kl_plan_find_event(plan, place->name, &index)) {
		free(place->event.name);
		place->event.name = NULL;
		return kl_plan_store_action(plan, index, (uint8_t)action);
	}
	ret = kl_plan_check_new(plan, place);
	if (!ret)
		ret = add_fields(plan, place, action);
	return ret ? ret : kl_plan_add_event(plan, place, action);
}

/* Copy a part to a C string, for matching. */
static int copy_pattern(const struct kl_spec *spec, char *pattern, size_t size, const char *list)
{
	if (spec->place.length >= size)
		return kl_spec_fail(list, spec->place.text, "a name must not exceed %zu bytes",
				    size - 1);
	memcpy(pattern, spec->place.text, spec->place.length);
	pattern[spec->place.length] = 0;
	return 0;
}

/* -------------------------------------------------------- tracepoints */

#define BTF_TRACE "btf_trace_"

static int add_tracepoint(struct kl_plan *plan, struct kl_plan_place *place,
			  const struct kl_btf *btf, const char *name)
{
	int ret;

	kl_scope_set_types(plan->scope, btf);
	ret = kl_scope_set_tracepoint(plan->scope, name);
	if (ret < 0)
		return ret;
	snprintf(place->name, sizeof(place->name), "tp:%s", name);
	snprintf(place->help, sizeof(place->help), "Tracepoint %s", name);
	place->event = (struct kl_plan_event){
		.kind = KL_SOURCE_KIND_TRACEPOINT,
		.name = strdup(name),
	};
	if (!place->event.name)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_plan_add_place(plan, place);
	if (ret)
		free(place->event.name);
	return ret;
}

/* The tracepoint is in the kernel or in a module. */
static int add_one_tracepoint(struct kl_plan *plan, struct kl_plan_place *place, const char *name)
{
	const struct kl_btf *btf = kl_plan_btf(plan);
	int ret;

	if (kl_btf_tracepoint(btf, name) >= 0)
		return add_tracepoint(plan, place, btf, name);
	ret = kl_plan_read_modules(plan);
	if (ret)
		return ret;
	for (size_t i = 0; i < plan->n_modules; i++)
		if (plan->modules[i].btf && kl_btf_tracepoint(plan->modules[i].btf, name) >= 0)
			return add_tracepoint(plan, place, plan->modules[i].btf, name);
	/* Fails, and suggests a similar name. */
	return add_tracepoint(plan, place, btf, name);
}

/* Add the tracepoints that match, from @btf's type @first on. Returns their number. */
static int add_matching_tracepoints(struct kl_plan *plan, struct kl_plan_place *place,
				    const struct kl_btf *btf, uint32_t first, const char *pattern)
{
	uint32_t types = kl_btf_types(btf);
	int found = 0;

	for (uint32_t type = first; type < types; type++) {
		const char *name = kl_btf_name(btf, type);
		int ret;

		if (kl_btf_kind(btf, type) != KL_BTF_TYPEDEF ||
		    strncmp(name, BTF_TRACE, strlen(BTF_TRACE)) ||
		    !kl_name_fits(pattern, name + strlen(BTF_TRACE)))
			continue;
		ret = add_tracepoint(plan, place, btf, name + strlen(BTF_TRACE));
		if (ret)
			return ret;
		found++;
	}
	return found;
}

static int add_tracepoints(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern)
{
	const struct kl_btf *btf = kl_plan_btf(plan);
	int ret, found;

	if (!btf)
		return -errno;
	if (!strpbrk(pattern, "*?["))
		return add_one_tracepoint(plan, place, pattern);
	ret = kl_plan_read_modules(plan);
	if (ret)
		return ret;
	found = add_matching_tracepoints(plan, place, btf, 1, pattern);
	for (size_t i = 0; found >= 0 && i < plan->n_modules; i++) {
		if (!plan->modules[i].btf)
			continue;
		ret = add_matching_tracepoints(plan, place, plan->modules[i].btf, kl_btf_types(btf),
					       pattern);
		found = ret < 0 ? ret : found + ret;
	}
	if (found)
		return found < 0 ? found : 0;
	return kl_spec_fail(place->list, place->spec->place.text, "no tracepoint matches \"%s\"",
			    pattern);
}

/* ---------------------------------------------------------- functions */

static int add_function(struct kl_plan *plan, struct kl_plan_place *place,
			const struct kl_symbol *symbol, bool optional)
{
	bool of_module = symbol->module[0];
	const struct kl_btf *btf;
	char qualified[256];
	int ret;

	snprintf(qualified, sizeof(qualified), "%s%s%s", symbol->module, of_module ? ":" : "",
		 symbol->name);
	btf = of_module ? kl_plan_module_btf(plan, symbol->module) : NULL;
	kl_scope_set_types(plan->scope, btf ? btf : kl_plan_btf(plan));
	ret = place->spec->ret ? kl_scope_set_return(plan->scope, qualified) :
				 kl_scope_set_function(plan->scope, qualified);
	if (ret < 0)
		return ret;
	snprintf(place->name, sizeof(place->name), "fn:%s%s", symbol->name,
		 place->spec->ret ? ":ret" : "");
	snprintf(place->help, sizeof(place->help), "%s of the function %s",
		 place->spec->ret ? "Return" : "Entry", symbol->name);
	place->event = (struct kl_plan_event){
		.kind = place->spec->ret ? KL_SOURCE_KIND_RETURN : KL_SOURCE_KIND_FUNCTION,
		.optional = optional,
		.address = symbol->address,
	};
	return kl_plan_add_place(plan, place);
}

/* The list of functions that ftrace can hook, one a line; NULL if it is not readable. */
static FILE *open_traceable(void)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/available_filter_functions",
		"/sys/kernel/debug/tracing/available_filter_functions",
	};
	FILE *file = NULL;

	for (size_t i = 0; !file && i < KL_ARRAY_SIZE(paths); i++)
		file = fopen(paths[i], "re");
	return file;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	char **name;
	size_t n, room;
};

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
}

static int add_name(struct names *names, const char *name)
{
	char **grown = kl_array_grow(names->name, names->n, &names->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	names->name = grown;
	grown[names->n] = strdup(name);
	if (!grown[names->n])
		return kl_fail(ENOMEM, "out of memory");
	names->n++;
	return 0;
}

/* Read those that match, sorted. */
static int read_traceable(const char *pattern, struct names *names)
{
	FILE *file = open_traceable();
	char line[512];
	int ret = 0;

	if (!file)
		return 0;
	while (!ret && fgets(line, sizeof(line), file)) {
		line[strcspn(line, " \t\n")] = 0;
		if (kl_name_fits(pattern, line))
			ret = add_name(names, line);
	}
	fclose(file);
	if (names->n)
		qsort(names->name, names->n, sizeof(*names->name), compare_names);
	return ret;
}

static int add_functions(struct kl_plan *plan, struct kl_plan_place *place, const char *pattern)
{
	const struct kl_symbols *symbols = kl_plan_symbols(plan);
	bool glob = strpbrk(pattern, "*?[");
	struct kl_symbol symbol;
	struct names names = {};
	unsigned int found = 0;
	size_t position = 0;
	int ret = 0;

	if (!symbols)
		return -errno;
	if (!glob) {
		ret = kl_symbols_find(symbols, pattern, &symbol);
		return ret < 0 ? ret : add_function(plan, place, &symbol, false);
	}
	if (kl_symbols_hidden(symbols))
		return kl_fail(EACCES, "the kernel's addresses are hidden: hooking functions "
				       "needs CAP_SYS_ADMIN");
	ret = read_traceable(pattern, &names);
	while (!ret && kl_symbols_next(symbols, pattern, true, &position, &symbol)) {
		const char *name = symbol.name;

		if (names.n &&
		    !bsearch(&name, names.name, names.n, sizeof(*names.name), compare_names))
			continue;
		ret = add_function(plan, place, &symbol, true);
		/* A pattern with :ret skips functions that return nothing. */
		if (ret == -EINVAL && place->spec->ret)
			ret = 0;
		else
			found++;
	}
	free_names(&names);
	if (!ret && !found)
		ret = kl_spec_fail(place->list, place->spec->place.text,
				   "no function that can be hooked matches \"%s\"", pattern);
	return ret;
}

/* -------------------------------------------------------------- ticks */

static int add_tick(struct kl_plan *plan, struct kl_plan_place *place, const char *text)
{
	char *end;
	unsigned long hz = strtoul(text, &end, 10);
	int ret = 0;

	if (*end || !hz || hz > KL_TICK_HZ_MAX)
		return kl_spec_fail(place->list, place->spec->place.text,
				    "a tick's rate must be from 1 to %d per second",
				    KL_TICK_HZ_MAX);
	kl_scope_clear_arguments(plan->scope);
	/* The instruction may be one of the kernel. */
	if (plan->may & KL_MAY_HOOK_FUNCTIONS)
		ret = kl_scope_add_argument(plan->scope, "ip", 0);
	if (!ret && plan->may & KL_MAY_HOOK_FUNCTIONS)
		ret = kl_scope_add_argument(plan->scope, "user", 0);
	if (ret)
		return ret;
	snprintf(place->name, sizeof(place->name), "tick:%lu", hz);
	snprintf(place->help, sizeof(place->help), "%lu times per second on each CPU", hz);
	place->event = (struct kl_plan_event){ .kind = KL_SOURCE_KIND_TICK, .arg = hz };
	return kl_plan_add_place(plan, place);
}

/* ------------------------------------------------------------- uprobes */

#define UPROBE_ARGUMENTS 6

static int add_uprobe(struct kl_plan *plan, struct kl_plan_place *place, const char *path)
{
	const struct kl_spec *spec = place->spec;
	char symbol[256];
	uint64_t offset;
	int ret;

	snprintf(symbol, sizeof(symbol), "%.*s", (int)spec->symbol.length, spec->symbol.text);
	if (!(plan->may & KL_MAY_HOOK_FUNCTIONS))
		return kl_fail(EPERM,
			       "uprobes need CAP_SYS_ADMIN and no kernel lockdown; in your own "
			       "processes, use "
			       "block:%s:%s#0 (the function's start)",
			       path, symbol);
	ret = kl_elf_file_offset(path, symbol, &offset);
	if (ret)
		return ret;
	kl_scope_clear_arguments(plan->scope);
	if (spec->ret)
		ret = kl_scope_add_argument(plan->scope, "ret", 0);
	for (unsigned int i = 0; !ret && !spec->ret && i < UPROBE_ARGUMENTS; i++)
		ret = kl_scope_add_argument(plan->scope, "", 0);
	if (ret)
		return ret;
	if (snprintf(place->name, sizeof(place->name), "uprobe:%s:%s%s", path, symbol,
		     spec->ret ? ":ret" : "") >= (int)sizeof(place->name))
		return kl_spec_fail(place->list, spec->place.text, "the path is too long");
	snprintf(place->help, sizeof(place->help), "%s of %s in a program",
		 spec->ret ? "Return" : "Entry", symbol);
	place->event = (struct kl_plan_event){
		.kind = spec->ret ? KL_SOURCE_KIND_URETPROBE : KL_SOURCE_KIND_UPROBE,
		.arg = offset,
		.name = realpath(path, NULL),
	};
	if (!place->event.name)
		return kl_fail_system(errno, "%s", path);
	ret = kl_plan_add_place(plan, place);
	if (ret)
		free(place->event.name);
	return ret;
}

int kl_plan_define(struct kl_plan *plan, const char *list, const struct kl_spec *spec,
		   unsigned int handler)
{
	struct kl_plan_place place = {
		.list = list, .spec = spec, .handler = handler, .group = "defined"
	};
	char pattern[4096];
	int ret = copy_pattern(spec, pattern, sizeof(pattern), list);

	if (ret)
		return ret;
	switch (spec->kind) {
	case KL_PLACE_TRACEPOINT:
		ret = add_tracepoints(plan, &place, pattern);
		break;
	case KL_PLACE_FUNCTION:
		ret = add_functions(plan, &place, pattern);
		break;
	case KL_PLACE_TICK:
		ret = add_tick(plan, &place, pattern);
		break;
	case KL_PLACE_BLOCK:
		ret = kl_plan_add_blocks(plan, &place, pattern);
		break;
	case KL_PLACE_CALL:
		ret = kl_plan_add_calls(plan, &place, pattern);
		break;
	case KL_PLACE_USDT:
		ret = kl_plan_add_usdt(plan, &place, pattern);
		break;
	case KL_PLACE_PROGRAM_BLOCK:
		ret = kl_plan_add_program_blocks(plan, &place);
		break;
	default:
		ret = add_uprobe(plan, &place, pattern);
	}
	/* Reset the types, which may be a module's, for the next spec. */
	kl_scope_set_types(plan->scope, plan->btf);
	return ret;
}
