// SPDX-License-Identifier: GPL-2.0
/* Prints a trace with several threads, each of which formats some of its items. */
#include <errno.h>
#include <stdlib.h>

#include "../base/common.h"
#include "../base/output.h"
#include "format.h"

/**
 * struct work - what the threads share
 * @failure: of the write that failed, as errno
 */
struct work {
	struct cli_printer *printer;
	struct kl_trace *trace;
	bool (*is_wanted)(void *context, const struct kl_item *item);
	void *context;
	int failure;
};

/**
 * struct part - some items
 * @own: a printer with their text
 * @error: of reading them
 */
struct part {
	struct cli_printer own;
	struct kl_items *items;
	int error;
};

static void *create_part(void *context)
{
	struct work *work = context;
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->own = *work->printer;
	part->own.buffer = (struct kl_buffer){ 0 };
	part->items = kl_items_create();
	if (part->items)
		return part;
	free(part);
	return NULL;
}

static void destroy_part(void *context, void *item)
{
	struct part *part = item;

	(void)context;
	kl_buffer_deinit(&part->own.buffer);
	kl_items_destroy(part->items);
	free(part);
}

static int take_part(void *context, void *item)
{
	struct work *work = context;
	struct part *part = item;

	part->error = kl_items_read(part->items, work->trace, work->is_wanted, work->context);
	return part->error > 0;
}

static void format_part(void *context, void *item)
{
	struct part *part = item;

	(void)context;
	for (size_t i = 0; i < part->items->n; i++)
		part->own.format->add(&part->own, &part->items->item[i]);
}

static int write_part(void *context, void *item)
{
	struct work *work = context;
	struct part *part = item;

	if (part->error < 0) {
		cli_library_error(part->error, NULL);
		return -EIO;
	}
	if (cli_write_buffer(&part->own.buffer, work->printer->file))
		return 0;
	work->failure = errno;
	return -EIO;
}

static bool print_with(struct work *work, unsigned int threads)
{
	static const struct kl_turns_ops ops = {
		.create = create_part,
		.destroy = destroy_part,
		.take = take_part,
		.work = format_part,
		.put = write_part,
	};
	const int error = kl_turns_run(&ops, work, threads);

	if (error == -ENOMEM)
		cli_error(error, "out of memory");
	/* How the end of the output's reader is distinguished from other failures. */
	errno = work->failure;
	return !error;
}

bool cli_printer_add_all(struct cli_printer *printer, struct kl_trace *trace,
			 bool (*is_wanted)(void *context, const struct kl_item *item),
			 void *context)
{
	const unsigned int threads = kl_turns_threads();
	struct work work = {
		.printer = printer,
		.trace = trace,
		.is_wanted = is_wanted,
		.context = context,
	};
	struct kl_item item;
	bool good = true;

	if (threads > 1 && printer->format->is_independent && kl_trace_is_complete(trace))
		return cli_printer_flush(printer) && print_with(&work, threads);
	while (good && kl_trace_next(trace, &item) > 0)
		if (is_wanted(context, &item))
			good = cli_printer_add(printer, &item);
	return good;
}
