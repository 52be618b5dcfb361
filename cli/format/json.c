// SPDX-License-Identifier: GPL-2.0
/* Format `json`: an object a line; --json selects it, too. */
#include "format.h"

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	cli_format_add(printer, KL_STYLE_JSON, item);
}

const struct cli_format cli_format_json = {
	.name = "json",
	.is_independent = true,
	.add = add,
};
