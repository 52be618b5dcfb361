// SPDX-License-Identifier: GPL-2.0
/* Format `json`: an object a line; --json selects it, too. */
#include "format.h"

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	kl_print_item(&printer->buffer, KL_STYLE_JSON,
		      printer->time == CLI_TIME_RELATIVE ? KL_SHOW_RELATIVE : 0, item);
}

const struct cli_format cli_format_json = {
	.name = "json",
	.add = add,
};
