// SPDX-License-Identifier: GPL-2.0
/* kernlens pack: pack a recorded trace into one file. */
#include "../base/common.h"
#include "../base/numbers.h"
#include "../base/output.h"
#include "latest.h"
#include "pack.h"

enum {
	KEY_LEVEL = CLI_PACK_OWN,
};

#define LEVEL_DEFAULT 6

static const struct cli_option options[] = {
	{ 'o', "output", "FILE", "file to write (default: the name of the trace, and .klp)" },
	{ CLI_PACK_FORCE, "force", NULL, "replace an existing file" },
	{ KEY_LEVEL, "level", "N", "from 1 (fast) to 19 (small) (6)" },
	{ 'i', "input", "TRACE", "trace directory" },
	{},
};

static int run(const struct cli_pack *pack, int level)
{
	struct kl_pack_counts counts;
	int error;

	cli_busy("packing the trace");
	error = kl_pack_trace(pack->path, pack->output, pack->force, level, &counts);
	cli_busy(NULL);
	return error ? cli_pack_error(error) : cli_pack_print(pack->output, &counts);
}

static int exec_pack(const struct cli_command *self, int argc, char **argv)
{
	struct cli_pack pack = { .path = NULL };
	uint64_t level = LEVEL_DEFAULT;
	struct cli_parser parser;
	int key, status;

	cli_parser_init(&parser, self, argc, argv);
	while ((key = cli_parse(&parser)))
		if (!cli_pack_option(&pack, &parser, key))
			level = cli_take_level(&parser, level);
	if (!cli_pack_word(&pack, &parser))
		cli_usage_error(self, "too many arguments; expected one trace");
	if (!pack.path)
		pack.path = cli_latest_trace();
	if (!pack.path)
		cli_usage_error(self, "no trace given, and none that record has named is here");
	if (!pack.output)
		pack.output = cli_trace_name(pack.path, "", CLI_PACK_SUFFIX);
	status = run(&pack, (int)level);
	cli_pack_free(&pack);
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
