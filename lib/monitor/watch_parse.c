// SPDX-License-Identifier: GPL-2.0
/*
 * Parses alarm rules from text: one rule a line, with the grammar in docs/design/watch.md.
 * Recursive descent from `or` to single comparisons; every error has its line and column.
 */
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "watch_parse.h"

#define DEPTH_MAX 50
#define NODES_MAX 1000 /* maximum nodes of a rule; evaluating them is recursive */
#define RULES_MAX 4096

/* -------------------------------------------------------------- conditions */

static int add_node(struct kl_watch_parser *p, const struct kl_watch_node *node)
{
	struct kl_watch_rule_data *rule = p->rule;
	struct kl_watch_node *nodes;

	if (rule->n_nodes == NODES_MAX)
		return kl_watch_fail(p, p->at, "the rule has too many conditions");
	nodes = kl_array_grow(rule->nodes, rule->n_nodes, &rule->nodes_room, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	rule->nodes = nodes;
	nodes[rule->n_nodes] = *node;
	return (int)rule->n_nodes++;
}

static int find_column(struct kl_watch_parser *p, const struct kl_watch_column *wanted)
{
	struct kl_watch_rules *rules = p->rules;
	struct kl_watch_column *columns;

	for (size_t i = 0; i < rules->n_columns; i++)
		if (!strcmp(rules->columns[i].name, wanted->name))
			return (int)i;
	columns = kl_array_grow(rules->columns, rules->n_columns, &rules->columns_room,
				sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	rules->columns = columns;
	columns[rules->n_columns] = *wanted;
	return (int)rules->n_columns++;
}

/* Parse the name of a column. Returns its index. */
static int take_column(struct kl_watch_parser *p)
{
	struct kl_watch_column column;
	const char *begin;
	char name[64];
	size_t length;

	kl_watch_skip(p);
	begin = p->at;
	length = kl_watch_name_length(p);
	if (!length || isdigit((unsigned char)*begin))
		return kl_watch_fail(p, begin, "expected a variable");
	snprintf(name, sizeof(name), "%.*s", (int)length, begin);
	if (kl_watch_column_find(&column, name))
		return kl_watch_fail(p, begin, NULL);
	p->at += length;
	return find_column(p, &column);
}

static int take_operator(struct kl_watch_parser *p, enum kl_watch_op *op)
{
	static const struct {
		const char *sign;
		enum kl_watch_op op;
	} signs[] = {
		{ "==", KL_WATCH_EQ }, { "!=", KL_WATCH_NE },	  { "<=", KL_WATCH_LE },
		{ ">=", KL_WATCH_GE }, { "!~", KL_WATCH_UNLIKE }, { "<", KL_WATCH_LT },
		{ ">", KL_WATCH_GT },  { "~", KL_WATCH_LIKE },	  { "=", KL_WATCH_EQ },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(signs); i++)
		if (kl_watch_take_sign(p, signs[i].sign)) {
			*op = signs[i].op;
			return 0;
		}
	return kl_watch_fail(p, p->at, "expected a comparison: == != < <= > >= ~ !~");
}

/* Parse what a text or a state is compared with. */
static int take_text_operand(struct kl_watch_parser *p, struct kl_watch_node *node, bool is_state)
{
	const char *begin;

	kl_watch_skip(p);
	begin = p->at;
	if (node->op == KL_WATCH_LT || node->op == KL_WATCH_LE || node->op == KL_WATCH_GT ||
	    node->op == KL_WATCH_GE)
		return kl_watch_fail(p, begin,
				     "strings and states can be compared only with == != ~ !~");
	node->text = kl_watch_take_text(p, "()");
	if (!node->text)
		return kl_watch_fail(p, begin, "expected a string of at most 255 bytes");
	if (is_state && (node->op == KL_WATCH_EQ || node->op == KL_WATCH_NE) &&
	    (strlen(node->text) != 1 || !strchr("RSDTtXZPI", *node->text))) {
		free(node->text);
		return kl_watch_fail(p, begin, "expected states: R S D T t X Z P I");
	}
	return 0;
}

static int take_user(struct kl_watch_parser *p, double *uid)
{
	struct passwd room, *user = NULL;
	char bytes[4096], *name;
	const char *begin;

	kl_watch_skip(p);
	begin = p->at;
	name = kl_watch_take_text(p, "(),");
	if (name && !getpwnam_r(name, &room, bytes, sizeof(bytes), &user) && user)
		*uid = user->pw_uid;
	else
		kl_fail(EINVAL, "unknown user \"%s\"", name ? name : "");
	free(name);
	return user ? 0 : kl_watch_fail(p, begin, NULL);
}

/* Parse a number, a user's name, or another column of the same kind. */
static int take_number_operand(struct kl_watch_parser *p, struct kl_watch_node *node)
{
	struct kl_watch_column column = p->rules->columns[node->column];
	const char *begin;
	int other;

	if (node->op == KL_WATCH_LIKE || node->op == KL_WATCH_UNLIKE)
		return kl_watch_fail(p, p->at,
				     "only strings and states can be compared with patterns");
	kl_watch_skip(p);
	begin = p->at;
	if (p->at < p->end && (isalpha((unsigned char)*p->at) || *p->at == '_')) {
		if (!strcmp(column.name, "uid"))
			return take_user(p, &node->number);
		other = take_column(p);
		if (other < 0)
			return other;
		if (p->rules->columns[other].unit != column.unit ||
		    p->rules->columns[other].scale != column.scale)
			return kl_watch_fail(p, begin, "the two variables have different units");
		node->other = other;
		return 0;
	}
	if (kl_watch_take_number(p, column.unit, &node->number))
		return -EINVAL;
	node->number *= column.scale;
	return 0;
}

static int parse_or(struct kl_watch_parser *p);

static int parse_comparison(struct kl_watch_parser *p)
{
	struct kl_watch_node node = { .other = -1, .left = -1, .right = -1 };
	enum kl_watch_unit unit;
	int error;

	node.column = take_column(p);
	if (node.column < 0)
		return node.column;
	error = take_operator(p, &node.op);
	if (error)
		return error;
	unit = p->rules->columns[node.column].unit;
	if (unit == KL_WATCH_TEXT || unit == KL_WATCH_STATE)
		error = take_text_operand(p, &node, unit == KL_WATCH_STATE);
	else
		error = take_number_operand(p, &node);
	if (error)
		return error;
	error = add_node(p, &node);
	if (error < 0)
		free(node.text);
	return error;
}

static int parse_not(struct kl_watch_parser *p)
{
	struct kl_watch_node node = { .op = KL_WATCH_NOT, .right = -1 };
	int inner;

	if (++p->depth > DEPTH_MAX)
		return kl_watch_fail(p, p->at, "too many parentheses");
	if (kl_watch_take_word(p, "not") ||
	    (!kl_watch_take_sign(p, "!=") && kl_watch_take_sign(p, "!"))) {
		node.left = parse_not(p);
		inner = node.left < 0 ? node.left : add_node(p, &node);
	} else if (kl_watch_take_sign(p, "(")) {
		inner = parse_or(p);
		if (inner >= 0 && !kl_watch_take_sign(p, ")"))
			inner = kl_watch_fail(p, p->at, "expected \")\"");
	} else {
		inner = parse_comparison(p);
	}
	p->depth--;
	return inner;
}

static int parse_and(struct kl_watch_parser *p)
{
	int left = parse_not(p);

	while (left >= 0 && (kl_watch_take_word(p, "and") || kl_watch_take_sign(p, "&&"))) {
		struct kl_watch_node node = { .op = KL_WATCH_AND, .left = left };

		node.right = parse_not(p);
		left = node.right < 0 ? node.right : add_node(p, &node);
	}
	return left;
}

static int parse_or(struct kl_watch_parser *p)
{
	int left = parse_and(p);

	while (left >= 0 && (kl_watch_take_word(p, "or") || kl_watch_take_sign(p, "||"))) {
		struct kl_watch_node node = { .op = KL_WATCH_OR, .left = left };

		node.right = parse_and(p);
		left = node.right < 0 ? node.right : add_node(p, &node);
	}
	return left;
}

/* ----------------------------------------------------------------- clauses */

/* "clear below 400M": the rule's only comparison, reversed, with another number. */
static int parse_below(struct kl_watch_parser *p, bool below)
{
	const struct kl_watch_node *only = &p->rule->nodes[p->rule->raise];
	struct kl_watch_node node = *only;

	if (p->rule->n_nodes != 1 || only->text || only->other >= 0)
		return kl_watch_fail(
			p, p->at,
			"below and above require a condition that is a single comparison with a "
			"number");
	if (below ? only->op != KL_WATCH_GT && only->op != KL_WATCH_GE :
		    only->op != KL_WATCH_LT && only->op != KL_WATCH_LE)
		return kl_watch_fail(p, p->at,
				     below ? "below can be used only with > and >=" :
					     "above can be used only with < and <=");
	node.op = below ? KL_WATCH_LT : KL_WATCH_GT;
	if (kl_watch_take_number(p, p->rules->columns[node.column].unit, &node.number))
		return -EINVAL;
	node.number *= p->rules->columns[node.column].scale;
	if (below ? node.number > only->number : node.number < only->number)
		return kl_watch_fail(p, p->at,
				     "the alarm would be cleared while its condition "
				     "is still true");
	return add_node(p, &node);
}

static int parse_clear(struct kl_watch_parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	const char *begin;

	kl_watch_skip(p);
	begin = p->at;
	if (kl_watch_take_word(p, "for")) {
		p->at = begin;
	} else {
		if (kl_watch_take_word(p, "below"))
			rule->clear = parse_below(p, true);
		else if (kl_watch_take_word(p, "above"))
			rule->clear = parse_below(p, false);
		else
			rule->clear = parse_or(p);
		if (rule->clear < 0)
			return rule->clear;
	}
	return kl_watch_take_word(p, "for") ?
		       kl_watch_take_duration(p, &rule->public.clear_for_ns) :
		       0;
}

static int add_selector(struct kl_watch_parser *p, enum kl_watch_select kind)
{
	struct kl_watch_rule_data *rule = p->rule;
	struct kl_watch_selector *selectors = kl_array_grow(rule->selectors, rule->n_selectors,
							    &rule->selectors_room,
							    sizeof(*selectors));
	struct kl_watch_selector *s;
	double number = 0;
	const char *begin;

	if (!selectors)
		return -ENOMEM;
	rule->selectors = selectors;
	s = &selectors[rule->n_selectors++];
	*s = (struct kl_watch_selector){ .kind = kind };
	kl_watch_skip(p);
	begin = p->at;
	if (kind == KL_WATCH_OF_PID ||
	    (kind == KL_WATCH_OF_USER && p->at < p->end && isdigit((unsigned char)*p->at))) {
		if (kl_watch_take_number(p, KL_WATCH_COUNT, &number))
			return -EINVAL;
	} else if (kind == KL_WATCH_OF_USER) {
		if (take_user(p, &number))
			return -EINVAL;
	} else {
		s->text = kl_watch_take_text(p, ",");
		if (!s->text || !*s->text)
			return kl_watch_fail(p, begin, "expected a name of at most 255 bytes");
	}
	if (!(number >= 0 && number <= UINT32_MAX))
		return kl_watch_fail(p, begin, "not a process ID or user ID");
	s->number = (uint64_t)number;
	return 0;
}

static int parse_of(struct kl_watch_parser *p)
{
	static const char *const kinds[] = { "comm", "user", "pid", "cgroup" };
	bool some = false;

	for (;;) {
		size_t kind = 0;
		int error;

		if (some && !kl_watch_take_word(p, "and"))
			kl_watch_take_sign(p, ",");
		if (kl_watch_take_word(p, "each")) {
			some = true;
			continue;
		}
		if (kl_watch_take_word(p, "total")) {
			p->rule->public.is_total = true;
			some = true;
			continue;
		}
		while (kind < KL_ARRAY_SIZE(kinds) && !kl_watch_take_word(p, kinds[kind]))
			kind++;
		if (kind == KL_ARRAY_SIZE(kinds))
			return some ? 0 :
				      kl_watch_fail(
					      p, p->at,
					      "expected comm, user, pid, cgroup, each or total");
		error = add_selector(p, (enum kl_watch_select)kind);
		if (error)
			return error;
		some = true;
	}
}

static int add_action_word(struct kl_watch_action *action, size_t *n, char *word)
{
	char **words = reallocarray(action->words, *n + 2, sizeof(*words));

	if (!words) {
		free(word);
		return kl_fail(ENOMEM, "out of memory");
	}
	action->words = words;
	words[(*n)++] = word;
	words[*n] = NULL;
	return 0;
}

/* Parse the words up to a comma: one, but several for a command. */
static int take_action_words(struct kl_watch_parser *p, struct kl_watch_action *action)
{
	const char *begin;
	size_t n = 0;
	char *word;

	if (action->what == KL_WATCH_LOG || action->what == KL_WATCH_MARK)
		return 0;
	kl_watch_skip(p);
	begin = p->at;
	while (p->at < p->end && *p->at != ',') {
		word = kl_watch_take_text(p, ",");
		if (!word)
			return kl_watch_fail(p, begin, "expected a word of at most 255 bytes");
		if (add_action_word(action, &n, word))
			return -ENOMEM;
		kl_watch_skip(p);
	}
	if (!n)
		return kl_watch_fail(p, begin,
				     action->what >= KL_WATCH_RUN ?
					     "expected a command" :
					     "expected a session's name or number");
	if (n > 1 && action->what != KL_WATCH_RUN)
		return kl_watch_fail(p, begin, "expected one word; put it in quotes");
	return 0;
}

static int add_action(struct kl_watch_parser *p, enum kl_watch_do what)
{
	struct kl_watch_rule_data *rule = p->rule;
	struct kl_watch_action *actions = kl_array_grow(rule->public.actions,
							rule->public.n_actions, &rule->actions_room,
							sizeof(*actions));

	if (!actions)
		return -ENOMEM;
	rule->public.actions = actions;
	actions[rule->public.n_actions] = (struct kl_watch_action){ .what = what };
	return take_action_words(p, &actions[rule->public.n_actions++]);
}

static int parse_do(struct kl_watch_parser *p)
{
	static const char *const names[] = { "log", "mark", "freeze", "snapshot", "run", "shell" };
	int error;

	do {
		size_t what = 0;

		while (what < KL_ARRAY_SIZE(names) && !kl_watch_take_word(p, names[what]))
			what++;
		if (what == KL_ARRAY_SIZE(names))
			return kl_watch_fail(p, p->at,
					     "expected log, mark, freeze, snapshot, run or shell");
		error = add_action(p, (enum kl_watch_do)what);
		if (error)
			return error;
	} while (kl_watch_take_sign(p, ","));
	return 0;
}

/* -------------------------------------------------------------------- rules */

static bool has_name(const struct kl_watch_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->n; i++)
		if (!strcmp(rules->rules[i]->public.name, name))
			return true;
	return false;
}

static int parse_name(struct kl_watch_parser *p)
{
	const char *at = p->at;

	while (at < p->end && (kl_watch_is_name(*at) || *at == '-' || *at == '.'))
		at++;
	if (at == p->at || at == p->end || *at != ':')
		return asprintf(&p->rule->public.name, "rule%zu", p->rules->n + 1) < 0 ? -ENOMEM :
											 0;
	p->rule->public.name = strndup(p->at, (size_t)(at - p->at));
	if (!p->rule->public.name)
		return kl_fail(ENOMEM, "out of memory");
	if (has_name(p->rules, p->rule->public.name))
		return kl_watch_fail(p, p->at, "another rule has this name");
	p->at = at + 1;
	return 0;
}

/* A rule about the machine alone is a total. Totals have no texts. */
static int check_columns(struct kl_watch_parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	bool machine = !rule->n_selectors;

	for (size_t i = 0; i < rule->n_nodes; i++)
		if (rule->nodes[i].op > KL_WATCH_NOT)
			machine &= p->rules->columns[rule->nodes[i].column].is_machine;
	rule->public.is_total |= machine;
	for (size_t i = 0; i < rule->n_nodes; i++) {
		const struct kl_watch_column *column = &p->rules->columns[rule->nodes[i].column];

		if (rule->nodes[i].op <= KL_WATCH_NOT)
			continue;
		if (rule->public.is_total &&
		    (column->unit == KL_WATCH_TEXT || column->unit == KL_WATCH_STATE))
			return kl_watch_fail(p, p->start,
					     "a total has no strings: use `of comm' to select "
					     "processes");
		if (!rule->public.is_total && !strcmp(column->name, "processes"))
			return kl_watch_fail(p, p->start, "`processes' requires `of total'");
	}
	return 0;
}

static int parse_clauses(struct kl_watch_parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	int error = 0;

	rule->public.clear_for_ns = UINT64_MAX;
	if (kl_watch_take_word(p, "for"))
		error = kl_watch_take_duration(p, &rule->public.for_ns);
	if (!error && kl_watch_take_word(p, "clear"))
		error = parse_clear(p);
	if (!error && kl_watch_take_word(p, "of"))
		error = parse_of(p);
	if (!error)
		error = kl_watch_take_word(p, "do") ? parse_do(p) : add_action(p, KL_WATCH_LOG);
	if (rule->public.clear_for_ns == UINT64_MAX)
		rule->public.clear_for_ns = rule->public.for_ns;
	kl_watch_skip(p);
	if (!error && p->at != p->end)
		error = kl_watch_fail(
			p, p->at,
			"expected for, clear, of, do (in this order) or the end of the line");
	return error;
}

static int parse_rule(struct kl_watch_parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	int error = parse_name(p);

	if (error)
		return error;
	rule->public.text = strndup(p->start, (size_t)(p->end - p->start));
	if (!rule->public.text)
		return kl_fail(ENOMEM, "out of memory");
	rule->raise = parse_or(p);
	if (rule->raise < 0)
		return rule->raise;
	while (rule->nodes[rule->first].op <= KL_WATCH_NOT)
		rule->first++;
	rule->first = rule->nodes[rule->first].column;
	error = parse_clauses(p);
	return error ? error : check_columns(p);
}

static int add_rule(struct kl_watch_parser *p)
{
	struct kl_watch_rules *rules = p->rules;
	struct kl_watch_rule_data **all;
	int error;

	if (rules->n == RULES_MAX)
		return kl_watch_fail(p, p->at, "too many rules");
	all = kl_array_grow(rules->rules, rules->n, &rules->room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	rules->rules = all;
	p->rule = calloc(1, sizeof(*p->rule));
	if (!p->rule)
		return kl_fail(ENOMEM, "out of memory");
	p->rule->public.line = p->line;
	p->rule->rules = rules;
	p->rule->clear = -1;
	error = parse_rule(p);
	all[rules->n++] = p->rule;
	return error;
}

/* Where a line's text ends: before a comment and the blanks before that. */
static const char *end_of_text(const char *start, const char *end)
{
	bool quoted = false;
	const char *at = start;

	for (; at < end && (quoted || *at != '#'); at++)
		if (*at == '"')
			quoted = !quoted;
		else if (quoted && *at == '\\' && at + 1 < end)
			at++;
	while (at > start && isspace((unsigned char)at[-1]))
		at--;
	return at;
}

int kl_watch_rules_parse(struct kl_watch_rules *rules, const char *file, const char *text,
			 size_t length)
{
	/* NUL-terminated, so that parsing numbers stops. */
	char *copy = strndup(text, length), *line, *next;
	struct kl_watch_parser p = { .rules = rules, .file = file };
	int error = copy ? 0 : kl_fail(ENOMEM, "out of memory");

	for (line = copy; line && !error; line = next) {
		char *end = strchrnul(line, '\n');

		next = *end ? end + 1 : NULL;
		p.line++;
		p.start = line;
		p.at = line;
		p.end = end_of_text(line, end);
		kl_watch_skip(&p);
		if (p.at < p.end)
			error = add_rule(&p);
	}
	free(copy);
	return error;
}
