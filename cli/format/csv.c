// SPDX-License-Identifier: GPL-2.0
/* Format `csv`: a header, and a line an event. */
#include "format.h"

static int init(struct cli_printer *printer)
{
	kl_print_header(&printer->buffer, KL_STYLE_CSV);
	return CLI_OK;
}

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	cli_format_add(printer, KL_STYLE_CSV, item);
}

const struct cli_format cli_format_csv = {
	.name = "csv",
	.init = init,
	.add = add,
};
