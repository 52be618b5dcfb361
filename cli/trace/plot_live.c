// SPDX-License-Identifier: GPL-2.0
/*
 * kernlens plot --live: records what the expressions need, and plots it. A terminal shows the last
 * part of it, again and again; CSV rows are printed as soon as their interval has passed; a
 * picture, a page or JSON has all of it, at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/alarm.h"
#include "../session/live.h"
#include "../session/run.h"
#include "plot.h"

#define SECOND_NS 1000000000ull
#define WINDOW_NS (60 * SECOND_NS)
#define REFRESH_NS (SECOND_NS / 2)
#define READ_MS 100

/* Variables are taken where threads begin and end to run, and while they do. */
#define VARIABLE_EVENTS "sched_switch,tick:99"

enum shape {
	SHAPE_SCREEN,
	SHAPE_ROWS,
	SHAPE_WHOLE,
};

struct live {
	struct plot_run *p;
	enum shape shape;
	struct cli_session session;
	struct cli_run run;
	struct cli_live live;
	struct kl_series *series;
	char *events[CLI_SPECS_MAX];
	unsigned int n_events;
	struct kl_buffer variables;
	uint64_t lost;
};

static bool is_variable(const char *text)
{
	return kl_variable_find(text);
}

static void add_events(struct live *l, char *events)
{
	if (l->n_events == CLI_SPECS_MAX)
		cli_usage_error(l->p->command, "too many expressions (maximum %d)", CLI_SPECS_MAX);
	l->events[l->n_events++] = events;
	cli_select_add(&l->p->select, l->p->command, events);
}

/* The filter of a single expression is applied in the kernel. */
static int need_events(struct live *l)
{
	for (size_t i = 0; i < l->p->n; i++) {
		const char *text = l->p->text[i];
		char *events;

		if (is_variable(text)) {
			if (!l->variables.length)
				add_events(l, cli_format("%s", VARIABLE_EVENTS));
			kl_buffer_printf(&l->variables, "%s%s", l->variables.length ? "," : "",
					 text);
			continue;
		}
		events = kl_measure_events(text, l->p->n == 1);
		if (!events)
			return cli_library_error(-errno, NULL);
		add_events(l, events);
	}
	if (!l->variables.length)
		return CLI_OK;
	kl_buffer_add_char(&l->variables, 0);
	if (l->variables.error)
		return cli_error(-ENOMEM, "out of memory");
	l->p->select.variables = l->variables.data;
	return CLI_OK;
}

/* ------------------------------------------------------------------- reading */

static int take(void *context, const struct kl_item *item)
{
	struct live *l = context;

	if (item->kind != KL_ITEM_LOSS)
		return cli_session_is_own(&l->session, item->event) ?
			       0 :
			       kl_series_add(l->series, item->event);
	if (item->loss->kind != KL_LOSS_UNSEEN)
		l->lost += item->loss->records;
	return 0;
}

/* Returns 1 if there may be more, 0 if not, or a negative errno. */
static int read_now(struct live *l, struct kl_abi_time *time)
{
	const int error = kl_device_time(l->session.device, time);

	return error ? error : cli_live_read(&l->live, time->cycles, take, l);
}

static int read_rest(struct live *l)
{
	int got = cli_session_stop(&l->session);

	while (!got && (got = cli_live_read(&l->live, UINT64_MAX, take, l)) > 0)
		got = 0;
	return got;
}

/* ------------------------------------------------------------------- showing */

static uint64_t wall_ns(const struct live *l, const struct kl_abi_time *time)
{
	return kl_timebase_ns(&l->live.timebase, time->cycles);
}

static int show_screen(struct live *l, uint64_t now_ns)
{
	int status = kl_series_forget(l->series, now_ns - l->p->window_ns);

	if (status)
		return cli_library_error(status, NULL);
	printf("\033[H\033[2J");
	if (kl_series_is_empty(l->series))
		puts("no event yet");
	else
		status = plot_show(l->p, l->series);
	fflush(stdout);
	return status;
}

/* An event is read at most READ_MS late. */
static int show_rows(struct live *l, uint64_t now_ns)
{
	const uint64_t begin_ns = kl_series_begin_ns(l->series);
	const uint64_t late_ns = begin_ns + 2 * READ_MS * 1000000ull;
	size_t done = 0;
	int error;

	if (begin_ns && now_ns > late_ns)
		done = (now_ns - late_ns) / kl_series_interval_ns(l->series);
	if (done > kl_series_intervals(l->series))
		done = kl_series_intervals(l->series);
	if (!done)
		return CLI_OK;
	error = plot_csv_rows(l->p, l->series, done);
	if (error)
		return error;
	error = kl_series_forget(l->series, begin_ns + done * kl_series_interval_ns(l->series));
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

static int show_some(struct live *l, uint64_t now_ns)
{
	switch (l->shape) {
	case SHAPE_SCREEN:
		return show_screen(l, now_ns);
	case SHAPE_ROWS:
		return show_rows(l, now_ns);
	default:
		return CLI_OK;
	}
}

static int show_end(struct live *l)
{
	return l->shape == SHAPE_ROWS ?
		       plot_csv_rows(l->p, l->series, kl_series_intervals(l->series)) :
		       plot_show(l->p, l->series);
}

/* ----------------------------------------------------------------------- run */

static int follow(struct live *l)
{
	uint64_t next_ns = 0;
	struct kl_abi_time time;
	int status = CLI_OK, got = 0;

	while (!status && got >= 0 && !l->run.over) {
		cli_run_wait(&l->run, kl_reader_fd(l->live.reader), got > 0 ? 0 : READ_MS);
		got = read_now(l, &time);
		if (got < 0 || cli_now_ns() < next_ns)
			continue;
		next_ns = cli_now_ns() + l->p->refresh_ns;
		status = show_some(l, wall_ns(l, &time));
		l->run.over |= cli_is_suspended(l->session.session);
	}
	if (!status && got >= 0)
		got = read_rest(l);
	if (got < 0)
		return cli_library_error(got, NULL);
	return status ? status : show_end(l);
}

static int record(struct live *l)
{
	int status = cli_session_open(&l->session, NULL, KL_HANDLER_log);

	if (!status)
		status = cli_live_open(&l->live, &l->session, false);
	if (!status) {
		cli_session_name_addresses(&l->session);
		l->series = kl_series_create(l->session.schema, l->p->text, l->p->n,
					     l->p->interval_ns, plot_intervals(l->p));
		if (!l->series)
			status = cli_library_error(-errno, NULL);
	}
	if (!status && l->shape == SHAPE_ROWS && !plot_csv_head())
		status = CLI_FAILED;
	if (!status)
		status = cli_run_begin(&l->run);
	if (!status)
		status = follow(l);
	if (l->lost)
		cli_note("%llu records lost (try a larger --buffer, or fewer events)",
			 (unsigned long long)l->lost);
	return status;
}

static void choose_shape(struct live *l)
{
	struct plot_run *p = l->p;

	if (p->csv)
		l->shape = SHAPE_ROWS;
	else if (!p->svg && !p->html && !cli_settings.json && isatty(STDOUT_FILENO))
		l->shape = SHAPE_SCREEN;
	else
		l->shape = SHAPE_WHOLE;
	p->ends_now = l->shape == SHAPE_SCREEN;
	if (!p->window_ns)
		p->window_ns = WINDOW_NS;
	if (!p->refresh_ns)
		p->refresh_ns = REFRESH_NS;
	if (!p->interval_ns && l->shape == SHAPE_ROWS)
		p->interval_ns = SECOND_NS;
	else if (!p->interval_ns && l->shape == SHAPE_SCREEN)
		p->interval_ns = p->window_ns / plot_intervals(p);
}

int plot_live(struct plot_run *p)
{
	struct live *l = cli_alloc(sizeof(*l));
	int status;

	l->p = p;
	choose_shape(l);
	p->select.to_stdout = true;
	status = need_events(l);
	if (!status) {
		l->session = (struct cli_session){ .command = p->command, .select = p->select };
		status = cli_run_init(&l->run, &l->session);
		if (!status)
			status = cli_run_status(&l->run, record(l));
		kl_series_destroy(l->series);
		cli_live_close(&l->live);
		cli_session_close(&l->session);
		cli_run_deinit(&l->run);
	}
	for (unsigned int i = 0; i < l->n_events; i++)
		free(l->events[i]);
	kl_buffer_deinit(&l->variables);
	free(l);
	return status;
}
