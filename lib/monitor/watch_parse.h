/* SPDX-License-Identifier: GPL-2.0 */
/* The way through a line of rules of alarms, for watch_lex.c and watch_parse.c. */
#ifndef KL_LIB_WATCH_PARSE_H
#define KL_LIB_WATCH_PARSE_H

#include <ctype.h>

#include "watch.h"

/**
 * struct kl_watch_parser - on the way through a line
 * @at: the next character
 * @depth: of parentheses and `not`
 */
struct kl_watch_parser {
	struct kl_watch_rules *rules;
	struct kl_watch_rule_data *rule;
	const char *file;
	unsigned int line;
	const char *start;
	const char *at;
	const char *end;
	unsigned int depth;
};

static inline bool kl_watch_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* -EINVAL with FILE:LINE:COLUMN and @text; NULL: what the library has said last. */
int kl_watch_fail(const struct kl_watch_parser *p, const char *at, const char *text);

void kl_watch_skip(struct kl_watch_parser *p);

/* Bytes of the name that comes next, with a % or /s behind it. */
size_t kl_watch_name_length(const struct kl_watch_parser *p);

/* Takes the word, or the sign, if it comes next. */
bool kl_watch_take_word(struct kl_watch_parser *p, const char *word);
bool kl_watch_take_sign(struct kl_watch_parser *p, const char *sign);

/*
 * What ends at a blank or one of @ends, or is in quotes, in which \ takes the next
 * character as it is. To be freed. NULL: there is nothing, or no end of the quotes.
 */
char *kl_watch_take_text(struct kl_watch_parser *p, const char *ends);

/* A number with or without a unit, for what is counted in @kind. */
int kl_watch_take_number(struct kl_watch_parser *p, enum kl_watch_unit kind, double *number);
int kl_watch_take_duration(struct kl_watch_parser *p, uint64_t *ns);

#endif /* KL_LIB_WATCH_PARSE_H */
