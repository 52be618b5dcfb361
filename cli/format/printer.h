/* SPDX-License-Identifier: GPL-2.0 */
/* Print items of a trace or of a running session in the requested format. */
#ifndef KL_CLI_FORMAT_PRINTER_H
#define KL_CLI_FORMAT_PRINTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <kernlens/internal.h>

#include "../base/cli.h"

struct cli_format;

/* Help for --format: the names in cli/format/formats.def, which the shell completes, too. */
extern const char cli_format_help[];

enum cli_time {
	CLI_TIME_DEFAULT, /* relative in text, wall in CSV, none in strace */
	CLI_TIME_RELATIVE,
	CLI_TIME_WALL,
};

/**
 * struct cli_origin - the trace of the items, all but @events of which a BER file contains
 * @begin_ns: time that relative times count from; 0: the first event
 * @counts: read only at the end; or NULL
 * @events: those with a nonzero byte at their id, of KL_EV_IDS, may be among the items; NULL: all
 */
struct cli_origin {
	const struct kl_schema *schema;
	const struct kl_trace_info *info;
	uint64_t begin_ns;
	const struct kl_trace_counts *counts;
	const uint8_t *events;
};

/**
 * struct cli_printer - destination of the items
 * @origin: set before cli_printer_init()
 * @format: NULL: the default
 * @has_colors: escape sequences may be added
 * @file: NULL: stdout
 * @state: of the format
 * @buffer: text not yet written
 */
struct cli_printer {
	struct cli_origin origin;
	const struct cli_format *format;
	enum cli_time time;
	bool has_colors;
	FILE *file;
	void *state;
	struct kl_buffer buffer;
};

/* Take the argument of --format or --time; exits if it is invalid. */
void cli_printer_format(struct cli_printer *printer, const struct cli_parser *parser);
void cli_printer_time(struct cli_printer *printer, const struct cli_parser *parser);

/* Must `events` of the origin be known? Valid after parsing the options. */
bool cli_printer_has_columns(const struct cli_printer *printer);

/* Call after parsing the options. Returns CLI_OK, or another status after an error message. */
int cli_printer_init(struct cli_printer *printer);

/* Print an item; it may stay in the buffer. Returns false if it cannot be written. */
bool cli_printer_add(struct cli_printer *printer, const struct kl_item *item);

/**
 * cli_printer_add_all - print the rest of a trace
 * @printer: printer
 * @trace: read to its end
 * @is_wanted: called with each item, in order; those for which it returns false are not printed
 * @context: passed to it
 *
 * Uses all CPUs if the format allows it and there are enough items. Returns false if something
 * cannot be written, or after an error message.
 */
bool cli_printer_add_all(struct cli_printer *printer, struct kl_trace *trace,
			 bool (*is_wanted)(void *context, const struct kl_item *item),
			 void *context);

/* Write the contents of the buffer. */
bool cli_printer_flush(struct cli_printer *printer);

/* End of the items: finish open calls, flush, free. Only after cli_printer_init() succeeded. */
bool cli_printer_deinit(struct cli_printer *printer);

#endif /* KL_CLI_FORMAT_PRINTER_H */
