/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is taken from recorded events, to be shown over time: that they occurred, values of their
 * fields, or variables. The text is one of
 *
 *   EVENTS [/FILTER/] [:FUNCTION[(VALUE)] [by KEY]]
 *   VARIABLE
 *
 * as of option -e, where FUNCTION is count (the default), sum, mean, min, max or last. A variable
 * is taken from each event, by thread or CPU, whose it is.
 */
#ifndef KERNLENS_MEASURE_H
#define KERNLENS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <kernlens/buffer.h>
#include <kernlens/event.h>
#include <kernlens/schema.h>

enum kl_measure_function {
	KL_MEASURE_COUNT,
	KL_MEASURE_SUM,
	KL_MEASURE_MEAN,
	KL_MEASURE_MIN,
	KL_MEASURE_MAX,
	KL_MEASURE_LAST,
};

struct kl_measure;

/**
 * kl_measure_create - compile a text
 * @schema: of the trace; must outlive the measure
 * @text: see above
 *
 * Returns NULL with errno and an error text: EINVAL, E2BIG (an expression is too long), or ENOMEM.
 */
struct kl_measure *kl_measure_create(const struct kl_schema *schema, const char *text);

/**
 * kl_measure_destroy - free a measure
 * @measure: or NULL
 */
void kl_measure_destroy(struct kl_measure *measure);

/**
 * kl_measure_events - which events a text needs to be recorded
 * @text: see above, not the name of a variable
 * @filtered: with their filter
 *
 * Returns them as for option -e, to be freed; or NULL with errno and an error text: EINVAL or
 * ENOMEM.
 */
char *kl_measure_events(const char *text, bool filtered);

/**
 * kl_measure_function - what is made of the values
 * @measure: measure
 */
enum kl_measure_function kl_measure_function(const struct kl_measure *measure);

/**
 * kl_measure_function_name - "count" ...
 * @function: function
 */
const char *kl_measure_function_name(enum kl_measure_function function);

/**
 * kl_measure_unit - unit of the values
 * @measure: measure
 *
 * Returns "" if it is unknown, or they have none.
 */
const char *kl_measure_unit(const struct kl_measure *measure);

/**
 * kl_measure_is_held - does a value stay until the next one?
 * @measure: measure
 *
 * Those of variables do.
 */
bool kl_measure_is_held(const struct kl_measure *measure);

/**
 * kl_measure_takes - is something taken from an event?
 * @measure: measure
 * @event: of the schema
 */
bool kl_measure_takes(const struct kl_measure *measure, const struct kl_event *event);

/**
 * kl_measure_value - the value of an event
 * @measure: measure
 * @event: that it takes
 *
 * Returns 1 if events are counted.
 */
double kl_measure_value(const struct kl_measure *measure, const struct kl_event *event);

/**
 * kl_measure_key - the key of an event
 * @measure: measure
 * @event: that it takes
 * @text: emptied; then the key as a printable text with a NUL
 *
 * Returns a hash that is the same for equal keys, and not 0; or 0 if there is no key. A thread
 * keeps its key when its name changes.
 */
uint64_t kl_measure_key(const struct kl_measure *measure, const struct kl_event *event,
			struct kl_buffer *text);

#endif /* KERNLENS_MEASURE_H */
