/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of what a user writes after -e, still as text:
 *
 *   PLACE [/FILTER/] [:HANDLER[(ARGUMENTS)] [by KEY[,KEY...]]]
 *
 * Feeds plan.c, which compiles them.
 */
#ifndef KL_LIB_SPEC_H
#define KL_LIB_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The kinds of probe points. */
enum kl_place_kind {
	KL_PLACE_EVENT, /* pattern of events in the tables */
	KL_PLACE_TRACEPOINT, /* tp:NAME */
	KL_PLACE_FUNCTION, /* fn:NAME or fn:NAME:ret */
	KL_PLACE_TICK, /* tick:HZ */
	KL_PLACE_BLOCK, /* block:FUNCTION[+OFFSET|#NUMBER][:post] */
	KL_PLACE_CALL, /* call:[MODULE:]FUNCTION:CALLED or call:[MODULE:]FUNCTION:CALLED:ret */
	KL_PLACE_UPROBE, /* uprobe:PATH:SYMBOL or uprobe:PATH:SYMBOL:ret */
	KL_PLACE_USDT, /* usdt:PATH:PROVIDER:NAME */
	KL_PLACE_PROGRAM_BLOCK, /* block:PATH:FUNCTION[+OFFSET|#NUMBER][:post] */
};

/**
 * struct kl_part - a piece of the user's text
 * @text: start; NULL if the piece is missing
 * @length: length in bytes
 */
struct kl_part {
	const char *text;
	size_t length;
};

/* Is the piece present and equal to @name? */
static inline bool kl_part_is(const struct kl_part *part, const char *name)
{
	return part->text && strlen(name) == part->length &&
	       !strncmp(name, part->text, part->length);
}

#define KL_SPEC_LIST_MAX 4 /* maximum arguments of a handler, and keys */

/**
 * struct kl_spec - one of the specs in a list, parsed
 * @whole: the whole text
 * @kind: kind of the probe point
 * @place: an event pattern, or what follows `tp:`, `fn:` ...
 * @symbol: of a uprobe; name of a marker; for a program's block, what follows the path; for
 *          calls, the called function
 * @provider: of a marker
 * @ret: the return of a function, or from a call
 * @behind: the end of a block
 * @filter: between the slashes
 * @handler: its name
 * @argument: between the parentheses
 * @arguments: number of arguments
 * @key: after `by`
 * @keys: number of keys
 */
struct kl_spec {
	struct kl_part whole;
	enum kl_place_kind kind;
	struct kl_part place;
	struct kl_part symbol;
	struct kl_part provider;
	bool ret;
	bool behind;
	struct kl_part filter;
	struct kl_part handler;
	struct kl_part argument[KL_SPEC_LIST_MAX];
	unsigned int arguments;
	struct kl_part key[KL_SPEC_LIST_MAX];
	unsigned int keys;
};

/*
 * Parse the next spec of a list with commas, and advance *@at past it. Returns 1, 0 at the end, or
 * -EINVAL with an error text that shows the position in @list.
 */
int kl_spec_next(const char *list, const char **at, struct kl_spec *spec);

#define KL_SPEC_NAME_MAX 512

struct kl_schema;

/**
 * kl_foreign_name - what kernlens calls a probe point that another tool writes like this
 * @schema: its events
 * @text: a probe point as for bpftrace, perf, trace-cmd or strace, without a filter
 * @ours: set to the text for -e
 * @size: room there
 *
 * Returns false if the text is none of these.
 */
bool kl_foreign_name(const struct kl_schema *schema, const char *text, char *ours, size_t size);

/* Set an error text that points at @at in @list. Returns -EINVAL. */
int kl_spec_fail(const char *list, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Report that compiling the expression at @part in @list failed: kl_spec_locate() then uses the
 * position in its error text.
 */
void kl_spec_note_expression(const char *part);

/*
 * Compiling the text at @at failed with @ret; @list is line @line of @origin. Prefix the error text
 * with "ORIGIN:LINE:COLUMN: ". The column is the one that kl_spec_fail() reported, or that of @at.
 * Returns @ret.
 */
int kl_spec_locate(int ret, const char *list, const char *at, const char *origin,
		   unsigned int line);

#endif /* KL_LIB_SPEC_H */
