// SPDX-License-Identifier: GPL-2.0
/*
 * Format `strace`: system calls, signals and exits as strace prints them, with times only if --time
 * requests them.
 */
#include <errno.h>

#include "../base/common.h"
#include "format.h"

static int init(struct cli_printer *printer)
{
	unsigned int flags = 0;

	if (printer->time != CLI_TIME_DEFAULT)
		flags = KL_STRACE_TIMES |
			(printer->time == CLI_TIME_RELATIVE ? KL_STRACE_RELATIVE : 0);
	printer->state = kl_strace_create(flags);
	return printer->state ? CLI_OK : cli_library_error(-errno, NULL);
}

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	kl_strace_add(printer->state, &printer->buffer, item);
}

/* Calls that have not returned. */
static void finish(struct cli_printer *printer)
{
	kl_strace_finish(printer->state, &printer->buffer);
	if (kl_strace_lacks_memory(printer->state))
		cli_note("without structures, buffers, signals and exits: record with --strace");
}

static void deinit(struct cli_printer *printer)
{
	kl_strace_destroy(printer->state);
}

const struct cli_format cli_format_strace = {
	.name = "strace",
	.is_strace = true,
	.init = init,
	.add = add,
	.finish = finish,
	.deinit = deinit,
};
