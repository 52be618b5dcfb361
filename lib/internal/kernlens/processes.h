/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of processes: each row is a process or thread; columns are variables, their increase per
 * second, or shares of the machine. Made to be read repeatedly, for lists that refresh themselves
 * and for alarms.
 */
#ifndef KERNLENS_PROCESSES_H
#define KERNLENS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/inspect.h>

enum kl_process_kind {
	KL_PROCESS_VALUE, /* of the variable */
	KL_PROCESS_RATE, /* VARIABLE/s: its increase per second since the previous read */
	KL_PROCESS_CPU, /* cpu%: percent of one CPU since the previous read */
	KL_PROCESS_MEMORY, /* mem%: rss in percent of all memory */
	KL_PROCESS_SUM, /* of two variables; only available as a number */
};

/**
 * struct kl_process_column - a column
 * @name: as requested
 * @kind: what its cells contain
 * @variable: variable that the cells are computed from
 */
struct kl_process_column {
	char *name;
	enum kl_process_kind kind;
	const struct kl_variable *variable;
};

struct kl_processes;

/**
 * kl_processes_create - create a table without columns
 * @device: device to query; must outlive the table
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_processes *kl_processes_create(struct kl_device *device);

/**
 * kl_processes_destroy - free a table
 * @processes: or NULL
 */
void kl_processes_destroy(struct kl_processes *processes);

/**
 * kl_processes_add - add a column, before the first read
 * @processes: table
 * @name: a variable, "VARIABLE/s", "cpu%", "mem%", "shared" (memory of files and shared memory),
 *        "io_bytes" and "io/s" (bytes read and written), "switches/s" or "faults/s" (of both kinds)
 *
 * Returns its index, which is that of an identical column if there is one, or -EINVAL with an
 * error text.
 */
int kl_processes_add(struct kl_processes *processes, const char *name);

/**
 * kl_processes_column - a column by its index
 * @processes: table
 * @column: index
 *
 * Returns NULL after the last.
 */
const struct kl_process_column *kl_processes_column(const struct kl_processes *processes,
						    size_t column);

/**
 * kl_processes_read - fill the table
 * @processes: table; rows are in the order of the module until they are sorted
 * @ids: as for kl_inspect_read()
 * @n: number of ids
 * @flags: as for kl_inspect_read()
 *
 * Returns the number of rows, or a negative errno. May sleep.
 */
int kl_processes_read(struct kl_processes *processes, const int32_t *ids, size_t n,
		      unsigned int flags);

/**
 * kl_processes_count - number of rows
 * @processes: table
 *
 * After kl_processes_keep(), the number of remaining rows.
 */
size_t kl_processes_count(const struct kl_processes *processes);

/**
 * kl_processes_time_ns - time of the last read, in ns of CLOCK_MONOTONIC
 * @processes: table that has been read
 */
uint64_t kl_processes_time_ns(const struct kl_processes *processes);

/**
 * kl_processes_keep - remove rows that are not wanted
 * @processes: table
 * @keep: returns false for rows to be removed; @row is in the current order
 * @data: passed to @keep
 *
 * Returns the number of remaining rows. Removed rows are back after the next read, with correct
 * rates.
 */
size_t kl_processes_keep(struct kl_processes *processes,
			 bool (*keep)(const struct kl_processes *processes, size_t row, void *data),
			 void *data);

/**
 * kl_processes_sort - sort rows by a column, and by id where it is equal
 * @processes: table
 * @column: index; rows whose cell is unknown come last
 * @descending: largest first
 */
void kl_processes_sort(struct kl_processes *processes, size_t column, bool descending);

/**
 * kl_processes_sort_tree - sort children after their parents and threads after their process
 * @processes: table; siblings keep their order
 *
 * Tasks without a parent in the table are roots. Returns 0 or -ENOMEM.
 */
int kl_processes_sort_tree(struct kl_processes *processes);

/**
 * kl_processes_depth - depth of a row in the tree
 * @processes: table
 * @row: in the current order
 *
 * Returns 0 for roots, and if the table is not sorted as a tree.
 */
unsigned int kl_processes_depth(const struct kl_processes *processes, size_t row);

/**
 * kl_processes_row - the task that a row is about
 * @processes: table
 * @row: in the current order
 * @there: out: whether the task exists and may be seen
 *
 * Returns the id of the process or thread.
 */
int32_t kl_processes_row(const struct kl_processes *processes, size_t row, bool *there);

/**
 * kl_processes_value - the variable of a cell
 * @processes: table; the value is valid until the next read
 * @row: in the current order
 * @column: index
 */
struct kl_value kl_processes_value(const struct kl_processes *processes, size_t row, size_t column);

/**
 * kl_processes_number - a cell as a number
 * @processes: table
 * @row: in the current order
 * @column: index
 *
 * The number is in the variable's unit; rates are per second; for shares, 100 is one CPU or all
 * memory. Returns NAN for texts, tasks that do not exist, and rates without a previous read.
 */
double kl_processes_number(const struct kl_processes *processes, size_t row, size_t column);

#endif /* KERNLENS_PROCESSES_H */
