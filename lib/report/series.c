// SPDX-License-Identifier: GPL-2.0
/*
 * Values of a trace over time. Each curve has a bounded number of intervals: when the trace is
 * longer than these, pairs of them are joined, unless their length was given.
 *
 * The curves that are returned are copies of the list, and of the intervals of those that are
 * changed for it: events may be added afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "../base/base.h"
#include "../base/table.h"

#define BUCKETS_MAX 1000000 /* if their length was given */
#define FIRST_INTERVAL_NS 1024
#define OTHERS "others"
#define NO_KEY 1 /* hash of an expression without keys */

/* @curves: struct curve_of, by the key; @n_keys: number of curves */
struct expression {
	struct kl_measure *measure;
	struct kl_hash curves;
	size_t n_keys;
};

/* @number: of the curve, plus 1; 0: new */
struct curve_of {
	uint64_t key;
	uint64_t number;
};

/* @hash: of the key */
struct curve {
	struct kl_series_curve is;
	uint64_t hash;
};

/* @result: the curves that were returned last; @held: intervals that only they have */
struct kl_series {
	const struct kl_schema *schema;
	struct expression *expression;
	size_t n;
	struct curve *curve;
	size_t n_curves;
	size_t curves_room;
	struct kl_series_curve *result;
	struct kl_series_bucket *held;
	uint64_t interval_ns;
	bool fixed;
	size_t buckets; /* allocated, of each curve */
	size_t used;
	uint64_t begin_ns;
	struct kl_buffer text; /* scratch */
};

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
	error = s->expression ? 0 : kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !error; i++) {
		s->expression[i].curves.size = sizeof(struct curve_of);
		s->expression[i].measure = kl_measure_create(schema, text[i]);
		error = s->expression[i].measure ? 0 : -errno;
	}
	if (!error)
		return s;
	kl_series_destroy(s);
	errno = -error;
	return NULL;
}

static void free_curve(struct curve *curve)
{
	free((char *)curve->is.key);
	free(curve->is.bucket);
}

void kl_series_destroy(struct kl_series *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->expression && i < s->n; i++) {
		kl_measure_destroy(s->expression[i].measure);
		kl_hash_deinit(&s->expression[i].curves);
	}
	for (size_t i = 0; i < s->n_curves; i++)
		free_curve(&s->curve[i]);
	kl_buffer_deinit(&s->text);
	free(s->result);
	free(s->held);
	free(s->expression);
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
		struct kl_series_bucket *bucket = s->curve[i].is.bucket;

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
			realloc(s->curve[i].is.bucket, buckets * sizeof(*grown));

		if (!grown)
			return kl_fail(ENOMEM, "out of memory");
		memset(grown + s->buckets, 0, (buckets - s->buckets) * sizeof(*grown));
		s->curve[i].is.bucket = grown;
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

static struct curve *add_curve(struct kl_series *s, struct expression *e, const char *key,
			       uint64_t hash)
{
	struct curve *grown = kl_array_grow(s->curve, s->n_curves, &s->curves_room, sizeof(*grown));

	if (!grown)
		return NULL;
	s->curve = grown;
	grown += s->n_curves;
	*grown = (struct curve){
		.is = { .expression = (size_t)(e - s->expression),
			.key = key ? strdup(key) : NULL,
			.function = kl_measure_function(e->measure),
			.unit = kl_measure_unit(e->measure),
			.held = kl_measure_is_held(e->measure),
			.bucket = calloc(s->buckets, sizeof(*grown->is.bucket)) },
		.hash = hash,
	};
	if (!grown->is.bucket || (key && !grown->is.key)) {
		free_curve(grown);
		return NULL;
	}
	s->n_curves++;
	return grown;
}

/* A thread keeps its key when its name changes. NULL: out of memory */
static struct kl_series_curve *rename_curve(struct curve *curve, const char *key)
{
	char *name;

	if (!key || curve->hash == UINT64_MAX || !strcmp(key, curve->is.key))
		return &curve->is;
	name = strdup(key);
	if (!name)
		return NULL;
	free((char *)curve->is.key);
	curve->is.key = name;
	return &curve->is;
}

/* The curve of a key. NULL: out of memory */
static struct kl_series_curve *curve_of(struct kl_series *s, struct expression *e,
					const struct kl_event *event)
{
	const uint64_t key = kl_measure_key(e->measure, event, &s->text);
	uint64_t hash = key ? key : NO_KEY;
	struct curve_of *entry = kl_hash_get(&e->curves, hash);
	struct curve *curve;

	if (s->text.error)
		return NULL;
	if (entry && !entry->number && e->n_keys >= KL_SERIES_KEYS_MAX) {
		/* One more, for all others. */
		kl_buffer_reset(&s->text);
		kl_buffer_add(&s->text, OTHERS, sizeof(OTHERS));
		hash = UINT64_MAX;
		entry = kl_hash_get(&e->curves, hash);
	}
	if (!entry)
		return NULL;
	if (entry->number)
		return rename_curve(&s->curve[entry->number - 1], key ? s->text.data : NULL);
	curve = add_curve(s, e, key ? s->text.data : NULL, hash);
	if (!curve)
		return NULL;
	entry->number = s->n_curves;
	e->n_keys++;
	return &curve->is;
}

static int add_value(struct kl_series *s, struct expression *e, const struct kl_event *event,
		     size_t interval)
{
	struct kl_series_curve *curve = curve_of(s, e, event);
	const double value = kl_measure_value(e->measure, event);

	if (!curve)
		return kl_fail(ENOMEM, "out of memory");
	join(&curve->bucket[interval], &(struct kl_series_bucket){ 1, value, value, value, value });
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

		if (kl_measure_takes(e->measure, event))
			error = add_value(s, e, event, (size_t)interval);
	}
	return error;
}

/* ------------------------------------------------------------------ forgetting */

static bool is_empty(const struct kl_series *s, const struct kl_series_curve *curve)
{
	size_t i = 0;

	while (i < s->used && !curve->bucket[i].count)
		i++;
	return i == s->used;
}

static int enter(struct kl_series *s, size_t i)
{
	struct expression *e = &s->expression[s->curve[i].is.expression];
	struct curve_of *entry = kl_hash_get(&e->curves, s->curve[i].hash);

	if (!entry)
		return kl_fail(ENOMEM, "out of memory");
	entry->number = i + 1;
	e->n_keys++;
	return 0;
}

/* Curves without any value make room for others. */
static int drop_empty(struct kl_series *s)
{
	size_t left = 0;
	int error = 0;

	for (size_t i = 0; i < s->n_curves; i++)
		if (is_empty(s, &s->curve[i].is))
			free_curve(&s->curve[i]);
		else
			s->curve[left++] = s->curve[i];
	if (left == s->n_curves)
		return 0;
	s->n_curves = left;
	for (size_t i = 0; i < s->n; i++) {
		kl_hash_deinit(&s->expression[i].curves);
		s->expression[i].n_keys = 0;
	}
	for (size_t i = 0; i < left && !error; i++)
		error = enter(s, i);
	return error;
}

int kl_series_forget(struct kl_series *s, uint64_t before_ns)
{
	size_t old;

	if (!s->begin_ns || before_ns <= s->begin_ns)
		return 0;
	old = (before_ns - s->begin_ns) / s->interval_ns;
	if (!old)
		return 0;
	s->begin_ns += old * s->interval_ns;
	old = old < s->used ? old : s->used;
	s->used -= old;
	for (size_t i = 0; i < s->n_curves; i++) {
		struct kl_series_bucket *bucket = s->curve[i].is.bucket;

		memmove(bucket, bucket + old, s->used * sizeof(*bucket));
		memset(bucket + s->used, 0, old * sizeof(*bucket));
	}
	return drop_empty(s);
}

/* ---------------------------------------------------------------------- result */

static int by_weight(const void *a, const void *b)
{
	const struct kl_series_curve *x = a, *y = b;

	if (x->expression != y->expression)
		return x->expression < y->expression ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->key && y->key ? strcmp(x->key, y->key) : 0;
}

static void weigh(const struct kl_series *s, struct kl_series_curve *curve)
{
	curve->weight = 0;
	for (size_t i = 0; i < s->used; i++)
		curve->weight += curve->function == KL_MEASURE_SUM ? curve->bucket[i].sum :
								     (double)curve->bucket[i].count;
}

/* In intervals without events, the value is that of the one before. */
static void hold(const struct kl_series *s, struct kl_series_curve *curve,
		 struct kl_series_bucket *to)
{
	memcpy(to, curve->bucket, s->used * sizeof(*to));
	for (size_t i = 1; i < s->used; i++) {
		const double last = to[i - 1].last;

		if (!to[i].count && to[i - 1].count)
			to[i] = (struct kl_series_bucket){ 1, last, last, last, last };
	}
	curve->bucket = to;
}

const struct kl_series_curve *kl_series_finish(struct kl_series *s, size_t *n)
{
	size_t held = 0;

	free(s->result);
	free(s->held);
	*n = 0;
	for (size_t i = 0; i < s->n_curves; i++)
		held += s->curve[i].is.held;
	s->result = calloc(s->n_curves + 1, sizeof(*s->result));
	s->held = calloc(held * s->used + 1, sizeof(*s->held));
	if (!s->result || !s->held) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	held = 0;
	for (size_t i = 0; i < s->n_curves; i++) {
		s->result[i] = s->curve[i].is;
		weigh(s, &s->result[i]);
		if (s->result[i].held)
			hold(s, &s->result[i], s->held + held++ * s->used);
	}
	qsort(s->result, s->n_curves, sizeof(*s->result), by_weight);
	*n = s->n_curves;
	return s->result;
}

bool kl_series_is_empty(const struct kl_series *s)
{
	return !s->n_curves;
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
	case KL_MEASURE_COUNT:
		*value = (double)bucket->count / seconds;
		return true;
	case KL_MEASURE_SUM:
		*value = bucket->sum / seconds;
		return true;
	case KL_MEASURE_MEAN:
		*value = bucket->count ? bucket->sum / (double)bucket->count : 0;
		break;
	case KL_MEASURE_MIN:
		*value = bucket->min;
		break;
	case KL_MEASURE_MAX:
		*value = bucket->max;
		break;
	default:
		*value = bucket->last;
		break;
	}
	return bucket->count;
}
