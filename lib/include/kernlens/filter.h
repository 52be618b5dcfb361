/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Selects events that have been recorded, with the patterns and expressions of option -e:
 *
 *   PATTERN [/FILTER/][, ...]
 *
 * A filter may use the fields of the event, the variables that were recorded, and `tid`, `pid`,
 * `comm` and `cpu`. See kernlens-expressions(7).
 */
#ifndef KERNLENS_FILTER_H
#define KERNLENS_FILTER_H

#include <stdbool.h>
#include <kernlens/event.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>
#include <kernlens/trace.h>

KL_PUBLIC_BEGIN

struct kl_filter;

/**
 * kl_filter_create - compile a list of patterns and filters
 * @schema: of the trace; must outlive the filter
 * @list: patterns as for kl_events_match(), each with or without a filter between slashes; where
 *        several match an event, the last one decides
 *
 * Returns NULL with errno and an error text: EINVAL (an unknown event or name, or an invalid
 * expression; the text shows where), E2BIG (an expression is too long), ENOMEM.
 */
struct kl_filter *kl_filter_create(const struct kl_schema *schema, const char *list);

/**
 * kl_filter_destroy - free a filter
 * @filter: or NULL
 */
void kl_filter_destroy(struct kl_filter *filter);

/**
 * kl_filter_wants - is an event selected?
 * @filter: filter
 * @event: of the filter's schema
 */
bool kl_filter_wants(const struct kl_filter *filter, const struct kl_event *event);

/**
 * kl_filter_next - the next selected event of a trace, or loss
 * @filter: of the trace's schema
 * @trace: trace
 * @item: filled in; valid until the next call
 *
 * Losses are always returned: they may have hidden events that would have been selected. Returns 1,
 * or 0 at the end.
 */
int kl_filter_next(const struct kl_filter *filter, struct kl_trace *trace, struct kl_item *item);

KL_PUBLIC_END

#endif /* KERNLENS_FILTER_H */
