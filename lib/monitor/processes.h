/* SPDX-License-Identifier: GPL-2.0 */
/* Internals of tables of processes: what processes.c and processes_tree.c share. */
#ifndef KL_LIB_PROCESSES_H
#define KL_LIB_PROCESSES_H

#include <kernlens/processes.h>

/* Columns of the inspection that are always present. */
enum {
	KL_HIDDEN_TID,
	KL_HIDDEN_PID,
	KL_HIDDEN_PPID,
	KL_HIDDEN_START,
	KL_HIDDEN_COUNT,
};

/**
 * struct kl_column_data - a column, and where its values are
 * @at: index of its variable in the inspection
 * @other: index of total_memory, or of the second summand
 * @is_sum: @other is added
 */
struct kl_column_data {
	struct kl_process_column public;
	size_t at;
	size_t other;
	bool is_sum;
};

/**
 * struct kl_process_old - a row of the previous read
 */
struct kl_process_old {
	int32_t id;
	uint64_t start;
	size_t row; /* row in old_numbers */
};

struct kl_processes {
	struct kl_device *device;
	struct kl_inspect *inspect;
	uint32_t *ids; /* variables of the inspection */
	size_t n_ids, ids_room;
	struct kl_column_data *columns;
	size_t n_columns, columns_room;
	size_t *order; /* row of the inspection, by row shown */
	unsigned int *depth; /* by row shown; NULL: not a tree */
	size_t n;
	size_t there; /* number of rows in the inspection */
	double *rates; /* by row of the inspection and column */
	struct kl_process_old *old; /* sorted by id */
	double *old_numbers;
	size_t n_old;
	uint64_t old_ns;
};

/* The value of a column that is always present, in a row of the inspection. */
static inline uint64_t kl_processes_hidden(const struct kl_processes *p, size_t row, size_t which)
{
	return kl_inspect_value(p->inspect, row, which).number;
}

/* By id, for qsort and bsearch. */
int kl_process_old_compare(const void *a, const void *b);

#endif /* KL_LIB_PROCESSES_H */
