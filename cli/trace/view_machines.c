// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens view with traces of several machines: finds how far their clocks are apart, reports it,
 * and writes one page with all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../view/page/page.h"
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "pack.h"
#include "view.h"

enum {
	MB_DEFAULT = 50,
};

/**
 * struct machine - a trace
 * @first_ns: wall time of its first event; 0: it has none
 * @origin_ns: to which the trace's times are relative
 */
struct machine {
	struct kl_trace *trace;
	char *host;
	uint64_t first_ns, origin_ns;
	struct kl_timeline *timeline;
};

struct machines {
	const struct cli_view *v;
	struct kl_clocks *clocks;
	struct machine machine[KL_CLOCKS_MAX];
};

/* Names are those of the hosts, or, if two are equal, of the traces. */
static void name_machines(struct machines *m)
{
	const size_t n = m->v->n_paths;
	bool twins = false;

	for (size_t i = 0; i < n; i++) {
		const char *host = kl_trace_about(m->machine[i].trace)->hostname;

		for (size_t k = 0; k < i; k++)
			twins |= !strcmp(host, kl_trace_about(m->machine[k].trace)->hostname);
	}
	for (size_t i = 0; i < n; i++)
		m->machine[i].host =
			twins ? cli_trace_name(m->v->path[i], CLI_PACK_SUFFIX, "") :
				cli_format("%s", kl_trace_about(m->machine[i].trace)->hostname);
}

/* Read a trace for what it tells of the clocks. Returns 0 or a negative errno. */
static int read_clock(struct machines *m, size_t i)
{
	struct machine *machine = &m->machine[i];
	struct kl_item item;
	int error = 0, got;

	kl_clocks_set(m->clocks, i, kl_trace_schema(machine->trace),
		      &kl_trace_about(machine->trace)->clock);
	while (!error && (got = kl_trace_next(machine->trace, &item)) > 0) {
		if (item.kind != KL_ITEM_EVENT)
			continue;
		if (!machine->first_ns) {
			machine->first_ns = item.event->ns;
			machine->origin_ns = item.event->ns - item.event->since_ns;
		}
		error = kl_clocks_add(m->clocks, i, item.event);
	}
	return error ? error : got;
}

static int read_clocks(struct machines *m)
{
	int error = 0;

	m->clocks = kl_clocks_create(m->v->n_paths);
	if (!m->clocks)
		return cli_library_error(-errno, NULL);
	for (size_t i = 0; i < m->v->n_paths && !error; i++) {
		m->machine[i].trace = cli_open_trace(m->v->path[i]);
		if (!m->machine[i].trace)
			return CLI_FAILED;
		error = read_clock(m, i);
	}
	if (error)
		return cli_library_error(error, NULL);
	kl_clocks_solve(m->clocks);
	name_machines(m);
	return CLI_OK;
}

/* ------------------------------------------------------------------- reports */

static void note_clock(const struct machine *machine)
{
	const struct kl_trace_clock *clock = &kl_trace_about(machine->trace)->clock;
	char error[CLI_NUMBER_MAX];

	if (!clock->known)
		cli_note("%s: nothing is known of its clock", machine->host);
	else if (!clock->synchronized)
		cli_note("%s: its clock is not synchronized", machine->host);
	else
		cli_note("%s: its clock is synchronized, its error at most %s", machine->host,
			 cli_print_time(error, clock->max_error_ns));
}

/* Of a difference that is only bounded on one side. */
static const char *print_bound(char text[CLI_NUMBER_MAX + 16], const struct kl_clock_bounds *is)
{
	const int64_t ns = is->has_least ? is->least_ns : is->most_ns;

	snprintf(text, CLI_NUMBER_MAX + 16, "at %s %+.6f s", is->has_least ? "least" : "most",
		 (double)ns / 1e9);
	return text;
}

static void note_pair(const struct machines *m, size_t i, size_t k)
{
	const struct kl_clock_bounds is = kl_clocks_between(m->clocks, i, k);
	const char *of = m->machine[k].host, *from = m->machine[i].host;
	const uint64_t width = (uint64_t)is.most_ns - (uint64_t)is.least_ns;
	char bound[CLI_NUMBER_MAX + 16], number[CLI_NUMBER_MAX], source[64];

	if (is.packets)
		snprintf(source, sizeof(source), "%s packets matched",
			 cli_print_count(number, is.packets));
	else
		snprintf(source, sizeof(source), "through other machines or UTC");
	if (is.has_least && is.has_most)
		cli_note("the clock of %s is ahead of that of %s by %+.6f s, within %s (%s)", of,
			 from, ((double)is.least_ns + (double)is.most_ns) / 2e9,
			 cli_print_time(bound, width / 2), source);
	else if (is.has_least || is.has_most)
		cli_note("the clock of %s is ahead of that of %s by %s (%s)", of, from,
			 print_bound(bound, &is), source);
	else
		cli_note("how far the clocks of %s and %s are apart is unknown", from, of);
}

static void note_clocks(const struct machines *m)
{
	const size_t n = m->v->n_paths;

	for (size_t i = 0; i < n; i++)
		note_clock(&m->machine[i]);
	if (kl_clocks_conflict(m->clocks) == KL_CLOCKS_NO_UTC)
		cli_note(
			"what the machines say of their clocks is not used: packets contradict it");
	if (kl_clocks_conflict(m->clocks) == KL_CLOCKS_NOTHING)
		cli_note("a clock was set meanwhile: packets contradict each other");
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			note_pair(m, i, k);
}

static json_t *bound(bool known, int64_t ns)
{
	return known ? json_integer(ns) : json_null();
}

static json_t *machine_json(const struct machine *machine)
{
	json_t *row = json_pack("{s:o}", "host", cli_json_text(machine->host));

	json_object_set_new(row, "clock", cli_json_clock(&kl_trace_about(machine->trace)->clock));
	return row;
}

static int print_json(const struct machines *m)
{
	const size_t n = m->v->n_paths;
	json_t *machines = json_array(), *pairs = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(machines, machine_json(&m->machine[i]));
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++) {
			const struct kl_clock_bounds is = kl_clocks_between(m->clocks, i, k);

			json_array_append_new(
				pairs, json_pack("{s:o, s:o, s:o, s:o, s:I}", "from",
						 cli_json_text(m->machine[i].host), "of",
						 cli_json_text(m->machine[k].host),
						 "least_ahead_ns", bound(is.has_least, is.least_ns),
						 "most_ahead_ns", bound(is.has_most, is.most_ns),
						 "packets", (json_int_t)is.packets));
		}
	return cli_json_write(json_pack("{s:o, s:o, s:o, s:i}", "page", cli_json_text(m->v->output),
					"machines", machines, "clocks", pairs, "conflict",
					kl_clocks_conflict(m->clocks)));
}

/* ---------------------------------------------------------------------- page */

/* When the page begins, by the first machine's clock. */
static uint64_t begin_of(const struct machines *m)
{
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < m->v->n_paths; i++) {
		const uint64_t first =
			m->machine[i].first_ns - (uint64_t)kl_clocks_ahead(m->clocks, i);

		if (m->machine[i].first_ns && first < begin)
			begin = first;
	}
	return begin;
}

/* A time of the page, by a trace's own clock. */
static uint64_t own_time(const struct machines *m, size_t i, uint64_t begin, uint64_t ns)
{
	const int64_t moved = (int64_t)(begin + (uint64_t)kl_clocks_ahead(m->clocks, i) -
					m->machine[i].origin_ns);

	if (ns == UINT64_MAX)
		return ns;
	return moved < 0 && 0 - (uint64_t)moved > ns ? 0 : ns + (uint64_t)moved;
}

static int make_timelines(struct machines *m)
{
	const struct cli_view *v = m->v;
	const uint64_t bytes = (v->megabytes ? v->megabytes : MB_DEFAULT) * 1000000 / v->n_paths;
	const uint64_t begin = begin_of(m);

	for (size_t i = 0; i < v->n_paths; i++) {
		struct machine *machine = &m->machine[i];

		/* From its first event again. */
		kl_trace_close(machine->trace);
		machine->trace = cli_open_trace(v->path[i]);
		if (!machine->trace)
			return CLI_FAILED;
		machine->timeline =
			cli_view_timeline(v, machine->trace, bytes,
					  v->from_ns ? own_time(m, i, begin, v->from_ns) : 0,
					  own_time(m, i, begin, v->to_ns));
		if (!machine->timeline)
			return CLI_FAILED;
	}
	return CLI_OK;
}

static int write_page(struct machines *m)
{
	struct view_machine page[KL_CLOCKS_MAX];
	FILE *file = cli_view_create(m->v);
	char *title;
	int error;

	if (!file)
		return CLI_FAILED;
	for (size_t i = 0; i < m->v->n_paths; i++)
		page[i] = (struct view_machine){
			.timeline = m->machine[i].timeline,
			.host = m->machine[i].host,
			.clock = &kl_trace_about(m->machine[i].trace)->clock,
		};
	title = cli_trace_name(m->v->output, ".html", "");
	error = view_machines_write(page, m->v->n_paths, m->clocks, title, cli_view_write_part,
				    file);
	free(title);
	return cli_view_close(m->v, file, error);
}

int cli_view_machines(const struct cli_view *v)
{
	struct machines m = { .v = v };
	int status;

	cli_busy("reading the traces");
	status = read_clocks(&m);
	if (!status)
		status = make_timelines(&m);
	cli_busy(NULL);
	if (!status)
		status = write_page(&m);
	if (!status && cli_settings.json)
		status = print_json(&m);
	else if (!status)
		note_clocks(&m);
	for (size_t i = 0; i < v->n_paths; i++) {
		kl_timeline_destroy(m.machine[i].timeline);
		kl_trace_close(m.machine[i].trace);
		free(m.machine[i].host);
	}
	kl_clocks_destroy(m.clocks);
	return status;
}
