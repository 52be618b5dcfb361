/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of what a user writes behind -e, still as text:
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

/* What a place is. */
enum kl_place_kind {
	KL_PLACE_EVENT, /* pattern of events of the tables */
	KL_PLACE_TRACEPOINT, /* tp:NAME */
	KL_PLACE_FUNCTION, /* fn:NAME or fn:NAME:ret */
	KL_PLACE_TICK, /* tick:HZ */
	KL_PLACE_BLOCK, /* block:FUNCTION[+OFFSET|#NUMBER] or the same with :post */
	KL_PLACE_UPROBE, /* uprobe:PATH:SYMBOL or uprobe:PATH:SYMBOL:ret */
	KL_PLACE_PROGRAM_BLOCK, /* block:PATH:FUNCTION[+OFFSET|#NUMBER][:post] */
};

/**
 * struct kl_part - a piece of the user's text
 * @text: where it begins; NULL if it is not there
 * @length: of it
 */
struct kl_part {
	const char *text;
	size_t length;
};

/* Is a piece, if it is there, just @name? */
static inline bool kl_part_is(const struct kl_part *part, const char *name)
{
	return part->text && strlen(name) == part->length &&
	       !strncmp(name, part->text, part->length);
}

#define KL_SPEC_LIST_MAX 4 /* arguments of a handler, keys */

/**
 * struct kl_spec - one of them, taken apart
 * @whole: all of it
 * @kind: of the place
 * @place: an event pattern, or what stands behind `tp:`, `fn:` ...
 * @symbol: of a uprobe; of a program's block what stands behind the path
 * @ret: the return of a function
 * @behind: the end of a block
 * @filter: between the slashes
 * @handler: its name
 * @argument: between the parentheses
 * @arguments: number of them
 * @key: behind `by`
 * @keys: number of them
 */
struct kl_spec {
	struct kl_part whole;
	enum kl_place_kind kind;
	struct kl_part place;
	struct kl_part symbol;
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
 * Take the next of a list with commas apart. *@at moves behind it. Returns 1, 0
 * at the end, or -EINVAL with an error text that shows the place in @list.
 */
int kl_spec_next(const char *list, const char **at, struct kl_spec *spec);

/* An error text that points at @at in @list. Returns -EINVAL. */
int kl_spec_fail(const char *list, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * An expression in @list that begins at @part was wrong: its error text says
 * where, and so does kl_spec_locate() afterwards.
 */
void kl_spec_note_expression(const char *part);

/*
 * @list is line @line of @origin, and compiling what stands at @at has failed with
 * @ret: put "ORIGIN:LINE:COLUMN: " in front of the error text. The column is where
 * kl_spec_fail() pointed, or that of @at. Returns @ret.
 */
int kl_spec_locate(int ret, const char *list, const char *at, const char *origin,
		   unsigned int line);

#endif /* KL_LIB_SPEC_H */
