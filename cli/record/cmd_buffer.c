// SPDX-License-Identifier: GPL-2.0
/* kernlens buffer: change the size of a running session's buffers. */
#include "../base/common.h"
#include "../session/attach.h"

static int resize(struct cli_session *s, uint64_t bytes)
{
	uint64_t block = s->config.block_bytes, blocks = (bytes + block - 1) / block;
	char before[CLI_NUMBER_MAX], after[CLI_NUMBER_MAX];
	int error;

	if (blocks < KL_BLOCKS_MIN)
		blocks = KL_BLOCKS_MIN;
	if (blocks > UINT32_MAX)
		blocks = UINT32_MAX;
	error = kl_session_resize(s->session, (uint32_t)blocks);
	if (error)
		return cli_library_error(error, NULL);
	if (cli_settings.json)
		return cli_json_write(json_pack("{s:I, s:o, s:I, s:I}", "id",
						(json_int_t)s->config.id, "name",
						cli_json_text(s->config.name), "bytes_before",
						(json_int_t)(s->config.blocks * block), "bytes",
						(json_int_t)(blocks * block)));
	printf("%s: %s per CPU, was %s\n", s->config.name, cli_print_size(after, blocks * block),
	       cli_print_size(before, s->config.blocks * block));
	return CLI_OK;
}

static int exec_buffer(const struct cli_command *self, int argc, char **argv)
{
	struct cli_session session = { .command = self };
	struct cli_parser parser;
	uint64_t bytes;
	int status;

	cli_parser_init(&parser, self, argc, argv);
	while (cli_parse(&parser))
		;
	if (!parser.n_words || parser.n_words > 2)
		cli_usage_error(self, "expected SIZE and, optionally, SESSION");
	bytes = cli_need_size(self, parser.words[0]);
	status = cli_attach(&session, parser.n_words > 1 ? parser.words[1] : NULL);
	if (!status)
		status = resize(&session, bytes);
	cli_session_close(&session);
	return status;
}

const struct cli_command_ops cmd_buffer = {
	.text = "SIZE is the new size per CPU, such as 512K or 16M. It is at most four times the\n"
		"size that the session was created with. SESSION is a name or number as shown by\n"
		"kernlens status; it may be omitted if there is only one session.\n"
		"\n"
		"  kernlens record -a --name long -o long\n"
		"  kernlens buffer 16M long\n",
	.exec = exec_buffer,
};
