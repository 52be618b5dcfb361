// SPDX-License-Identifier: GPL-2.0
/* kernlens snapshot: request a copy of a session's buffers from its recorder. */
#include "../base/common.h"
#include "../session/attach.h"

static int exec_snapshot(const struct cli_command *self, int argc, char **argv)
{
	struct cli_session session = { .command = self };
	struct cli_parser parser;
	int status;

	cli_parser_init(&parser, self, argc, argv);
	while (cli_parse(&parser))
		;
	if (parser.n_words > 1)
		cli_usage_error(self, "too many arguments; expected one session");
	status = cli_attach(&session, parser.n_words ? parser.words[0] : NULL);
	if (!status) {
		int error = kl_session_ask_snapshot(session.session);

		status = error ? cli_library_error(error, NULL) : CLI_OK;
	}
	cli_session_close(&session);
	return status;
}

const struct cli_command_ops cmd_snapshot = {
	.text = "SESSION is the name or number of a running `kernlens record --overwrite', as\n"
		"shown by kernlens status; it may be omitted if there is only one session. The\n"
		"recorder writes the contents of its buffers to DIR.1, DIR.2 ... and continues.\n"
		"\n"
		"  kernlens record -a --overwrite --name flight -o flight\n"
		"  kernlens snapshot flight\n",
	.exec = exec_snapshot,
};
