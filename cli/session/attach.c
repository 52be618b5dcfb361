// SPDX-License-Identifier: GPL-2.0
/*
 * Attach to sessions that another process has created. When a session is created, its definitions
 * are stored in the module as metadata (kl_record_publish()); a process that attaches reads them
 * from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "attach.h"

/* Find the only visible session, or report why there is not exactly one. */
static int find_only(struct kl_device *device, struct kl_abi_status *status)
{
	struct kl_abi_status other;
	int error = kl_device_status(device, 0, status);

	if (error == -ENOENT)
		return cli_error(error, "you have no session");
	if (error)
		return cli_library_error(error, NULL);
	if (!kl_device_status(device, 1, &other))
		return cli_error(-EINVAL, "there are several sessions; specify one by name or "
					  "number (kernlens status lists them)");
	return CLI_OK;
}

/* The metadata is empty if the session defines nothing, or if its creator stored nothing. */
static int read_defined(struct cli_session *s)
{
	struct kl_trace_info info;
	struct kl_schema *defined;
	char *text;
	int error = kl_session_get_metadata(s->session, &text);

	if (error)
		return cli_library_error(error, NULL);
	if (!*text) {
		free(text);
		return CLI_OK;
	}
	defined = kl_metadata_parse(text, strlen(text), &info);
	error = defined ? kl_schema_take_defined(s->schema, defined) : -errno;
	kl_schema_destroy(defined);
	free(text);
	return error ? cli_library_error(error, "cannot read the session's event definitions") :
		       CLI_OK;
}

static int attach(struct cli_session *s, const struct kl_abi_status *status)
{
	struct kl_abi_attach attach = { .id = status->id };

	s->session = kl_session_attach(s->device, &attach);
	if (!s->session)
		return cli_library_error(-errno, NULL);
	s->config = (struct kl_abi_session){
		.id = status->id,
		.mode = attach.mode,
		.block_bytes = attach.block_bytes,
		.blocks = status->blocks,
	};
	memcpy(s->config.uuid, attach.uuid, sizeof(s->config.uuid));
	memcpy(s->config.name, status->name, sizeof(s->config.name));
	return read_defined(s);
}

int cli_attach(struct cli_session *session, const char *name)
{
	struct kl_abi_status status;
	int error = 0, done;

	session->schema = kl_schema_create();
	if (!session->schema)
		return cli_library_error(-errno, NULL);
	session->device = cli_open_device();
	if (!session->device)
		return CLI_FAILED;
	if (!name) {
		done = find_only(session->device, &status);
	} else {
		error = kl_device_find(session->device, name, &status);
		done = error ? cli_library_error(error, NULL) : CLI_OK;
	}
	return done ? done : attach(session, &status);
}
