// SPDX-License-Identifier: GPL-2.0
/*
 * Parses what a user writes after -e. This knows where parts end, but not what they mean. It
 * respects quotes and brackets; a filter ends at a slash after which no expression could continue.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <kernlens/abi.h>
#include <kernlens/error.h>
#include <kernlens/program.h>
#include <kernlens/schema.h>
#include "../base/base.h"
#include "spec.h"

/* Where the thread's last error occurred, for kl_spec_locate(). */
static _Thread_local const char *failed_at;

int kl_spec_fail(const char *list, const char *at, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	failed_at = at;
	return kl_fail(EINVAL, "%s\n  %s\n  %*s^", text, list, (int)(at - list), "");
}

/* The column in an expression's error, "WHAT:LINE:COLUMN: text"; 0 if it is another text. */
static unsigned int column_of(const char *said, int *what, int *rest)
{
	unsigned int line, column;

	*rest = 0;
	if (sscanf(said, "%*[a-z]%n:%u:%u: %n", what, &line, &column, rest) < 2 || !*rest)
		return 0;
	return line == 1 ? column : 0;
}

void kl_spec_note_expression(const char *part)
{
	int what, rest;
	unsigned int column = column_of(kl_error_text(), &what, &rest);

	failed_at = column ? part + column - 1 : part;
}

int kl_spec_locate(int ret, const char *list, const char *at, const char *origin, unsigned int line)
{
	const char *said = kl_error_text(), *end = list + strlen(list);
	int what, rest;

	/* It may be from an earlier error in another text. */
	if (failed_at && failed_at >= list && failed_at <= end)
		at = failed_at;
	failed_at = NULL;
	if (column_of(said, &what, &rest))
		return kl_fail(-ret, "%s:%u:%u: %.*s: %s", origin, line,
			       (unsigned int)(at - list) + 1, what, said, said + rest);
	return kl_fail(-ret, "%s:%u:%u: %s", origin, line, (unsigned int)(at - list) + 1, said);
}

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static struct kl_part trim(const char *from, const char *to)
{
	from = skip_space(from);
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	return (struct kl_part){ .text = from, .length = to > from ? (size_t)(to - from) : 0 };
}

/* Skip the string that begins at @at; returns the end of the text if it is unterminated. */
static const char *skip_quoted(const char *at)
{
	char quote = *at++;

	for (; *at && *at != quote; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

static bool begins_word(const char *at, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(at, word, length) && !isalnum((unsigned char)at[length]) &&
	       at[length] != '_';
}

/*
 * The first of @stops outside quotes and brackets, or the end. An unmatched closing bracket is an
 * end, too.
 */
static const char *find_stop(const char *at, const char *stops)
{
	int depth = 0;

	while (*at) {
		if (*at == '"' || *at == '\'') {
			at = skip_quoted(at);
			continue;
		}
		if (!depth && strchr(stops, *at))
			return at;
		if (*at == '(' || *at == '[')
			depth++;
		if (*at == ')' || *at == ']') {
			if (!depth)
				return at;
			depth--;
		}
		at++;
	}
	return at;
}

/* Can a filter end here? If the slash were a division, an operand would follow. */
static bool ends_filter(const char *behind)
{
	behind = skip_space(behind);
	return !*behind || *behind == ':' || *behind == ',' || begins_word(behind, "by");
}

static int take_filter(const char *list, const char **at, struct kl_spec *spec)
{
	const char *from = *at + 1, *to = from;

	do {
		to = find_stop(to, "/");
		if (*to != '/')
			return kl_spec_fail(list, *at, "missing closing / of the filter");
	} while (!ends_filter(++to));
	spec->filter = trim(from, to - 1);
	if (!spec->filter.length)
		return kl_spec_fail(list, from, "the filter is empty");
	*at = to;
	return 0;
}

/* Parse items separated by commas, up to a closing bracket or the end. */
static int take_list(const char *list, const char **at, struct kl_part *item, unsigned int *count,
		     const char *what)
{
	for (;;) {
		const char *end = find_stop(*at, ",");

		if (*count == KL_SPEC_LIST_MAX)
			return kl_spec_fail(list, *at, "more than %d %s", KL_SPEC_LIST_MAX, what);
		item[*count] = trim(*at, end);
		if (!item[*count].length)
			return kl_spec_fail(list, *at, "empty item in a comma-separated list");
		(*count)++;
		*at = end;
		if (*end != ',')
			return 0;
		(*at)++;
	}
}

static int take_handler(const char *list, const char **at, struct kl_spec *spec)
{
	const char *from = skip_space(*at + 1), *to = from;
	int ret = 0;

	while (isalnum((unsigned char)*to) || *to == '_')
		to++;
	spec->handler = trim(from, to);
	if (!spec->handler.length)
		return kl_spec_fail(list, from, "expected a handler's name");
	*at = skip_space(to);
	if (**at != '(')
		return 0;
	(*at)++;
	if (*skip_space(*at) == ')')
		*at = skip_space(*at);
	else
		ret = take_list(list, at, spec->argument, &spec->arguments, "arguments");
	if (ret)
		return ret;
	if (**at != ')')
		return kl_spec_fail(list, *at, "missing closing ) of the handler");
	*at = skip_space(*at + 1);
	return 0;
}

static const struct {
	const char *prefix;
	enum kl_place_kind kind;
} kinds[] = {
	{ "tp:", KL_PLACE_TRACEPOINT }, { "fn:", KL_PLACE_FUNCTION },	{ "tick:", KL_PLACE_TICK },
	{ "block:", KL_PLACE_BLOCK },	{ "uprobe:", KL_PLACE_UPROBE }, { "usdt:", KL_PLACE_USDT },
	{ "call:", KL_PLACE_CALL },
};

static bool takes_word(const char *at, const char *word)
{
	return *at == ':' && begins_word(at + 1, word);
}

static const char *end_of_word(const char *at)
{
	return at + strcspn(at, ":,/ \t");
}

/* Parse PATH:PROVIDER:NAME, of which the symbol has been taken for the provider. */
static int take_marker(const char *list, const char **at, struct kl_spec *spec)
{
	const char *end;

	spec->provider = spec->symbol;
	if (**at != ':')
		return kl_spec_fail(list, *at,
				    "expected usdt:PATH:PROVIDER:NAME (usdt:PATH:*:NAME "
				    "for any provider)");
	end = end_of_word(*at + 1);
	spec->symbol = trim(*at + 1, end);
	if (!spec->symbol.length)
		return kl_spec_fail(list, *at, "expected the name of a USDT marker");
	*at = end;
	return 0;
}

/* Parse PATH:SYMBOL. The path may contain anything but colons and commas. */
static int take_file(const char *list, const char **at, struct kl_spec *spec)
{
	const char *colon = *at + strcspn(*at, ":,"), *end;
	const char *how = spec->kind == KL_PLACE_UPROBE ? "expected uprobe:PATH:SYMBOL" :
			  spec->kind == KL_PLACE_USDT	? "expected usdt:PATH:PROVIDER:NAME" :
							  "expected block:PATH:FUNCTION";

	if (*colon != ':')
		return kl_spec_fail(list, *at, "%s", how);
	end = end_of_word(colon + 1);
	spec->place = trim(*at, colon);
	spec->symbol = trim(colon + 1, end);
	if (!spec->place.length || !spec->symbol.length)
		return kl_spec_fail(list, *at, "%s", how);
	*at = end;
	return spec->kind == KL_PLACE_USDT ? take_marker(list, at, spec) : 0;
}

/* A pattern may contain a colon, unless a handler follows it. */
static const char *end_of_pattern(const char *at)
{
	const char *end = end_of_word(at);
	size_t length;

	if (*end != ':')
		return end;
	length = strcspn(end + 1, ":,/ \t(");
	for (unsigned int i = 0; i < KL_ACTION_RULE; i++)
		if (kl_handler_name(i) && strlen(kl_handler_name(i)) == length &&
		    !strncmp(kl_handler_name(i), end + 1, length))
			return end;
	/* An unknown word with arguments was meant to be a handler. */
	if (end[1 + length] == '(')
		return end;
	return end + 1 + length;
}

/* Parse [MODULE:]FUNCTION:CALLED. */
static int take_call(const char *list, const char **at, struct kl_spec *spec)
{
	const char *first = end_of_word(*at), *second = end_of_pattern(*at), *third = second;

	if (second != first && !takes_word(second, "ret"))
		third = end_of_pattern(first + 1);
	if (second == first)
		return kl_spec_fail(list, *at, "expected call:[MODULE:]FUNCTION:CALLED");
	if (third == second) {
		spec->place = trim(*at, first);
		spec->symbol = trim(first + 1, second);
	} else {
		spec->place = trim(*at, second);
		spec->symbol = trim(second + 1, third);
	}
	*at = third;
	if (!spec->symbol.length)
		return kl_spec_fail(list, *at, "expected the name of a called function");
	return 0;
}

static int take_place(const char *list, const char **at, struct kl_spec *spec)
{
	const char *end;
	bool block;
	int ret;

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++) {
		if (strncmp(*at, kinds[i].prefix, strlen(kinds[i].prefix)))
			continue;
		spec->kind = kinds[i].kind;
		*at += strlen(kinds[i].prefix);
		break;
	}
	if (spec->kind == KL_PLACE_BLOCK && kl_program_selector_is(*at))
		spec->kind = KL_PLACE_PROGRAM_BLOCK;
	if (spec->kind == KL_PLACE_UPROBE || spec->kind == KL_PLACE_USDT ||
	    spec->kind == KL_PLACE_PROGRAM_BLOCK) {
		ret = take_file(list, at, spec);
		if (ret)
			return ret;
	} else if (spec->kind == KL_PLACE_CALL) {
		ret = take_call(list, at, spec);
		if (ret)
			return ret;
	} else {
		end = spec->kind == KL_PLACE_EVENT ? end_of_pattern(*at) : end_of_word(*at);
		spec->place = trim(*at, end);
		*at = end;
	}
	if (!spec->place.length)
		return kl_spec_fail(list, *at, "expected an event");
	if ((spec->kind == KL_PLACE_FUNCTION || spec->kind == KL_PLACE_UPROBE ||
	     spec->kind == KL_PLACE_CALL) &&
	    takes_word(*at, "ret")) {
		spec->ret = true;
		*at += strlen(":ret");
	}
	block = spec->kind == KL_PLACE_BLOCK || spec->kind == KL_PLACE_PROGRAM_BLOCK;
	if (block && takes_word(*at, "pre")) {
		*at += strlen(":pre");
	} else if (block && takes_word(*at, "post")) {
		spec->behind = true;
		*at += strlen(":post");
	}
	return 0;
}

int kl_spec_next(const char *list, const char **at, struct kl_spec *spec)
{
	const char *begin = skip_space(*at);
	int ret;

	*spec = (struct kl_spec){};
	*at = begin;
	if (!*begin)
		return 0;
	ret = take_place(list, at, spec);
	if (!ret) {
		*at = skip_space(*at);
		if (**at == '/')
			ret = take_filter(list, at, spec);
	}
	if (!ret) {
		*at = skip_space(*at);
		if (**at == ':')
			ret = take_handler(list, at, spec);
	}
	if (!ret && begins_word(*at, "by")) {
		*at += strlen("by");
		ret = take_list(list, at, spec->key, &spec->keys, "keys");
	}
	if (ret)
		return ret;
	spec->whole = trim(begin, *at);
	*at = skip_space(*at);
	if (**at && **at != ',')
		return kl_spec_fail(list, *at, "expected a comma, /FILTER/ or :HANDLER");
	if (**at == ',')
		(*at)++;
	return 1;
}
