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
	unsigned int number = c->line + 1, from = 0, length, column;
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

/* K, M, G and T are of bytes, unless whoever evaluates the number knows that it is a count. */
static const struct kl_unit units[] = {
	{ "ns", KL_MEASURE_TIME, 1, 0 },
	{ "us", KL_MEASURE_TIME, 1000, 0 },
	{ "ms", KL_MEASURE_TIME, 1000000, 0 },
	{ "s", KL_MEASURE_TIME, 1000000000, 0 },
	{ "min", KL_MEASURE_TIME, 60 * 1000000000ull, 0 },
	{ "h", KL_MEASURE_TIME, 3600 * 1000000000ull, 0 },
	{ "d", KL_MEASURE_TIME, 86400 * 1000000000ull, 0 },
	{ "B", KL_MEASURE_BYTES, 1, 0 },
	{ "K", KL_MEASURE_BYTES, 1ull << 10, 1000 },
	{ "M", KL_MEASURE_BYTES, 1ull << 20, 1000000 },
	{ "G", KL_MEASURE_BYTES, 1ull << 30, 1000000000 },
	{ "T", KL_MEASURE_BYTES, 1ull << 40, 1000000000000 },
	{ "KiB", KL_MEASURE_BYTES, 1ull << 10, 0 },
	{ "MiB", KL_MEASURE_BYTES, 1ull << 20, 0 },
	{ "GiB", KL_MEASURE_BYTES, 1ull << 30, 0 },
	{ "TiB", KL_MEASURE_BYTES, 1ull << 40, 0 },
	{ "%", KL_MEASURE_SHARE, 1, 0 },
};

/* Read the digits after a point, if there is one: then the number is @value / @parts. */
static int lex_fraction(struct kl_compiler *c, const char **at, uint64_t *value, uint64_t *parts)
{
	if (**at != '.' || !is_digit((*at)[1]))
		return 0;
	for ((*at)++; is_digit(**at); (*at)++)
		if (__builtin_mul_overflow(*value, 10ull, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value) ||
		    __builtin_mul_overflow(*parts, 10ull, parts))
			return kl_complain(c, c->token.at, "the number has too many digits");
	return 0;
}

/* Read a unit, if there is one. */
static int lex_unit(struct kl_compiler *c, const char **at)
{
	const char *begin = *at;
	int length = 0;

	while (is_letter(begin[length]) || is_digit(begin[length]))
		length++;
	if (!length && c->scope->columns && *begin == '%')
		length = 1;
	if (!length)
		return 0;
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(units); i++) {
		if ((int)strlen(units[i].name) != length || memcmp(units[i].name, begin, length))
			continue;
		c->token.unit = &units[i];
		*at += length;
		return 0;
	}
	return kl_complain(c, begin - c->text,
			   "invalid unit \"%.*s\"; expected B K M G T or ns us ms s min h d",
			   length > 40 ? 40 : length, begin);
}

static int set_number(struct kl_compiler *c, uint64_t value, uint64_t parts)
{
	unsigned __int128 number = value;

	c->token.kind = KL_TOKEN_NUMBER;
	c->token.plain = (double)value / (double)parts;
	if (c->token.unit)
		number *= c->token.unit->factor;
	c->token.is_fraction = number % parts;
	number /= parts;
	if (number > UINT64_MAX)
		return kl_complain(c, c->token.at, "the number does not fit into 64 bits");
	c->token.number = (uint64_t)number;
	c->token.is_unsigned |= number > INT64_MAX;
	return 0;
}

static int lex_number(struct kl_compiler *c)
{
	const char *at = c->at;
	unsigned int base = 10, suffix;
	uint64_t value = 0, parts = 1;
	int ret = 0;

	if (*at == '0' && (at[1] | 0x20) == 'x' && digit_value(at[2]) < 16) {
		base = 16;
		at += 2;
	} else if (*at == '0' && is_digit(at[1])) {
		base = 8;
	}
	for (; digit_value(*at) < base; at++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_value(*at), &value))
			return kl_complain(c, c->token.at, "the number does not fit into 64 bits");
	if (base == 10)
		ret = lex_fraction(c, &at, &value, &parts);
	suffix = strspn(at, "uUlL");
	if (suffix && !is_letter(at[suffix]) && !is_digit(at[suffix])) {
		c->token.is_unsigned = strcspn(at, "uU") < suffix;
		at += suffix;
	} else if (!ret && base == 10) {
		ret = lex_unit(c, &at);
	}
	if (ret)
		return ret;
	if (is_letter(*at) || is_digit(*at))
		return kl_complain(c, at - c->text, "unexpected '%c' in a number", *at);
	c->at = at;
	return set_number(c, value, parts);
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

/* Complete the string token that ends before @out. */
static void end_string(struct kl_compiler *c, char *out, bool asterisk, bool is_pattern)
{
	if (asterisk && !is_pattern)
		out--;
	/* There is room: a quote or a delimiter, or else the end of the text, took a byte. */
	*out = 0;
	c->token.kind = KL_TOKEN_STRING;
	c->token.is_prefix = asterisk && !is_pattern;
	c->token.is_pattern = is_pattern;
	c->token.string_bytes = out - c->token.string;
	c->strings_used = out + 1 - c->strings;
}

static int lex_string(struct kl_compiler *c, bool is_pattern)
{
	const char *at = c->at + 1;
	char *out = c->strings + c->strings_used;
	bool asterisk = false;

	c->token.string = out;
	while (*at != '"') {
		bool is_escaped = *at == '\\';

		if (!*at || *at == '\n')
			return kl_complain(c, c->token.at, "missing closing \"");
		asterisk = *at == '*';
		if (lex_char(c, &at, out))
			return -EINVAL;
		if (!*out)
			return kl_complain(c, c->token.at, "a string cannot contain a NUL byte");
		if (is_pattern && is_escaped && strchr("*?[\\", *out)) {
			out[1] = out[0];
			*out++ = '\\';
		}
		out++;
	}
	c->at = at + 1;
	end_string(c, out, asterisk, is_pattern);
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
	c->token.plain = value;
	c->at = at + 1;
	return 0;
}

static int lex_sign(struct kl_compiler *c)
{
	static const char *const two[] = { "->", "<<", ">>", "<=", ">=",
					   "==", "!=", "&&", "||", "!~" };

	c->token.kind = KL_TOKEN_SIGN;
	for (unsigned int i = 0; i < KL_ARRAY_SIZE(two); i++) {
		if (!strncmp(c->at, two[i], 2)) {
			c->at += 2;
			return 0;
		}
	}
	if (*c->at == '=' && !c->scope->columns)
		return kl_complain(c, c->token.at, "assignment is not possible: use == to compare");
	if (!strchr("()[].*&-+!~/%<>^|?:,=", *c->at)) {
		if (*c->at > ' ' && *c->at <= '~')
			return kl_complain(c, c->token.at, "unexpected '%c'", *c->at);
		return kl_complain(c, c->token.at, "unexpected byte 0x%02x", (unsigned char)*c->at);
	}
	c->at++;
	return 0;
}

static void lex_name(struct kl_compiler *c)
{
	const struct kl_columns *columns = c->scope->columns;
	const char *at = c->at;

	while (is_letter(*at) || is_digit(*at))
		at++;
	if (columns && *at == '%' && columns->is_share(c->at, at + 1 - c->at))
		at++;
	else if (columns && at[0] == '/' && at[1] == 's' && !is_letter(at[2]) && !is_digit(at[2]))
		at += 2;
	c->token.kind = KL_TOKEN_NAME;
	c->at = at;
}

static void begin_token(struct kl_compiler *c)
{
	c->at += strspn(c->at, " \t\r\n");
	c->token = (struct kl_token){ .at = c->at - c->text };
}

static int lex(struct kl_compiler *c, bool is_pattern)
{
	int ret = 0;

	begin_token(c);
	if (!*c->at)
		c->token.kind = KL_TOKEN_END;
	else if (is_digit(*c->at))
		ret = lex_number(c);
	else if (*c->at == '"')
		ret = lex_string(c, is_pattern);
	else if (*c->at == '\'')
		ret = lex_character(c);
	else if (is_letter(*c->at))
		lex_name(c);
	else
		ret = lex_sign(c);
	c->token.length = c->at - c->text - c->token.at;
	return ret;
}

static int lex_word(struct kl_compiler *c, enum kl_words words, bool is_pattern)
{
	char *out = c->strings + c->strings_used;
	size_t length;

	begin_token(c);
	length = strcspn(c->at, " \t\r\n()");
	if (words == KL_WORDS_NONE || !length || *c->at == '"' ||
	    (words == KL_WORDS_NAMES && !is_letter(*c->at)))
		return lex(c, is_pattern);
	memcpy(out, c->at, length);
	c->token.string = out;
	end_string(c, out + length, c->at[length - 1] == '*', is_pattern);
	c->token.length = length;
	c->at += length;
	return 0;
}

int kl_lex(struct kl_compiler *c)
{
	return lex(c, false);
}

int kl_lex_word(struct kl_compiler *c, enum kl_words words)
{
	return lex_word(c, words, false);
}

int kl_lex_pattern(struct kl_compiler *c, enum kl_words words)
{
	return lex_word(c, words, true);
}
