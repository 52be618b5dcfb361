/* SPDX-License-Identifier: GPL-2.0 */
/* Output formats: what the printer needs of each. */
#ifndef KL_CLI_FORMAT_FORMAT_H
#define KL_CLI_FORMAT_FORMAT_H

#include "printer.h"

/**
 * struct cli_format - an output format
 * @name: argument of --format
 * @is_strace: shows system calls, and what the events strace_* add to them
 * @is_binary: not written to a terminal or a pager
 * @is_relative: times count from the start unless --time requests otherwise
 * @has_columns: needs `events` of struct cli_origin
 * @has_colors: escape sequences may be added on a terminal
 * @is_independent: what is appended depends on nothing but the item, so that several threads may
 *                  call @add, each with a printer of its own
 * @init: write what precedes the first item; or NULL. Returns CLI_OK, or another status after a
 *        message
 * @add: append an item to the printer's buffer
 * @finish: append what follows the last item; or NULL
 * @deinit: free what @init has created; or NULL
 */
struct cli_format {
	const char *name;
	bool is_strace;
	bool is_binary;
	bool is_relative;
	bool has_columns;
	bool has_colors;
	bool is_independent;
	int (*init)(struct cli_printer *printer);
	void (*add)(struct cli_printer *printer, const struct kl_item *item);
	void (*finish)(struct cli_printer *printer);
	void (*deinit)(struct cli_printer *printer);
};

/* Append an item in one of the library's styles, with the times that --time requests. */
static inline void cli_format_add(struct cli_printer *printer, enum kl_style style,
				  const struct kl_item *item)
{
	kl_print_item(&printer->buffer, style,
		      printer->time == CLI_TIME_RELATIVE ? KL_SHOW_RELATIVE : 0, item);
}

#define CLI_FORMAT(name) extern const struct cli_format cli_format_##name;
#include "formats.def"
#undef CLI_FORMAT

#endif /* KL_CLI_FORMAT_FORMAT_H */
