// SPDX-License-Identifier: GPL-2.0
/*
 * Parses alarm rules from text: one rule a line, with the grammar in docs/design/watch.md. The
 * expression parser (lib/symbol) parses conditions and reads the tokens of the clauses, except for
 * patterns, names and commands, which are words; every error has its line and column.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "watch.h"

#define RULES_MAX 4096
#define WORD_MAX 256

/**
 * struct parser - position in a line
 * @c: its token is the next one to be taken
 */
struct parser {
	struct kl_watch_rules *rules;
	struct kl_watch_rule_data *rule;
	struct kl_compiler c;
};

/* Take the sign or name if it comes next: 1 if so, else 0, or -EINVAL for a bad token after it. */
static int take(struct parser *p, const char *text)
{
	if (!kl_token_is(&p->c, text))
		return 0;
	return kl_lex(&p->c) ? -EINVAL : 1;
}

/* -------------------------------------------------------------------- words */

/* Offset of the next word. */
static uint32_t skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->c.at))
		p->c.at++;
	return (uint32_t)(p->c.at - p->c.text);
}

/*
 * Take the text behind the token up to a blank or comma outside quotes; in quotes, \ escapes the
 * next character. The caller frees it. NULL: there is none, it is too long, or the quote is not
 * closed.
 */
static char *take_word(struct parser *p)
{
	char text[WORD_MAX];
	size_t n = 0;
	bool quoted = false, some = false;
	const char *at;

	skip_blanks(p);
	for (at = p->c.at; *at; at++) {
		char c = *at;

		if (c == '"') {
			quoted = !quoted;
			some = true;
			continue;
		}
		if (!quoted && (isspace((unsigned char)c) || c == ','))
			break;
		if (quoted && c == '\\' && at[1])
			c = *++at;
		if (n + 1 < sizeof(text))
			text[n++] = c;
		some = true;
	}
	p->c.at = at;
	return some && !quoted && n + 1 < sizeof(text) ? strndup(text, n) : NULL;
}

/* Take a number of ns. */
static int take_duration(struct parser *p, uint64_t *ns)
{
	struct kl_token token = p->c.token;

	if (token.kind != KL_TOKEN_NUMBER)
		return kl_complain(&p->c, token.at, "expected a number");
	if (!token.unit && token.plain != 0)
		return kl_complain(&p->c, token.at + token.length,
				   "a time requires a unit: ns us ms s min h d");
	if (token.unit && token.unit->measure != KL_MEASURE_TIME)
		return kl_complain(&p->c, token.at + token.length - strlen(token.unit->name),
				   "invalid unit \"%s\": times take ns us ms s min h d",
				   token.unit->name);
	if (token.number > 1000000000000000000)
		return kl_complain(&p->c, token.at, "not a duration");
	*ns = token.number;
	return kl_lex(&p->c);
}

/* ------------------------------------------------------------------ columns */

static int add_column(struct kl_watch_rules *rules, const struct kl_watch_column *wanted)
{
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

static int find_column(void *rules, const char *name)
{
	struct kl_watch_column column;
	int error = kl_watch_column_find(&column, name);

	return error ? error : add_column(rules, &column);
}

static enum kl_words words_of(void *data, int index)
{
	const struct kl_watch_rules *rules = data;
	const struct kl_watch_column *column = &rules->columns[index];

	if (column->unit == KL_WATCH_TEXT || column->unit == KL_WATCH_STATE)
		return KL_WORDS_ALL;
	return strcmp(column->name, "uid") ? KL_WORDS_NONE : KL_WORDS_NAMES;
}

/* ----------------------------------------------------------------- clauses */

static struct kl_node *parse_condition(struct parser *p)
{
	struct kl_node *node = kl_parse_part(&p->c);

	return node && !kl_watch_check_condition(&p->c, p->rules, node) ? node : NULL;
}

/* "clear below 400M": the rule's only comparison, reversed, with another number. */
static int parse_below(struct parser *p, bool below)
{
	const struct kl_node *only = p->rule->raise;
	struct kl_node *node = kl_node_new(&p->c, KL_NODE_BINARY, p->c.token.at);
	const struct kl_watch_column *column;
	double first, second;
	int ret;

	if (!node)
		return -EINVAL;
	if (only->kind != KL_NODE_BINARY || only->a->kind != KL_NODE_COLUMN ||
	    only->b->kind == KL_NODE_STRING || kl_watch_first_column(only->b) >= 0)
		return kl_complain(
			&p->c, p->c.token.at,
			"below and above require a condition that is a single comparison with a "
			"number");
	if (below ? only->op != KL_BINARY_GT && only->op != KL_BINARY_GE :
		    only->op != KL_BINARY_LT && only->op != KL_BINARY_LE)
		return kl_complain(&p->c, p->c.token.at,
				   below ? "below can be used only with > and >=" :
					   "above can be used only with < and <=");
	node->op = below ? KL_BINARY_LT : KL_BINARY_GT;
	node->a = only->a;
	node->b = kl_parse_part(&p->c);
	if (!node->b)
		return -EINVAL;
	column = &p->rules->columns[only->a->number];
	ret = kl_watch_check_number(&p->c, p->rules, node->b, column);
	if (ret)
		return ret;
	first = kl_watch_number(only->b);
	second = kl_watch_number(node->b);
	if (below ? second > first : second < first)
		return kl_complain(&p->c, node->b->at,
				   "the alarm would be cleared while its condition is still true");
	p->rule->clear = node;
	return 0;
}

static int parse_clear(struct parser *p)
{
	int ret = 0, taken;

	if (!kl_token_is(&p->c, "for")) {
		bool below = kl_token_is(&p->c, "below");

		if (below || kl_token_is(&p->c, "above")) {
			ret = kl_lex(&p->c);
			if (!ret)
				ret = parse_below(p, below);
		} else {
			p->rule->clear = parse_condition(p);
			ret = p->rule->clear ? 0 : -EINVAL;
		}
	}
	if (ret)
		return ret;
	taken = take(p, "for");
	return taken > 0 ? take_duration(p, &p->rule->public.clear_for_ns) : taken;
}

/* Take a user or process ID. */
static int take_id(struct parser *p, uint64_t *id)
{
	const struct kl_token *token = &p->c.token;

	if (kl_lex(&p->c))
		return -EINVAL;
	if (token->kind != KL_TOKEN_NUMBER || token->unit || token->is_fraction ||
	    token->number > UINT32_MAX)
		return kl_complain(&p->c, token->at, "not a process ID or user ID");
	*id = token->number;
	return kl_lex(&p->c);
}

static int take_user(struct parser *p, uint64_t *uid)
{
	uint32_t at = skip_blanks(p);
	char *name;
	int ret;

	if (isdigit((unsigned char)*p->c.at))
		return take_id(p, uid);
	name = take_word(p);
	ret = kl_watch_find_user(&p->c, at, name ? name : "", uid);
	free(name);
	return ret ? ret : kl_lex(&p->c);
}

/* Parse a selector; the token is its first word. */
static int add_selector(struct parser *p, enum kl_watch_select kind)
{
	struct kl_watch_rule_data *rule = p->rule;
	struct kl_watch_selector *selectors = kl_array_grow(rule->selectors, rule->n_selectors,
							    &rule->selectors_room,
							    sizeof(*selectors));
	struct kl_watch_selector *s;
	uint32_t at;

	if (!selectors)
		return -ENOMEM;
	rule->selectors = selectors;
	s = &selectors[rule->n_selectors++];
	*s = (struct kl_watch_selector){ .kind = kind };
	if (kind == KL_WATCH_OF_PID)
		return take_id(p, &s->number);
	if (kind == KL_WATCH_OF_USER)
		return take_user(p, &s->number);
	at = skip_blanks(p);
	s->text = take_word(p);
	if (!s->text || !*s->text)
		return kl_complain(&p->c, at, "expected a name of at most 255 bytes");
	return kl_lex(&p->c);
}

/* Parse one of what follows `of'. Returns 1, 0 if there is none, or a negative errno. */
static int parse_one(struct parser *p)
{
	static const char *const kinds[] = { "comm", "user", "pid", "cgroup" };
	int ret = take(p, "each");

	if (ret)
		return ret;
	ret = take(p, "total");
	if (ret) {
		p->rule->public.is_total = true;
		return ret;
	}
	for (size_t kind = 0; kind < KL_ARRAY_SIZE(kinds); kind++) {
		if (!kl_token_is(&p->c, kinds[kind]))
			continue;
		ret = add_selector(p, (enum kl_watch_select)kind);
		return ret ? ret : 1;
	}
	return 0;
}

static int parse_of(struct parser *p)
{
	int ret = parse_one(p);

	if (!ret)
		return kl_complain(&p->c, p->c.token.at,
				   "expected comm, user, pid, cgroup, each or total");
	while (ret > 0) {
		ret = take(p, "and");
		if (!ret)
			ret = take(p, ",");
		if (ret >= 0)
			ret = parse_one(p);
	}
	return ret;
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

/* Take the words up to a comma: one, but several for a command. */
static int take_action_words(struct parser *p, struct kl_watch_action *action)
{
	uint32_t at = skip_blanks(p);
	size_t n = 0;

	if (action->what == KL_WATCH_LOG || action->what == KL_WATCH_MARK)
		return 0;
	while (*p->c.at && *p->c.at != ',') {
		char *word = take_word(p);

		if (!word)
			return kl_complain(&p->c, at, "expected a word of at most 255 bytes");
		if (add_action_word(action, &n, word))
			return -ENOMEM;
		skip_blanks(p);
	}
	if (!n)
		return kl_complain(&p->c, at,
				   action->what >= KL_WATCH_RUN ?
					   "expected a command" :
					   "expected a session's name or number");
	if (n > 1 && action->what != KL_WATCH_RUN)
		return kl_complain(&p->c, at, "expected one word; put it in quotes");
	return 0;
}

static int add_action(struct parser *p, enum kl_watch_do what)
{
	struct kl_watch_rule_data *rule = p->rule;
	struct kl_watch_action *actions = kl_array_grow(rule->public.actions,
							rule->public.n_actions, &rule->actions_room,
							sizeof(*actions));

	if (!actions)
		return -ENOMEM;
	rule->public.actions = actions;
	actions[rule->public.n_actions++] = (struct kl_watch_action){ .what = what };
	return 0;
}

static int parse_do(struct parser *p)
{
	static const char *const names[] = { "log", "mark", "freeze", "snapshot", "run", "shell" };
	struct kl_watch_rule *rule = &p->rule->public;
	int ret;

	do {
		size_t what = 0;

		while (what < KL_ARRAY_SIZE(names) && !kl_token_is(&p->c, names[what]))
			what++;
		if (what == KL_ARRAY_SIZE(names))
			return kl_complain(&p->c, p->c.token.at,
					   "expected log, mark, freeze, snapshot, run or shell");
		ret = add_action(p, (enum kl_watch_do)what);
		if (!ret)
			ret = take_action_words(p, &rule->actions[rule->n_actions - 1]);
		if (!ret)
			ret = kl_lex(&p->c);
		if (!ret)
			ret = take(p, ",");
	} while (ret > 0);
	return ret;
}

/* -------------------------------------------------------------------- rules */

static bool has_name(const struct kl_watch_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->n; i++)
		if (!strcmp(rules->rules[i]->public.name, name))
			return true;
	return false;
}

static int parse_name(struct parser *p)
{
	const char *begin = p->c.at, *at = begin;

	while (isalnum((unsigned char)*at) || (*at && strchr("_-.", *at)))
		at++;
	if (at == begin || *at != ':')
		return asprintf(&p->rule->public.name, "rule%zu", p->rules->n + 1) < 0 ?
			       kl_fail(ENOMEM, "out of memory") :
			       0;
	p->rule->public.name = strndup(begin, (size_t)(at - begin));
	if (!p->rule->public.name)
		return kl_fail(ENOMEM, "out of memory");
	if (has_name(p->rules, p->rule->public.name))
		return kl_complain(&p->c, (uint32_t)(begin - p->c.text),
				   "another rule has this name");
	p->c.at = at + 1;
	return 0;
}

/* A rule about the machine alone is a total. Totals have no texts. */
static int check_columns(struct parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	bool machine = !rule->n_selectors;

	for (unsigned int i = 0; i < p->c.n_nodes; i++)
		if (p->c.nodes[i].kind == KL_NODE_COLUMN)
			machine &= p->rules->columns[p->c.nodes[i].number].is_machine;
	rule->public.is_total |= machine;
	for (unsigned int i = 0; i < p->c.n_nodes; i++) {
		const struct kl_watch_column *column;

		if (p->c.nodes[i].kind != KL_NODE_COLUMN)
			continue;
		column = &p->rules->columns[p->c.nodes[i].number];
		if (rule->public.is_total &&
		    (column->unit == KL_WATCH_TEXT || column->unit == KL_WATCH_STATE))
			return kl_complain(&p->c, p->c.nodes[i].at,
					   "a total has no strings: use `of comm' to select "
					   "processes");
		if (!rule->public.is_total && !strcmp(column->name, "processes"))
			return kl_complain(&p->c, p->c.nodes[i].at,
					   "`processes' requires `of total'");
	}
	return 0;
}

static int parse_clauses(struct parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	int ret;

	rule->public.clear_for_ns = UINT64_MAX;
	ret = take(p, "for");
	if (ret > 0)
		ret = take_duration(p, &rule->public.for_ns);
	if (!ret)
		ret = take(p, "clear");
	if (ret > 0)
		ret = parse_clear(p);
	if (!ret)
		ret = take(p, "of");
	if (ret > 0)
		ret = parse_of(p);
	if (!ret)
		ret = take(p, "do");
	if (ret >= 0)
		ret = ret ? parse_do(p) : add_action(p, KL_WATCH_LOG);
	if (rule->public.clear_for_ns == UINT64_MAX)
		rule->public.clear_for_ns = rule->public.for_ns;
	if (!ret && p->c.token.kind != KL_TOKEN_END)
		ret = kl_complain(
			&p->c, p->c.token.at,
			"expected for, clear, of, do (in this order) or the end of the line");
	return ret;
}

static struct kl_node *moved(const struct parser *p, const struct kl_node *node)
{
	return node ? p->rule->nodes + (node - p->c.nodes) : NULL;
}

/* Keep the nodes, which refer to each other, in the rule. */
static int keep_nodes(struct parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;

	rule->nodes = malloc(p->c.n_nodes * sizeof(*rule->nodes));
	if (!rule->nodes)
		return kl_fail(ENOMEM, "out of memory");
	for (unsigned int i = 0; i < p->c.n_nodes; i++) {
		struct kl_node *node = &rule->nodes[i];

		*node = p->c.nodes[i];
		node->a = moved(p, node->a);
		node->b = moved(p, node->b);
		node->c = moved(p, node->c);
	}
	rule->raise = moved(p, rule->raise);
	rule->clear = moved(p, rule->clear);
	return 0;
}

static int parse_rule(struct parser *p)
{
	struct kl_watch_rule_data *rule = p->rule;
	int ret = parse_name(p);

	if (ret)
		return ret;
	rule->public.text = strdup(p->c.text);
	rule->strings = malloc(strlen(p->c.text) + 1);
	if (!rule->public.text || !rule->strings)
		return kl_fail(ENOMEM, "out of memory");
	p->c.strings = rule->strings;
	p->c.strings_used = 0;
	p->c.n_nodes = 0;
	p->c.nesting = 0;
	if (kl_lex(&p->c))
		return -EINVAL;
	rule->raise = parse_condition(p);
	if (!rule->raise)
		return -EINVAL;
	rule->first = kl_watch_first_column(rule->raise);
	ret = parse_clauses(p);
	if (!ret)
		ret = check_columns(p);
	return ret ? ret : keep_nodes(p);
}

static int add_rule(struct parser *p)
{
	struct kl_watch_rules *rules = p->rules;
	struct kl_watch_rule_data **all;
	int error;

	if (rules->n == RULES_MAX)
		return kl_complain(&p->c, 0, "too many rules");
	all = kl_array_grow(rules->rules, rules->n, &rules->room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	rules->rules = all;
	p->rule = calloc(1, sizeof(*p->rule));
	if (!p->rule)
		return kl_fail(ENOMEM, "out of memory");
	p->rule->public.line = p->c.line + 1;
	p->rule->rules = rules;
	error = parse_rule(p);
	all[rules->n++] = p->rule;
	return error;
}

/* Where a line's text ends: before a comment and the blanks before that. */
static char *end_of_text(char *start)
{
	bool quoted = false;
	char *at = start;

	for (; *at && (quoted || *at != '#'); at++)
		if (*at == '"')
			quoted = !quoted;
		else if (quoted && *at == '\\' && at[1])
			at++;
	while (at > start && isspace((unsigned char)at[-1]))
		at--;
	return at;
}

int kl_watch_rules_parse(struct kl_watch_rules *rules, const char *file, const char *text,
			 size_t length)
{
	struct kl_columns columns = {
		.data = rules,
		.find = find_column,
		.is_share = kl_watch_column_is_share,
		.words = words_of,
	};
	struct kl_scope scope = { .columns = &columns };
	struct parser p = { .rules = rules, .c = { .scope = &scope, .what = file } };
	char *copy = strndup(text, length), *line, *next;
	int error = 0;

	p.c.nodes = malloc(KL_NODES_MAX * sizeof(*p.c.nodes));
	if (!copy || !p.c.nodes)
		error = kl_fail(ENOMEM, "out of memory");
	for (line = copy; line && !error; line = next, p.c.line++) {
		char *end = strchrnul(line, '\n');

		next = *end ? end + 1 : NULL;
		*end = 0;
		*end_of_text(line) = 0;
		p.c.text = line;
		p.c.at = line;
		skip_blanks(&p);
		if (*p.c.at)
			error = add_rule(&p);
	}
	free(p.c.nodes);
	free(copy);
	return error;
}
