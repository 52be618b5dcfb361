/* SPDX-License-Identifier: GPL-2.0 */
/* Copies of a trace's items, which stay valid while the trace is read on. */
#ifndef KERNLENS_TRACE_ITEMS_H
#define KERNLENS_TRACE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <kernlens/trace.h>

#define KL_ITEMS_MAX 512

/**
 * struct kl_items - copies of consecutive items
 * @n: number of items
 * @item: the items; what they point to belongs to this struct, or to the trace
 */
struct kl_items {
	size_t n;
	struct kl_item item[KL_ITEMS_MAX];
};

/**
 * kl_items_create - create a place for copies
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_items *kl_items_create(void);

/**
 * kl_items_destroy - free the copies
 * @items: or NULL
 */
void kl_items_destroy(struct kl_items *items);

/**
 * kl_items_read - replace the copies by those of a trace's next items
 * @items: filled in
 * @trace: read on
 * @is_wanted: called with each item; items for which it returns false are not copied
 * @context: passed to it
 *
 * Reads up to KL_ITEMS_MAX wanted items. Returns 1, 0 at the end of the trace, where there may be
 * copies, too, or -ENOMEM.
 *
 * Context: a thread may use copies while another one reads the trace, unless it is in BER, in which
 * names that items refer to follow between them: see kl_trace_is_complete().
 */
int kl_items_read(struct kl_items *items, struct kl_trace *trace,
		  bool (*is_wanted)(void *context, const struct kl_item *item), void *context);

/**
 * kl_items_variable_bytes - bytes of the variables that each event has
 * @schema: of the events
 */
size_t kl_items_variable_bytes(const struct kl_schema *schema);

/**
 * kl_trace_is_complete - is all that items refer to known since the trace was opened?
 * @trace: trace
 */
bool kl_trace_is_complete(const struct kl_trace *trace);

#endif /* KERNLENS_TRACE_ITEMS_H */
