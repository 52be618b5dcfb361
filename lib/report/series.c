// SPDX-License-Identifier: GPL-2.0
/*
 * Values of a trace over time. Each curve has a bounded number of intervals: when the trace is
 * longer than these, pairs of them are joined, unless their length was given.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/filter.h>
#include <kernlens/internal.h>
#include <kernlens/match.h>
#include "../base/base.h"
#include "../base/table.h"
#include "../base/texts.h"
#include "../format/print.h"
#include "../plan/spec.h"
#include "../symbol/run.h"
#include "values.h"

#define BUCKETS_MAX 1000000 /* if their length was given */
#define FIRST_INTERVAL_NS 1024
#define OTHERS "others"

/* Where a key comes from. */
enum key_kind {
	KEY_NONE,
	KEY_NUMBER,
	KEY_FIELD, /* a text */
	KEY_COMM,
	KEY_THREAD,
};

/* Of an event's class. @number: of @program, or -1; @field: of a text, or -1 */
struct programs {
	int value;
	int key;
	int field;
};

/**
 * struct expression - an expression
 * @filter: what it selects; NULL: all
 * @variable: index in the schema, or -1
 * @of: by the event's ID
 * @is_signed: its value is
 * @curves: struct curve_of, by the hash of the key
 * @n_keys: number of curves
 */
struct expression {
	const char *text;
	enum kl_series_function function;
	struct kl_filter *filter;
	int variable;
	const char *unit;
	enum key_kind key;
	enum kl_format key_format;
	bool is_unsigned;
	struct programs of[KL_EV_IDS];
	struct kl_hash curves;
	size_t n_keys;
};

/* @number: of the curve, plus 1; 0: new */
struct curve_of {
	uint64_t key;
	uint64_t number;
};

struct kl_series {
	const struct kl_schema *schema;
	struct expression *expression;
	size_t n;
	struct kl_run *program;
	size_t n_programs;
	size_t programs_room;
	struct kl_series_curve *curve;
	size_t n_curves;
	size_t curves_room;
	struct kl_texts texts;
	uint64_t interval_ns;
	bool fixed;
	size_t buckets; /* allocated, of each curve */
	size_t used;
	uint64_t begin_ns;
	struct kl_buffer text; /* scratch */
};

static const char *const function_names[] = {
	[KL_SERIES_COUNT] = "count", [KL_SERIES_SUM] = "sum", [KL_SERIES_MEAN] = "mean",
	[KL_SERIES_MIN] = "min",     [KL_SERIES_MAX] = "max", [KL_SERIES_LAST] = "last",
};

const char *kl_series_function_name(enum kl_series_function function)
{
	return function_names[function];
}

/* ----------------------------------------------------------------- compiling */

/* State while an expression is compiled. */
struct maker {
	struct kl_series *series;
	struct expression *e;
	struct kl_spec spec;
	struct kl_scope *scope;
	struct kl_code code;
	uint8_t map[KL_EV_IDS];
};

static int add_program(struct kl_series *s, const struct kl_code *code)
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
	return ret ?: add_program(m->series, &m->code);
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
	for (unsigned int i = 0; i < class->n_fields; i++)
		if (kl_part_is(part, class->fields[i].name) && is_text(&class->fields[i])) {
			m->e->key = KEY_FIELD;
			of->field = (int)i;
			return 0;
		}
	of->key = compile(m, "key", part);
	m->e->key = KEY_NUMBER;
	m->e->key_format = m->code.result.format;
	return of->key < 0 ? of->key : 0;
}

static int take_class(struct maker *m, const struct kl_class *class)
{
	struct programs *of = &m->e->of[class->id];
	int ret;

	kl_scope_set_class(m->scope, class);
	if (m->spec.arguments) {
		of->value = compile(m, "value", &m->spec.argument[0]);
		if (of->value < 0)
			return of->value;
		m->e->is_unsigned = m->code.result.type == KL_TYPE_U64;
	}
	ret = take_key(m, class, of);
	return ret;
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
				    "\"%.*s\" is no function of a plot: count, sum, mean, min, max "
				    "or last",
				    (int)name->length, name->text);
	m->e->function = (enum kl_series_function)i;
	if (m->e->function == KL_SERIES_COUNT ? m->spec.arguments : m->spec.arguments != 1)
		return kl_spec_fail(list, name->text, "%s takes %s", function_names[i],
				    m->e->function == KL_SERIES_COUNT ? "no value" : "one value");
	if (m->spec.keys > 1)
		return kl_spec_fail(list, m->spec.key[1].text, "a plot has one key at most");
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

static int take_events(struct maker *m, const char *text)
{
	char *selection = copy_selection(&m->spec);
	char *pattern =
		strndup(m->spec.whole.text,
			(size_t)(m->spec.place.text - m->spec.whole.text) + m->spec.place.length);
	const struct kl_class *class = NULL;
	int ret = selection && pattern ? take_function(m, text) : kl_fail(ENOMEM, "out of memory");

	if (!ret) {
		m->e->filter = kl_filter_create(m->series->schema, selection);
		ret = m->e->filter ? 0 : -errno;
	}
	if (!ret)
		ret = kl_events_match(m->series->schema, pattern, KL_HANDLER_log, m->map);
	while (ret >= 0 && (class = kl_schema_next(m->series->schema, class)))
		if (m->map[class->id])
			ret = take_class(m, class);
	free(selection);
	free(pattern);
	return ret < 0 ? ret : 0;
}

static bool is_variable(struct maker *m, const char *text)
{
	struct expression *e = m->e;
	const struct kl_variable *variable, *row;

	e->variable = kl_schema_find_variable(m->series->schema, text);
	if (e->variable < 0)
		return false;
	variable = kl_schema_variable(m->series->schema, (unsigned int)e->variable);
	row = kl_variable_find(text);
	e->function = KL_SERIES_MEAN;
	e->unit = variable->unit;
	e->is_unsigned = variable->field.type == KL_TYPE_U64;
	if (!row || !strcmp(row->scope, "task"))
		e->key = KEY_THREAD;
	else if (!strcmp(row->scope, "cpu"))
		e->key = KEY_NUMBER;
	return true;
}

/* "EVENTS by KEY" is "EVENTS:count by KEY". */
static int complete(struct maker *m, const char **text)
{
	const char *by = strstr(*text, " by ");
	struct kl_buffer whole = { 0 };
	int error = 0;

	if (!by || memchr(*text, '/', (size_t)(by - *text)) ||
	    memchr(*text, '(', (size_t)(by - *text)) ||
	    memmem(*text, (size_t)(by - *text), ":count", 6))
		return 0;
	kl_buffer_printf(&whole, "%.*s:count%s", (int)(by - *text), *text, by);
	kl_buffer_add_char(&whole, 0);
	*text = whole.data;
	if (whole.error || kl_texts_keep(&m->series->texts, text))
		error = kl_fail(ENOMEM, "out of memory");
	kl_buffer_deinit(&whole);
	return error;
}

static int take_expression(struct maker *m, const char *text)
{
	const char *at = text;
	int ret;

	for (unsigned int id = 0; id < KL_EV_IDS; id++)
		m->e->of[id] = (struct programs){ -1, -1, -1 };
	m->e->text = text;
	m->e->unit = "";
	m->e->curves.size = sizeof(struct curve_of);
	if (is_variable(m, text))
		return 0;
	kl_error_clear();
	ret = complete(m, &text);
	at = text;
	ret = ret ?: kl_spec_next(text, &at, &m->spec);
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

static int compile_all(struct kl_series *s, const char *const *text)
{
	struct maker *m = calloc(1, sizeof(*m));
	int ret = m ? 0 : kl_fail(ENOMEM, "out of memory");

	for (size_t i = 0; i < s->n && !ret; i++) {
		*m = (struct maker){ .series = s, .e = &s->expression[i] };
		m->scope = kl_scope_create(NULL, NULL);
		if (!m->scope)
			ret = -ENOMEM;
		if (!ret) {
			kl_scope_set_recorded(m->scope, s->schema);
			ret = take_expression(m, text[i]);
		}
		kl_scope_destroy(m->scope);
	}
	free(m);
	return ret;
}

struct kl_series *kl_series_create(const struct kl_schema *schema, const char *const *text,
				   size_t n, uint64_t interval_ns, size_t most)
{
	struct kl_series *s = calloc(1, sizeof(*s));
	int error;

	if (!s) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	s->schema = schema;
	s->n = n;
	s->interval_ns = interval_ns ?: FIRST_INTERVAL_NS;
	s->fixed = interval_ns;
	/* Pairs are joined. */
	s->buckets = (most < 2 ? 2 : most) & ~(size_t)1;
	s->expression = calloc(n + 1, sizeof(*s->expression));
	error = s->expression ? compile_all(s, text) : kl_fail(ENOMEM, "out of memory");
	if (!error)
		return s;
	kl_series_destroy(s);
	errno = -error;
	return NULL;
}

void kl_series_destroy(struct kl_series *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->expression && i < s->n; i++) {
		kl_filter_destroy(s->expression[i].filter);
		kl_hash_deinit(&s->expression[i].curves);
	}
	for (size_t i = 0; i < s->n_programs; i++)
		kl_run_deinit(&s->program[i]);
	for (size_t i = 0; i < s->n_curves; i++)
		free(s->curve[i].bucket);
	kl_texts_deinit(&s->texts);
	kl_buffer_deinit(&s->text);
	free(s->expression);
	free(s->program);
	free(s->curve);
	free(s);
}

/* --------------------------------------------------------------------- time */

static void join(struct kl_series_bucket *to, const struct kl_series_bucket *second)
{
	if (!second->count)
		return;
	if (!to->count) {
		*to = *second;
		return;
	}
	to->min = second->min < to->min ? second->min : to->min;
	to->max = second->max > to->max ? second->max : to->max;
	to->last = second->last;
	to->sum += second->sum;
	to->count += second->count;
}

static void halve(struct kl_series *s)
{
	for (size_t i = 0; i < s->n_curves; i++) {
		struct kl_series_bucket *bucket = s->curve[i].bucket;

		for (size_t k = 0; k < s->buckets / 2; k++) {
			const struct kl_series_bucket second = bucket[2 * k + 1];

			bucket[k] = bucket[2 * k];
			join(&bucket[k], &second);
		}
		memset(&bucket[s->buckets / 2], 0, s->buckets / 2 * sizeof(*bucket));
	}
	s->interval_ns *= 2;
	s->used = (s->used + 1) / 2;
}

static int grow(struct kl_series *s, size_t wanted)
{
	size_t buckets = s->buckets;

	while (buckets < wanted)
		buckets *= 2;
	if (wanted > BUCKETS_MAX)
		return kl_fail(E2BIG, "the trace has more than %d intervals of this length",
			       BUCKETS_MAX);
	for (size_t i = 0; i < s->n_curves; i++) {
		struct kl_series_bucket *grown =
			realloc(s->curve[i].bucket, buckets * sizeof(*grown));

		if (!grown)
			return kl_fail(ENOMEM, "out of memory");
		memset(grown + s->buckets, 0, (buckets - s->buckets) * sizeof(*grown));
		s->curve[i].bucket = grown;
	}
	s->buckets = buckets;
	return 0;
}

/* The interval of a time, for which there is room; or a negative errno. */
static int64_t interval_of(struct kl_series *s, uint64_t ns)
{
	uint64_t since;
	int error;

	if (!s->begin_ns)
		s->begin_ns = ns;
	since = ns > s->begin_ns ? ns - s->begin_ns : 0;
	while (!s->fixed && since / s->interval_ns >= s->buckets)
		halve(s);
	if (since / s->interval_ns >= s->buckets) {
		error = grow(s, since / s->interval_ns + 1);
		if (error)
			return error;
	}
	if (since / s->interval_ns >= s->used)
		s->used = since / s->interval_ns + 1;
	return (int64_t)(since / s->interval_ns);
}

/* ------------------------------------------------------------------- values */

/* The text of a key, in scratch. */
static void write_key(struct kl_series *s, const struct expression *e, const struct kl_event *event)
{
	const struct programs *of = &e->of[event->id];
	struct kl_value value;
	uint64_t number;

	kl_buffer_reset(&s->text);
	switch (e->key) {
	case KEY_COMM:
		kl_print_plain(&s->text, event->task.comm, strlen(event->task.comm));
		break;
	case KEY_THREAD:
		kl_print_plain(&s->text, event->task.comm, strlen(event->task.comm));
		kl_buffer_printf(&s->text, "-%d", event->task.tid);
		break;
	case KEY_FIELD:
		value = kl_event_value(event, (unsigned int)of->field);
		kl_print_plain(&s->text, value.bytes, value.length);
		break;
	default:
		number = e->variable >= 0 ? event->cpu : kl_run(&s->program[of->key], event);
		if (!kl_print_meaning(&s->text, e->key_format, number))
			kl_buffer_add_signed(&s->text, (int64_t)number);
		break;
	}
	kl_buffer_add_char(&s->text, 0);
}

/* Not the text, since the name of a thread changes. */
static uint64_t hash_of(const struct kl_series *s, const struct expression *e,
			const struct kl_event *event)
{
	uint64_t hash;

	if (e->key == KEY_THREAD)
		return (uint64_t)(uint32_t)event->task.tid + 1;
	hash = kl_hash_bytes(KL_HASH_START, s->text.data, s->text.length);
	return hash ? hash : 1;
}

static struct kl_series_curve *add_curve(struct kl_series *s, struct expression *e, const char *key)
{
	struct kl_series_curve *grown =
		kl_array_grow(s->curve, s->n_curves, &s->curves_room, sizeof(*grown));

	if (!grown || (key && kl_texts_keep(&s->texts, &key)))
		return NULL;
	s->curve = grown;
	grown += s->n_curves;
	*grown = (struct kl_series_curve){
		.expression = (size_t)(e - s->expression),
		.key = key,
		.function = e->function,
		.unit = e->unit,
		.held = e->variable >= 0,
		.bucket = calloc(s->buckets, sizeof(*grown->bucket)),
	};
	if (!grown->bucket)
		return NULL;
	s->n_curves++;
	return grown;
}

/* The curve of a key. NULL: out of memory */
static struct kl_series_curve *curve_of(struct kl_series *s, struct expression *e,
					const struct kl_event *event)
{
	struct kl_series_curve *curve;
	struct curve_of *entry;
	uint64_t hash = 1;

	if (e->key != KEY_NONE) {
		write_key(s, e, event);
		if (s->text.error)
			return NULL;
		hash = hash_of(s, e, event);
	}
	entry = kl_hash_get(&e->curves, hash);
	if (entry && !entry->number && e->n_keys >= KL_SERIES_KEYS_MAX) {
		/* One more, for all others. */
		kl_buffer_reset(&s->text);
		kl_buffer_add(&s->text, OTHERS, sizeof(OTHERS));
		entry = kl_hash_get(&e->curves, UINT64_MAX);
	}
	if (!entry || entry->number)
		return entry ? &s->curve[entry->number - 1] : NULL;
	curve = add_curve(s, e, e->key == KEY_NONE ? NULL : s->text.data);
	if (!curve)
		return NULL;
	entry->number = s->n_curves;
	e->n_keys++;
	return curve;
}

static double value_of(const struct kl_series *s, const struct expression *e,
		       const struct kl_event *event)
{
	const int program = e->of[event->id].value;
	uint64_t number = 1;

	if (e->variable >= 0)
		number = kl_variable_of(event, e->variable);
	else if (program >= 0)
		number = kl_run(&s->program[program], event);
	return e->is_unsigned ? (double)number : (double)(int64_t)number;
}

static int add_value(struct kl_series *s, struct expression *e, const struct kl_event *event,
		     size_t interval)
{
	struct kl_series_curve *curve = curve_of(s, e, event);
	const double value = value_of(s, e, event);

	if (!curve)
		return kl_fail(ENOMEM, "out of memory");
	join(&curve->bucket[interval], &(struct kl_series_bucket){ 1, value, value, value, value });
	curve->weight += e->function == KL_SERIES_SUM ? value : 1;
	return 0;
}

int kl_series_add(struct kl_series *s, const struct kl_event *event)
{
	const int64_t interval = interval_of(s, event->ns);
	int error = 0;

	if (interval < 0)
		return (int)interval;
	for (size_t i = 0; i < s->n && !error; i++) {
		struct expression *e = &s->expression[i];

		if (e->variable >= 0 ? e->key != KEY_THREAD || event->task.tid :
				       kl_filter_wants(e->filter, event))
			error = add_value(s, e, event, (size_t)interval);
	}
	return error;
}

/* ----------------------------------------------------------------------- end */

static int by_weight(const void *a, const void *b)
{
	const struct kl_series_curve *x = a, *y = b;

	if (x->expression != y->expression)
		return x->expression < y->expression ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->key && y->key ? strcmp(x->key, y->key) : 0;
}

/* In intervals without events, the value is that of the one before. */
static void hold(const struct kl_series *s, struct kl_series_curve *curve)
{
	for (size_t i = 1; i < s->used; i++) {
		const double last = curve->bucket[i - 1].last;

		if (!curve->bucket[i].count && curve->bucket[i - 1].count)
			curve->bucket[i] = (struct kl_series_bucket){ 1, last, last, last, last };
	}
}

const struct kl_series_curve *kl_series_finish(struct kl_series *s, size_t *n)
{
	for (size_t i = 0; i < s->n_curves; i++)
		if (s->curve[i].held)
			hold(s, &s->curve[i]);
	if (s->n_curves)
		qsort(s->curve, s->n_curves, sizeof(*s->curve), by_weight);
	*n = s->n_curves;
	return s->curve;
}

uint64_t kl_series_interval_ns(const struct kl_series *s)
{
	return s->interval_ns;
}

size_t kl_series_intervals(const struct kl_series *s)
{
	return s->used;
}

uint64_t kl_series_begin_ns(const struct kl_series *s)
{
	return s->begin_ns;
}

bool kl_series_value(const struct kl_series *s, const struct kl_series_curve *curve, size_t i,
		     double *value)
{
	const struct kl_series_bucket *bucket = &curve->bucket[i];
	const double seconds = (double)s->interval_ns / 1e9;

	switch (curve->function) {
	case KL_SERIES_COUNT:
		*value = (double)bucket->count / seconds;
		return true;
	case KL_SERIES_SUM:
		*value = bucket->sum / seconds;
		return true;
	case KL_SERIES_MEAN:
		*value = bucket->count ? bucket->sum / (double)bucket->count : 0;
		break;
	case KL_SERIES_MIN:
		*value = bucket->min;
		break;
	case KL_SERIES_MAX:
		*value = bucket->max;
		break;
	default:
		*value = bucket->last;
		break;
	}
	return bucket->count;
}
