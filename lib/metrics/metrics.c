// SPDX-License-Identifier: GPL-2.0
/*
 * A set of metrics and their values. Fed by readers, printed by text.c. Each metric has a maximum
 * number of series; values of further ones are added to a series whose labels are "other".
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/table.h"
#include "metrics.h"

#define SYSTEM(name, by) .variable = #name, .scale = by
#define PROCESS(name, by) .variable = #name, .scale = by, .is_process = true
#define OPTION(name, by) PROCESS(name, by), .is_optional = true
#define READ .scale = 1

/* Series of "other" of a metric that also has labels without a star, such as modes of CPUs. */
#define KL_METRIC_KEPT 9

/* The series of a hash of labels. @index: plus 1 */
struct known {
	uint64_t key;
	size_t metric;
	size_t index;
};

static const struct kl_metric_info rows[] = {
#define KL_METRIC(id, name_, type_, unit_, labels_, most_, source, help_) \
	{ .name = name_,                                                  \
	  .type = KL_METRIC_##type_,                                      \
	  .unit = unit_,                                                  \
	  .labels = labels_,                                              \
	  .help = help_,                                                  \
	  .most = most_,                                                  \
	  source },
#include <kernlens/metrics.def>
#undef KL_METRIC
};

_Static_assert(KL_ARRAY_SIZE(rows) == KL_METRICS, "each metric has a row");

struct kl_metrics *kl_metrics_create(void)
{
	struct kl_metrics *m = calloc(1, sizeof(*m));

	if (!m) {
		kl_fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < KL_METRICS; i++)
		m->values[i].most = rows[i].most;
	return m;
}

void kl_metrics_destroy(struct kl_metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(m->values); i++)
		free(m->values[i].series);
	for (size_t i = 0; i < m->n_info; i++)
		free(m->names[i]);
	kl_hash_deinit(&m->known);
	kl_buffer_deinit(&m->texts);
	free(m->buckets);
	free(m);
}

const struct kl_metric_info *kl_metrics_info(const struct kl_metrics *m, size_t metric)
{
	if (metric < KL_METRICS)
		return &rows[metric];
	return m && metric - KL_METRICS < m->n_info ? &m->info[metric - KL_METRICS] : NULL;
}

/* ------------------------------------------------------- metrics without a row */

/* The base unit of a variable's unit, and what its value is multiplied by. */
static const char *base_unit(const char *unit, double *scale)
{
	static const struct {
		const char *unit, *base;
		double scale;
	} units[] = {
		{ "B", "bytes", 1 },
		{ "ns", "seconds", 1e-9 },
		{ "pages", "bytes", 4096 },
		{ "KiB", "bytes", 1024 },
	};

	*scale = 1;
	for (size_t i = 0; i < KL_ARRAY_SIZE(units); i++)
		if (!strcmp(unit, units[i].unit)) {
			*scale = units[i].scale;
			return units[i].base;
		}
	return "";
}

static bool is_figure(const struct kl_variable *v)
{
	return v->field.type != KL_TYPE_TEXT && v->field.format != KL_FORMAT_hex &&
	       v->field.format != KL_FORMAT_ptr && v->field.format != KL_FORMAT_cgroup &&
	       !strcmp(v->scope, "task");
}

int kl_metrics_define(struct kl_metrics *m, const struct kl_variable *v)
{
	struct kl_metric_info info = {
		.type = KL_METRIC_unknown,
		.labels = "pid*,start*,name*",
		.help = v->help,
		.variable = v->name,
		.is_process = true,
	};
	struct kl_buffer name = { 0 };

	if (!is_figure(v))
		return kl_fail(EINVAL,
			       "%s is not a figure: texts, addresses, sets of bits and variables "
			       "of events are not published",
			       v->name);
	if (m->n_info == KL_METRICS_MORE)
		return kl_fail(E2BIG, "too many variables (maximum %d)", KL_METRICS_MORE);
	info.unit = base_unit(v->unit, &info.scale);
	kl_buffer_printf(&name, "kernlens_process_%s%s%s", v->name, *info.unit ? "_" : "",
			 info.unit);
	if (name.error) {
		kl_buffer_deinit(&name);
		return kl_fail(ENOMEM, "out of memory");
	}
	info.name = name.data;
	m->names[m->n_info] = name.data;
	m->info[m->n_info] = info;
	m->values[KL_METRICS + m->n_info].most = rows[KL_METRIC_process_cpu].most;
	return (int)(KL_METRICS + m->n_info++);
}

void kl_metrics_limit(struct kl_metrics *m, size_t metric, size_t most)
{
	m->values[metric].most = most;
}

/* --------------------------------------------------------------------- labels */

/* Length of a character of UTF-8 at @at, or 0 if there is none that is valid. */
static size_t utf8_length(const unsigned char *at)
{
	size_t n = *at < 0x80 ? 1 :
		   *at < 0xc2 ? 0 :
		   *at < 0xe0 ? 2 :
		   *at < 0xf0 ? 3 :
		   *at < 0xf5 ? 4 :
				0;

	for (size_t i = 1; i < n; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Surrogates, numbers that are too large, and longer forms than necessary. */
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
	    (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
		return 0;
	return n;
}

static void add_escaped(struct kl_buffer *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t n = utf8_length(at);

		if (*at == '\\' || *at == '"')
			kl_buffer_add_char(to, '\\');
		if (*at == '\n')
			kl_buffer_add_string(to, "\\n");
		else if (!n || *at < 0x20 || *at == 0x7f)
			kl_buffer_add_string(to, "?");
		else
			kl_buffer_add(to, at, n);
		at += n ? n : 1;
	}
}

/* Append the labels; with @other, those with a star are "other". */
static void add_labels(struct kl_buffer *to, const char *names, const char *const *values,
		       bool other)
{
	for (size_t i = 0; *names; i++) {
		size_t n = strcspn(names, ",*");
		bool star = names[n] == '*';

		kl_buffer_printf(to, "%s%.*s=\"", i ? "," : "", (int)n, names);
		add_escaped(to, star && other ? "other" : values[i]);
		kl_buffer_add_char(to, '"');
		names += n + star;
		names += *names == ',';
	}
	kl_buffer_add_char(to, 0);
}

/* --------------------------------------------------------------------- values */

void kl_metrics_begin(struct kl_metrics *m)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(m->values); i++) {
		m->values[i].n = 0;
		m->values[i].others = 0;
	}
	kl_hash_deinit(&m->known);
	m->known.size = sizeof(struct known);
	kl_buffer_reset(&m->texts);
	m->n_buckets = 0;
	m->error = 0;
}

/* How many series are for "other": one for each combination of the labels without a star. */
static size_t kept_for_other(const struct kl_metric_info *info)
{
	bool all = true;

	if (!strchr(info->labels, '*'))
		return 0;
	for (const char *at = strchr(info->labels, ','); at; at = strchr(at + 1, ','))
		all &= at[-1] == '*';
	return all && info->labels[strlen(info->labels) - 1] == '*' ? 1 : KL_METRIC_KEPT;
}

static uint64_t key_of(size_t metric, const char *labels)
{
	uint64_t key = kl_hash_bytes(KL_HASH_START ^ metric, labels, strlen(labels));

	return key ? key : 1;
}

/* Is there a series with the labels at the end of the texts? */
static bool is_known(const struct kl_metrics *m, size_t metric, size_t labels)
{
	const struct kl_metric_values *values = &m->values[metric];
	const char *text = m->texts.data + labels;
	const struct known *known = kl_hash_find(&m->known, key_of(metric, text));

	return known && known->index && known->metric == metric &&
	       !strcmp(kl_metric_labels(m, &values->series[known->index - 1]), text);
}

/* The series with the labels at the end of the texts; NULL: there is none yet, or no memory. */
static struct kl_metric_series *find(struct kl_metrics *m, size_t metric, size_t labels)
{
	struct kl_metric_values *values = &m->values[metric];
	const char *text = m->texts.data + labels;
	struct known *known;

	if (is_known(m, metric, labels)) {
		known = kl_hash_find(&m->known, key_of(metric, text));
		return &values->series[known->index - 1];
	}
	/* Of two texts with one hash, which users could make, the second is not found again. */
	known = kl_hash_get(&m->known, key_of(metric, text));
	if (!known) {
		m->error = -ENOMEM;
	} else if (!known->index) {
		known->metric = metric;
		known->index = values->n + 1;
	}
	return NULL;
}

static struct kl_metric_series *make(struct kl_metrics *m, struct kl_metric_values *values,
				     size_t labels)
{
	struct kl_metric_series *series =
		kl_array_grow(values->series, values->n, &values->room, sizeof(*series));

	if (!series) {
		m->error = -ENOMEM;
		return NULL;
	}
	values->series = series;
	series[values->n] = (struct kl_metric_series){ .labels = labels };
	return &series[values->n++];
}

/* The series of these labels, or that of "other"; a new one has the value 0. NULL: no memory */
static struct kl_metric_series *series_of(struct kl_metrics *m, size_t metric,
					  const char *const *labels)
{
	struct kl_metric_values *values = &m->values[metric];
	const struct kl_metric_info *info = kl_metrics_info(m, metric);
	const size_t at = m->texts.length, kept = kept_for_other(info);
	bool full = kept && values->n - values->others >= values->most - kept;
	struct kl_metric_series *found;

	add_labels(&m->texts, info->labels, labels, false);
	if (!m->texts.error && full && !is_known(m, metric, at)) {
		m->texts.length = at;
		add_labels(&m->texts, info->labels, labels, true);
	} else {
		full = false;
	}
	if (m->texts.error)
		return NULL;
	found = find(m, metric, at);
	if (found) {
		m->texts.length = at;
		return found;
	}
	values->others += full;
	return make(m, values, at);
}

void kl_metrics_add(struct kl_metrics *m, size_t metric, double value, const char *const *labels)
{
	struct kl_metric_series *series = series_of(m, metric, labels);

	if (series)
		series->value += value;
}

void kl_metrics_add_buckets(struct kl_metrics *m, size_t metric,
			    const struct kl_metric_buckets *buckets, const char *const *labels)
{
	struct kl_metric_buckets *grown;
	size_t before = m->values[metric].n;
	struct kl_metric_series *series = series_of(m, metric, labels);

	if (!series)
		return;
	if (m->values[metric].n == before) {
		struct kl_metric_buckets *to = &m->buckets[series->buckets];

		for (size_t i = 0; i <= to->n; i++)
			to->count[i] += buckets->count[i];
		to->sum += buckets->sum;
		return;
	}
	grown = kl_array_grow(m->buckets, m->n_buckets, &m->buckets_room, sizeof(*grown));
	if (!grown) {
		m->values[metric].n = before;
		m->error = -ENOMEM;
		return;
	}
	m->buckets = grown;
	grown[m->n_buckets] = *buckets;
	series->buckets = m->n_buckets++;
}

/* ------------------------------------------------------------ numbers of series */

size_t kl_metric_samples(const struct kl_metrics *m, size_t metric,
			 const struct kl_metric_series *series)
{
	if (kl_metrics_info(m, metric)->type != KL_METRIC_histogram)
		return 1;
	/* Each bucket, that of all values, their number and their sum. */
	return m->buckets[series->buckets].n + 3;
}

static size_t count_samples(const struct kl_metrics *m, size_t metric)
{
	const struct kl_metric_values *values = &m->values[metric];
	size_t n = 0;

	for (size_t i = 0; i < values->n; i++)
		n += kl_metric_samples(m, metric, &values->series[i]);
	return n;
}

static size_t most_samples(const struct kl_metrics *m, size_t metric)
{
	const struct kl_metric_values *values = &m->values[metric];

	return values->most * (values->n ? kl_metric_samples(m, metric, &values->series[0]) : 1);
}

int kl_metrics_end(struct kl_metrics *m)
{
	static const enum kl_metric own[] = { KL_METRIC_series, KL_METRIC_series_max };
	size_t sum = 0, most = 0, n = 0;
	const struct kl_metric_info *info;

	for (size_t i = 0; (info = kl_metrics_info(m, i)); i++) {
		if (!m->values[i].n || i == KL_METRIC_series || i == KL_METRIC_series_max)
			continue;
		sum += count_samples(m, i);
		most += most_samples(m, i);
		if (!*info->labels)
			continue;
		n++;
		kl_metrics_add(m, KL_METRIC_series, (double)count_samples(m, i), &info->name);
		kl_metrics_add(m, KL_METRIC_series_max, (double)most_samples(m, i), &info->name);
	}
	/* These two have a series for each of these metrics, and for themselves. */
	n += KL_ARRAY_SIZE(own);
	for (size_t i = 0; i < KL_ARRAY_SIZE(own); i++) {
		info = kl_metrics_info(m, own[i]);
		kl_metrics_add(m, KL_METRIC_series, (double)n, &info->name);
		kl_metrics_add(m, KL_METRIC_series_max, (double)m->values[own[i]].most,
			       &info->name);
		sum += n;
		most += m->values[own[i]].most;
	}
	sum += 2;
	most += 2;
	kl_metrics_add(m, KL_METRIC_series_all, (double)sum, NULL);
	kl_metrics_add(m, KL_METRIC_series_all_max, (double)most, NULL);
	return m->texts.error ? -ENOMEM : m->error;
}
