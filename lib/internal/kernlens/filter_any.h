/* SPDX-License-Identifier: GPL-2.0 */
/* Filters of all events at once. */
#ifndef KERNLENS_FILTER_ANY_H
#define KERNLENS_FILTER_ANY_H

#include <kernlens/filter.h>

/**
 * kl_filter_create_any - compile an expression for each event that it can be used with
 * @schema: of the trace; must outlive the filter
 * @expression: as between the slashes of kl_filter_create()
 *
 * Events that lack what it names are not selected. Returns NULL with errno and an error text if it
 * can be used with no event: EINVAL, E2BIG, ENOMEM.
 */
struct kl_filter *kl_filter_create_any(const struct kl_schema *schema, const char *expression);

#endif /* KERNLENS_FILTER_ANY_H */
