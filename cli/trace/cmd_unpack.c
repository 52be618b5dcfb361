// SPDX-License-Identifier: GPL-2.0
/* kernlens unpack: unpack a trace into a directory that other tools read. */
#include <stdlib.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "pack.h"

enum {
	KEY_FORCE = CLI_KEY_OWN,
	KEY_LIMIT,
};

static const struct cli_option options[] = {
	{ 'o', "output", "DIR", "directory (default: the name of FILE without .klp)" },
	{ KEY_FORCE, "force", NULL, "replace an existing trace in DIR" },
	{ KEY_LIMIT, "limit", "SIZE", "refuse what is larger (1G, or 100 times FILE's size)" },
	{ 'i', "input", "FILE", "pack, or directory of a compressed trace" },
	{},
};

static int run(const char *path, const char *output, bool force, uint64_t limit)
{
	struct kl_pack_counts counts;
	int error;

	cli_busy("unpacking the trace");
	error = kl_unpack_trace(path, output, force, limit, &counts);
	cli_busy(NULL);
	return error ? cli_pack_error(error) : cli_pack_print(output, &counts);
}

static int exec_unpack(const struct cli_command *self, int argc, char **argv)
{
	char *output = NULL;
	const char *path = NULL;
	struct cli_parser parser;
	uint64_t limit = 0;
	bool force = false;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		if (key == 'o')
			output = cli_format("%s", parser.arg);
		else if (key == KEY_FORCE)
			force = true;
		else if (key == KEY_LIMIT)
			limit = cli_need_size(self, parser.arg);
		else if (key == 'i')
			path = parser.arg;
	}
	if (parser.n_words + !!path != 1)
		cli_usage_error(self, "expected one file to unpack");
	if (!path)
		path = parser.words[0];
	if (!output)
		output = cli_trace_name(path, CLI_PACK_SUFFIX, "");
	status = run(path, output, force, limit);
	free(output);
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
