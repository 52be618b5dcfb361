// SPDX-License-Identifier: GPL-2.0
/* kernlens unpack: unpack a trace into a directory that other tools read. */
#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "pack.h"

enum {
	KEY_LIMIT = CLI_PACK_OWN,
};

static const struct cli_option options[] = {
	{ 'o', "output", "DIR", "directory (default: the name of FILE without .klp)" },
	{ CLI_PACK_FORCE, "force", NULL, "replace an existing trace in DIR" },
	{ KEY_LIMIT, "limit", "SIZE", "refuse what is larger (1G, or 100 times FILE's size)" },
	{ 'i', "input", "FILE", "pack, or directory of a compressed trace" },
	{},
};

static int run(const struct cli_pack *pack, uint64_t limit)
{
	struct kl_pack_counts counts;
	int error;

	cli_busy("unpacking the trace");
	error = kl_unpack_trace(pack->path, pack->output, pack->force, limit, &counts);
	cli_busy(NULL);
	return error ? cli_pack_error(error) : cli_pack_print(pack->output, &counts);
}

static int exec_unpack(const struct cli_command *self, int argc, char **argv)
{
	struct cli_pack pack = { .path = NULL };
	struct cli_parser parser;
	uint64_t limit = 0;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_pack_option(&pack, &parser, key))
			limit = cli_need_size(self, parser.arg);
	if (!cli_pack_word(&pack, &parser) || !pack.path)
		cli_usage_error(self, "expected one file to unpack");
	if (!pack.output)
		pack.output = cli_trace_name(pack.path, CLI_PACK_SUFFIX, "");
	status = run(&pack, limit);
	cli_pack_free(&pack);
	return status;
}

const struct cli_command_ops cmd_unpack = {
	.options = options,
	.text = "Writes a trace in CTF 1.8 that babeltrace2 and Trace Compass open; its streams\n"
		"are byte for byte those that were packed. FILE may come from anyone: it is\n"
		"checked, and nothing but the files of a trace is written. It may also be the\n"
		"directory of a trace that was recorded with --compress, with -o.\n"
		"\n"
		"  kernlens unpack TRACE.klp; babeltrace2 TRACE\n"
		"  kernlens unpack TRACE -o plain\n",
	.exec = exec_unpack,
};
