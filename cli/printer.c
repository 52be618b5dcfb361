// SPDX-License-Identifier: GPL-2.0
/* The output formats of print and live, built on the library's styles, strace and BER. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "output.h"
#include "printer.h"

#define FLUSH_BYTES (64u << 10)

static const char *const formats[] = {
	[CLI_FORMAT_TEXT] = "text",	[CLI_FORMAT_CSV] = "csv", [CLI_FORMAT_JSON] = "json",
	[CLI_FORMAT_STRACE] = "strace", [CLI_FORMAT_BER] = "ber",
};

void cli_printer_format(struct cli_printer *printer, const struct cli_parser *parser)
{
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(parser->arg, formats[i])) {
			printer->format = (enum cli_format)i;
			return;
		}
	}
	cli_usage_error(parser->command,
			"invalid --format \"%s\"; expected text, csv, json, strace or ber",
			parser->arg);
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

static int begin_ber(struct cli_printer *printer)
{
	const struct cli_source *source = &printer->source;

	if (isatty(fileno(printer->file)))
		return cli_error(0, "BER is binary and not written to a terminal; redirect it "
				    "to a file or a pipe");
	printer->ber = kl_ber_writer_create(&printer->buffer, source->schema, source->info,
					    source->begin_ns);
	return printer->ber ? CLI_OK : cli_library_error(-errno, NULL);
}

int cli_printer_init(struct cli_printer *printer)
{
	bool relative = printer->time == CLI_TIME_RELATIVE ||
			(printer->time == CLI_TIME_DEFAULT && printer->format == CLI_FORMAT_TEXT);

	if (cli_settings.json)
		printer->format = CLI_FORMAT_JSON;
	if (!printer->file)
		printer->file = stdout;
	printer->styles = cli_has_styles(printer->file) && printer->format == CLI_FORMAT_TEXT;
	if (printer->format == CLI_FORMAT_BER)
		return begin_ber(printer);
	if (printer->format != CLI_FORMAT_STRACE) {
		printer->flags = relative ? KL_SHOW_RELATIVE : 0;
		kl_print_header(&printer->buffer, (enum kl_style)printer->format);
		return CLI_OK;
	}
	if (printer->time != CLI_TIME_DEFAULT)
		printer->flags = KL_STRACE_TIMES | (relative ? KL_STRACE_RELATIVE : 0);
	printer->strace = kl_strace_create(printer->flags);
	return printer->strace ? CLI_OK : cli_library_error(-errno, NULL);
}

bool cli_printer_add(struct cli_printer *printer, const struct kl_item *item)
{
	bool loss = item->kind == KL_ITEM_LOSS && printer->styles;

	if (printer->strace) {
		kl_strace_add(printer->strace, &printer->buffer, item);
	} else if (printer->ber) {
		kl_ber_writer_add(printer->ber, &printer->buffer, item);
	} else {
		if (loss)
			kl_buffer_add_string(&printer->buffer, cli_style(printer->file, CLI_RED));
		kl_print_item(&printer->buffer, (enum kl_style)printer->format, printer->flags,
			      item);
		if (loss)
			kl_buffer_add_string(&printer->buffer, cli_style(printer->file, CLI_PLAIN));
	}
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
	bool written;

	if (printer->strace)
		kl_strace_finish(printer->strace, &printer->buffer);
	if (printer->ber)
		kl_ber_writer_finish(printer->ber, &printer->buffer, printer->source.counts);
	written = cli_printer_flush(printer);
	kl_strace_destroy(printer->strace);
	kl_ber_writer_destroy(printer->ber);
	kl_buffer_deinit(&printer->buffer);
	return written;
}
