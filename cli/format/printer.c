// SPDX-License-Identifier: GPL-2.0
/* Prints the items of print and live in one of the output formats, which cli/format/ has. */
#include <string.h>

#include "../base/common.h"
#include "../base/output.h"
#include "format.h"

#define FLUSH_BYTES (64u << 10)

static const struct cli_format *const formats[] = {
#define CLI_FORMAT(name) &cli_format_##name,
#include "formats.def"
#undef CLI_FORMAT
};

/* clang-format off */
const char cli_format_help[] =
	"one of:"
#define CLI_FORMAT(name) " " #name
#include "formats.def"
#undef CLI_FORMAT
	"; the first by default";
/* clang-format on */

void cli_printer_format(struct cli_printer *printer, const struct cli_parser *parser)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(parser->arg, formats[i]->name)) {
			printer->format = formats[i];
			return;
		}
	}
	cli_usage_error(parser->command, "invalid --format \"%s\"; expected %.*s", parser->arg,
			(int)strcspn(cli_format_help, ";"), cli_format_help);
}

void cli_printer_time(struct cli_printer *printer, const struct cli_parser *parser)
{
	if (!strcmp(parser->arg, "relative"))
		printer->time = CLI_TIME_RELATIVE;
	else if (!strcmp(parser->arg, "wall"))
		printer->time = CLI_TIME_WALL;
	else
		cli_usage_error(parser->command, "invalid --time \"%s\"; expected relative or wall",
				parser->arg);
}

bool cli_printer_has_columns(const struct cli_printer *printer)
{
	return !cli_settings.json && printer->format && printer->format->has_columns;
}

int cli_printer_init(struct cli_printer *printer)
{
	const struct cli_format *format;

	if (cli_settings.json)
		printer->format = &cli_format_json;
	else if (!printer->format)
		printer->format = formats[0];
	format = printer->format;
	if (!printer->file)
		printer->file = stdout;
	if (format->is_relative && printer->time == CLI_TIME_DEFAULT)
		printer->time = CLI_TIME_RELATIVE;
	printer->has_colors = format->has_colors && cli_has_styles(printer->file);
	return format->init ? format->init(printer) : CLI_OK;
}

bool cli_printer_add(struct cli_printer *printer, const struct kl_item *item)
{
	printer->format->add(printer, item);
	return printer->buffer.length < FLUSH_BYTES ||
	       cli_write_buffer(&printer->buffer, printer->file);
}

bool cli_printer_flush(struct cli_printer *printer)
{
	return !printer->buffer.length ||
	       (cli_write_buffer(&printer->buffer, printer->file) && !fflush(printer->file));
}

bool cli_printer_deinit(struct cli_printer *printer)
{
	const struct cli_format *format = printer->format;
	bool written;

	if (format->finish)
		format->finish(printer);
	written = cli_printer_flush(printer);
	if (format->deinit)
		format->deinit(printer);
	kl_buffer_deinit(&printer->buffer);
	return written;
}
