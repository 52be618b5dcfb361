/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Alarms: rules as text over what processes and the machine have, and whether they
 * hold. What is done about an alarm is up to the caller. docs/design/watch.md has the
 * grammar.
 */
#ifndef KERNLENS_WATCH_H
#define KERNLENS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kernlens/client.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

/* What is to be done when an alarm is raised or cleared. */
enum kl_watch_do {
	KL_WATCH_LOG, /* say it */
	KL_WATCH_MARK, /* a mark on the time axis of all sessions */
	KL_WATCH_FREEZE, /* when raised: freeze a session */
	KL_WATCH_SNAPSHOT, /* when raised: ask its recorder for a snapshot */
	KL_WATCH_RUN, /* a program */
	KL_WATCH_SHELL, /* the same, through the shell */
};

/**
 * struct kl_watch_action - one of them
 * @words: of the command, or the session; ended by NULL
 */
struct kl_watch_action {
	enum kl_watch_do what;
	char **words;
};

/**
 * struct kl_watch_rule - a rule
 * @name: as it was given, or "ruleN"
 * @text: the whole rule
 * @line: where it stands, from 1
 * @is_total: of sums over processes, or of the machine; else of each process
 * @for_ns: how long it must hold without a break
 * @clear_for_ns: how long it must not, or its clear condition hold
 * @actions: at least one
 * @n_actions: number of them
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
 * kl_watch_rules_create - no rules
 *
 * Returns NULL with errno ENOMEM.
 */
struct kl_watch_rules *kl_watch_rules_create(void);

/**
 * kl_watch_rules_destroy - free
 * @rules: or NULL; nothing may use them any more
 */
void kl_watch_rules_destroy(struct kl_watch_rules *rules);

/**
 * kl_watch_rules_parse - add the rules of a text
 * @rules: rules
 * @file: what errors call it
 * @text: a rule a line; # begins a comment
 * @length: its bytes
 *
 * Returns -EINVAL with an error text that begins with FILE:LINE:COLUMN, or -ENOMEM;
 * then @rules are only good for being destroyed.
 */
int kl_watch_rules_parse(struct kl_watch_rules *rules, const char *file, const char *text,
			 size_t length);

/**
 * kl_watch_rule - one of the rules
 * @rules: rules
 * @index: from 0; NULL is returned behind the last
 */
const struct kl_watch_rule *kl_watch_rule(const struct kl_watch_rules *rules, size_t index);

/**
 * struct kl_watch_cell - what a column has
 * @number: in the variable's unit; NAN: not known
 * @text: or its text, ended by NUL; NULL: it is a number
 */
struct kl_watch_cell {
	double number;
	const char *text;
};

/**
 * kl_watch_holds - does a rule's condition hold?
 * @rule: of some rules
 * @clear: the one that clears it, not the one that raises it
 * @cell: tells a column, by name: a variable, VARIABLE/s, cpu% ... or `processes`
 * @data: for @cell
 *
 * Returns 1, 0, or -1 if it cannot be known: a rate at the first look.
 */
int kl_watch_holds(const struct kl_watch_rule *rule, bool clear,
		   struct kl_watch_cell (*cell)(void *data, const char *column), void *data);

/* What has become of an alarm. */
enum kl_watch_state {
	KL_WATCH_RAISED,
	KL_WATCH_CLEARED,
	KL_WATCH_ENDED, /* cleared: the process has ended, or is none of the rule's any more */
	KL_WATCH_DROPPED, /* cleared: the rule is gone */
};

/**
 * struct kl_watch_alarm - news of an alarm
 * @rule: whose it is
 * @state: what has become of it
 * @pid: of the process; 0: of a total
 * @uid: its user
 * @comm: its command name; "" of a total
 * @value: of the rule's first column, now; NAN if it is a text or not known
 * @text: the same as people read it
 * @since_ns: CLOCK_MONOTONIC: since when its condition held; of one that was cleared,
 *            when it was raised
 * @now_ns: CLOCK_MONOTONIC: when it was looked
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
 * kl_watch_create - be ready to check rules
 * @device: what to ask; must outlive it
 * @rules: must outlive it
 *
 * Returns NULL with errno and an error text: a variable that cannot be had here.
 */
struct kl_watch *kl_watch_create(struct kl_device *device, const struct kl_watch_rules *rules);

/**
 * kl_watch_destroy - free
 * @watch: or NULL; its alarms are forgotten
 */
void kl_watch_destroy(struct kl_watch *watch);

/**
 * kl_watch_check - look at all that there is, once
 * @watch: watch
 * @tell: called for each alarm that is raised or cleared, in the order of the rules
 * @data: for @tell
 *
 * Returns how many alarms are raised now, or a negative errno. May sleep.
 */
int kl_watch_check(struct kl_watch *watch, kl_watch_fn tell, void *data);

/**
 * kl_watch_hurry - what holds at one look is an alarm, however long it has to hold
 * @watch: that has not checked yet
 */
void kl_watch_hurry(struct kl_watch *watch);

/**
 * kl_watch_prepare - look without checking, so that the first check knows rates
 * @watch: that has not checked yet
 *
 * Returns whether a rule asks for one, or a negative errno. May sleep.
 */
int kl_watch_prepare(struct kl_watch *watch);

/**
 * kl_watch_take - go on with the alarms of another
 * @watch: that has not checked yet
 * @old: alarms of rules whose text @watch has, too, are moved from it; the others are
 *       told as dropped
 * @tell: called for these
 * @data: for @tell
 */
void kl_watch_take(struct kl_watch *watch, struct kl_watch *old, kl_watch_fn tell, void *data);

KL_PUBLIC_END

#endif /* KERNLENS_WATCH_H */
