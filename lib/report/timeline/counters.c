// SPDX-License-Identifier: GPL-2.0
/*
 * Variables of a timeline over time: of threads, CPUs, and the machine. Of one that changes often,
 * the least and the greatest values are kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../../base/base.h"
#include "timeline.h"

#define POINTS_MAX 16384 /* of a counter */
#define POINTS_FEW 64 /* not worth thinning out */
#define CURVES_MAX 16 /* of a plot */
#define INTERVALS 2048
#define VALUE_MAX 9e15 /* that JavaScript's numbers have */
#define PART 8 /* of the page, for all counters */

/* Key: hash of variable and id. */
struct counter_of {
	uint64_t key;
	uint64_t number; /* plus 1; 0: new */
};

/* Names for what exists, or settings: no curve shows anything. */
static bool is_figure(const struct kl_variable *variable)
{
	static const char *const others[] = { "cgroup_id", "start_time", "timer_slack" };
	static const char *const counts[] = { "threads", "mappings", "open_files", "nr_running",
					      "timer_interrupts" };
	const enum kl_format format = variable->field.format;

	if ((format != KL_FORMAT_dec && format != KL_FORMAT_counter) || variable->field.count != 1)
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++)
		if (!strcmp(variable->name, others[i]))
			return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(counts); i++)
		if (!strcmp(variable->name, counts[i]))
			return true;
	return *variable->unit || variable->field.bytes == 8;
}

/* The scope is in the table that the library was built with. */
static enum kl_counter_scope scope_of(const struct kl_variable *variable)
{
	const struct kl_variable *row = kl_variable_find(variable->name);

	if (!row)
		return KL_COUNTER_NONE;
	if (!strcmp(row->scope, "task"))
		return KL_COUNTER_THREAD;
	if (!strcmp(row->scope, "cpu"))
		return KL_COUNTER_CPU;
	return !strcmp(row->scope, "system") ? KL_COUNTER_SYSTEM : KL_COUNTER_NONE;
}

void kl_counters_init(struct kl_timeline *t)
{
	const struct kl_variable *variable;

	t->counters_by_id.size = sizeof(struct counter_of);
	t->most_points = t->bytes / PART / KL_POINT_BYTES;
	for (unsigned int i = 0; (variable = kl_schema_variable(t->schema, i)); i++) {
		if (i < KL_ARRAY_SIZE(t->scope) && is_figure(variable))
			t->scope[i] = scope_of(variable);
		if (i < KL_ARRAY_SIZE(t->scope) && t->scope[i])
			t->shown[t->n_shown++] = (uint16_t)i;
	}
}

static struct kl_counter *counter_of(struct kl_timeline *t, unsigned int variable, uint64_t id)
{
	const uint64_t key = ((uint64_t)variable + 1) << 40 ^ id;
	struct counter_of *entry = kl_hash_get(&t->counters_by_id, key);
	struct kl_counter *grown;

	if (!entry)
		return NULL;
	if (!entry->number) {
		grown = kl_array_grow(t->counter, t->n_counters, &t->counters_room, sizeof(*grown));
		if (!grown)
			return NULL;
		t->counter = grown;
		grown[t->n_counters] = (struct kl_counter){
			.variable = variable,
			.name = kl_schema_variable(t->schema, variable)->name,
			.unit = kl_schema_variable(t->schema, variable)->unit,
			.scope = t->scope[variable],
			.id = id,
		};
		entry->number = ++t->n_counters;
	}
	return &t->counter[entry->number - 1];
}

/* Of four points, keep the one with the least and the one with the greatest value. */
static void thin_out(struct kl_timeline *t, struct kl_counter *counter)
{
	size_t kept = 0;

	for (size_t i = 0; i + 4 <= counter->n; i += 4) {
		const struct kl_point *least = &counter->point[i], *most = &counter->point[i];
		struct kl_point two[2];

		for (size_t k = i; k < i + 4; k++) {
			least = counter->point[k].value < least->value ? &counter->point[k] : least;
			most = counter->point[k].value > most->value ? &counter->point[k] : most;
		}
		two[0] = least < most ? *least : *most;
		two[1] = least < most ? *most : *least;
		counter->point[kept++] = two[0];
		counter->point[kept++] = two[1];
	}
	t->n_points -= counter->n - kept;
	counter->n = kept;
	counter->thinned = true;
}

static void thin_out_all(struct kl_timeline *t)
{
	for (size_t i = 0; i < t->n_counters; i++)
		if (t->counter[i].n > POINTS_FEW)
			thin_out(t, &t->counter[i]);
	/* If many counters have few points each, it is not worth trying again soon. */
	if (t->n_points > t->most_points / 2)
		t->most_points = 2 * t->n_points;
}

/* Only the last point is kept, to compare the next one with. */
static int pass_on(struct kl_timeline *t, struct kl_counter *counter, uint64_t ns, int64_t value)
{
	const struct kl_timeline_sink *sink = t->sink;

	if (!counter->point)
		counter->point = malloc(sizeof(*counter->point));
	if (!counter->point)
		return -ENOMEM;
	counter->point[0] = (struct kl_point){ ns, value };
	counter->n = 1;
	return sink->point ? sink->point(sink->context, counter, counter->point) : 0;
}

static int add_point(struct kl_timeline *t, struct kl_counter *counter, uint64_t ns, int64_t value)
{
	struct kl_point *grown;

	if (counter->n && counter->point[counter->n - 1].value == value)
		return 0;
	if (t->sink)
		return pass_on(t, counter, ns, value);
	if (counter->n == POINTS_MAX)
		thin_out(t, counter);
	if (t->n_points > t->most_points)
		thin_out_all(t);
	grown = kl_array_grow(counter->point, counter->n, &counter->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	counter->point = grown;
	grown[counter->n++] = (struct kl_point){ ns, value };
	t->n_points++;
	return 0;
}

int kl_counters_add(struct kl_timeline *t, const struct kl_event *event)
{
	for (size_t k = 0; k < t->n_shown; k++) {
		const unsigned int i = t->shown[k];
		const enum kl_counter_scope scope = t->scope[i];
		const uint64_t id = scope == KL_COUNTER_THREAD ?
					    (uint64_t)(uint32_t)event->task.tid :
				    scope == KL_COUNTER_CPU ? event->cpu :
							      0;
		struct kl_counter *counter;

		if (scope == KL_COUNTER_THREAD && !event->task.tid)
			continue;
		counter = counter_of(t, i, id);
		if (!counter || add_point(t, counter, kl_timeline_time(t, event->ns),
					  (int64_t)kl_event_variable(event, i).number))
			return -ENOMEM;
	}
	return 0;
}

/* ---------------------------------------------------------------------- plots */

int kl_timeline_plot(struct kl_timeline *t, const char *const *text, size_t n)
{
	t->plots = text;
	t->series = kl_series_create(t->schema, text, n, 0, INTERVALS);
	return t->series ? 0 : -errno;
}

/* A value that is the same as before needs no point. */
static int add_intervals(struct kl_timeline *t, struct kl_counter *counter,
			 const struct kl_series_curve *curve)
{
	const uint64_t interval = kl_series_interval_ns(t->series);
	int error = 0;

	for (size_t i = 0; i < kl_series_intervals(t->series) && !error; i++) {
		double value;

		if (kl_series_value(t->series, curve, i, &value) && value < VALUE_MAX &&
		    value > -VALUE_MAX)
			error = add_point(t, counter, i * interval,
					  (int64_t)(value < 0 ? value - 0.5 : value + 0.5));
	}
	return error;
}

static int add_curve(struct kl_timeline *t, const struct kl_series_curve *curve)
{
	const char *text = t->plots[curve->expression];
	struct kl_counter *grown =
		kl_array_grow(t->counter, t->n_counters, &t->counters_room, sizeof(*grown));
	struct kl_buffer name = { 0 };
	int64_t number;

	if (!grown)
		return -ENOMEM;
	t->counter = grown;
	/* The end may not fit into the page. */
	if (curve->key)
		kl_buffer_printf(&name, "%s: ", curve->key);
	kl_buffer_add_string(&name, text);
	kl_buffer_add_char(&name, 0);
	number = name.error ? -ENOMEM : kl_timeline_name(t, name.data);
	kl_buffer_deinit(&name);
	if (number < 0)
		return (int)number;
	grown += t->n_counters++;
	*grown = (struct kl_counter){
		.name = t->name[number],
		.unit = curve->function <= KL_MEASURE_SUM ? "/s" : curve->unit,
		.scope = KL_COUNTER_SYSTEM,
	};
	return add_intervals(t, grown, curve);
}

int kl_counters_finish(struct kl_timeline *t)
{
	const struct kl_series_curve *curve;
	size_t n = 0, before = 0;
	int error = 0;

	if (!t->series)
		return 0;
	curve = kl_series_finish(t->series, &n);
	if (!curve)
		return -ENOMEM;
	for (size_t i = 0; i < n && !error; i++) {
		before = i && curve[i - 1].expression == curve[i].expression ? before + 1 : 0;
		if (before < CURVES_MAX)
			error = add_curve(t, &curve[i]);
	}
	return error;
}

void kl_counters_deinit(struct kl_timeline *t)
{
	kl_series_destroy(t->series);

	for (size_t i = 0; i < t->n_counters; i++)
		free(t->counter[i].point);
	free(t->counter);
	kl_hash_deinit(&t->counters_by_id);
}

const char *kl_counter_scope_name(enum kl_counter_scope scope)
{
	static const char *const names[] = {
		[KL_COUNTER_NONE] = "none",
		[KL_COUNTER_THREAD] = "thread",
		[KL_COUNTER_CPU] = "cpu",
		[KL_COUNTER_SYSTEM] = "system",
	};

	return names[scope];
}
