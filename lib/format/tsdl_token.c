// SPDX-License-Identifier: GPL-2.0
/*
 * Splits a trace's metadata into tokens for tsdl_parse.c. The text may be anything; nothing is read
 * beyond its end.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/plain.h"
#include "tsdl_token.h"

void kl_parser_fail(struct kl_parser *p, const char *why)
{
	if (!p->error)
		p->error = kl_fail(EINVAL, "metadata, line %u: %s", p->line, why);
	p->token = TOKEN_END;
	p->at = p->end;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (c >= '0' && c <= '9');
}

/* The text is printed later, so make it printable and terminate it; long texts are cut. */
static void end_text(struct kl_parser *p, size_t length)
{
	kl_make_plain(p->text, length);
	p->text[length] = 0;
}

/* Copy [@from, @to) without leading and trailing white space. */
static void take_text(struct kl_parser *p, const char *from, const char *to)
{
	size_t length;

	while (from < to && (*from == ' ' || *from == '\t' || *from == '\n'))
		from++;
	while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\n'))
		to--;
	length = to - from < KL_TSDL_TEXT_MAX ? to - from : KL_TSDL_TEXT_MAX - 1;
	memcpy(p->text, from, length);
	end_text(p, length);
}

/* Read the rest of a comment. Returns true if it is a note. */
static bool read_comment(struct kl_parser *p)
{
	const char *start = p->at;

	while (p->end - p->at >= 2 && (p->at[0] != '*' || p->at[1] != '/')) {
		p->line += *p->at == '\n';
		p->at++;
	}
	if (p->end - p->at < 2) {
		kl_parser_fail(p, "unterminated comment");
		return false;
	}
	take_text(p, start, p->at);
	p->at += 2;
	if (p->text[0] != '@')
		return false;
	memmove(p->text, p->text + 1, strlen(p->text));
	p->token = TOKEN_NOTE;
	return true;
}

/* Skips white space and comments. Returns true if a note was found. */
static bool skip_space(struct kl_parser *p)
{
	while (p->at < p->end) {
		if (*p->at == '\n' || *p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
			p->line += *p->at == '\n';
			p->at++;
		} else if (p->end - p->at >= 2 && p->at[0] == '/' && p->at[1] == '*') {
			p->at += 2;
			if (read_comment(p))
				return true;
		} else {
			break;
		}
	}
	return false;
}

static void read_quoted(struct kl_parser *p)
{
	size_t length = 0;

	for (p->at++; p->at < p->end && *p->at != '"'; p->at++) {
		if (*p->at == '\n')
			break;
		if (*p->at == '\\' && p->end - p->at > 1)
			p->at++;
		if (length < KL_TSDL_TEXT_MAX - 1)
			p->text[length++] = *p->at;
	}
	end_text(p, length);
	if (p->at >= p->end || *p->at != '"') {
		kl_parser_fail(p, "unterminated string");
		return;
	}
	p->at++;
	p->token = TOKEN_STRING;
}

static void read_word(struct kl_parser *p)
{
	const char *start = p->at;
	char *rest;

	while (p->at < p->end && is_word(*p->at))
		p->at++;
	take_text(p, start, p->at);
	p->token = TOKEN_WORD;
	if (*start < '0' || *start > '9')
		return;
	errno = 0;
	p->number = (int64_t)strtoull(p->text, &rest, 0);
	if (*rest || errno)
		kl_parser_fail(p, "invalid number");
	else
		p->token = TOKEN_NUMBER;
}

enum kl_token kl_parser_next(struct kl_parser *p)
{
	if (skip_space(p))
		return p->token;
	if (p->at >= p->end) {
		p->token = TOKEN_END;
	} else if (*p->at == '"') {
		read_quoted(p);
	} else if (is_word(*p->at)) {
		read_word(p);
	} else {
		p->token = TOKEN_SIGN;
		p->sign = *p->at++;
	}
	return p->token;
}

bool kl_parser_is_sign(const struct kl_parser *p, char sign)
{
	return p->token == TOKEN_SIGN && p->sign == sign;
}

void kl_parser_expect(struct kl_parser *p, char sign)
{
	char why[] = "expected ' '";

	if (kl_parser_next(p) == TOKEN_SIGN && p->sign == sign)
		return;
	why[10] = sign;
	kl_parser_fail(p, why);
}

void kl_parser_skip(struct kl_parser *p, unsigned int depth)
{
	while (p->token != TOKEN_END) {
		if (kl_parser_is_sign(p, '{'))
			depth++;
		else if (kl_parser_is_sign(p, '}') && depth)
			depth--;
		else if (kl_parser_is_sign(p, ';') && !depth)
			return;
		kl_parser_next(p);
	}
}
