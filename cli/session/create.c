// SPDX-License-Identifier: GPL-2.0
/* Creates the session of a tracing command: its name, and where and how large its buffers are. */
#include <errno.h>
#include <stdio.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "create.h"

int cli_session_size_buffers(struct cli_session *s)
{
	int error = kl_record_set_buffers(s->device, s->select.buffer_bytes, &s->config);

	s->config.flags = s->select.keep ? KL_SESSION_KEEP : 0;
	/* The module knows how many blocks fit. */
	if (s->select.keep && !s->select.buffer_bytes)
		s->config.blocks = 0;
	if (!error)
		return CLI_OK;
	return cli_error(-EINVAL, "--buffer is too large (per CPU, at most %u GiB)",
			 (unsigned int)((uint64_t)KL_BLOCKS_MAX * KL_BLOCK_BYTES_MAX >> 30));
}

/* Other commands find a session by its name, so a chosen one must not have two meanings. */
static bool is_taken(const struct cli_session *s)
{
	struct kl_abi_status status;
	int error = kl_device_find(s->device, s->select.name, &status);

	if (error && error != -ENOTUNIQ)
		return false;
	cli_error(-EEXIST, "there is a session %s already (kernlens status); choose another --name",
		  s->select.name);
	return true;
}

/* The reserved memory cannot be used: a session without it is better than none. */
static int make_unkept(struct cli_session *s, int error)
{
	int status;

	if (error != ENODEV)
		cli_note("the session will not be kept over a crash: %s", kl_error_text());
	s->select.keep = false;
	status = cli_session_size_buffers(s);
	if (status)
		return status;
	s->session = kl_session_create(s->device, &s->config);
	return s->session ? CLI_OK : cli_library_error(-errno, NULL);
}

int cli_session_create(struct cli_session *s)
{
	const char *program = s->select.words ? s->select.words[0] : "";
	const char *slash = strrchr(program, '/');

	if (s->select.name && is_taken(s))
		return CLI_FAILED;
	if (s->select.name)
		snprintf(s->config.name, sizeof(s->config.name), "%s", s->select.name);
	else
		snprintf(s->config.name, sizeof(s->config.name), "%s%s%.20s", s->command->name,
			 *program ? " " : "", slash ? slash + 1 : program);
	s->session = kl_session_create(s->device, &s->config);
	if (!s->session && s->select.keep && s->select.keep_if_possible)
		return make_unkept(s, errno);
	return s->session ? CLI_OK : cli_library_error(-errno, NULL);
}
