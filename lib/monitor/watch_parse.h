/* SPDX-License-Identifier: GPL-2.0 */
/* The parser's state in a line of alarm rules, for watch_lex.c and watch_parse.c. */
#ifndef KL_LIB_WATCH_PARSE_H
#define KL_LIB_WATCH_PARSE_H

#include <ctype.h>

#include "watch.h"

/**
 * struct kl_watch_parser - position in a line
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

/*
 * Returns -EINVAL with the error text FILE:LINE:COLUMN and @text; NULL: the library's last error.
 */
int kl_watch_fail(const struct kl_watch_parser *p, const char *at, const char *text);

void kl_watch_skip(struct kl_watch_parser *p);

/* Length of the name that follows, including a % or /s. */
size_t kl_watch_name_length(const struct kl_watch_parser *p);

/* Consume the word or sign, if it comes next. */
bool kl_watch_take_word(struct kl_watch_parser *p, const char *word);
bool kl_watch_take_sign(struct kl_watch_parser *p, const char *sign);

/*
 * Take a string that ends at a blank or at one of @ends, or is quoted; in quotes, \ escapes the
 * next character. The caller frees it. NULL: no string, or the quote is not closed.
 */
char *kl_watch_take_text(struct kl_watch_parser *p, const char *ends);

/* Parse a number with or without a unit; @kind determines the units. */
int kl_watch_take_number(struct kl_watch_parser *p, enum kl_watch_unit kind, double *number);
int kl_watch_take_duration(struct kl_watch_parser *p, uint64_t *ns);

#endif /* KL_LIB_WATCH_PARSE_H */
