// SPDX-License-Identifier: GPL-2.0
/*
 * Writes metrics in the text format of Prometheus (0.0.4) and in OpenMetrics 1.0, and chooses
 * between the two. Fed by the values of a set; read by whoever scrapes.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "metrics.h"

#define TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPEN "application/openmetrics-text; version=1.0.0; charset=utf-8"

static const char *const type_names[] = {
	[KL_METRIC_counter] = "counter",     [KL_METRIC_gauge] = "gauge",
	[KL_METRIC_histogram] = "histogram", [KL_METRIC_info] = "info",
	[KL_METRIC_unknown] = "unknown",
};

const char *kl_metric_type_name(enum kl_metric_type type)
{
	return type_names[type];
}

/* The older format has fewer types. */
static const char *type_name(enum kl_metric_type type, enum kl_metrics_format format)
{
	if (format == KL_METRICS_OPEN)
		return type_names[type];
	if (type == KL_METRIC_info)
		return type_names[KL_METRIC_gauge];
	return type == KL_METRIC_unknown ? "untyped" : type_names[type];
}

const char *kl_metric_suffix(enum kl_metric_type type)
{
	return type == KL_METRIC_counter ? "_total" : type == KL_METRIC_info ? "_info" : "";
}

/* As few digits as give the same number again. */
static void add_number(struct kl_buffer *to, double value)
{
	char text[40];

	if (isnan(value) || isinf(value)) {
		kl_buffer_add_string(to, isnan(value) ? "NaN" : value < 0 ? "-Inf" : "+Inf");
		return;
	}
	if (value == floor(value) && fabs(value) < 9007199254740992.0) {
		kl_buffer_printf(to, "%.0f", value);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	kl_buffer_add_string(to, text);
}

/* A bound is written as a float, so that both formats give it the same label. */
static void add_bound(struct kl_buffer *to, double bound)
{
	size_t at = to->length;

	add_number(to, bound);
	if (!to->error && !strpbrk(to->data + at, ".eI"))
		kl_buffer_add_string(to, ".0");
}

static void add_head(struct kl_buffer *to, const struct kl_metric_info *info,
		     enum kl_metrics_format format)
{
	const char *suffix = format == KL_METRICS_OPEN ? "" : kl_metric_suffix(info->type);

	kl_buffer_printf(to, "# HELP %s%s ", info->name, suffix);
	for (const char *at = info->help; *at; at++) {
		/* Only OpenMetrics escapes quotes in texts of help. */
		if (*at == '\\' || (*at == '"' && format == KL_METRICS_OPEN))
			kl_buffer_add_char(to, '\\');
		kl_buffer_add_char(to, *at);
	}
	kl_buffer_printf(to, "\n# TYPE %s%s %s\n", info->name, suffix,
			 type_name(info->type, format));
	if (*info->unit && format == KL_METRICS_OPEN)
		kl_buffer_printf(to, "# UNIT %s %s\n", info->name, info->unit);
}

static void add_sample(struct kl_buffer *to, const char *name, const char *suffix,
		       const char *labels, double value)
{
	kl_buffer_printf(to, *labels ? "%s%s{%s} " : "%s%s%s ", name, suffix, labels);
	add_number(to, value);
	kl_buffer_add_char(to, '\n');
}

static void add_buckets(struct kl_buffer *to, const char *name, const char *labels,
			const struct kl_metric_buckets *buckets)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= buckets->n; i++) {
		count += buckets->count[i];
		kl_buffer_printf(to, "%s_bucket{%s%sle=\"", name, labels, *labels ? "," : "");
		add_bound(to, i < buckets->n ? buckets->bound[i] : INFINITY);
		kl_buffer_printf(to, "\"} %llu\n", (unsigned long long)count);
	}
	add_sample(to, name, "_count", labels, (double)count);
	add_sample(to, name, "_sum", labels, buckets->sum);
}

void kl_metrics_print(const struct kl_metrics *m, enum kl_metrics_format format,
		      struct kl_buffer *to)
{
	const struct kl_metric_info *info;

	for (size_t i = 0; (info = kl_metrics_info(m, i)); i++) {
		const struct kl_metric_values *values = &m->values[i];

		if (!values->n)
			continue;
		add_head(to, info, format);
		for (size_t k = 0; k < values->n; k++) {
			const struct kl_metric_series *series = &values->series[k];
			const char *labels = kl_metric_labels(m, series);

			if (info->type == KL_METRIC_histogram)
				add_buckets(to, info->name, labels, &m->buckets[series->buckets]);
			else
				add_sample(to, info->name, kl_metric_suffix(info->type), labels,
					   series->value);
		}
	}
	if (format == KL_METRICS_OPEN)
		kl_buffer_add_string(to, "# EOF\n");
}

const char *kl_metrics_content_type(enum kl_metrics_format format)
{
	return format == KL_METRICS_OPEN ? TYPE_OPEN : TYPE_TEXT;
}

/* ---------------------------------------------------------------- negotiation */

/* One range of "Accept": "type/subtype;parameter=value;q=0.5". @length: of it */
struct range {
	const char *at;
	size_t length;
};

static size_t trim(const char **at, size_t length)
{
	while (length && isblank((unsigned char)**at)) {
		(*at)++;
		length--;
	}
	while (length && isblank((unsigned char)(*at)[length - 1]))
		length--;
	return length;
}

static bool is_word(const struct range *word, const char *text)
{
	return word->length == strlen(text) && !strncasecmp(word->at, text, word->length);
}

/* The next part up to @separator; false after the last. */
static bool next_part(struct range *rest, char separator, struct range *part)
{
	const char *end;

	if (!rest->at)
		return false;
	end = memchr(rest->at, separator, rest->length);
	part->at = rest->at;
	part->length = end ? (size_t)(end - rest->at) : rest->length;
	rest->length -= part->length + (end ? 1 : 0);
	rest->at = end ? end + 1 : NULL;
	part->length = trim(&part->at, part->length);
	return true;
}

/* A weight from 0 to 1; what is not a number is 0. */
static double weight_of(const struct range *text)
{
	char number[8];
	char *end;
	double weight;

	if (!text->length || text->length >= sizeof(number) || !isdigit((unsigned char)*text->at))
		return 0;
	memcpy(number, text->at, text->length);
	number[text->length] = 0;
	weight = strtod(number, &end);
	return *end || weight > 1 ? 0 : weight;
}

/*
 * How much a range wants each format: 1, or its weight. OpenMetrics has versions; a client that
 * wants another one than ours can read the older format.
 */
static void read_range(struct range *range, double *open, double *text)
{
	struct range part, type;
	double weight = 1;
	bool version = true;

	if (!next_part(range, ';', &type))
		return;
	while (next_part(range, ';', &part)) {
		const char *equals = memchr(part.at, '=', part.length);
		struct range name, value;

		if (!equals)
			continue;
		name = (struct range){ part.at, (size_t)(equals - part.at) };
		value = (struct range){ equals + 1, part.length - (size_t)(equals + 1 - part.at) };
		if (is_word(&name, "q"))
			weight = weight_of(&value);
		if (is_word(&name, "version"))
			version = is_word(&value, "1.0.0") || is_word(&value, "0.0.1");
	}
	if (is_word(&type, "application/openmetrics-text") && version && weight > *open)
		*open = weight;
	if ((is_word(&type, "text/plain") || is_word(&type, "text/*") || is_word(&type, "*/*")) &&
	    weight > *text)
		*text = weight;
}

enum kl_metrics_format kl_metrics_accepted(const char *accept)
{
	struct range rest = { accept, accept ? strlen(accept) : 0 }, range;
	double open = 0, text = 0;

	while (next_part(&rest, ',', &range))
		read_range(&range, &open, &text);
	return open > 0 && open >= text ? KL_METRICS_OPEN : KL_METRICS_TEXT;
}
