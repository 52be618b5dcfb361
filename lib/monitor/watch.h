/* SPDX-License-Identifier: GPL-2.0 */
/* Internals of alarm rules: what the parser produces and the checks read. */
#ifndef KL_LIB_WATCH_H
#define KL_LIB_WATCH_H

#include <kernlens/processes.h>
#include <kernlens/watch.h>

enum kl_watch_op {
	KL_WATCH_OR,
	KL_WATCH_AND,
	KL_WATCH_NOT,
	KL_WATCH_EQ,
	KL_WATCH_NE,
	KL_WATCH_LT,
	KL_WATCH_LE,
	KL_WATCH_GT,
	KL_WATCH_GE,
	KL_WATCH_LIKE, /* a text and a shell pattern */
	KL_WATCH_UNLIKE,
};

/* The unit that a column's numbers are written in. */
enum kl_watch_unit {
	KL_WATCH_COUNT,
	KL_WATCH_BYTES,
	KL_WATCH_TIME,
	KL_WATCH_PERCENT,
	KL_WATCH_TEXT,
	KL_WATCH_STATE, /* letters */
};

/**
 * struct kl_watch_column - a variable that rules refer to
 * @name: as in tables of processes, or "processes"
 * @unit: of the numbers that it is compared with
 * @scale: its value for one @unit
 * @is_machine: the same for all processes
 * @is_rate: unknown at the first check
 * @at: in the table; -1: "processes"
 */
struct kl_watch_column {
	char name[64];
	enum kl_watch_unit unit;
	double scale;
	bool is_machine;
	bool is_rate;
	int at;
};

/**
 * struct kl_watch_node - a condition, or a part of one
 * @left, @right: indices of its operands; NOT only has @left
 * @column: index of the variable compared; with @other, or if that is -1, with @number or @text
 */
struct kl_watch_node {
	enum kl_watch_op op;
	int left, right;
	int column, other;
	double number;
	char *text;
};

enum kl_watch_select {
	KL_WATCH_OF_COMM,
	KL_WATCH_OF_USER,
	KL_WATCH_OF_PID,
	KL_WATCH_OF_CGROUP,
};

/**
 * struct kl_watch_selector - which processes a rule applies to
 * @text: pattern, or path of a cgroup's directory
 * @number: uid or pid
 */
struct kl_watch_selector {
	enum kl_watch_select kind;
	char *text;
	uint64_t number;
};

/**
 * struct kl_watch_rule_data - a rule, and how it is checked
 * @first: the column whose value is reported
 * @raise: node; @clear: node, or -1 for the negation of @raise
 */
struct kl_watch_rule_data {
	struct kl_watch_rule public;
	const struct kl_watch_rules *rules;
	struct kl_watch_node *nodes;
	size_t n_nodes, nodes_room;
	int raise, clear, first;
	struct kl_watch_selector *selectors;
	size_t n_selectors, selectors_room;
	size_t actions_room;
};

struct kl_watch_rules {
	struct kl_watch_rule_data **rules;
	size_t n, room;
	struct kl_watch_column *columns;
	size_t n_columns, columns_room;
};

/**
 * kl_watch_column_find - resolve a name, which may also be one of ps
 * @column: filled in
 * @name: name
 *
 * Returns -EINVAL with an error text.
 */
int kl_watch_column_find(struct kl_watch_column *column, const char *name);

/* Format a value for people, in @text. */
#define KL_WATCH_VALUE_MAX 48
void kl_watch_print(char text[KL_WATCH_VALUE_MAX], const struct kl_watch_column *column,
		    const struct kl_watch_cell *cell);

typedef struct kl_watch_cell (*kl_watch_cell_fn)(void *data, int column);

/* Like kl_watch_holds(), with a node and column indices. */
int kl_watch_evaluate(const struct kl_watch_rule_data *rule, int node, kl_watch_cell_fn cell,
		      void *data);

#endif /* KL_LIB_WATCH_H */
