// SPDX-License-Identifier: GPL-2.0
/*
 * Prints at an interval which code makes processes grow, while they run: reads the events of the
 * session as they happen, and keeps none of them. A page is written anew each time.
 */
#include <errno.h>
#include <stdio.h>

#include "../base/common.h"
#include "../base/output.h"
#include "../session/live.h"
#include "growth.h"

#define POLL_MS 100 /* so that buffers do not fill up between two refreshes */

/**
 * struct watching - a session that is being read
 * @next_ns: time of the next refresh, CLOCK_MONOTONIC
 */
struct watching {
	struct cli_growth *growth;
	struct cli_session *session;
	struct cli_live live;
	uint64_t next_ns;
};

static int add_item(void *context, const struct kl_item *item)
{
	struct watching *w = context;

	if (item->kind == KL_ITEM_EVENT && cli_session_is_own(w->session, item->event))
		return 0;
	return kl_growth_add(w->growth->growth, item);
}

/* Read what has happened up to now. Returns 1 if there may be more, 0, or a negative errno. */
static int read_events(struct watching *w, uint64_t cycles)
{
	/* Read the stack traces before the records that refer to them. */
	if (cli_session_has_stacks(w->session) && cli_session_collect(w->session, false) < 0)
		return -EIO;
	return cli_live_read(&w->live, cycles, add_item, w);
}

static int show(struct watching *w, uint64_t now_ns, bool is_last)
{
	struct cli_growth *g = w->growth;
	int status;

	kl_growth_update(g->growth, now_ns);
	if (g->html) {
		g->memory.refreshes = !is_last;
		return cli_growth_write_page(g);
	}
	if (!cli_settings.json && cli_has_screen(stdout))
		fputs("\033[H\033[2J\033[3J", stdout);
	status = cli_growth_write(g, stdout);
	if (!status && !cli_settings.json)
		putchar('\n');
	kl_growth_mark(g->growth);
	if (fflush(stdout))
		return cli_error(-errno, "cannot write the output");
	return status;
}

/* Returns CLI_OK, or another status after a message. */
static int step(struct watching *w, struct cli_run *run, uint64_t interval_ns)
{
	struct kl_abi_time time;
	int got = kl_device_time(w->session->device, &time);

	if (!got)
		got = read_events(w, time.cycles);
	if (got < 0)
		return cli_library_error(got, NULL);
	if (w->growth->html)
		cli_growth_walk(w->growth);
	if (!got && cli_now_ns() >= w->next_ns) {
		/* A refresh that comes late does not make the next ones come early. */
		while (w->next_ns <= cli_now_ns())
			w->next_ns += interval_ns;
		return show(w, kl_timebase_ns(&w->live.timebase, time.cycles), false);
	}
	cli_run_wait(run, kl_reader_fd(w->live.reader), got > 0 ? 0 : POLL_MS);
	return CLI_OK;
}

/* What has happened before the session was stopped. */
static int finish(struct watching *w)
{
	int got = cli_session_stop(w->session);

	if (!got)
		while ((got = read_events(w, UINT64_MAX)) > 0)
			continue;
	return got < 0 ? cli_library_error(got, NULL) : show(w, 0, true);
}

static int follow(struct watching *w, struct cli_run *run)
{
	const uint64_t interval_ns = w->growth->interval_ns;
	int status = cli_run_begin(run);

	w->next_ns = cli_now_ns() + interval_ns;
	while (!status && !run->over)
		status = step(w, run, interval_ns);
	if (!status)
		status = finish(w);
	cli_session_note_left_out(w->session);
	return status;
}

static int watch(struct cli_growth *g, struct cli_run *run)
{
	struct watching w = { .growth = g, .session = &g->recording.session };
	int status = cli_live_open(&w.live, w.session, false);

	if (!status) {
		g->schema = w.session->schema;
		g->growth = kl_growth_create(g->schema);
		status = g->growth ? follow(&w, run) : cli_library_error(-errno, NULL);
		status = cli_run_status(run, status);
	}
	kl_growth_destroy(g->growth);
	g->growth = NULL;
	cli_live_close(&w.live);
	return status;
}

int cli_growth_watch(struct cli_growth *g, const struct cli_command *self)
{
	struct cli_session *session = &g->recording.session;
	struct cli_run *run = &g->recording.run;
	int status = cli_growth_select(g, self);

	if (status)
		return status;
	/* The output of a command does not mix with ours. */
	session->select.to_stdout = true;
	status = cli_run_init(run, session);
	if (!status)
		status = cli_session_open(session, NULL, g->recording.handler);
	if (!status) {
		status = watch(g, run);
		cli_session_close(session);
	}
	cli_run_deinit(run);
	return status;
}
