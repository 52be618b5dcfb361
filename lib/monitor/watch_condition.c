// SPDX-License-Identifier: GPL-2.0
/*
 * Conditions of alarm rules: trees of the expression parser, checked and evaluated here. Checking
 * compares units and converts numbers to those of the columns: bytes, ns, percent or counts. A
 * condition is 1, 0 or -1: unknown, if a value is; unknown numbers are NAN.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <pwd.h>
#include <string.h>

#include "../base/base.h"
#include "watch.h"

#define TEXT_MAX 255

/* In addition to enum kl_watch_unit: a number without a unit, or with one of bytes or counts. */
enum {
	UNIT_ANY = -1,
	UNIT_SCALED = -2,
};

struct checker {
	struct kl_compiler *c;
	const struct kl_watch_rules *rules;
};

int kl_watch_first_column(const struct kl_node *node)
{
	const struct kl_node *below[] = { node->a, node->b, node->c };
	int first = node->kind == KL_NODE_COLUMN ? (int)node->number : -1;

	for (unsigned int i = 0; i < KL_ARRAY_SIZE(below) && first < 0; i++)
		if (below[i])
			first = kl_watch_first_column(below[i]);
	return first;
}

static const struct kl_watch_column *column_of(const struct checker *k, const struct kl_node *node)
{
	return node->kind == KL_NODE_COLUMN ? &k->rules->columns[node->number] : NULL;
}

static bool has_text(const struct kl_watch_column *column)
{
	return column->unit == KL_WATCH_TEXT || column->unit == KL_WATCH_STATE;
}

static bool is_comparison(const struct kl_node *node)
{
	return node->kind == KL_NODE_BINARY &&
	       ((node->op >= KL_BINARY_LT && node->op <= KL_BINARY_NE) ||
		node->op == KL_BINARY_LIKE || node->op == KL_BINARY_UNLIKE);
}

/* ------------------------------------------------------------------- units */

/* A count, or a number that may be one. */
static bool is_plain(int unit)
{
	return unit == UNIT_ANY || unit == UNIT_SCALED || unit == KL_WATCH_COUNT;
}

static int unit_of_number(const struct kl_unit *unit)
{
	if (!unit)
		return UNIT_ANY;
	switch (unit->measure) {
	case KL_MEASURE_TIME:
		return KL_WATCH_TIME;
	case KL_MEASURE_SHARE:
		return KL_WATCH_PERCENT;
	default:
		return unit->count ? UNIT_SCALED : KL_WATCH_BYTES;
	}
}

static int unit_of(const struct checker *k, struct kl_node *node);

static bool is_ratio(int a, int b)
{
	return !is_plain(a) && (a == b || (a == KL_WATCH_BYTES && b == UNIT_SCALED));
}

/* Does the right factor of a product have its unit? The other factor is a count. */
static bool is_right(int a, int b)
{
	return (is_plain(a) && !is_plain(b)) || (a == UNIT_ANY && b == UNIT_SCALED);
}

static int unit_of_binary(const struct checker *k, struct kl_node *node)
{
	int a = unit_of(k, node->a), b = unit_of(k, node->b);

	switch (node->op) {
	case KL_BINARY_MUL:
		return is_right(a, b) ? b : a;
	case KL_BINARY_DIV:
		return is_ratio(a, b) ? KL_WATCH_COUNT : a;
	default:
		return a >= 0 || b == UNIT_ANY ? a : b;
	}
}

/* The unit of a value, as far as its columns and numbers determine it. */
static int unit_of(const struct checker *k, struct kl_node *node)
{
	int unit;

	switch (node->kind) {
	case KL_NODE_COLUMN:
		/* settle() refuses strings. */
		return has_text(column_of(k, node)) ? KL_WATCH_COUNT :
						      (int)column_of(k, node)->unit;
	case KL_NODE_NUMBER:
		return unit_of_number(node->unit);
	case KL_NODE_NEGATE:
	case KL_NODE_INVERT:
		return unit_of(k, node->a);
	case KL_NODE_CHOICE:
		unit = unit_of(k, node->b);
		return unit >= 0 ? unit : unit_of(k, node->c);
	case KL_NODE_BINARY:
		/* Remember it: chains of operators are long, and each link needs it. */
		if (!node->number)
			node->number = (uint64_t)(unit_of_binary(k, node) - UNIT_SCALED + 1);
		return (int)node->number + UNIT_SCALED - 1;
	default:
		return KL_WATCH_COUNT;
	}
}

/* Convert a number to @unit. */
static int settle_number(const struct checker *k, struct kl_node *node, int unit)
{
	static const char *const expected[] = {
		[KL_WATCH_COUNT] = "counts take K M G T (powers of 1000)",
		[KL_WATCH_BYTES] = "sizes take B K M G T",
		[KL_WATCH_TIME] = "times take ns us ms s min h d",
		[KL_WATCH_PERCENT] = "expected %",
	};
	int own = unit_of_number(node->unit);

	if (own == UNIT_ANY && unit == KL_WATCH_TIME && node->plain != 0)
		return kl_complain(k->c, node->at + node->length,
				   "a time requires a unit: ns us ms s min h d");
	if (own == UNIT_ANY)
		return 0;
	if (own == UNIT_SCALED && unit == KL_WATCH_COUNT) {
		node->plain *= (double)node->unit->count;
	} else if (own == unit || (own == UNIT_SCALED && unit == KL_WATCH_BYTES)) {
		node->plain *= (double)node->unit->factor;
	} else {
		return kl_complain(k->c, node->at + node->length - strlen(node->unit->name),
				   "invalid unit \"%s\": %s", node->unit->name, expected[unit]);
	}
	return 0;
}

static int check_condition(const struct checker *k, struct kl_node *node);
static int settle(const struct checker *k, struct kl_node *node, int unit);

static int settle_both(const struct checker *k, struct kl_node *node, int a, int b)
{
	int ret = settle(k, node->a, a);

	return ret ? ret : settle(k, node->b, b);
}

static int settle_binary(const struct checker *k, struct kl_node *node, int unit)
{
	int a = unit_of(k, node->a), b = unit_of(k, node->b);

	if (is_comparison(node))
		return kl_complain(k->c, node->at, "this is a condition, not a number");
	switch (node->op) {
	case KL_BINARY_ADD:
	case KL_BINARY_SUB:
	case KL_BINARY_MOD:
		return settle_both(k, node, unit, unit);
	case KL_BINARY_MUL:
		return is_right(a, b) ? settle_both(k, node, KL_WATCH_COUNT, unit) :
					settle_both(k, node, unit, KL_WATCH_COUNT);
	case KL_BINARY_DIV:
		return is_ratio(a, b) && unit == KL_WATCH_COUNT ?
			       settle_both(k, node, a, a) :
			       settle_both(k, node, unit, KL_WATCH_COUNT);
	default:
		if (unit != KL_WATCH_COUNT)
			return kl_complain(k->c, node->at,
					   "bit operators can be used only with counts");
		return settle_both(k, node, unit, unit);
	}
}

/* Check that a value has this unit, and convert its numbers to it. */
static int settle(const struct checker *k, struct kl_node *node, int unit)
{
	const struct kl_watch_column *column = column_of(k, node);
	int ret;

	switch (node->kind) {
	case KL_NODE_NUMBER:
		return settle_number(k, node, unit);
	case KL_NODE_COLUMN:
		if (has_text(column))
			return kl_complain(k->c, node->at, "%s is not a number", column->name);
		if ((int)column->unit != unit)
			return kl_complain(k->c, node->at,
					   "the two variables have different units");
		return 0;
	case KL_NODE_STRING:
		return kl_complain(k->c, node->at, "this is a string, not a number");
	case KL_NODE_NEGATE:
		return settle(k, node->a, unit);
	case KL_NODE_INVERT:
		if (unit != KL_WATCH_COUNT)
			return kl_complain(k->c, node->at,
					   "bit operators can be used only with counts");
		return settle(k, node->a, unit);
	case KL_NODE_CHOICE:
		ret = check_condition(k, node->a);
		if (!ret)
			ret = settle(k, node->b, unit);
		return ret ? ret : settle(k, node->c, unit);
	case KL_NODE_BINARY:
		return settle_binary(k, node, unit);
	case KL_NODE_NOT:
		return kl_complain(k->c, node->at,
				   "! applies to the next value only: use parentheses, or not");
	case KL_NODE_AND:
	case KL_NODE_OR:
		return kl_complain(k->c, node->at, "this is a condition, not a number");
	default:
		return kl_complain(
			k->c, node->at,
			"rules cannot contain pointers, members, array elements or casts");
	}
}

/* -------------------------------------------------------------- conditions */

int kl_watch_find_user(struct kl_compiler *c, uint32_t at, const char *name, uint64_t *uid)
{
	struct passwd room, *user = NULL;
	char bytes[4096];

	if (getpwnam_r(name, &room, bytes, sizeof(bytes), &user) || !user)
		return kl_complain(c, at, "unknown user \"%s\"", name);
	*uid = user->pw_uid;
	return 0;
}

static int check_user(const struct checker *k, struct kl_node *name)
{
	uint64_t uid = 0;
	int ret = kl_watch_find_user(k->c, name->at, name->string, &uid);

	name->kind = KL_NODE_NUMBER;
	name->plain = (double)uid;
	return ret;
}

/* A comparison with a string, which becomes the right operand. */
static int check_text(const struct checker *k, struct kl_node *node)
{
	bool is_pattern = node->op == KL_BINARY_LIKE || node->op == KL_BINARY_UNLIKE;
	bool is_equality = node->op == KL_BINARY_EQ || node->op == KL_BINARY_NE;
	const struct kl_watch_column *column;

	if (is_equality && node->a->kind == KL_NODE_STRING) {
		struct kl_node *text = node->a;

		node->a = node->b;
		node->b = text;
	}
	column = column_of(k, node->a);
	if (is_pattern && !(column && has_text(column)))
		return kl_complain(k->c, node->at,
				   "only strings and states can be compared with patterns");
	if (!column)
		return kl_complain(k->c, node->b->at,
				   "only a variable can be compared with a string");
	if (!is_pattern && !strcmp(column->name, "uid") && node->b->kind == KL_NODE_STRING)
		return check_user(k, node->b);
	if (!has_text(column))
		return kl_complain(k->c, node->b->at, "this is a string, not a number");
	if (!is_pattern && !is_equality)
		return kl_complain(k->c, node->at,
				   "strings and states can be compared only with == != ~ !~");
	if (node->b->kind != KL_NODE_STRING || node->b->string_bytes > TEXT_MAX ||
	    node->b->is_pattern != is_pattern)
		return kl_complain(k->c, node->b->at, "expected a string of at most 255 bytes");
	if (column->unit == KL_WATCH_STATE && is_equality &&
	    (node->b->string_bytes != 1 || !strchr("RSDTtXZPI", *node->b->string)))
		return kl_complain(k->c, node->b->at, "expected states: R S D T t X Z P I");
	return 0;
}

static int check_comparison(const struct checker *k, struct kl_node *node)
{
	const struct kl_watch_column *a = column_of(k, node->a), *b = column_of(k, node->b);
	int unit;

	if (node->op == KL_BINARY_LIKE || node->op == KL_BINARY_UNLIKE ||
	    node->a->kind == KL_NODE_STRING || node->b->kind == KL_NODE_STRING ||
	    (a && has_text(a)) || (b && has_text(b)))
		return check_text(k, node);
	if (kl_watch_first_column(node) < 0)
		return kl_complain(k->c, node->at, "expected a variable on one side");
	unit = unit_of(k, node->a);
	if (unit < 0)
		unit = unit_of(k, node->b);
	if (unit < 0)
		unit = KL_WATCH_COUNT;
	return settle_both(k, node, unit, unit);
}

static int check_condition(const struct checker *k, struct kl_node *node)
{
	struct kl_node *below[] = { node->a, node->b, node->c };

	if (is_comparison(node))
		return check_comparison(k, node);
	if (node->kind != KL_NODE_AND && node->kind != KL_NODE_OR && node->kind != KL_NODE_NOT &&
	    node->kind != KL_NODE_CHOICE)
		return kl_complain(k->c, node->at + node->length,
				   "expected a comparison: == != < <= > >= ~ !~");
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(below); i++) {
		int ret = below[i] ? check_condition(k, below[i]) : 0;

		if (ret)
			return ret;
	}
	return 0;
}

int kl_watch_check_condition(struct kl_compiler *c, const struct kl_watch_rules *rules,
			     struct kl_node *node)
{
	return check_condition(&(struct checker){ c, rules }, node);
}

/* -------------------------------------------------------------- evaluation */

/**
 * struct row - what conditions are evaluated over
 */
struct row {
	const struct kl_watch_rules *rules;
	kl_watch_cell_fn cell;
	void *data;
};

static int evaluate(const struct row *r, const struct kl_node *node);
static double number_of(const struct row *r, const struct kl_node *node);

static int64_t whole(double number)
{
	return number >= 0x1p63 ? INT64_MAX : number < -0x1p63 ? INT64_MIN : (int64_t)number;
}

static double calculate(enum kl_binary op, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (op) {
	case KL_BINARY_MUL:
		return a * b;
	case KL_BINARY_ADD:
		return a + b;
	case KL_BINARY_SUB:
		return a - b;
	case KL_BINARY_DIV:
		return b != 0 ? a / b : 0;
	case KL_BINARY_MOD:
		if (!whole(b))
			return 0;
		break;
	default:
		break;
	}
	return (double)(int64_t)kl_calculate(op, (uint64_t)whole(a), (uint64_t)whole(b), false,
					     false);
}

static double column_number(const struct row *r, const struct kl_node *node)
{
	return r->cell(r->data, (int)node->number).number / r->rules->columns[node->number].scale;
}

/* NAN: unknown. */
static double number_of(const struct row *r, const struct kl_node *node)
{
	double number;
	int chosen;

	switch (node->kind) {
	case KL_NODE_NUMBER:
		return node->plain;
	case KL_NODE_COLUMN:
		return column_number(r, node);
	case KL_NODE_NEGATE:
		return -number_of(r, node->a);
	case KL_NODE_INVERT:
		number = number_of(r, node->a);
		return isnan(number) ? NAN : (double)~whole(number);
	case KL_NODE_CHOICE:
		chosen = evaluate(r, node->a);
		return chosen < 0 ? NAN : number_of(r, chosen ? node->b : node->c);
	default:
		return calculate(node->op, number_of(r, node->a), number_of(r, node->b));
	}
}

static int compare_numbers(enum kl_binary op, double a, double b)
{
	if (isnan(a) || isnan(b))
		return -1;
	switch (op) {
	case KL_BINARY_EQ:
		return a == b;
	case KL_BINARY_NE:
		return a != b;
	case KL_BINARY_LT:
		return a < b;
	case KL_BINARY_LE:
		return a <= b;
	case KL_BINARY_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static int compare_texts(const struct kl_node *node, const char *text)
{
	const struct kl_node *with = node->b;
	bool same = with->is_pattern ? !fnmatch(with->string, text, 0) :
		    with->is_prefix  ? !strncmp(text, with->string, with->string_bytes) :
				       !strcmp(text, with->string);

	return node->op == KL_BINARY_EQ || node->op == KL_BINARY_LIKE ? same : !same;
}

static int compare(const struct row *r, const struct kl_node *node)
{
	struct kl_watch_cell cell;

	if (node->b->kind != KL_NODE_STRING)
		return compare_numbers(node->op, number_of(r, node->a), number_of(r, node->b));
	cell = r->cell(r->data, (int)node->a->number);
	return cell.text ? compare_texts(node, cell.text) : -1;
}

static int evaluate(const struct row *r, const struct kl_node *node)
{
	int left, right, decides;

	if (node->kind == KL_NODE_BINARY)
		return compare(r, node);
	left = evaluate(r, node->a);
	if (node->kind == KL_NODE_NOT)
		return left < 0 ? -1 : !left;
	if (node->kind == KL_NODE_CHOICE)
		return left < 0 ? -1 : evaluate(r, left ? node->b : node->c);
	/* True decides an `or`, false an `and`, whatever the other operand is. */
	decides = node->kind == KL_NODE_OR;
	if (left == decides)
		return decides;
	right = evaluate(r, node->b);
	if (right == decides)
		return decides;
	return left < 0 || right < 0 ? -1 : !decides;
}

int kl_watch_check_number(struct kl_compiler *c, const struct kl_watch_rules *rules,
			  struct kl_node *node, const struct kl_watch_column *column)
{
	if (kl_watch_first_column(node) >= 0)
		return kl_complain(c, node->at, "expected a number");
	return settle(&(struct checker){ c, rules }, node, (int)column->unit);
}

double kl_watch_number(const struct kl_node *node)
{
	return number_of(&(struct row){ 0 }, node);
}

int kl_watch_evaluate(const struct kl_watch_rules *rules, const struct kl_node *node,
		      kl_watch_cell_fn cell, void *data)
{
	return evaluate(&(struct row){ rules, cell, data }, node);
}

struct by_name {
	const struct kl_watch_rules *rules;
	struct kl_watch_cell (*cell)(void *data, const char *column);
	void *data;
};

static struct kl_watch_cell cell_by_name(void *data, int column)
{
	const struct by_name *by = data;

	return by->cell(by->data, by->rules->columns[column].name);
}

int kl_watch_holds(const struct kl_watch_rule *public, bool clear,
		   struct kl_watch_cell (*cell)(void *data, const char *column), void *data)
{
	const struct kl_watch_rule_data *rule = (const struct kl_watch_rule_data *)public;
	struct by_name by = { rule->rules, cell, data };
	int holds;

	if (clear && rule->clear)
		return kl_watch_evaluate(rule->rules, rule->clear, cell_by_name, &by);
	holds = kl_watch_evaluate(rule->rules, rule->raise, cell_by_name, &by);
	return clear && holds >= 0 ? !holds : holds;
}
