/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of alarm rules: what the parser produces and the checks read. Conditions are trees of
 * the expression parser (lib/symbol), whose names are columns.
 */
#ifndef KL_LIB_WATCH_H
#define KL_LIB_WATCH_H

#include <kernlens/processes.h>
#include <kernlens/watch.h>
#include "../symbol/expression.h"

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
 * @nodes: of the conditions; @strings: in them
 * @raise: condition; @clear: condition, or NULL for the negation of @raise
 */
struct kl_watch_rule_data {
	struct kl_watch_rule public;
	const struct kl_watch_rules *rules;
	struct kl_node *nodes;
	char *strings;
	const struct kl_node *raise, *clear;
	int first;
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

/* Is this, which ends in a percent sign, the name of a column? */
bool kl_watch_column_is_share(const char *name, size_t length);

/* Format a value for people, in @text. */
#define KL_WATCH_VALUE_MAX 48
void kl_watch_print(char text[KL_WATCH_VALUE_MAX], const struct kl_watch_column *column,
		    const struct kl_watch_cell *cell);

/**
 * kl_watch_check_condition - check the units of a condition, and convert its numbers to them
 * @c: for error texts
 * @rules: with the columns
 * @node: condition
 *
 * Returns 0, or -EINVAL with an error text.
 */
int kl_watch_check_condition(struct kl_compiler *c, const struct kl_watch_rules *rules,
			     struct kl_node *node);

/* The same for a number without variables, in the unit of @column. */
int kl_watch_check_number(struct kl_compiler *c, const struct kl_watch_rules *rules,
			  struct kl_node *node, const struct kl_watch_column *column);

/* The value of such a number. */
double kl_watch_number(const struct kl_node *node);

/* Find a user's ID. Returns -EINVAL with an error text for @at. */
int kl_watch_find_user(struct kl_compiler *c, uint32_t at, const char *name, uint64_t *uid);

/* The leftmost column; -1: there is none. */
int kl_watch_first_column(const struct kl_node *node);

typedef struct kl_watch_cell (*kl_watch_cell_fn)(void *data, int column);

/* Like kl_watch_holds(), with a condition and column indices. */
int kl_watch_evaluate(const struct kl_watch_rules *rules, const struct kl_node *node,
		      kl_watch_cell_fn cell, void *data);

#endif /* KL_LIB_WATCH_H */
