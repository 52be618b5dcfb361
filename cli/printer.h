/* SPDX-License-Identifier: GPL-2.0 */
/* Items of a trace or of a running session to text, in the format asked for. */
#ifndef KL_CLI_PRINTER_H
#define KL_CLI_PRINTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <kernlens/kernlens.h>

#include "cli.h"

struct cli_format;

/*
 * The output formats, by name; the first is the default. Each has a struct cli_format in a file of
 * its own (cli/format/).
 */
#define CLI_FORMATS(FORMAT) FORMAT(text) FORMAT(csv) FORMAT(json) FORMAT(strace) FORMAT(ber)

/* Their names, for messages and usage texts. */
#define CLI_FORMAT_NAME(name) " " #name
#define CLI_FORMAT_NAMES CLI_FORMATS(CLI_FORMAT_NAME)

enum cli_time {
	CLI_TIME_DEFAULT, /* relative in text, wall in CSV, none in strace */
	CLI_TIME_RELATIVE,
	CLI_TIME_WALL,
};

/**
 * struct cli_source - where items come from: a file in BER tells all of it
 * @begin_ns: what times since the start count from; 0: the first event
 * @counts: read only at the end; or NULL
 */
struct cli_source {
	const struct kl_schema *schema;
	const struct kl_trace_info *info;
	uint64_t begin_ns;
	const struct kl_trace_counts *counts;
};

/**
 * struct cli_printer - where items go
 * @source: set before cli_printer_init()
 * @format: NULL: the default
 * @has_colors: escape sequences may be added
 * @file: NULL: stdout
 * @state: of the format
 * @buffer: text not yet written
 */
struct cli_printer {
	struct cli_source source;
	const struct cli_format *format;
	enum cli_time time;
	bool has_colors;
	FILE *file;
	void *state;
	struct kl_buffer buffer;
};

/* The argument of --format and of --time; ends the program if it is wrong. */
void cli_printer_format(struct cli_printer *printer, const struct cli_parser *parser);
void cli_printer_time(struct cli_printer *printer, const struct cli_parser *parser);

/* After the options. Returns CLI_OK, or another status after a message. */
int cli_printer_init(struct cli_printer *printer);

/* Print an item; may stay in the buffer. False: it cannot be written. */
bool cli_printer_add(struct cli_printer *printer, const struct kl_item *item);

/* Write what is in the buffer. */
bool cli_printer_flush(struct cli_printer *printer);

/* The end of the items: print what is open, flush, free. */
bool cli_printer_deinit(struct cli_printer *printer);

#endif /* KL_CLI_PRINTER_H */
