// SPDX-License-Identifier: GPL-2.0
/* Format `text`: a line an event, losses in red on a terminal. */
#include "../base/output.h"
#include "format.h"

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	bool is_loss = printer->has_colors && item->kind == KL_ITEM_LOSS;

	if (is_loss)
		kl_buffer_add_string(&printer->buffer, cli_style(printer->file, CLI_RED));
	cli_format_add(printer, KL_STYLE_TEXT, item);
	if (is_loss)
		kl_buffer_add_string(&printer->buffer, cli_style(printer->file, CLI_PLAIN));
}

const struct cli_format cli_format_text = {
	.name = "text",
	.is_relative = true,
	.has_colors = true,
	.add = add,
};
