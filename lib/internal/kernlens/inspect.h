/* SPDX-License-Identifier: GPL-2.0 */
/* Current values of variables of processes and threads, read without an event. */
#ifndef KERNLENS_INSPECT_H
#define KERNLENS_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>
#include <kernlens/event.h>
#include <kernlens/schema.h>

/* The requested variables and the last result. */
struct kl_inspect;

/**
 * kl_variable_is_inspected - can a variable be read without an event?
 * @variable: a row of variables.def
 */
bool kl_variable_is_inspected(const struct kl_variable *variable);

/**
 * kl_inspect_create - prepare to read variables of processes
 * @device: device to query; must outlive the object
 * @ids: rows of variables.def
 * @n: number of rows, at most KL_INSPECT_VARIABLES_MAX
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_inspect *kl_inspect_create(struct kl_device *device, const uint32_t *ids, size_t n);

/**
 * kl_inspect_destroy - free
 * @inspect: or NULL
 */
void kl_inspect_destroy(struct kl_inspect *inspect);

/**
 * kl_inspect_read - read the current values
 * @inspect: its previous result is replaced
 * @ids: processes or threads in the caller's pid namespace, one row each, in this order; NULL:
 *       all that the caller may see, in no order
 * @n: number of ids
 * @flags: KL_INSPECT_THREADS: one row for each thread of the processes
 *
 * Each row is read at one instant; different rows are read one after the other. Returns the
 * number of rows, or a negative errno: -EPERM or -ENOENT for a variable that is not available,
 * -ENOMEM. May sleep.
 */
int kl_inspect_read(struct kl_inspect *inspect, const int32_t *ids, size_t n, unsigned int flags);

/**
 * kl_inspect_time_ns - when the last read began, in ns of CLOCK_MONOTONIC
 * @inspect: inspection
 */
uint64_t kl_inspect_time_ns(const struct kl_inspect *inspect);

/**
 * kl_inspect_row - the task that a row is about
 * @inspect: inspection
 * @row: less than the result of kl_inspect_read()
 * @there: out: whether the task exists and may be seen; if not, the row's values are 0
 *
 * Returns the id of the process or thread.
 */
int32_t kl_inspect_row(const struct kl_inspect *inspect, size_t row, bool *there);

/**
 * kl_inspect_value - a value of the last read
 * @inspect: inspection; the value is valid until the next read
 * @row: less than the result of kl_inspect_read()
 * @column: index into the ids passed to kl_inspect_create()
 */
struct kl_value kl_inspect_value(const struct kl_inspect *inspect, size_t row, size_t column);

#endif /* KERNLENS_INSPECT_H */
