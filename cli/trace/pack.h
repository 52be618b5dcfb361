/* SPDX-License-Identifier: GPL-2.0 */
/* What `kernlens pack` and `kernlens unpack` have in common. */
#ifndef KL_CLI_TRACE_PACK_H
#define KL_CLI_TRACE_PACK_H

#include <kernlens/internal.h>
#include "../base/cli.h"

#define CLI_PACK_SUFFIX ".klp"

/* Keys of options; those of one of the commands begin with CLI_PACK_OWN. */
enum {
	CLI_PACK_FORCE = CLI_KEY_OWN,
	CLI_PACK_OWN,
};

/**
 * struct cli_pack - what both commands are given
 * @path: trace or pack; NULL: not given
 * @output: NULL: not given
 * @force: replace an existing one
 */
struct cli_pack {
	char *path;
	char *output;
	bool force;
};

/* Take an option if it is -o, -i or --force. Returns false if it is another. */
bool cli_pack_option(struct cli_pack *pack, const struct cli_parser *parser, int key);

/* After the options: take the word, if there is one. Returns false if there are too many. */
bool cli_pack_word(struct cli_pack *pack, const struct cli_parser *parser);

void cli_pack_free(struct cli_pack *pack);

/**
 * cli_trace_name - the last part of a path, to name an output after it
 * @path: of a trace or pack
 * @without: suffix that the name does not have, if something is left
 * @with: suffix to add
 *
 * Returns a string to be freed.
 */
char *cli_trace_name(const char *path, const char *without, const char *with);

/**
 * cli_pack_print - print the result
 * @output: file or directory
 * @counts: what is in it
 */
int cli_pack_print(const char *output, const struct kl_pack_counts *counts);

/**
 * cli_pack_error - print an error of packing or unpacking
 * @error: negative errno with the library's error text
 *
 * Returns CLI_FAILED.
 */
int cli_pack_error(int error);

#endif /* KL_CLI_TRACE_PACK_H */
