// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of alarms: what their text means, evaluated with known values; errors with their positions;
 * and text that is not a rule, which must simply be refused.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/internal.h>
#include "unit.h"

/* The values for all conditions. */
static struct kl_watch_cell cell(void *data, const char *column)
{
	static const struct {
		const char *name;
		struct kl_watch_cell cell;
	} cells[] = {
		{ "rss", { 600.0 * (1 << 20), NULL } },
		{ "rss_peak", { 700.0 * (1 << 20), NULL } },
		{ "maj_faults/s", { 150, NULL } },
		{ "cpu%", { 42.5, NULL } },
		{ "cpu_time", { 5e9, NULL } },
		{ "comm", { NAN, "nginx: worker" } },
		{ "state", { NAN, "D" } },
		{ "uid", { 0, NULL } },
		{ "load_1", { 2500, NULL } },
		{ "pgpgin/s", { 2048, NULL } },
		{ "swap_entries", { 256, NULL } },
		{ "threads", { 3000, NULL } },
		{ "nice", { -5, NULL } },
		{ "processes", { 0, NULL } },
	};

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		if (!strcmp(cells[i].name, column))
			return cells[i].cell;
	return (struct kl_watch_cell){ NAN, NULL };
}

static struct kl_watch_rules *parse(const char *text)
{
	struct kl_watch_rules *rules = kl_watch_rules_create();

	if (rules && !kl_watch_rules_parse(rules, "file", text, strlen(text)))
		return rules;
	kl_watch_rules_destroy(rules);
	return NULL;
}

/* Parses a single rule: does its condition hold? -2 if it is refused. */
static int holds(const char *text, bool clear)
{
	struct kl_watch_rules *rules = parse(text);
	const struct kl_watch_rule *rule = rules ? kl_watch_rule(rules, 0) : NULL;
	int result = rule ? kl_watch_holds(rule, clear, cell, NULL) : -2;

	kl_watch_rules_destroy(rules);
	return result;
}

static const struct {
	const char *text;
	int holds;
} conditions[] = {
	{ "rss > 500M", 1 },
	{ "rss > 600M", 0 },
	{ "rss >= 600M", 1 },
	{ "rss == 629145600", 1 },
	{ "rss > 0.5G", 1 },
	{ "rss > 1GiB", 0 },
	{ "rss < rss_peak", 1 },
	{ "rss != rss_peak", 1 },
	{ "majflt/s > 100", 1 },
	{ "maj_faults/s <= 100", 0 },
	{ "pcpu > 42%", 1 },
	{ "cpu% > 43", 0 },
	{ "cpu_time > 4s", 1 },
	{ "cpu_time > 1min", 0 },
	{ "time == 5000ms", 1 },
	{ "comm == \"nginx: worker\"", 1 },
	{ "comm ~ nginx*", 1 },
	{ "comm !~ nginx*", 0 },
	{ "comm != nginx", 1 },
	{ "state == D", 1 },
	{ "state != D", 0 },
	{ "state ~ [DZ]", 1 },
	{ "state == S or state == D", 1 },
	{ "user == root", 1 },
	{ "uid > 0", 0 },
	{ "load_1 > 2.4", 1 },
	{ "load_1 > 2.6", 0 },
	{ "pgpgin/s > 1M", 1 },
	{ "pgpgin/s > 3M", 0 },
	{ "swap_entries >= 1M", 1 },
	{ "swap_entries > 1M", 0 },
	{ "threads >= 3K", 1 },
	{ "nice < 0", 1 },
	{ "nice == -5", 1 },
	{ "nice > -6 and nice < -4", 1 },
	{ "processes == 0 of comm x total", 1 },
	/* not binds tighter than and, and tighter than or. */
	{ "rss > 1G or cpu% > 40 and nice < 0", 1 },
	{ "(rss > 1G or cpu% > 40) and nice > 0", 0 },
	{ "not rss > 1G and nice < 0", 1 },
	{ "not (rss > 1G or nice < 0)", 0 },
	{ "!(rss > 1G) && !(nice > 0)", 1 },
	{ "rss > 1G || nice < 0", 1 },
	{ "rss > 1G or not nice > 0 and cpu% > 40", 1 },
	{ "not not rss > 1G", 0 },
	{ "rss > 1G = 0", -2 },
	{ "rss = 600M", 1 },
	/* Strings are those of filters: quotes, escapes, and the beginning. */
	{ "comm == \"nginx*\"", 1 },
	{ "comm == nginx*", 1 },
	{ "comm == \"nginx\\*\"", 0 },
	{ "\"nginx*\" != comm", 0 },
	{ "comm == \"nginx\\x3a worker\"", 1 },
	{ "comm ~ \"*: work?r\"", 1 },
	{ "comm ~ \"nginx\\*\"", 0 },
	{ "comm ~ [m-o]ginx:*er", 1 },
	{ "comm != kworker/0:1-events", 1 },
	{ "comm != rss", 1 },
	{ "user != www-data", 1 },
	{ "\"root\" == user", 1 },
	/* Numbers are calculated as in filters, but have fractions. */
	{ "rss + 100M == rss_peak", 1 },
	{ "rss * 2 > 1.1G", 1 },
	{ "2 * 300M == rss", 1 },
	{ "rss / 7 * 7 > 599M and rss / 7 > 85M", 1 },
	{ "rss / rss_peak > 0.85 and rss / rss_peak < 0.86", 1 },
	{ "rss / 1M == 600", 1 },
	{ "rss_peak - rss < 50%", -2 },
	{ "rss > rss_peak * 90 / 100", 0 },
	{ "threads % 7 == 4", 1 },
	{ "threads%7 == 4", 1 },
	{ "threads & 8 == 8", -2 },
	{ "(threads & 8) == 8", 1 },
	{ "(threads ^ 3000) == 0 and threads << 1 == 6K and threads >> 1 == 1.5K", 1 },
	{ "(~threads | 1) == -3001", 1 },
	{ "nice / 0 == 0 and nice % 0 == 0", 1 },
	{ "nice > 0 ? rss > 1 : threads > 1", 1 },
	{ "(nice > 0 ? rss : rss_peak) == 700M", 1 },
	{ "(vm_size > 0 ? rss : rss_peak) == 700M", -1 },
	{ "vm_size + rss > 1", -1 },
	{ "~vm_size > 1", -2 },
	{ "0x10 < threads and threads > 010 and threads > 8u", 1 },
	{ "maj_faults/s / 2 == 75", 1 },
	{ "cpu% % 5 == 2", 1 },
	{ "load_1 * threads > 7K", 1 },
	/* An unknown value decides nothing unless the other operand does. */
	{ "vm_size > 1", -1 },
	{ "not vm_size > 1", -1 },
	{ "vm_size > 1 or rss > 1", 1 },
	{ "vm_size > 1 and rss > 1", -1 },
	{ "vm_size > 1 and rss > 1G", 0 },
	{ "vm_size > 1 or rss > 1G", -1 },
};

static void test_conditions(void)
{
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		char why[400];
		int is = holds(conditions[i].text, false);

		snprintf(why, sizeof(why), "is %d, not %d: %s", is, conditions[i].holds,
			 kl_error_text());
		unit_result(is == conditions[i].holds, conditions[i].text, why);
	}
}

static void test_clear(void)
{
	unit_check(holds("rss > 500M", true) == 0,
		   "without clear it is cleared when it does not hold");
	unit_check(holds("rss > 700M", true) == 1, "which it does not");
	unit_check(holds("vm_size > 1", true) == -1, "and that may not be known");
	unit_check(holds("rss > 800M clear below 500M", true) == 0,
		   "below is lower than the threshold");
	unit_check(holds("rss > 800M clear below 650M", true) == 1,
		   "and the number is in its unit");
	unit_check(holds("nice < -10 clear above -6", true) == 1, "above");
	unit_check(holds("rss > 4 * 200M clear below 2 * 325M for 1s", true) == 1,
		   "numbers that are calculated");
	unit_check(holds("rss > 1G or nice < -7 clear nice > -6 for 3s", true) == 1,
		   "another condition");
}

static void test_clauses(void)
{
	struct kl_watch_rules *rules = parse(
		"# a comment\n\n"
		"big-one: rss > 500M for 10s clear below 400M for 1min of comm python3 user root "
		"do log, mark, freeze flight, run /bin/echo \"a b\" c, shell \"echo a, b\"  # rest\n"
		"load_1 > 3\r\n"
		"x: rss > 1G for 1500ms of user 33 total");
	const struct kl_watch_rule *first, *second, *third;

	if (!unit_check(rules, "three rules"))
		return;
	first = kl_watch_rule(rules, 0);
	second = kl_watch_rule(rules, 1);
	third = kl_watch_rule(rules, 2);
	unit_check(third && !kl_watch_rule(rules, 3), "and no more");
	unit_check(!strcmp(first->name, "big-one") && first->line == 3, "name and line");
	unit_check(first->for_ns == 10000000000 && first->clear_for_ns == 60000000000, "durations");
	unit_check(!first->is_total && second->is_total && third->is_total,
		   "of each, of the machine, of a total");
	unit_check(!strcmp(second->name, "rule2") && !strcmp(second->text, "load_1 > 3"),
		   "a rule without a name");
	unit_check(third->clear_for_ns == 1500000000, "clearing takes as long as raising");
	unit_check(first->n_actions == 5 && first->actions[2].what == KL_WATCH_FREEZE &&
			   !strcmp(first->actions[2].words[0], "flight"),
		   "what is done");
	unit_check(first->actions[3].what == KL_WATCH_RUN &&
			   !strcmp(first->actions[3].words[1], "a b") &&
			   !strcmp(first->actions[3].words[2], "c") && !first->actions[3].words[3],
		   "a command's words");
	unit_check(!strcmp(first->actions[4].words[0], "echo a, b"), "a line of the shell");
	unit_check(second->n_actions == 1 && second->actions[0].what == KL_WATCH_LOG,
		   "it is said if nothing else is to be done");
	kl_watch_rules_destroy(rules);
}

static const struct {
	const char *text, *error;
} errors[] = {
	{ "rzs > 1", "file:1:1: unknown variable \"rzs\"; did you mean \"rss\"?" },
	{ "\n  maj_falts/s > 1", "file:2:3: unknown variable \"maj_falts/s\"; did you mean" },
	{ "rss > 5x", "file:1:8: invalid unit \"x\"" },
	{ "rss > 5s", "file:1:8: invalid unit \"s\"" },
	{ "cpu% > 5M", "file:1:9: invalid unit" },
	{ "cpu_time > 5", "file:1:13: a time requires a unit" },
	{ "rss", "file:1:4: expected a comparison" },
	{ "rss >", "file:1:6: expected a value before the end" },
	{ "rss > nice", "file:1:7: the two variables have different units" },
	{ "rss ~ 5", "file:1:5: only strings and states can be compared with patterns" },
	{ "comm < x", "file:1:6: strings and states" },
	{ "comm == \"x", "file:1:9: missing closing \"" },
	{ "state == Q", "file:1:10: expected states: " },
	{ "user == nosuchuser", "file:1:9: unknown user \"nosuchuser\"" },
	{ "(rss > 1", "file:1:9: expected \")\" before the end" },
	{ "rss > 1)", "file:1:8: expected for, clear, of, do" },
	{ "rss > 1 and", "file:1:12: expected a value before the end" },
	{ "rss > 1 for 5", "file:1:14: a time requires a unit" },
	{ "rss > 1 do log for 5s", "file:1:16: expected for, clear, of, do" },
	{ "rss > 1M clear below 2M", "file:1:22: the alarm would be cleared while" },
	{ "rss > 1M clear above 2M", "above can be used only with < and <=" },
	{ "rss > 1 and nice > 1 clear below 1", "below and above require" },
	{ "rss > 1 of", "file:1:11: expected comm, user, pid, cgroup, each or total" },
	{ "rss > 1 of comm", "file:1:16: expected a name" },
	{ "rss > 1 do fly", "file:1:12: expected log, mark, freeze" },
	{ "rss > 1 do run", "file:1:15: expected a command" },
	{ "rss > 1 do freeze a b", "expected one word" },
	{ "a: rss > 1\na: rss > 2", "file:2:1: another rule has this name" },
	{ "comm == x of total", "a total has no strings" },
	{ "processes > 3", "`processes' requires `of total'" },
	{ "5 > 3", "file:1:3: expected a variable on one side" },
	{ "!rss > 1G", "file:1:1: ! applies to the next value only" },
	{ "(rss > 1) > 0", "file:1:6: this is a condition, not a number" },
	{ "~rss > 1", "file:1:1: bit operators can be used only with counts" },
	{ "rss and nice < 0", "file:1:4: expected a comparison" },
	{ "rss + nice > 5", "file:1:7: the two variables have different units" },
	{ "rss + 5s > 5", "file:1:8: invalid unit \"s\": sizes" },
	{ "rss > \"5M\"", "file:1:7: this is a string" },
	{ "rss & 1 > 0", "file:1:5: expected a comparison" },
	{ "(rss & 1) > 0", "file:1:6: bit operators can be used only with counts" },
	{ "-comm > 5", "file:1:2: comm is not a number" },
	{ "-5K + comm > 1", "file:1:7: comm is not a number" },
	{ "comm == \"a\" + 1", "file:1:13: expected a string" },
	{ "comm ~ (\"a\")", "file:1:9: expected a string" },
	{ "rss == comm", "file:1:8: this is a string" },
	{ "comm == \"\\q\"", "file:1:10: unknown escape" },
	{ "(u32)rss > 1", "file:1:1: rules cannot contain pointers" },
	{ "*rss > 1", "file:1:1: rules cannot contain pointers" },
	{ "rss.x > 1", "file:1:5: rules cannot contain pointers" },
	{ "flag(on) == 1", "file:1:1: unknown variable \"flag\"" },
	{ "rss > 1 for 5M", "file:1:14: invalid unit \"M\": times take" },
	{ "rss > 1 for 0.5", "file:1:16: a time requires a unit" },
	{ "rss > 1 of pid 5K", "file:1:16: not a process ID" },
	{ "rss > 1 of user nosuchuser", "file:1:17: unknown user" },
	{ "rss > 99999999T", "file:1:7: the number does not fit" },
	{ "rss > 1M clear below rss", "file:1:22: expected a number" },
	{ "rss > 1 @", "file:1:9: unexpected '@'" },
	{ "\n\n  rss > 5x # why",
	  "file:3:10: invalid unit \"x\"; expected B K M G T or ns us ms s min h d\n"
	  "    rss > 5x\n           ^" },
	{ "kstack > 3", "kstack is available only when an event fires" },
	{ "comm/s > 3", "comm is not a number: it has no rate" },
};

static void test_errors(void)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct kl_watch_rules *rules = parse(errors[i].text);

		unit_result(!rules && strstr(kl_error_text(), errors[i].error), errors[i].error,
			    rules ? "is taken" : kl_error_text());
		kl_watch_rules_destroy(rules);
	}
}

/* Unclosed parentheses and quotes, and random sequences of the pieces of rules. */
static void test_noise(void)
{
	static const char *const pieces[] = { "rss",  "(",  ")",    "not ",   " and ",	" > ",
					      "5M",   "\"", "comm", " ~ ",    "*",	" do ",
					      "run ", ",",  " of ", "total",  " for ",	"1s",
					      "\n",   "#",  "\\",   "clear ", "below ", "\xff",
					      "%",    "/s", " == ", " + ",    "0.5",	"rss > 1" };
	char text[4096];
	size_t taken = 0;

	memset(text, '(', 1000);
	snprintf(text + 1000, sizeof(text) - 1000, "rss > 1");
	unit_check(holds(text, false) == -2, "too many parentheses");
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		size_t n = 0;

		for (long k = random() % 14; k >= 0; k--)
			n += (size_t)sprintf(
				text + n, "%s",
				pieces[(size_t)random() % (sizeof(pieces) / sizeof(*pieces))]);
		taken += holds(text, true) != -2;
	}
	unit_check(taken < 20000, "20,000 texts at random");
}

int main(void)
{
	test_conditions();
	test_clear();
	test_clauses();
	test_errors();
	test_noise();
	return unit_end();
}
