// SPDX-License-Identifier: GPL-2.0
/* Format `ber`: the ASN.1 of docs/format/kernlens.asn1, which `print` reads back. */
#include <errno.h>
#include <unistd.h>

#include "../base/common.h"
#include "format.h"

static int init(struct cli_printer *printer)
{
	const struct cli_origin *origin = &printer->origin;

	if (isatty(fileno(printer->file)))
		return cli_error(0, "BER is binary and not written to a terminal; redirect it "
				    "to a file or a pipe");
	printer->state = kl_ber_writer_create(&printer->buffer, origin->schema, origin->info,
					      origin->begin_ns);
	return printer->state ? CLI_OK : cli_library_error(-errno, NULL);
}

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	kl_ber_writer_add(printer->state, &printer->buffer, item);
}

static void finish(struct cli_printer *printer)
{
	kl_ber_writer_finish(printer->state, &printer->buffer, printer->origin.counts);
}

static void deinit(struct cli_printer *printer)
{
	kl_ber_writer_destroy(printer->state);
}

const struct cli_format cli_format_ber = {
	.name = "ber",
	.is_binary = true,
	.init = init,
	.add = add,
	.finish = finish,
	.deinit = deinit,
};
