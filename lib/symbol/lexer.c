// SPDX-License-Identifier: GPL-2.0
/* Splits the text of an expression into tokens, and reports errors with their position. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "expression.h"

#define EXCERPT_BYTES 100

/* Print WHAT:LINE:COLUMN: @message, the line (an excerpt if it is long), and a caret. */
static void place_message(const struct kl_compiler *c, uint32_t at, int error, const char *message)
{
	const char *line = c->text, *place = c->text + at;
	unsigned int number = 1, from = 0, length, column;
	char excerpt[EXCERPT_BYTES + 1];

	for (const char *p = c->text; p < place; p++) {
		if (*p != '\n')
			continue;
		number++;
		line = p + 1;
	}
	column = place - line;
	if (column > EXCERPT_BYTES - 20)
		from = column - EXCERPT_BYTES / 2;
	length = strcspn(line + from, "\n");
	if (length > EXCERPT_BYTES)
		length = EXCERPT_BYTES;
	for (unsigned int i = 0; i < length; i++)
		excerpt[i] = (unsigned char)line[from + i] < ' ' ? ' ' : line[from + i];
	excerpt[length] = 0;
	kl_fail(error, "%s:%u:%u: %s\n  %s\n  %*s^", c->what, number, column + 1, message, excerpt,
		column - from, "");
}

int kl_complain(const struct kl_compiler *c, uint32_t at, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	place_message(c, at, EINVAL, message);
	return -EINVAL;
}

int kl_complain_again(const struct kl_compiler *c, uint32_t at, int error)
{
	char message[256];

	snprintf(message, sizeof(message), "%s", kl_error_text());
	place_message(c, at, -error, message);
	return error;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Value of a digit in any base up to 16; 99: not a digit. */
static unsigned int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static int lex_number(struct kl_compiler *c)
{
	const char *at = c->at;
	unsigned int base = 10;
	uint64_t value = 0;

	if (*at == '0') {
		base = 8;
		if ((at[1] | 0x20) == 'x' && digit_value(at[2]) < 16) {
			base = 16;
			at += 2;
		}
	}
	for (; digit_value(*at) < base; at++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_value(*at), &value))
			return kl_complain(c, c->token.at, "the number does not fit into 64 bits");
	c->token.is_unsigned = value > INT64_MAX;
	for (; (*at | 0x20) == 'u' || (*at | 0x20) == 'l'; at++)
		c->token.is_unsigned |= (*at | 0x20) == 'u';
	if (is_letter(*at) || is_digit(*at))
		return kl_complain(c, at - c->text, "unexpected '%c' in a number", *at);
	c->token.kind = KL_TOKEN_NUMBER;
	c->token.number = value;
	c->at = at;
	return 0;
}

/* The character for the escape sequence at *@at, after the backslash; -1: unknown. */
static int unescape(const char **at)
{
	static const char from[] = "ntr0abfv\\'\"*?", to[] = "\n\t\r\0\a\b\f\v\\'\"*?";
	const char *found = **at ? strchr(from, **at) : NULL;
	int value;

	if (found) {
		(*at)++;
		return (unsigned char)to[found - from];
	}
	if (**at != 'x' || digit_value((*at)[1]) > 15 || digit_value((*at)[2]) > 15)
		return -1;
	value = digit_value((*at)[1]) * 16 + digit_value((*at)[2]);
	*at += 3;
	return value;
}

/* Read one character of a literal into *@value. */
static int lex_char(struct kl_compiler *c, const char **at, char *value)
{
	const char *from = *at;
	int special;

	if (*from != '\\') {
		*value = *(*at)++;
		return 0;
	}
	(*at)++;
	special = unescape(at);
	if (special < 0)
		return kl_complain(c, from - c->text,
				   "unknown escape; expected \\n \\t \\r \\0 \\\\ \\' \\\" \\* "
				   "\\xHH");
	*value = special;
	return 0;
}

static int lex_string(struct kl_compiler *c)
{
	const char *at = c->at + 1;
	char *out = c->strings + c->strings_used;
	bool asterisk = false;

	c->token.string = out;
	while (*at != '"') {
		if (!*at || *at == '\n')
			return kl_complain(c, c->token.at, "missing closing \"");
		asterisk = *at == '*';
		if (lex_char(c, &at, out))
			return -EINVAL;
		if (!*out++)
			return kl_complain(c, c->token.at, "a string cannot contain a NUL byte");
	}
	if (asterisk)
		out--;
	c->token.kind = KL_TOKEN_STRING;
	c->token.is_prefix = asterisk;
	c->token.string_bytes = out - c->token.string;
	c->strings_used = out - c->strings;
	c->at = at + 1;
	return 0;
}

static int lex_character(struct kl_compiler *c)
{
	const char *at = c->at + 1;
	char value;

	if (!*at || *at == '\'' || *at == '\n')
		return kl_complain(c, c->token.at, "missing character");
	if (lex_char(c, &at, &value))
		return -EINVAL;
	if (*at != '\'')
		return kl_complain(c, c->token.at,
				   "expected one character between '; strings are written in \"");
	c->token.kind = KL_TOKEN_NUMBER;
	c->token.number = (int64_t)value;
	c->at = at + 1;
	return 0;
}

static int lex_sign(struct kl_compiler *c)
{
	static const char *const two[] = { "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||" };

	c->token.kind = KL_TOKEN_SIGN;
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(two); i++) {
		if (!strncmp(c->at, two[i], 2)) {
			c->at += 2;
			return 0;
		}
	}
	if (*c->at == '=')
		return kl_complain(c, c->token.at, "assignment is not possible: use == to compare");
	if (!strchr("()[].*&-+!~/%<>^|?:", *c->at)) {
		if (*c->at > ' ' && *c->at <= '~')
			return kl_complain(c, c->token.at, "unexpected '%c'", *c->at);
		return kl_complain(c, c->token.at, "unexpected byte 0x%02x", (unsigned char)*c->at);
	}
	c->at++;
	return 0;
}

int kl_lex(struct kl_compiler *c)
{
	int ret = 0;

	c->at += strspn(c->at, " \t\r\n");
	c->token = (struct kl_token){ .at = c->at - c->text };
	if (!*c->at) {
		c->token.kind = KL_TOKEN_END;
	} else if (is_digit(*c->at)) {
		ret = lex_number(c);
	} else if (*c->at == '"') {
		ret = lex_string(c);
	} else if (*c->at == '\'') {
		ret = lex_character(c);
	} else if (is_letter(*c->at)) {
		c->token.kind = KL_TOKEN_NAME;
		while (is_letter(*c->at) || is_digit(*c->at))
			c->at++;
	} else {
		ret = lex_sign(c);
	}
	c->token.length = c->at - c->text - c->token.at;
	return ret;
}
