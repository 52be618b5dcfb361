/* SPDX-License-Identifier: GPL-2.0 */
/* From what a user writes behind -e to a maskset. */
#ifndef KERNLENS_MATCH_H
#define KERNLENS_MATCH_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/**
 * kl_events_match - turn event patterns into handlers
 * @schema: names
 * @patterns: a list with commas, worked from left to right. Each of:
 *            NAME or GLOB      events with such a name (* ? [a-z])
 *            GROUP             all events of a group; `syscalls`: all calls;
 *                              `default` and `all`: the built-in masksets
 *            GROUP:GLOB        events of a group with such a name
 *            any of them + ":HANDLER"   with that handler instead of @handler
 *            ! + any of them   those events not
 * @handler: KL_HANDLER_* for events named without one
 * @map: an event's handler each; changed only on success, and only for events
 *       that a pattern names
 *
 * Events of the set REQUEST are matched by their name or a glob, but not by
 * GROUP or `all`: they would drown the others.
 *
 * Returns the number of events in @map that have a handler, or -EINVAL with an
 * error text that names what is near to an unknown pattern.
 */
int kl_events_match(const struct kl_schema *schema, const char *patterns, unsigned int handler,
		    uint8_t map[KL_EV_IDS]);

KL_PUBLIC_END

#endif /* KERNLENS_MATCH_H */
