// SPDX-License-Identifier: GPL-2.0
/* kernlens mark: write a mark from the shell into all running sessions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/common.h"

enum {
	KEY_VALUE = CLI_KEY_OWN,
};

static const struct cli_option options[] = {
	{ KEY_VALUE, "value", "N", "number of the mark (0), or of the first one with -" },
	{},
};

static int mark(struct kl_device *device, uint64_t value, const char *text)
{
	int error = kl_device_mark(device, value, text);

	return error ? cli_library_error(error, NULL) : CLI_OK;
}

/* A mark that nothing has recorded is a mistake more often than not. */
static void note_unheard(struct kl_device *device)
{
	struct kl_abi_status status;

	for (uint32_t i = 0; !kl_device_status(device, i, &status); i++)
		if (status.running)
			return;
	if (kl_device_info(device)->may & KL_MAY_SEE_ALL)
		cli_note("no session is running: nothing has recorded the mark");
	else
		cli_note("you have no running session: if no one else records you, nothing has "
			 "recorded the mark");
}

/* Write one mark per line, as the lines arrive. */
static int mark_lines(struct kl_device *device, uint64_t value)
{
	int status = CLI_OK;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	while (!status && (length = getline(&line, &room, stdin)) >= 0) {
		if (length && line[length - 1] == '\n')
			line[length - 1] = 0;
		status = mark(device, value++, line);
	}
	if (!status && ferror(stdin))
		status = cli_error(-errno, "standard input: %s", strerror(errno));
	free(line);
	return status;
}

/* Join words with spaces, as echo does. */
static char *join(char **words, int n)
{
	char *text = cli_format("%s", n ? words[0] : "");

	for (int i = 1; i < n; i++) {
		char *longer = cli_format("%s %s", text, words[i]);

		free(text);
		text = longer;
	}
	return text;
}

static bool parse_value(const char *arg, uint64_t *value)
{
	bool negative = *arg == '-';

	if (!cli_parse_unsigned(arg + negative, negative ? 1ull << 63 : UINT64_MAX, value))
		return false;
	if (negative)
		*value = -*value;
	return true;
}

static int exec_mark(const struct cli_command *self, int argc, char **argv)
{
	struct cli_parser parser;
	struct kl_device *device;
	uint64_t value = 0;
	int status;

	cli_parser_init(&parser, self, argc, argv);
	while (cli_parse(&parser))
		if (!parse_value(parser.arg, &value))
			cli_usage_error(self, "\"%s\" is not a number", parser.arg);
	device = cli_open_device();
	if (!device)
		return CLI_FAILED;
	if (parser.n_words == 1 && !strcmp(parser.words[0], "-")) {
		status = mark_lines(device, value);
	} else {
		char *text = join(parser.words, parser.n_words);

		status = mark(device, value, text);
		free(text);
	}
	if (!status)
		note_unheard(device);
	kl_device_close(device);
	return status;
}

const struct cli_command_ops cmd_mark = {
	.options = options,
	.text = "The mark goes to all running sessions that record the event `mark' and may see\n"
		"the process that makes it. With -, each line of standard input becomes a mark,\n"
		"and the marks are numbered from N.\n"
		"\n"
		"  kernlens mark 'the test begins'\n"
		"  tail -f /var/log/app.log | kernlens mark -\n",
	.exec = exec_mark,
};
