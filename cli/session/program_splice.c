// SPDX-License-Identifier: GPL-2.0
/*
 * Splice blocks of programs into processes while the command or the time runs, and report the
 * result.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/common.h"
#include "program_splice.h"

static bool may_administer(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	return !syscall(SYS_capget, &header, data) &&
	       data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

bool cli_program_splice_fits(void)
{
	return access(KL_DEVICE_PATH, F_OK) || !may_administer();
}

static int want(struct cli_run *run, struct kl_process_splices *count)
{
	const struct cli_select *select = &run->session->select;

	for (unsigned int i = 0; i < select->n_specs; i++) {
		int error = kl_process_splices_count(count, select->spec[i]);

		if (error)
			return cli_library_error(error, NULL);
	}
	return CLI_OK;
}

static int begin(struct cli_run *run, struct kl_process_splices *count)
{
	struct cli_session *session = run->session;
	const struct cli_select *select = &session->select;
	int status = CLI_OK, error;

	if (select->words)
		status = cli_session_make_child(session, true);
	if (!status && select->words && !cli_child_ready(&session->child))
		status = cli_error(0, "the process for %s has ended", select->words[0]);
	if (status)
		return status;
	error = kl_process_splices_begin(count, select->pid, select->n_pids, session->child.pid, 0);
	if (error)
		return cli_library_error(error, NULL);
	return CLI_OK;
}

/* Report what the user should know about the splices. */
static void tell(const struct cli_session *session, const struct kl_process_splices_sum *sum)
{
	if (*sum->text)
		cli_note("some blocks are not instrumented: %s", sum->text);
	else if (!sum->placed)
		cli_note("%s has not mapped the file", session->select.words[0]);
	if (sum->without)
		cli_note("%u blocks cannot be instrumented: %s", sum->without,
			 kl_block_reason_help(sum->reason));
	if (sum->changed)
		cli_note("%u patch sites in the text were modified by others and left unchanged",
			 sum->changed);
	if (sum->kept)
		cli_note("memory stays mapped in %u processes because a thread could return to it",
			 sum->kept);
}

int cli_program_splice(struct cli_run *run, struct kl_process_splices **count, uint64_t *elapsed_ns)
{
	struct cli_session *session = run->session;
	struct kl_process_splices_sum sum;
	int status;

	*count = kl_process_splices_create();
	if (!*count)
		return cli_library_error(-errno, NULL);
	status = want(run, *count);
	if (!status)
		status = begin(run, *count);
	if (status)
		return status;
	status = cli_run_watch(run);
	if (!status && session->child.pid)
		cli_child_go(&session->child);
	while (!status && !run->over)
		cli_run_wait(run, -1, -1);
	*elapsed_ns = cli_run_elapsed(run);
	kl_process_splices_end(*count, &sum);
	if (!status)
		tell(session, &sum);
	return status;
}

int cli_session_splice(struct cli_session *session)
{
	const struct cli_select *select = &session->select;
	struct kl_process_splices *splices = kl_plan_process_splices(session->plan);
	int error;

	if (!splices)
		return CLI_OK;
	error = kl_process_splices_begin(splices, select->pid, select->n_pids, session->child.pid,
					 session->config.id);
	if (error)
		return cli_library_error(error, NULL);
	session->spliced = true;
	return CLI_OK;
}

void cli_session_unsplice(struct cli_session *session)
{
	struct kl_process_splices_sum sum;

	if (!session->spliced)
		return;
	session->spliced = false;
	kl_process_splices_end(kl_plan_process_splices(session->plan), &sum);
	tell(session, &sum);
}
