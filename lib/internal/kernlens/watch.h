/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alarms: textual rules over variables of processes and of the machine, and whether they hold.
 * The caller decides what to do about an alarm. docs/design/watch.md describes the grammar.
 */
#ifndef KERNLENS_WATCH_H
#define KERNLENS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>

/* What to do when an alarm is raised or cleared. */
enum kl_watch_do {
	KL_WATCH_LOG, /* print it */
	KL_WATCH_MARK, /* record a mark in all sessions */
	KL_WATCH_FREEZE, /* freeze a session, when raised */
	KL_WATCH_SNAPSHOT, /* ask a session's recorder for a snapshot, when raised */
	KL_WATCH_RUN, /* run a program */
	KL_WATCH_SHELL, /* run a program through the shell */
};

/**
 * struct kl_watch_action - an action of a rule
 * @what: what to do
 * @words: words of the command, or the session's name; terminated by NULL
 */
struct kl_watch_action {
	enum kl_watch_do what;
	char **words;
};

/**
 * struct kl_watch_rule - a rule
 * @name: as given in the rule, or "ruleN"
 * @text: the whole rule
 * @line: line number of the rule, from 1
 * @is_total: about sums over processes, or the machine; else about each process
 * @for_ns: how long the condition must hold without interruption to raise the alarm
 * @clear_for_ns: how long it must not hold, or the clear condition must hold, to clear the alarm
 * @actions: at least one
 * @n_actions: number of actions
 */
struct kl_watch_rule {
	char *name;
	char *text;
	unsigned int line;
	bool is_total;
	uint64_t for_ns;
	uint64_t clear_for_ns;
	struct kl_watch_action *actions;
	size_t n_actions;
};

struct kl_watch_rules;

/**
 * kl_watch_rules_create - create an empty set of rules
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_watch_rules *kl_watch_rules_create(void);

/**
 * kl_watch_rules_destroy - free rules
 * @rules: or NULL; must no longer be in use
 */
void kl_watch_rules_destroy(struct kl_watch_rules *rules);

/**
 * kl_watch_rules_parse - add the rules of a text
 * @rules: rules
 * @file: name that error texts use
 * @text: one rule per line; # begins a comment
 * @length: size of @text in bytes
 *
 * Returns 0, -EINVAL with an error text, or -ENOMEM. The error text consists of
 * "FILE:LINE:COLUMN: message", the rule, and a line with a caret below it, like that of
 * kl_expression_compile(). After a failure, @rules can only be destroyed.
 */
int kl_watch_rules_parse(struct kl_watch_rules *rules, const char *file, const char *text,
			 size_t length);

/**
 * kl_watch_rules_read - add the rules of a file
 * @rules: rules
 * @path: file, of at most 1 MiB
 *
 * Returns what kl_watch_rules_parse() returns, or a negative errno with an error text if the file
 * cannot be read; -EFBIG if it is too large.
 */
int kl_watch_rules_read(struct kl_watch_rules *rules, const char *path);

/**
 * kl_watch_rule - a rule by its index
 * @rules: rules
 * @index: from 0
 *
 * Returns NULL after the last.
 */
const struct kl_watch_rule *kl_watch_rule(const struct kl_watch_rules *rules, size_t index);

/**
 * struct kl_watch_cell - the value of a column
 * @number: in the variable's unit; NAN: unknown
 * @text: its text, terminated by a NUL; NULL: it is a number
 */
struct kl_watch_cell {
	double number;
	const char *text;
};

/**
 * kl_watch_holds - does a rule's condition hold?
 * @rule: rule
 * @clear: check the condition that clears the alarm, not the one that raises it
 * @cell: returns the value of a column by name: a variable, VARIABLE/s, cpu% ... or `processes`
 * @data: passed to @cell
 *
 * Returns 1, 0, or -1 if unknown, like a rate at the first check.
 */
int kl_watch_holds(const struct kl_watch_rule *rule, bool clear,
		   struct kl_watch_cell (*cell)(void *data, const char *column), void *data);

/* What happened to an alarm. */
enum kl_watch_state {
	KL_WATCH_RAISED,
	KL_WATCH_CLEARED,
	KL_WATCH_ENDED, /* cleared: the process has ended, or the rule no longer applies to it */
	KL_WATCH_DROPPED, /* cleared: the rule no longer exists */
};

/**
 * struct kl_watch_alarm - a change of an alarm
 * @rule: its rule
 * @state: what happened to it
 * @pid: of the process; 0: the rule is about a total
 * @uid: user of the process
 * @comm: command name of the process; "" for a total
 * @value: current value of the rule's first column; NAN if it is a text or unknown
 * @text: the same value, formatted for people
 * @since_ns: CLOCK_MONOTONIC: since when the condition has held; for a cleared alarm, when it was
 *            raised
 * @now_ns: CLOCK_MONOTONIC: time of the check
 */
struct kl_watch_alarm {
	const struct kl_watch_rule *rule;
	enum kl_watch_state state;
	int32_t pid;
	uint32_t uid;
	const char *comm;
	double value;
	const char *text;
	uint64_t since_ns;
	uint64_t now_ns;
};

typedef void (*kl_watch_fn)(void *data, const struct kl_watch_alarm *alarm);

struct kl_watch;

/**
 * kl_watch_create - prepare to check rules
 * @device: device to query; must outlive the watch
 * @rules: must outlive the watch
 *
 * Returns NULL with errno and an error text: ENOMEM, or EINVAL for an unknown column.
 */
struct kl_watch *kl_watch_create(struct kl_device *device, const struct kl_watch_rules *rules);

/**
 * kl_watch_destroy - free
 * @watch: or NULL; its alarms are dropped without notice
 */
void kl_watch_destroy(struct kl_watch *watch);

/**
 * kl_watch_check - check all rules once
 * @watch: watch
 * @tell: called for each alarm that is raised or cleared, in the order of the rules
 * @data: passed to @tell
 *
 * Returns the number of alarms that are raised now, or a negative errno. May sleep.
 */
int kl_watch_check(struct kl_watch *watch, kl_watch_fn tell, void *data);

/**
 * kl_watch_hurry - ignore how long conditions must hold
 * @watch: watch that has not been checked yet
 *
 * Alarms are then raised and cleared at the first check that finds their condition true.
 */
void kl_watch_hurry(struct kl_watch *watch);

/**
 * kl_watch_prepare - read without checking, so that the first check knows rates
 * @watch: watch that has not been checked yet
 *
 * Returns 1 if a rule uses a rate, 0 if none does (nothing is read then), or a negative errno.
 * May sleep.
 */
int kl_watch_prepare(struct kl_watch *watch);

/**
 * kl_watch_take - take over the alarms of another watch
 * @watch: watch that has not been checked yet
 * @old: alarms of rules whose text is also in @watch are moved; the others are reported as
 *       dropped
 * @tell: called for the dropped alarms
 * @data: passed to @tell
 */
void kl_watch_take(struct kl_watch *watch, struct kl_watch *old, kl_watch_fn tell, void *data);

#endif /* KERNLENS_WATCH_H */
