/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Items as a table in CSV (RFC 4180), as databases, data frames and spreadsheets read it: a header,
 * then a row an item, all with the same columns.
 */
#ifndef KERNLENS_CSV_H
#define KERNLENS_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/schema.h>
#include <kernlens/trace.h>

struct kl_csv;

/**
 * kl_csv_create - choose the columns
 * @schema: of the items; must outlive the result
 * @events: those with a nonzero byte at their id, of KL_EV_IDS, have columns; NULL: all events
 *
 * The columns are, in this order: time_ns, event, cpu, pid, tid, comm, loss, lost; one for each
 * name of a field that one of the events has; variable_NAME for each of the schema's variables. A
 * field named like one of the first eight becomes field_NAME. If two names would differ only in
 * case, one has a number at its end.
 *
 * Returns NULL with errno ENOMEM. Free it with kl_csv_destroy().
 */
struct kl_csv *kl_csv_create(const struct kl_schema *schema, const uint8_t *events);

/**
 * kl_csv_destroy - free the columns
 * @csv: or NULL
 */
void kl_csv_destroy(struct kl_csv *csv);

/**
 * kl_csv_print_header - append the header
 * @csv: columns
 * @buffer: appended to
 */
void kl_csv_print_header(const struct kl_csv *csv, struct kl_buffer *buffer);

/**
 * kl_csv_print - append a row
 * @csv: columns
 * @buffer: appended to
 * @flags: KL_SHOW_*
 * @item: event, or loss: a row whose event is kernlens_loss and whose loss says why
 *
 * Numbers are decimal, whatever their meaning. Texts are what kl_print_plain() makes of them; one
 * that a spreadsheet would take for a formula has an apostrophe before it. Addresses are names or
 * begin with 0x; stack traces are names, separated by semicolons. Returns false if the event has
 * fields without a column, because it was not among @events of kl_csv_create().
 */
bool kl_csv_print(const struct kl_csv *csv, struct kl_buffer *buffer, unsigned int flags,
		  const struct kl_item *item);

#endif /* KERNLENS_CSV_H */
