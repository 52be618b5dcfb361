// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the events of a session as they happen, keeps none of them, and has what they show printed
 * at an interval.
 */
#include <errno.h>
#include <stdio.h>

#include "../base/common.h"
#include "refresh.h"

#define POLL_MS 100 /* so that buffers do not fill up between two refreshes */

static struct cli_session *session_of(const struct cli_refresh *r)
{
	return &r->recording->session;
}

/* Read what has happened up to now. Returns 1 if there may be more, 0, or a negative errno. */
static int read_events(struct cli_refresh *r, uint64_t cycles)
{
	/* Read the stack traces before the records that refer to them. */
	if (cli_session_has_stacks(session_of(r)) && cli_session_collect(session_of(r), false) < 0)
		return -EIO;
	return cli_live_read(&r->live, cycles, r->take, r->context);
}

static int show(struct cli_refresh *r, uint64_t cycles, bool is_last)
{
	int status = r->show(r->context, kl_timebase_ns(&r->live.timebase, cycles), is_last);

	if (fflush(stdout))
		return cli_error(-errno, "cannot write the output");
	return status;
}

/* Returns CLI_OK, or another status after a message. */
static int step(struct cli_refresh *r)
{
	struct kl_abi_time time;
	int got = kl_device_time(session_of(r)->device, &time);

	if (!got)
		got = read_events(r, time.cycles);
	if (got < 0)
		return cli_library_error(got, NULL);
	if (r->poll)
		r->poll(r->context);
	if (!got && cli_now_ns() >= r->next_ns) {
		/* A refresh that comes late does not make the next ones come early. */
		while (r->next_ns <= cli_now_ns())
			r->next_ns += r->interval_ns;
		return show(r, time.cycles, false);
	}
	cli_run_wait(&r->recording->run, kl_reader_fd(r->live.reader), got > 0 ? 0 : POLL_MS);
	return CLI_OK;
}

/* What has happened before the session was stopped. */
static int finish(struct cli_refresh *r)
{
	struct kl_abi_time time = { 0 };
	int got = cli_session_stop(session_of(r));

	if (!got)
		got = kl_device_time(session_of(r)->device, &time);
	if (!got)
		while ((got = read_events(r, UINT64_MAX)) > 0)
			continue;
	return got < 0 ? cli_library_error(got, NULL) : show(r, time.cycles, true);
}

static int follow(struct cli_refresh *r)
{
	struct cli_run *run = &r->recording->run;
	int status = cli_run_begin(run);

	r->next_ns = cli_now_ns() + r->interval_ns;
	while (!status && !run->over)
		status = step(r);
	if (!status)
		status = finish(r);
	cli_session_note_left_out(session_of(r));
	return status;
}

int cli_refresh_run(struct cli_refresh *refresh)
{
	int status = cli_live_open(&refresh->live, session_of(refresh), false);

	if (!status)
		status = cli_run_status(&refresh->recording->run, follow(refresh));
	cli_live_close(&refresh->live);
	return status;
}

int cli_refresh_open(struct cli_recording *recording, cli_refresh_fn use, void *context)
{
	struct cli_session *session = &recording->session;
	int status;

	session->select.to_stdout = true;
	status = cli_run_init(&recording->run, session);
	if (!status)
		status = cli_session_open(session, NULL, recording->handler);
	if (!status) {
		status = use(context);
		cli_session_close(session);
	}
	cli_run_deinit(&recording->run);
	return status;
}
