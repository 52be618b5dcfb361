/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of processes and threads, now, without an event. */
#ifndef KERNLENS_INSPECT_H
#define KERNLENS_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>
#include <kernlens/event.h>
#include <kernlens/public.h>
#include <kernlens/schema.h>

KL_PUBLIC_BEGIN

/* Which variables are asked for, and the newest answer. */
struct kl_inspect;

/**
 * kl_variable_is_inspected - can a variable be told of a process without an event?
 * @variable: a row of variables.def
 */
bool kl_variable_is_inspected(const struct kl_variable *variable);

/**
 * kl_inspect_create - ask for variables of processes
 * @device: what to ask; must outlive it
 * @ids: rows of variables.def
 * @n: number of them, at most KL_INSPECT_VARIABLES_MAX
 *
 * Returns NULL with errno: ENOMEM.
 */
struct kl_inspect *kl_inspect_create(struct kl_device *device, const uint32_t *ids, size_t n);

/**
 * kl_inspect_destroy - free
 * @inspect: or NULL
 */
void kl_inspect_destroy(struct kl_inspect *inspect);

/**
 * kl_inspect_read - the values now
 * @inspect: replaces its last answer
 * @ids: processes or threads in the caller's pid namespace: a row each, in this order;
 *       NULL: all that may be seen, in no order
 * @n: number of them
 * @flags: KL_INSPECT_THREADS: a row for each thread of those processes
 *
 * Each row is read at one instant; rows come one after the other. Returns the number of
 * rows, or a negative errno: EPERM and ENOENT for a variable that cannot be had. May sleep.
 */
int kl_inspect_read(struct kl_inspect *inspect, const int32_t *ids, size_t n, unsigned int flags);

/**
 * kl_inspect_time_ns - when the newest answer was begun, in ns of CLOCK_MONOTONIC
 * @inspect: inspection
 */
uint64_t kl_inspect_time_ns(const struct kl_inspect *inspect);

/**
 * kl_inspect_row - whose values a row has
 * @inspect: inspection
 * @row: below what kl_inspect_read() returned
 * @there: set to whether there is such a task that may be seen; else its values are 0
 *
 * Returns the id of the process, or of the thread.
 */
int32_t kl_inspect_row(const struct kl_inspect *inspect, size_t row, bool *there);

/**
 * kl_inspect_value - a value of the newest answer
 * @inspect: inspection; the value is lost when it is read again
 * @row: below what kl_inspect_read() returned
 * @column: index into the variables asked for
 */
struct kl_value kl_inspect_value(const struct kl_inspect *inspect, size_t row, size_t column);

KL_PUBLIC_END

#endif /* KERNLENS_INSPECT_H */
