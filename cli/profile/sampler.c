// SPDX-License-Identifier: GPL-2.0
/* Takes samples of a running session into a profile. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../base/common.h"
#include "../session/alarm.h"
#include "sampler.h"

/* Names that a profile remembers, before it is begun again. */
#define NAMES_MAX (1u << 19)

/* After a pass that took this long, there is another one for what came meanwhile. */
#define LONG_NS 200000000
#define PASSES_MAX 4

char *cli_sampler_tick(uint64_t hz, bool self)
{
	const unsigned int each = hz ? (unsigned int)hz : CLI_SAMPLER_HZ;

	if (self)
		return cli_format("tick:%u", each);
	return cli_format("tick:%u/pid != %d/", each, getpid());
}

static void begin_slice(struct cli_sampler *s, size_t keep)
{
	size_t dropped = s->slices > keep ? s->slices - keep : 0;

	s->slices -= dropped;
	memmove(s->slice_ns, s->slice_ns + dropped, s->slices * sizeof(*s->slice_ns));
	s->slice_ns[s->slices++] = cli_now_ns();
}

static int create_profile(struct cli_sampler *s)
{
	int error;

	s->profile = kl_profile_create(s->session.schema, NULL);
	if (!s->profile)
		return cli_library_error(-errno, NULL);
	/* From the start, so that every sample is in a slice. */
	error = kl_profile_begin_slice(s->profile, 0);
	begin_slice(s, 0);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* Everything but starting the session. */
static int open_session(struct cli_sampler *s)
{
	int status = cli_session_open(&s->session, NULL, KL_HANDLER_stack);

	if (!status)
		status = cli_live_open(&s->live, &s->session, false);
	return status ? status : create_profile(s);
}

int cli_sampler_open(struct cli_sampler *s)
{
	int status = cli_run_init(&s->run, &s->session);

	if (!status)
		status = open_session(s);
	if (!status)
		status = cli_run_begin(&s->run);
	if (!status)
		s->slice_ns[0] = cli_now_ns();
	return status;
}

static void close_session(struct cli_sampler *s)
{
	kl_profile_destroy(s->profile);
	s->profile = NULL;
	cli_live_close(&s->live);
	cli_session_close(&s->session);
}

void cli_sampler_close(struct cli_sampler *s)
{
	close_session(s);
	cli_run_deinit(&s->run);
}

/* ------------------------------------------------------------------- reading */

/* Drop samples, but count what is missing. */
static int drop(void *context, const struct kl_item *item)
{
	struct cli_sampler *s = context;

	if (item->kind == KL_ITEM_LOSS && item->loss->kind != KL_LOSS_UNSEEN)
		s->lost += item->loss->records;
	return 0;
}

static int take(void *context, const struct kl_item *item)
{
	struct cli_sampler *s = context;

	if (item->kind == KL_ITEM_LOSS)
		return drop(s, item);
	if (!s->self && cli_session_is_own(&s->session, item->event))
		return 0;
	return kl_profile_add(s->profile, item->event);
}

/* Stack traces are read before the samples that refer to them. */
static int read_some(struct cli_sampler *s, bool dropped)
{
	struct kl_abi_time time;
	int got = kl_device_time(s->session.device, &time);

	if (!got)
		got = kl_record_names_collect(cli_session_names(&s->session), s->lines);
	return got < 0 ? got : cli_live_read(&s->live, time.cycles, dropped ? drop : take, s);
}

/* Reading the symbols of a program that has not been seen before may take seconds. */
int cli_sampler_read(struct cli_sampler *s, bool dropped)
{
	uint64_t began;
	int got, passes = 0;

	do {
		began = cli_now_ns();
		got = read_some(s, dropped);
	} while (got >= 0 && ++passes < PASSES_MAX && cli_now_ns() - began > LONG_NS);
	return got < 0 ? cli_library_error(got, NULL) : CLI_OK;
}

/* -------------------------------------------------------------------- slices */

static bool is_full(const struct cli_sampler *s)
{
	return kl_stacks_no_room(kl_schema_stacks(s->session.schema)) ||
	       kl_profile_names(s->profile) > NAMES_MAX;
}

/* Those that have ended cannot be followed again. */
static void leave_out_ended(struct cli_select *select)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < select->n_pids; i++)
		if (!kill(select->pid[i], 0) || errno == EPERM)
			select->pid[left++] = select->pid[i];
	select->n_pids = left;
}

static int restart(struct cli_sampler *s)
{
	bool had_pids = s->session.select.n_pids;
	int status;

	leave_out_ended(&s->session.select);
	if (had_pids && !s->session.select.n_pids) {
		s->run.over = true;
		return CLI_OK;
	}
	close_session(s);
	s->session = (struct cli_session){ .command = s->session.command,
					   .select = s->session.select,
					   .signals = s->session.signals };
	status = open_session(s);
	if (!status)
		status = cli_session_start(&s->session);
	if (status)
		return status;
	s->restarts++;
	if (s->run.own_news)
		s->run.news = kl_session_fd(s->session.session);
	return CLI_OK;
}

int cli_sampler_next(struct cli_sampler *s, bool all)
{
	size_t keep = all ? 0 : s->keep;
	int error;

	if (cli_is_suspended(s->session.session)) {
		cli_note_suspended(s->session.session);
		s->run.over = true;
		return CLI_FAILED;
	}
	if (is_full(s))
		return restart(s);
	error = kl_profile_begin_slice(s->profile, keep);
	begin_slice(s, keep);
	return error ? cli_library_error(error, NULL) : CLI_OK;
}

uint64_t cli_sampler_length(const struct cli_sampler *s)
{
	return cli_now_ns() - s->slice_ns[0];
}
