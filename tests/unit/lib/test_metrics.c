// SPDX-License-Identifier: GPL-2.0
/*
 * Metrics as text in both formats, bounds of series and their sums, escaped labels, negotiation, and
 * counters whose subjects end. What is printed is also read by other programs in tests/cli/serve.sh.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include <kernlens/internal.h>
#include <kernlens/metrics.h>
#include "unit.h"

static char *print(struct kl_metrics *m, enum kl_metrics_format format)
{
	struct kl_buffer to = { 0 };

	kl_metrics_print(m, format, &to);
	if (!to.data)
		return strdup("");
	return to.data;
}

/* Is a line printed? */
static bool has_line(struct kl_metrics *m, enum kl_metrics_format format, const char *line)
{
	char *text = print(m, format);
	size_t length = strlen(line);
	bool found = false;

	for (const char *at = text; (at = strstr(at, line)); at += length)
		found |= (at == text || at[-1] == '\n') && at[length] == '\n';
	if (!found)
		printf("# no line \"%s\" in:\n# %.400s\n", line, text);
	free(text);
	return found;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void test_types(void)
{
	struct kl_metrics *m = kl_metrics_create();
	char *text;

	kl_metrics_begin(m);
	kl_metrics_add(m, KL_METRIC_interrupts, 7, NULL);
	kl_metrics_add(m, KL_METRIC_build, 1, (const char *[]){ "1", "6" });
	kl_metrics_add(m, KL_METRIC_memory_free, 4096, NULL);
	unit_check(has_line(m, KL_METRICS_TEXT, "# TYPE kernlens_interrupts_total counter") &&
			   has_line(m, KL_METRICS_TEXT, "kernlens_interrupts_total 7"),
		   "a counter of the older format has its suffix everywhere");
	unit_check(has_line(m, KL_METRICS_OPEN, "# TYPE kernlens_interrupts counter") &&
			   has_line(m, KL_METRICS_OPEN, "kernlens_interrupts_total 7"),
		   "one of OpenMetrics in its samples only");
	unit_check(has_line(m, KL_METRICS_TEXT, "# TYPE kernlens_build_info gauge") &&
			   has_line(m, KL_METRICS_OPEN, "# TYPE kernlens_build info") &&
			   has_line(m, KL_METRICS_OPEN,
				    "kernlens_build_info{version=\"1\",kernel=\"6\"} 1"),
		   "an info is a gauge in the older format");
	unit_check(has_line(m, KL_METRICS_OPEN, "# UNIT kernlens_memory_free_bytes bytes"),
		   "OpenMetrics has units");
	text = print(m, KL_METRICS_OPEN);
	unit_check(strlen(text) > 6 && !strcmp(text + strlen(text) - 6, "# EOF\n") &&
			   count(text, "# EOF") == 1,
		   "OpenMetrics ends with # EOF");
	free(text);
	text = print(m, KL_METRICS_TEXT);
	unit_check(!strstr(text, "EOF") && !strstr(text, "UNIT"), "the older format has neither");
	unit_check(!strstr(text, "kernlens_softirqs"), "metrics without values are left out");
	free(text);
	kl_metrics_begin(m);
	text = print(m, KL_METRICS_TEXT);
	unit_check(!*text, "a new read begins without values");
	free(text);
	kl_metrics_destroy(m);
}

static void test_numbers(void)
{
	static const struct {
		double value;
		const char *text;
	} numbers[] = {
		{ 0, "0" },
		{ 0.1, "0.1" },
		{ 141 / 1000.0, "0.141" },
		{ 9007199254740991.0, "9007199254740991" },
		{ 4265095077 / 1e9, "4.265095077" },
		{ 1e300, "1e+300" },
		{ 1 / 3.0, "0.3333333333333333" },
		{ -2, "-2" },
		{ NAN, "NaN" },
		{ INFINITY, "+Inf" },
	};
	struct kl_metrics *m = kl_metrics_create();
	bool good = true;
	char line[80];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		kl_metrics_begin(m);
		kl_metrics_add(m, KL_METRIC_load_1, numbers[i].value, NULL);
		snprintf(line, sizeof(line), "kernlens_load1 %s", numbers[i].text);
		good &= has_line(m, KL_METRICS_OPEN, line);
	}
	unit_check(good, "numbers have as few digits as they need");
	unit_check(kl_metric_scaled(&(struct kl_metric_info){ .scale = 1e-3 }, 141) == 0.141 &&
			   kl_metric_scaled(&(struct kl_metric_info){ .scale = 1e-9 },
					    4265095077.0) == 4.265095077 &&
			   kl_metric_scaled(&(struct kl_metric_info){ .scale = 1024 }, 3) == 3072,
		   "units are converted exactly");
	kl_metrics_destroy(m);
}

/* ---------------------------------------------------------------------- labels */

static void test_labels(void)
{
	static const struct {
		const char *name, *label;
	} texts[] = {
		{ "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
		{ "\x01\x7f\t", "???" },
		{ "caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac" },
		{ "\xc3", "?" },
		{ "\xff\xfe\x80", "???" },
		{ "\xc0\xaf", "??" }, /* longer than necessary */
		{ "\xed\xa0\x80", "???" }, /* half of a pair */
		{ "\xf4\x90\x80\x80", "????" }, /* too large */
		{ "\xe2\x82", "??" }, /* cut */
		{ "", "" },
		{ "} 1\nforged 2", "} 1\\nforged 2" },
	};
	struct kl_metrics *m = kl_metrics_create();
	bool good = true;
	char line[200], *text;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		kl_metrics_begin(m);
		kl_metrics_add(m, KL_METRIC_process_rss, 1,
			       (const char *[]){ "1", "2.000", texts[i].name });
		snprintf(line, sizeof(line),
			 "kernlens_process_resident_memory_bytes{pid=\"1\",start=\"2.000\","
			 "name=\"%s\"} 1",
			 texts[i].label);
		good &= has_line(m, KL_METRICS_OPEN, line);
		text = print(m, KL_METRICS_TEXT);
		good &= count(text, "\n") == 3;
		free(text);
	}
	unit_check(good, "labels are escaped, and are UTF-8");
	kl_metrics_begin(m);
	for (int i = 0; i < 3; i++)
		kl_metrics_add(m, KL_METRIC_alarm_raised, i + 1, (const char *[]){ "same" });
	unit_check(has_line(m, KL_METRICS_TEXT, "kernlens_alarm_raised_total{rule=\"same\"} 6"),
		   "two values of one series are added");
	kl_metrics_destroy(m);
}

/* ---------------------------------------------------------------------- bounds */

static void test_bounds(void)
{
	struct kl_metrics *m = kl_metrics_create();
	char name[32], *text;
	const char *label = name;
	const size_t most = 5;

	kl_metrics_limit(m, KL_METRIC_alarm_active, most);
	kl_metrics_begin(m);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "rule%d", i);
		kl_metrics_add(m, KL_METRIC_alarm_active, 1, &label);
	}
	snprintf(name, sizeof(name), "rule2");
	kl_metrics_add(m, KL_METRIC_alarm_active, 10, &label);
	unit_check(!kl_metrics_end(m), "there is memory");
	text = print(m, KL_METRICS_TEXT);
	unit_check(count(text, "kernlens_alarm_active{") == most, "as many series as are allowed");
	free(text);
	unit_check(has_line(m, KL_METRICS_TEXT, "kernlens_alarm_active{rule=\"other\"} 996"),
		   "the rest is one series");
	unit_check(has_line(m, KL_METRICS_TEXT, "kernlens_alarm_active{rule=\"rule2\"} 11"),
		   "those that have one keep it");
	unit_check(has_line(m, KL_METRICS_TEXT,
			    "kernlens_series{metric=\"kernlens_alarm_active\"} 5") &&
			   has_line(m, KL_METRICS_TEXT,
				    "kernlens_series_limit{metric=\"kernlens_alarm_active\"} 5"),
		   "both numbers are published");
	kl_metrics_begin(m);
	kl_metrics_limit(m, KL_METRIC_cpu_seconds, 3 * 9);
	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "%d", i);
		for (int k = 0; k < 9; k++)
			kl_metrics_add(m, KL_METRIC_cpu_seconds, i,
				       (const char *[]){ name, (const char *[]){ "a", "b", "c", "d",
										 "e", "f", "g", "h",
										 "i" }[k] });
	}
	text = print(m, KL_METRICS_TEXT);
	unit_check(count(text, "kernlens_cpu_seconds_total{") == 27 &&
			   has_line(m, KL_METRICS_TEXT,
				    "kernlens_cpu_seconds_total{cpu=\"other\",mode=\"c\"} 20"),
		   "labels without a star are kept");
	free(text);
	kl_metrics_destroy(m);
}

/* The number of samples that kernlens_series_all promises is what is printed. */
static void test_sum(void)
{
	struct kl_metrics *m = kl_metrics_create();
	struct kl_metric_buckets buckets = { .n = 2, .bound = { 1, 2 }, .count = { 1, 2, 3 } };
	const char *state = "io";
	size_t samples, lines;
	char *text, *at;

	kl_metrics_begin(m);
	kl_metrics_add(m, KL_METRIC_interrupts, 7, NULL);
	kl_metrics_add(m, KL_METRIC_selected, 7, &state);
	kl_metrics_add_buckets(m, KL_METRIC_state_seconds, &buckets, &state);
	kl_metrics_end(m);
	text = print(m, KL_METRICS_TEXT);
	lines = count(text, "\n") - count(text, "# ");
	at = strstr(text, "\nkernlens_series_all ");
	samples = at ? strtoul(at + 21, NULL, 10) : 0;
	unit_result(samples == lines, "the number of all series is what is printed", text);
	free(text);
	kl_metrics_destroy(m);
}

static void test_buckets(void)
{
	struct kl_metric_buckets buckets = {
		.n = 3, .bound = { 1e-6, 4e-6, 16 }, .count = { 1, 2, 0, 4 }, .sum = 2.5
	};
	struct kl_metrics *m = kl_metrics_create();
	const char *state = "io";

	kl_metrics_begin(m);
	kl_metrics_add_buckets(m, KL_METRIC_state_seconds, &buckets, &state);
	kl_metrics_add_buckets(m, KL_METRIC_lock_seconds, &buckets, NULL);
	unit_check(
		has_line(m, KL_METRICS_OPEN,
			 "kernlens_task_state_seconds_bucket{state=\"io\",le=\"1e-06\"} 1") &&
			has_line(m, KL_METRICS_OPEN,
				 "kernlens_task_state_seconds_bucket{state=\"io\",le=\"4e-06\"} 3") &&
			has_line(m, KL_METRICS_OPEN,
				 "kernlens_task_state_seconds_bucket{state=\"io\",le=\"16.0\"} 3") &&
			has_line(m, KL_METRICS_OPEN,
				 "kernlens_task_state_seconds_bucket{state=\"io\",le=\"+Inf\"} 7"),
		"buckets are cumulative, and end with +Inf");
	unit_check(has_line(m, KL_METRICS_OPEN,
			    "kernlens_task_state_seconds_count{state=\"io\"} 7") &&
			   has_line(m, KL_METRICS_OPEN,
				    "kernlens_task_state_seconds_sum{state=\"io\"} 2.5"),
		   "with number and sum");
	unit_check(has_line(m, KL_METRICS_TEXT,
			    "kernlens_lock_wait_seconds_bucket{le=\"4e-06\"} 3"),
		   "without other labels");
	kl_metrics_add_buckets(m, KL_METRIC_state_seconds, &buckets, &state);
	unit_check(has_line(m, KL_METRICS_TEXT,
			    "kernlens_task_state_seconds_bucket{state=\"io\",le=\"+Inf\"} 14") &&
			   has_line(m, KL_METRICS_TEXT,
				    "kernlens_task_state_seconds_sum{state=\"io\"} 5"),
		   "two of one series are added");
	kl_metrics_destroy(m);
}

/* ---------------------------------------------------------------- other variables */

static void test_define(void)
{
	static const char *const refused[] = { "comm",	 "user_ip", "capabilities", "code_start",
					       "cgroup", "load_1",  "cpu" };
	struct kl_metrics *m = kl_metrics_create();
	int metric = kl_metrics_define(m, kl_variable_find("page_tables"));
	bool good = true;

	kl_metrics_begin(m);
	kl_metrics_add(m, (size_t)metric, 8192, (const char *[]){ "1", "2.000", "x" });
	unit_check(has_line(m, KL_METRICS_OPEN,
			    "# TYPE kernlens_process_page_tables_bytes unknown") &&
			   has_line(m, KL_METRICS_TEXT,
				    "# TYPE kernlens_process_page_tables_bytes untyped"),
		   "a variable without a row has its unit, and no type");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		good &= kl_metrics_define(m, kl_variable_find(refused[i])) == -EINVAL;
	unit_check(good, "texts, addresses and sets of bits are refused");
	metric = kl_metrics_define(m, kl_variable_find("nice"));
	for (int i = 0; metric >= 0 && i < 100; i++)
		metric = kl_metrics_define(m, kl_variable_find("nice"));
	unit_check(metric == -E2BIG, "and too many");
	kl_metrics_destroy(m);
}

/* Names, units and texts follow the rules of the formats. */
static void test_rows(void)
{
	const struct kl_metric_info *info;
	bool names = true, units = true, helps = true, processes = true;

	for (size_t i = 0; (info = kl_metrics_info(NULL, i)); i++) {
		size_t n = strlen(info->name), unit = strlen(info->unit);

		names &= strspn(info->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
		for (size_t k = 0; k < i; k++)
			names &= strcmp(info->name, kl_metrics_info(NULL, k)->name) != 0;
		units &= !unit || (n > unit && !strcmp(info->name + n - unit, info->unit) &&
				   info->name[n - unit - 1] == '_');
		units &= !unit || !strcmp(info->unit, "seconds") || !strcmp(info->unit, "bytes");
		helps &= *info->help && info->help[strlen(info->help) - 1] != '.';
		processes &= !info->variable || kl_variable_find(info->variable);
		processes &= info->most > 0 && (*info->labels || info->most == 1);
	}
	unit_check(names, "names are lower-case words, each used once");
	unit_check(units, "names end in their unit, which is a base unit");
	unit_check(helps, "each has a text of help, without a period");
	unit_check(processes, "each has a variable that exists, and a bound");
}

/* -------------------------------------------------------------------- negotiation */

static void test_accept(void)
{
	static const struct {
		const char *accept;
		enum kl_metrics_format format;
	} headers[] = {
		{ NULL, KL_METRICS_TEXT },
		{ "", KL_METRICS_TEXT },
		{ "*/*", KL_METRICS_TEXT },
		{ "text/html, */*;q=0.8", KL_METRICS_TEXT },
		{ "application/openmetrics-text", KL_METRICS_OPEN },
		{ "application/openmetrics-text;version=1.0.0", KL_METRICS_OPEN },
		/* Prometheus 2.42 */
		{ "application/openmetrics-text;version=1.0.0;q=0.8,"
		  "application/openmetrics-text;version=0.0.1;q=0.75,"
		  "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  KL_METRICS_OPEN },
		{ "application/openmetrics-text; version=1.0.0; q=0.2, text/plain;q=0.5",
		  KL_METRICS_TEXT },
		{ "APPLICATION/OpenMetrics-Text", KL_METRICS_OPEN },
		{ "application/openmetrics-text;version=9.0.0", KL_METRICS_TEXT },
		{ "application/openmetrics-text;q=0", KL_METRICS_TEXT },
		{ "application/openmetrics-text;q=x", KL_METRICS_TEXT },
		{ "application/openmetrics-text;q=99999999999999999999", KL_METRICS_TEXT },
		{ ";;;,,,;q=1,=", KL_METRICS_TEXT },
		{ "application/vnd.google.protobuf;proto=x", KL_METRICS_TEXT },
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		if (kl_metrics_accepted(headers[i].accept) != headers[i].format) {
			printf("# %s\n", headers[i].accept ? headers[i].accept : "none");
			good = false;
		}
	unit_check(good, "a client gets the format that it prefers");
}

/* ---------------------------------------------------------------------- growth */

static void test_fold(void)
{
	struct kl_fold *fold = kl_fold_create(2);
	double now[2] = { 100, 7 }, growth[2], other = 0;
	bool good;

	kl_fold_begin(fold);
	good = !kl_fold_growth(fold, 1, now, false, growth) && growth[0] == 100 && growth[1] == 7;
	unit_check(good, "at the first read all has grown");
	now[0] = 130;
	now[1] = 5;
	kl_fold_begin(fold);
	kl_fold_growth(fold, 1, now, false, growth);
	unit_check(growth[0] == 30 && !growth[1], "then the difference, which is never negative");
	kl_fold_growth(fold, 2, now, true, growth);
	unit_check(growth[0] == 130, "a new subject has grown from 0");
	kl_fold_growth(fold, 3, now, false, growth);
	unit_check(!growth[0], "one that was only not seen has not");
	kl_fold_begin(fold);
	now[0] = 131;
	kl_fold_growth(fold, 3, now, false, growth);
	unit_check(growth[0] == 1, "until the next read");
	kl_fold_begin(fold);
	now[0] = 500;
	kl_fold_growth(fold, 1, now, false, growth);
	unit_check(!growth[0], "one that was gone does not continue");
	/* A sum over many subjects that come and go never falls. */
	for (int read = 0; read < 50; read++) {
		double before = other;

		kl_fold_begin(fold);
		for (uint64_t key = 10; key < 10 + (uint64_t)(read * 7 % 23); key++) {
			now[0] = (double)(key * (uint64_t)(read + 1));
			kl_fold_growth(fold, key, now, read % 3 == 0, growth);
			other += growth[0];
		}
		good &= other >= before;
	}
	unit_check(good, "a sum of growth never falls");
	kl_fold_destroy(fold);
}

int main(void)
{
	test_types();
	test_numbers();
	test_labels();
	test_bounds();
	test_sum();
	test_buckets();
	test_define();
	test_rows();
	test_accept();
	test_fold();
	return unit_end();
}
