// SPDX-License-Identifier: GPL-2.0
/* Format `csv`: a table for databases, data frames and spreadsheets. */
#include <errno.h>
#include <stdlib.h>

#include "../base/common.h"
#include "format.h"

struct state {
	struct kl_csv *csv;
	uint64_t without; /* events that have fields without a column; several threads count them */
};

static int init(struct cli_printer *printer)
{
	struct state *state = cli_alloc(sizeof(*state));

	state->csv = kl_csv_create(printer->origin.schema, printer->origin.events);
	if (!state->csv) {
		free(state);
		return cli_library_error(-errno, NULL);
	}
	printer->state = state;
	kl_csv_print_header(state->csv, &printer->buffer);
	return CLI_OK;
}

static void add(struct cli_printer *printer, const struct kl_item *item)
{
	struct state *state = printer->state;
	unsigned int flags = printer->time == CLI_TIME_RELATIVE ? KL_SHOW_RELATIVE : 0;

	if (!kl_csv_print(state->csv, &printer->buffer, flags, item))
		__atomic_fetch_add(&state->without, 1, __ATOMIC_RELAXED);
}

static void finish(struct cli_printer *printer)
{
	const struct state *state = printer->state;
	char number[CLI_NUMBER_MAX];

	if (state->without)
		cli_note("%s events of another maskset have no columns for their fields (name "
			 "them with -e)",
			 cli_print_count(number, state->without));
}

static void deinit(struct cli_printer *printer)
{
	struct state *state = printer->state;

	kl_csv_destroy(state->csv);
	free(state);
}

const struct cli_format cli_format_csv = {
	.name = "csv",
	.has_columns = true,
	.is_independent = true,
	.init = init,
	.add = add,
	.finish = finish,
	.deinit = deinit,
};
