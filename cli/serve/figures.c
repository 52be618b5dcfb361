// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the figures when a request wants them, but at most once a second: all requests within a
 * second get the same text, so that further clients cost nothing but the bytes that they are sent.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../base/common.h"
#include "serve.h"

#define FRESH_NS 1000000000u

static void put(struct cli_serve *s, enum kl_metric metric, double value)
{
	kl_metrics_add(s->metrics, metric, value, NULL);
}

/* ---------------------------------------------------------------------- locks */

/* Bucket n of the handler has values of n bits; each second bound is published, from 1 us on. */
#define FIRST_BITS 10u
#define LAST_BITS 34u
#define STEP 2u

static void add_locks(struct cli_serve *s, const struct kl_aggregate *aggregate)
{
	struct kl_metric_buckets buckets = { 0 };

	for (unsigned int bits = FIRST_BITS; bits <= LAST_BITS; bits += STEP)
		buckets.bound[buckets.n++] = (double)(1ull << bits) / 1e9;
	for (size_t i = 0; i < aggregate->n; i++) {
		buckets.sum += (double)aggregate->entry[i].numbers.sum / 1e9;
		for (unsigned int bits = 0; bits < KL_HIST_BUCKETS; bits++) {
			size_t at = bits <= FIRST_BITS ? 0 : (bits - FIRST_BITS + STEP - 1) / STEP;

			buckets.count[at < buckets.n ? at : buckets.n] +=
				aggregate->entry[i].bucket[bits];
		}
	}
	kl_metrics_add_buckets(s->metrics, KL_METRIC_lock_seconds, &buckets, NULL);
}

static int read_locks(struct cli_serve *s)
{
	const struct kl_plan_rule *rule;
	struct kl_aggregate aggregate;
	int error = 0;

	for (unsigned int i = 0; !error && (rule = kl_plan_rule(s->session.plan, i)); i++) {
		if (rule->collects != KL_COLLECTS_BUCKETS)
			continue;
		error = kl_aggregate_read(s->session.session, kl_device_info(s->device)->cpus, rule,
					  &aggregate);
		if (error)
			return error;
		add_locks(s, &aggregate);
		kl_aggregate_deinit(&aggregate);
	}
	return error;
}

/* ----------------------------------------------------------- what this costs */

static void add_build(struct cli_serve *s)
{
	struct utsname system = { 0 };

	uname(&system);
	kl_metrics_add(s->metrics, KL_METRIC_build, 1,
		       (const char *[]){ KL_VERSION, system.release });
}

static void add_self(struct cli_serve *s)
{
	const double page = (double)sysconf(_SC_PAGESIZE);
	unsigned long total = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rusage usage;

	if (file && fscanf(file, "%lu %lu", &total, &resident) == 2) {
		put(s, KL_METRIC_self_vm, (double)total * page);
		put(s, KL_METRIC_self_rss, (double)resident * page);
	}
	if (file)
		fclose(file);
	if (!getrusage(RUSAGE_SELF, &usage))
		put(s, KL_METRIC_self_cpu,
		    (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			    (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	put(s, KL_METRIC_self_start, s->began);
}

static void add_connections(struct cli_serve *s)
{
	struct http_counts all = { 0 };

	for (size_t i = 0; i < s->n_listeners; i++) {
		struct http_counts counts = http_server_counts(s->listener[i].http);

		all.connections += counts.connections;
		all.most += counts.most;
		all.refused += counts.refused;
		all.cut += counts.cut;
	}
	put(s, KL_METRIC_connections, all.connections);
	put(s, KL_METRIC_connections_max, all.most);
	put(s, KL_METRIC_refused, (double)all.refused);
	put(s, KL_METRIC_cut, (double)all.cut);
}

static void add_cost(struct cli_serve *s)
{
	static const char *const parts[CLI_SERVE_PARTS] = {
		[KL_METRICS_MACHINE] = "machine",   [KL_METRICS_PROCESSES] = "processes",
		[KL_METRICS_SESSIONS] = "sessions", [CLI_SERVE_LATENCY] = "latency",
		[CLI_SERVE_LOCKS] = "locks",	    [CLI_SERVE_RULES] = "rules",
	};
	char code[16];
	const char *label = code;

	put(s, KL_METRIC_reads, (double)s->reads);
	put(s, KL_METRIC_read_seconds, (double)s->read_took_ns / 1e9);
	for (size_t i = 0; i < CLI_SERVE_PARTS; i++)
		kl_metrics_add(s->metrics, KL_METRIC_read_errors, (double)s->errors[i], &parts[i]);
	for (size_t i = 0; i < CLI_SERVE_CODES && s->codes[i]; i++) {
		snprintf(code, sizeof(code), "%u", s->codes[i]);
		kl_metrics_add(s->metrics, KL_METRIC_requests, (double)s->code_n[i], &label);
	}
	put(s, KL_METRIC_sent, (double)s->sent);
	put(s, KL_METRIC_reload_ok, s->reload_ok);
	add_connections(s);
	add_self(s);
}

/* -------------------------------------------------------------------- reading */

/* What cannot be read is left out, and counted. */
static int read_figures(struct cli_serve *s)
{
	uint64_t hz = kl_device_info(s->device)->clock_hz, begun = cli_now_ns();
	int error;

	kl_metrics_begin(s->metrics);
	add_build(s);
	for (int part = 0; part < KL_METRICS_PARTS; part++)
		if (kl_metrics_reader_read(s->reader, (enum kl_metrics_part)part))
			s->errors[part]++;
	if (s->latency && kl_metrics_read_latency(s->metrics, s->session.session, hz))
		s->errors[CLI_SERVE_LATENCY]++;
	if (s->locks && read_locks(s))
		s->errors[CLI_SERVE_LOCKS]++;
	s->errors[CLI_SERVE_RULES] = s->alarms.failed;
	if (s->alarms.file)
		cli_serve_add_alarms(s->metrics, &s->alarms);
	add_cost(s);
	error = kl_metrics_end(s->metrics);
	kl_buffer_reset(&s->text[0]);
	kl_buffer_reset(&s->text[1]);
	s->reads++;
	s->read_took_ns += cli_now_ns() - begun;
	return error;
}

const struct kl_buffer *cli_serve_figures(struct cli_serve *s, enum kl_metrics_format format)
{
	uint64_t now = cli_now_ns(), begun;

	if (!s->read_ns || now - s->read_ns >= FRESH_NS) {
		s->read_ns = 0;
		if (read_figures(s))
			return NULL;
		s->read_ns = now;
	}
	if (!s->text[format].length) {
		begun = cli_now_ns();
		kl_metrics_print(s->metrics, format, &s->text[format]);
		s->read_took_ns += cli_now_ns() - begun;
	}
	return s->text[format].error ? NULL : &s->text[format];
}
