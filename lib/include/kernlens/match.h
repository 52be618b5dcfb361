/* SPDX-License-Identifier: GPL-2.0 */
/* Translates the event patterns of option -e to a maskset. */
#ifndef KERNLENS_MATCH_H
#define KERNLENS_MATCH_H

#include <stdint.h>
#include <kernlens/abi.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/**
 * kl_events_match - translate event patterns to handlers
 * @schema: names of events
 * @patterns: comma-separated list, processed from left to right. Each entry is one of:
 *             NAME or GLOB      events with a matching name (* ? [a-z])
 *             GROUP             all events of a group; `syscalls`: all system calls;
 *                               `default` and `all`: the built-in masksets
 *             GROUP:GLOB        events of a group with a matching name
 *             any of them + ":HANDLER"   with that handler instead of @handler
 *             ! + any of them   excludes those events
 * @handler: KL_HANDLER_* for entries that name none
 * @map: the handler of each event; changed only on success, and only for events that match a
 *       pattern
 *
 * Events of the set REQUEST match their name or a glob, but not GROUP or `all`, because they are
 * so frequent that they would drown out the others.
 *
 * Returns the number of events in @map that have a handler, or -EINVAL with an error text that
 * suggests a name similar to an unknown pattern.
 */
int kl_events_match(const struct kl_schema *schema, const char *patterns, unsigned int handler,
		    uint8_t map[KL_EV_IDS]);

KL_PUBLIC_END

#endif /* KERNLENS_MATCH_H */
