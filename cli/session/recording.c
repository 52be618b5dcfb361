// SPDX-License-Identifier: GPL-2.0
/* Records a trace, has it used, and removes it unless it is kept. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/common.h"
#include "../base/output.h"
#include "alarm.h"
#include "recorder.h"
#include "recording.h"

static int create_recorder(struct cli_recording *r)
{
	const struct kl_record_source source = cli_session_source(&r->session);
	struct kl_recorder_params params = {
		.force = r->force,
		.names = cli_session_names(&r->session),
		.notify = cli_recorder_notice,
	};
	const char *folder = getenv("TMPDIR");

	if (r->output) {
		r->path = cli_format("%s", r->output);
	} else {
		char *prefix = cli_format("%s/kernlens-%s", folder && *folder ? folder : "/tmp",
					  r->session.command->name);

		r->path = kl_record_make_folder(prefix);
		free(prefix);
	}
	if (!r->path)
		return cli_library_error(-errno, NULL);
	params.path = r->path;
	r->recorder = kl_recorder_create(&source, &params);
	if (r->recorder)
		return CLI_OK;
	cli_recorder_error(-errno);
	if (!r->output)
		rmdir(r->path);
	return CLI_FAILED;
}

static int record(struct cli_recording *r)
{
	int error = kl_recorder_attach(r->recorder);
	int status = error ? cli_library_error(error, NULL) : cli_run_begin(&r->run);

	if (status)
		return status;
	error = kl_recorder_began(r->recorder);
	while (!error && !r->run.over) {
		cli_run_wait(&r->run, kl_recorder_fd(r->recorder), 100);
		error = kl_recorder_drain(r->recorder);
		if (r->meanwhile)
			r->meanwhile(r->context);
	}
	if (error)
		cli_library_error(error, NULL);
	error = cli_session_stop(&r->session);
	cli_note_suspended(r->session.session);
	if (error)
		return cli_library_error(error, NULL);
	cli_session_interrupts(&r->session, true);
	cli_busy("looking up names and source lines");
	error = kl_recorder_ended(r->recorder);
	cli_busy(NULL);
	cli_session_interrupts(&r->session, false);
	return error ? CLI_FAILED : CLI_OK;
}

static int record_and_use(struct cli_recording *r, cli_recording_fn use, void *context)
{
	int status = create_recorder(r);

	if (status)
		return status;
	r->own[0] = getpid();
	status = record(r);
	r->own[1] = kl_record_names_collector(r->session.names);
	if (kl_recorder_finish(r->recorder) && !status)
		status = CLI_FAILED;
	cli_run_status(&r->run, CLI_OK);
	if (!status && !cli_child_failed(&r->session.child))
		status = use(context, r->path);
	kl_recorder_destroy(r->recorder);
	if (!r->output || cli_child_failed(&r->session.child))
		kl_record_discard(r->path);
	return status;
}

bool cli_recording_is_own(const struct cli_recording *r, const struct kl_event *event)
{
	return event->task.pid && (event->task.pid == r->own[0] || event->task.pid == r->own[1]);
}

int cli_recording_run(struct cli_recording *r, cli_recording_fn use, void *context)
{
	int status = cli_run_init(&r->run, &r->session);

	if (!status)
		status = cli_session_open(&r->session, NULL, r->handler);
	if (!status) {
		status = record_and_use(r, use, context);
		if (r->run.began_ns)
			status = cli_run_status(&r->run, status);
		cli_session_close(&r->session);
	}
	cli_run_deinit(&r->run);
	free(r->path);
	return status;
}
