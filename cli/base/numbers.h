/* SPDX-License-Identifier: GPL-2.0 */
/* Options that are numbers. */
#ifndef KL_CLI_NUMBERS_H
#define KL_CLI_NUMBERS_H

#include <stdint.h>

#include "cli.h"

/**
 * cli_take_number - take the number of an option
 * @parser: at the option
 * @option: its name, for a message
 * @most: largest number
 * @number: out
 *
 * Ends the program with a message if it is not a number from 0 to @most.
 */
void cli_take_number(const struct cli_parser *parser, const char *option, uint64_t most,
		     uint64_t *number);

/* The same for a time in seconds, with a fraction; taken in ns. */
void cli_take_seconds(const struct cli_parser *parser, const char *option, uint64_t *ns);

/* The same for an interval, which cannot be 0. @ns: what it is if the argument is missing */
void cli_take_interval(const struct cli_parser *parser, const char *option, uint64_t *ns);

/* The same for process or thread IDs between commas, at most @most. Returns their number. */
unsigned int cli_take_pids(const struct cli_parser *parser, uint64_t *pid, unsigned int most);

/* The same for a frequency in Hz, which cannot be 0. */
void cli_take_hz(const struct cli_parser *parser, uint64_t *hz);

/**
 * cli_take_level - take a level of compression
 * @parser: at the option; its argument may be missing
 * @level: the level without an argument
 *
 * Ends the program with a message if it is not a number from 1 to KL_COMPRESS_LEVEL_MAX.
 */
uint64_t cli_take_level(const struct cli_parser *parser, uint64_t level);

#endif /* KL_CLI_NUMBERS_H */
