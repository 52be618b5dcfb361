// SPDX-License-Identifier: GPL-2.0
/*
 * What is taken from recorded events: for each event of the trace, the programs of its value and
 * its key, compiled in a scope of its fields and the recorded variables. Feeds report/series.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/filter.h>
#include <kernlens/internal.h>
#include <kernlens/match.h>
#include "../base/base.h"
#include "../base/table.h"
#include "../format/print.h"
#include "../symbol/run.h"
#include "spec.h"

/* Where a key comes from. */
enum key_kind {
	KEY_NONE,
	KEY_VALUE, /* struct programs says which */
	KEY_COMM,
	KEY_THREAD,
	KEY_CPU,
};

/**
 * struct programs - what is taken from events of a class
 * @value: number of the program; -1: there is none
 * @is_unsigned: its result is
 * @key: number of the program; -1: the key is the text @field, or there is none
 * @format: of its result
 */
struct programs {
	int value;
	bool is_unsigned;
	int key;
	enum kl_format format;
	unsigned int field;
};

/**
 * struct kl_measure - what is taken
 * @filter: events that are selected; NULL: all
 * @variable: index in the schema, or -1
 * @is_unsigned: it is
 * @of: by the event's ID
 */
struct kl_measure {
	enum kl_measure_function function;
	struct kl_filter *filter;
	int variable;
	const char *unit;
	bool is_unsigned;
	enum key_kind key;
	struct programs of[KL_EV_IDS];
	struct kl_run *program;
	size_t n_programs;
	size_t programs_room;
};

static const char *const function_names[] = {
	[KL_MEASURE_COUNT] = "count", [KL_MEASURE_SUM] = "sum", [KL_MEASURE_MEAN] = "mean",
	[KL_MEASURE_MIN] = "min",     [KL_MEASURE_MAX] = "max", [KL_MEASURE_LAST] = "last",
};

const char *kl_measure_function_name(enum kl_measure_function function)
{
	return function_names[function];
}

/* ----------------------------------------------------------------- compiling */

/* State while an expression is compiled. */
struct maker {
	struct kl_measure *e;
	const struct kl_schema *schema;
	struct kl_spec spec;
	struct kl_scope *scope;
	struct kl_code code;
	uint8_t map[KL_EV_IDS];
};

static int add_program(struct kl_measure *s, const struct kl_code *code)
{
	struct kl_run *grown =
		kl_array_grow(s->program, s->n_programs, &s->programs_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	s->program = grown;
	if (kl_run_init(&grown[s->n_programs], code))
		return -ENOMEM;
	return (int)s->n_programs++;
}

/* The number of a program for a part of the text, in an event's scope; or a negative errno. */
static int compile(struct maker *m, const char *what, const struct kl_part *part)
{
	char *text = strndup(part->text, part->length);
	int ret;

	if (!text)
		return kl_fail(ENOMEM, "out of memory");
	ret = kl_expression_compile(m->scope, what, text, 0, &m->code);
	ret = ret ?: kl_run_check(&m->code, text);
	free(text);
	return ret ?: add_program(m->e, &m->code);
}

static bool is_text(const struct kl_field *field)
{
	return field->type >= KL_TYPE_TEXT;
}

/* A key is a command name, a field that is a text, or a number. */
static int take_key(struct maker *m, const struct kl_class *class, struct programs *of)
{
	const struct kl_part *part = &m->spec.key[0];

	if (!m->spec.keys)
		return 0;
	if (kl_part_is(part, "comm")) {
		m->e->key = KEY_COMM;
		return 0;
	}
	m->e->key = KEY_VALUE;
	for (unsigned int i = 0; i < class->n_fields; i++)
		if (kl_part_is(part, class->fields[i].name) && is_text(&class->fields[i])) {
			of->field = i;
			return 0;
		}
	of->key = compile(m, "key", part);
	of->format = m->code.result.format;
	return of->key < 0 ? of->key : 0;
}

static int take_class(struct maker *m, const struct kl_class *class)
{
	struct programs *of = &m->e->of[class->id];

	kl_scope_set_class(m->scope, class);
	if (m->spec.arguments) {
		of->value = compile(m, "value", &m->spec.argument[0]);
		if (of->value < 0)
			return of->value;
		of->is_unsigned = m->code.result.type == KL_TYPE_U64;
	}
	return take_key(m, class, of);
}

static int take_function(struct maker *m, const char *list)
{
	const struct kl_part *name = &m->spec.handler;
	unsigned int i = 0;

	if (!name->text)
		return 0;
	while (i < KL_ARRAY_SIZE(function_names) && !kl_part_is(name, function_names[i]))
		i++;
	if (i == KL_ARRAY_SIZE(function_names))
		return kl_spec_fail(list, name->text,
				    "\"%.*s\" is no function: count, sum, mean, min, max "
				    "or last",
				    (int)name->length, name->text);
	m->e->function = (enum kl_measure_function)i;
	if (m->e->function == KL_MEASURE_COUNT ? m->spec.arguments : m->spec.arguments != 1)
		return kl_spec_fail(list, name->text, "%s takes %s", function_names[i],
				    m->e->function == KL_MEASURE_COUNT ? "no value" : "one value");
	if (m->spec.keys > 1)
		return kl_spec_fail(list, m->spec.key[1].text, "there can be one key");
	return 0;
}

/* What precedes the function. The caller frees it. */
static char *copy_selection(const struct kl_spec *spec)
{
	const char *end = spec->handler.text ? spec->handler.text :
					       spec->whole.text + spec->whole.length;

	while (spec->handler.text && *--end != ':')
		;
	return strndup(spec->whole.text, (size_t)(end - spec->whole.text));
}

/* What precedes the filter. The caller frees it. */
static char *copy_pattern(const struct kl_spec *spec)
{
	return strndup(spec->whole.text,
		       (size_t)(spec->place.text - spec->whole.text) + spec->place.length);
}

static int take_events(struct maker *m, const char *text)
{
	char *selection = copy_selection(&m->spec);
	char *pattern = copy_pattern(&m->spec);
	const struct kl_class *class = NULL;
	int ret = selection && pattern ? take_function(m, text) : kl_fail(ENOMEM, "out of memory");

	if (!ret) {
		m->e->filter = kl_filter_create(m->schema, selection);
		ret = m->e->filter ? 0 : -errno;
	}
	if (!ret)
		ret = kl_events_match(m->schema, pattern, KL_HANDLER_log, m->map);
	while (ret >= 0 && (class = kl_schema_next(m->schema, class)))
		if (m->map[class->id])
			ret = take_class(m, class);
	free(selection);
	free(pattern);
	return ret < 0 ? ret : 0;
}

static bool is_variable(struct maker *m, const char *text)
{
	struct kl_measure *e = m->e;
	const struct kl_variable *variable, *row;

	e->variable = kl_schema_find_variable(m->schema, text);
	if (e->variable < 0)
		return false;
	variable = kl_schema_variable(m->schema, (unsigned int)e->variable);
	row = kl_variable_find(text);
	e->function = KL_MEASURE_MEAN;
	e->unit = variable->unit;
	e->is_unsigned = variable->field.type == KL_TYPE_U64;
	if (!row || !strcmp(row->scope, "task"))
		e->key = KEY_THREAD;
	else if (!strcmp(row->scope, "cpu"))
		e->key = KEY_CPU;
	return true;
}

/* Where " by KEY" begins, or NULL: what looks like it in a filter or a value is not it. */
static const char *find_key(const char *text)
{
	const char *by = NULL;

	for (const char *at = text; (at = strpbrk(at, " /)")); at++)
		if (*at != ' ')
			by = NULL;
		else if (!strncmp(at, " by ", 4))
			by = at;
	return by;
}

/* "EVENTS by KEY" is "EVENTS:count by KEY". The caller frees it; NULL: out of memory */
static char *complete(const char *text)
{
	const char *by = find_key(text), *at;
	char *before, *whole = NULL;
	struct kl_spec spec;
	bool counts;

	if (!by)
		return strdup(text);
	before = strndup(text, (size_t)(by - text));
	at = before;
	/* What is wrong before the key is reported when all of it is parsed. */
	counts = before && kl_spec_next(before, &at, &spec) > 0 && !spec.handler.text;
	if (before && asprintf(&whole, "%s%s%s", before, counts ? ":count" : "", by) < 0)
		whole = NULL;
	free(before);
	return whole;
}

static int take_whole(struct maker *m, const char *text)
{
	const char *at = text;
	int ret = kl_spec_next(text, &at, &m->spec);

	if (ret > 0)
		ret = take_events(m, text);
	else if (!ret)
		ret = kl_fail(EINVAL, "an expression is empty");
	if (!ret && kl_spec_next(text, &at, &m->spec))
		ret = kl_spec_fail(text, m->spec.whole.text,
				   "each expression has a curve of its "
				   "own: give them as several arguments");
	return ret;
}

static int take_expression(struct maker *m, const char *text)
{
	char *whole;
	int ret;

	for (unsigned int id = 0; id < KL_EV_IDS; id++)
		m->e->of[id] = (struct programs){ .value = -1, .key = -1 };
	m->e->unit = "";
	if (is_variable(m, text))
		return 0;
	kl_error_clear();
	whole = complete(text);
	ret = whole ? take_whole(m, whole) : kl_fail(ENOMEM, "out of memory");
	free(whole);
	return ret;
}

char *kl_measure_events(const char *text, bool filtered)
{
	char *whole = complete(text), *events = NULL;
	const char *at = whole;
	struct kl_spec spec;
	int ret = whole ? kl_spec_next(whole, &at, &spec) : -ENOMEM;

	if (ret > 0) {
		events = filtered ? copy_selection(&spec) : copy_pattern(&spec);
		ret = events ? 0 : -ENOMEM;
	} else if (!ret) {
		ret = kl_fail(EINVAL, "an expression is empty");
	}
	if (ret == -ENOMEM)
		kl_fail(ENOMEM, "out of memory");
	free(whole);
	errno = -ret;
	return events;
}

struct kl_measure *kl_measure_create(const struct kl_schema *schema, const char *text)
{
	struct kl_measure *measure = calloc(1, sizeof(*measure));
	struct maker *m = calloc(1, sizeof(*m));
	int error = measure && m ? 0 : kl_fail(ENOMEM, "out of memory");

	if (!error) {
		m->e = measure;
		m->schema = schema;
		m->scope = kl_scope_create(NULL, NULL);
		error = m->scope ? 0 : -ENOMEM;
	}
	if (!error) {
		kl_scope_set_recorded(m->scope, schema);
		error = take_expression(m, text);
	}
	if (m)
		kl_scope_destroy(m->scope);
	free(m);
	if (!error)
		return measure;
	kl_measure_destroy(measure);
	errno = -error;
	return NULL;
}

void kl_measure_destroy(struct kl_measure *measure)
{
	if (!measure)
		return;
	for (size_t i = 0; i < measure->n_programs; i++)
		kl_run_deinit(&measure->program[i]);
	kl_filter_destroy(measure->filter);
	free(measure->program);
	free(measure);
}

enum kl_measure_function kl_measure_function(const struct kl_measure *measure)
{
	return measure->function;
}

const char *kl_measure_unit(const struct kl_measure *measure)
{
	return measure->unit;
}

bool kl_measure_is_held(const struct kl_measure *measure)
{
	return measure->variable >= 0;
}

/* -------------------------------------------------------------------- events */

bool kl_measure_takes(const struct kl_measure *measure, const struct kl_event *event)
{
	if (measure->variable >= 0)
		return measure->key != KEY_THREAD || event->task.tid;
	return kl_filter_wants(measure->filter, event);
}

double kl_measure_value(const struct kl_measure *measure, const struct kl_event *event)
{
	const struct programs *of = &measure->of[event->id];
	bool is_unsigned = of->is_unsigned;
	uint64_t number = 1;

	if (measure->variable >= 0) {
		number = kl_event_variable(event, (unsigned int)measure->variable).number;
		is_unsigned = measure->is_unsigned;
	} else if (of->value >= 0) {
		number = kl_run(&measure->program[of->value], event);
	}
	return is_unsigned ? (double)number : (double)(int64_t)number;
}

static void write_value(const struct kl_measure *measure, const struct kl_event *event,
			struct kl_buffer *text)
{
	const struct programs *of = &measure->of[event->id];
	struct kl_value value;
	uint64_t number;

	if (of->key < 0) {
		value = kl_event_value(event, of->field);
		kl_print_plain(text, value.bytes, value.length);
		return;
	}
	number = kl_run(&measure->program[of->key], event);
	if (!kl_print_meaning(text, of->format, number))
		kl_buffer_add_signed(text, (int64_t)number);
}

static void write_key(const struct kl_measure *measure, const struct kl_event *event,
		      struct kl_buffer *text)
{
	switch (measure->key) {
	case KEY_COMM:
	case KEY_THREAD:
		kl_print_plain(text, event->task.comm, strlen(event->task.comm));
		if (measure->key == KEY_THREAD)
			kl_buffer_printf(text, "-%d", event->task.tid);
		break;
	case KEY_CPU:
		kl_buffer_add_unsigned(text, event->cpu, 0);
		break;
	default:
		write_value(measure, event, text);
		break;
	}
	kl_buffer_add_char(text, 0);
}

uint64_t kl_measure_key(const struct kl_measure *measure, const struct kl_event *event,
			struct kl_buffer *text)
{
	uint64_t hash;

	kl_buffer_reset(text);
	if (measure->key == KEY_NONE)
		return 0;
	write_key(measure, event, text);
	if (measure->key == KEY_THREAD)
		return (uint64_t)(uint32_t)event->task.tid + 1;
	hash = kl_hash_bytes(KL_HASH_START, text->data, text->length);
	return hash ? hash : 1;
}
