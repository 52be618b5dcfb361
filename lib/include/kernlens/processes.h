/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of processes: a row a process or thread, columns that are variables, what they
 * grow by in a second, or shares of the machine. Read again and again, as lists that
 * refresh themselves and alarms do.
 */
#ifndef KERNLENS_PROCESSES_H
#define KERNLENS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/inspect.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

enum kl_process_kind {
	KL_PROCESS_VALUE, /* of the variable */
	KL_PROCESS_RATE, /* VARIABLE/s: what it has grown by in a second since the read before */
	KL_PROCESS_CPU, /* cpu%: of one CPU since the read before */
	KL_PROCESS_MEMORY, /* mem%: rss of all memory */
	KL_PROCESS_SUM, /* of two variables, as number only */
};

/**
 * struct kl_process_column - a column
 * @name: as it was asked for
 * @kind: what its cells are
 * @variable: what they are made of
 */
struct kl_process_column {
	char *name;
	enum kl_process_kind kind;
	const struct kl_variable *variable;
};

struct kl_processes;

/**
 * kl_processes_create - a table without columns
 * @device: what to ask; must outlive it
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_processes *kl_processes_create(struct kl_device *device);

/**
 * kl_processes_destroy - free
 * @processes: or NULL
 */
void kl_processes_destroy(struct kl_processes *processes);

/**
 * kl_processes_add - one more column, before the first read
 * @processes: table
 * @name: a variable, "VARIABLE/s", "cpu%", "mem%", "shared" (memory of files and shared
 *        memory), "io/s" (bytes read and written), "switches/s" or "faults/s" (of both
 *        kinds)
 *
 * Returns its index, that of an equal one that there is, or -EINVAL with an error text.
 */
int kl_processes_add(struct kl_processes *processes, const char *name);

/**
 * kl_processes_column - a column
 * @processes: table
 * @column: index; NULL is returned behind the last
 */
const struct kl_process_column *kl_processes_column(const struct kl_processes *processes,
						    size_t column);

/**
 * kl_processes_read - fill the table
 * @processes: table; its order is that of the module until it is sorted
 * @ids: as kl_inspect_read()
 * @n: number of them
 * @flags: as kl_inspect_read()
 *
 * Returns the number of rows, or a negative errno. May sleep.
 */
int kl_processes_read(struct kl_processes *processes, const int32_t *ids, size_t n,
		      unsigned int flags);

/**
 * kl_processes_count - number of rows
 * @processes: table
 *
 * Those that are left, after kl_processes_keep().
 */
size_t kl_processes_count(const struct kl_processes *processes);

/**
 * kl_processes_time_ns - when it was read, in ns of CLOCK_MONOTONIC
 * @processes: table that has been read
 */
uint64_t kl_processes_time_ns(const struct kl_processes *processes);

/**
 * kl_processes_keep - leave out rows
 * @processes: table
 * @keep: false for those to be left out; @row is what it has in the present order
 * @data: for @keep
 *
 * Returns how many are left. They come back with the next read, and rates are right then.
 */
size_t kl_processes_keep(struct kl_processes *processes,
			 bool (*keep)(const struct kl_processes *processes, size_t row, void *data),
			 void *data);

/**
 * kl_processes_sort - order rows by a column, equal ones by id
 * @processes: table
 * @column: index; rows whose cell is not known come last
 * @descending: the largest first
 */
void kl_processes_sort(struct kl_processes *processes, size_t column, bool descending);

/**
 * kl_processes_sort_tree - children behind their parents, threads behind their process
 * @processes: table; siblings keep the order that they have
 *
 * Who has no parent in the table stands at the left. Returns -ENOMEM.
 */
int kl_processes_sort_tree(struct kl_processes *processes);

/**
 * kl_processes_depth - how far a row is from the left in the tree
 * @processes: table
 * @row: in the present order
 *
 * Returns 0 unless sorted as a tree.
 */
unsigned int kl_processes_depth(const struct kl_processes *processes, size_t row);

/**
 * kl_processes_row - whose row it is
 * @processes: table
 * @row: in the present order
 * @there: set to whether there is such a task that may be seen
 *
 * Returns the id of the process or thread.
 */
int32_t kl_processes_row(const struct kl_processes *processes, size_t row, bool *there);

/**
 * kl_processes_value - the variable of a cell
 * @processes: table; the value is lost when it is read again
 * @row: in the present order
 * @column: index
 */
struct kl_value kl_processes_value(const struct kl_processes *processes, size_t row, size_t column);

/**
 * kl_processes_number - a cell as a number
 * @processes: table
 * @row: in the present order
 * @column: index
 *
 * In the variable's unit; a second for rates; 100 is one CPU, or all memory. NAN for texts,
 * tasks that are not there, and rates without a read before.
 */
double kl_processes_number(const struct kl_processes *processes, size_t row, size_t column);

KL_PUBLIC_END

#endif /* KERNLENS_PROCESSES_H */
