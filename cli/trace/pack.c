// SPDX-License-Identifier: GPL-2.0
/* Names of outputs, results and errors of `kernlens pack` and `kernlens unpack`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"
#include "../base/output.h"
#include "pack.h"

bool cli_pack_option(struct cli_pack *pack, const struct cli_parser *parser, int key)
{
	switch (key) {
	case 'o':
		free(pack->output);
		pack->output = cli_format("%s", parser->arg);
		return true;
	case 'i':
		free(pack->path);
		pack->path = cli_format("%s", parser->arg);
		return true;
	case CLI_PACK_FORCE:
		pack->force = true;
		return true;
	default:
		return false;
	}
}

bool cli_pack_word(struct cli_pack *pack, const struct cli_parser *parser)
{
	if (parser->n_words + !!pack->path > 1)
		return false;
	if (parser->n_words)
		pack->path = cli_format("%s", parser->words[0]);
	return true;
}

void cli_pack_free(struct cli_pack *pack)
{
	free(pack->path);
	free(pack->output);
}

char *cli_trace_name(const char *path, const char *without, const char *with)
{
	size_t length = strlen(path), suffix = strlen(without);
	const char *name;

	while (length > 1 && path[length - 1] == '/')
		length--;
	for (name = path + length; name > path && name[-1] != '/'; name--)
		;
	length -= (size_t)(name - path);
	if (suffix && length > suffix && !strncmp(name + length - suffix, without, suffix))
		length -= suffix;
	return cli_format("%.*s%s", (int)length, name, with);
}

int cli_pack_print(const char *output, const struct kl_pack_counts *counts)
{
	char plain[CLI_NUMBER_MAX], stored[CLI_NUMBER_MAX];

	if (cli_settings.json)
		return cli_json_write(json_pack("{s:o, s:i, s:I, s:I}", "output",
						cli_json_text(output), "files", (int)counts->files,
						"bytes", (json_int_t)counts->plain_bytes, "stored",
						(json_int_t)counts->stored_bytes));
	cli_print_bytes(plain, counts->plain_bytes);
	/* Of a directory, only the streams may be compressed. */
	if (counts->stored_bytes)
		cli_note("%s: %u files, %s, packed %s", output, counts->files, plain,
			 cli_print_bytes(stored, counts->stored_bytes));
	else
		cli_note("%s: %u files, %s", output, counts->files, plain);
	return CLI_OK;
}

int cli_pack_error(int error)
{
	if (error == -EEXIST)
		return cli_error(error, "%s; --force replaces it", kl_error_text());
	if (error == -ENOTEMPTY)
		return cli_error(error, "%s; choose another directory with -o", kl_error_text());
	if (error == -EFBIG)
		return cli_error(error, "%s; --limit raises it", kl_error_text());
	return cli_library_error(error, NULL);
}
