// SPDX-License-Identifier: GPL-2.0
/* kernlens pack: pack a recorded trace into one file. */
#include <stdlib.h>
#include <string.h>

#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "latest.h"
#include "pack.h"

enum {
	KEY_FORCE = CLI_KEY_OWN,
	KEY_LEVEL,
};

#define LEVEL_DEFAULT 6

static const struct cli_option options[] = {
	{ 'o', "output", "FILE", "file to write (default: the name of the trace, and .klp)" },
	{ KEY_FORCE, "force", NULL, "replace an existing file" },
	{ KEY_LEVEL, "level", "N", "from 1 (fast) to 19 (small) (6)" },
	{ 'i', "input", "TRACE", "trace directory" },
	{},
};

static int run(const char *path, const char *output, bool force, int level)
{
	struct kl_pack_counts counts;
	int error;

	cli_busy("packing the trace");
	error = kl_pack_trace(path, output, force, level, &counts);
	cli_busy(NULL);
	return error ? cli_pack_error(error) : cli_pack_print(output, &counts);
}

static int exec_pack(const struct cli_command *self, int argc, char **argv)
{
	char *path = NULL, *output = NULL;
	uint64_t level = LEVEL_DEFAULT;
	struct cli_parser parser;
	bool force = false;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser))) {
		if (key == 'o')
			output = cli_format("%s", parser.arg);
		else if (key == KEY_FORCE)
			force = true;
		else if (key == KEY_LEVEL)
			level = cli_take_level(&parser, level);
		else if (key == 'i')
			path = cli_format("%s", parser.arg);
	}
	if (parser.n_words + !!path > 1)
		cli_usage_error(self, "too many arguments; expected one trace");
	if (parser.n_words)
		path = cli_format("%s", parser.words[0]);
	if (!path)
		path = cli_latest_trace();
	if (!path)
		cli_usage_error(self, "no trace given, and none that record has named is here");
	if (!output)
		output = cli_trace_name(path, "", CLI_PACK_SUFFIX);
	status = run(path, output, force, (int)level);
	free(path);
	free(output);
	return status;
}

const struct cli_command_ops cmd_pack = {
	.options = options,
	.text = "The file has all that is in the trace: records, names, stack traces, and the\n"
		"metadata that decodes them. All commands read it in place of a trace directory.\n"
		"Without TRACE, packs the newest kernlens-YYYYmmdd-HHMMSS in this directory.\n"
		"\n"
		"  kernlens pack TRACE; kernlens report TRACE.klp\n"
		"  kernlens pack TRACE -o small.klp --level 19\n",
	.exec = exec_pack,
};
