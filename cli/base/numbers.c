// SPDX-License-Identifier: GPL-2.0
/* Takes options that are numbers. */
#include <string.h>
#include <kernlens/internal.h>

#include "common.h"
#include "numbers.h"

void cli_take_number(const struct cli_parser *parser, const char *option, uint64_t most,
		     uint64_t *number)
{
	if (!cli_parse_unsigned(parser->arg, most, number))
		cli_usage_error(parser->command, "%s: \"%s\" is not a number from 0 to %llu",
				option, parser->arg, (unsigned long long)most);
}

void cli_take_seconds(const struct cli_parser *parser, const char *option, uint64_t *ns)
{
	if (!cli_parse_seconds(parser->arg, ns))
		cli_usage_error(parser->command, "%s: \"%s\" is not a number of seconds", option,
				parser->arg);
}

void cli_take_interval(const struct cli_parser *parser, const char *option, uint64_t *ns)
{
	if (parser->arg)
		cli_take_seconds(parser, option, ns);
	if (!*ns)
		cli_usage_error(parser->command, "%s: the interval cannot be 0", option);
}

unsigned int cli_take_pids(const struct cli_parser *parser, uint64_t *pid, unsigned int most)
{
	char *rest = strdupa(parser->arg), *word;
	unsigned int n = 0;

	while ((word = strsep(&rest, ","))) {
		if (n == most)
			cli_usage_error(parser->command, "too many processes (maximum %u)", most);
		if (!cli_parse_unsigned(word, INT32_MAX, &pid[n++]))
			cli_usage_error(parser->command, "\"%s\" is not a process ID", word);
	}
	return n;
}

void cli_take_hz(const struct cli_parser *parser, uint64_t *hz)
{
	cli_take_number(parser, "--frequency", KL_TICK_HZ_MAX, hz);
	if (!*hz)
		cli_usage_error(parser->command, "--frequency: 0 samples per second");
}

uint64_t cli_take_level(const struct cli_parser *parser, uint64_t level)
{
	if (parser->arg &&
	    (!cli_parse_unsigned(parser->arg, KL_COMPRESS_LEVEL_MAX, &level) || !level))
		cli_usage_error(parser->command, "\"%s\" is not a level from 1 to %d", parser->arg,
				KL_COMPRESS_LEVEL_MAX);
	return level;
}
