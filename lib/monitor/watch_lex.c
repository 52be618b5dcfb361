// SPDX-License-Identifier: GPL-2.0
/* Words, strings, numbers with units, and errors of rules: the tokens for watch_parse.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/error.h>
#include "../base/base.h"
#include "watch_parse.h"

#define WORD_MAX 256

int kl_watch_fail(const struct kl_watch_parser *p, const char *at, const char *text)
{
	char said[300];

	snprintf(said, sizeof(said), "%s", text ? text : kl_error_text());
	return kl_fail(EINVAL, "%s:%u:%u: %s", p->file, p->line, (unsigned int)(at - p->start) + 1,
		       said);
}

void kl_watch_skip(struct kl_watch_parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
}

size_t kl_watch_name_length(const struct kl_watch_parser *p)
{
	const char *at = p->at;

	while (at < p->end && kl_watch_is_name(*at))
		at++;
	if (at > p->at && at < p->end && *at == '%')
		at++;
	else if (at > p->at && p->end - at >= 2 && !memcmp(at, "/s", 2) &&
		 (p->end - at == 2 || !kl_watch_is_name(at[2])))
		at += 2;
	return (size_t)(at - p->at);
}

bool kl_watch_take_word(struct kl_watch_parser *p, const char *word)
{
	size_t length = strlen(word);

	kl_watch_skip(p);
	if (kl_watch_name_length(p) != length || memcmp(p->at, word, length) != 0)
		return false;
	p->at += length;
	return true;
}

bool kl_watch_take_sign(struct kl_watch_parser *p, const char *sign)
{
	size_t length = strlen(sign);

	kl_watch_skip(p);
	if ((size_t)(p->end - p->at) < length || memcmp(p->at, sign, length) != 0)
		return false;
	p->at += length;
	return true;
}

char *kl_watch_take_text(struct kl_watch_parser *p, const char *ends)
{
	char text[WORD_MAX];
	size_t n = 0;
	bool quoted = false, some = false;

	kl_watch_skip(p);
	for (; p->at < p->end; p->at++) {
		char c = *p->at;

		if (c == '"') {
			quoted = !quoted;
			some = true;
			continue;
		}
		if (!quoted && (isspace((unsigned char)c) || strchr(ends, c)))
			break;
		if (quoted && c == '\\' && p->at + 1 < p->end)
			c = *++p->at;
		if (n + 1 < sizeof(text))
			text[n++] = c;
		some = true;
	}
	return some && !quoted && n + 1 < sizeof(text) ? strndup(text, n) : NULL;
}

/* ----------------------------------------------------------------- numbers */

static const struct {
	const char *unit;
	double factor;
	enum kl_watch_unit kind;
} units[] = {
	{ "ns", 1, KL_WATCH_TIME },	   { "us", 1e3, KL_WATCH_TIME },
	{ "ms", 1e6, KL_WATCH_TIME },	   { "s", 1e9, KL_WATCH_TIME },
	{ "min", 60e9, KL_WATCH_TIME },	   { "h", 3600e9, KL_WATCH_TIME },
	{ "d", 86400e9, KL_WATCH_TIME },   { "%", 1, KL_WATCH_PERCENT },
	{ "B", 1, KL_WATCH_BYTES },	   { "K", 1024.0, KL_WATCH_BYTES },
	{ "M", 0x1p20, KL_WATCH_BYTES },   { "G", 0x1p30, KL_WATCH_BYTES },
	{ "T", 0x1p40, KL_WATCH_BYTES },   { "KiB", 1024.0, KL_WATCH_BYTES },
	{ "MiB", 0x1p20, KL_WATCH_BYTES }, { "GiB", 0x1p30, KL_WATCH_BYTES },
	{ "TiB", 0x1p40, KL_WATCH_BYTES },
};

/* For counts, K, M, G and T are powers of 1000. */
static double count_factor(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *letter = *unit && !unit[1] ? strchr(letters, *unit) : NULL;
	double factor = 1000;

	if (!letter)
		return 0;
	while (letter-- > letters)
		factor *= 1000;
	return factor;
}

int kl_watch_take_number(struct kl_watch_parser *p, enum kl_watch_unit kind, double *number)
{
	const char *begin;
	char unit[8] = "", *end;
	size_t n = 0;

	kl_watch_skip(p);
	begin = p->at;
	if (p->at == p->end || !(isdigit((unsigned char)*p->at) || strchr("-.", *p->at)))
		return kl_watch_fail(p, begin, "expected a number");
	*number = strtod(p->at, &end);
	if (end == p->at || end > p->end)
		return kl_watch_fail(p, begin, "not a number");
	p->at = end;
	while (p->at < p->end && (isalpha((unsigned char)*p->at) || *p->at == '%') &&
	       n + 1 < sizeof(unit))
		unit[n++] = *p->at++;
	if (!n && kind == KL_WATCH_TIME && *number != 0)
		return kl_watch_fail(p, end, "a time requires a unit: ns us ms s min h d");
	if (!n)
		return 0;
	if (kind == KL_WATCH_COUNT && count_factor(unit) > 0) {
		*number *= count_factor(unit);
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].unit, unit) && units[i].kind == kind) {
			*number *= units[i].factor;
			return 0;
		}
	kl_fail(EINVAL, "invalid unit \"%s\": %s", unit,
		kind == KL_WATCH_BYTES	 ? "sizes take K M G T" :
		kind == KL_WATCH_TIME	 ? "times take ns us ms s min h d" :
		kind == KL_WATCH_PERCENT ? "expected %" :
					   "counts take K M G T (powers of 1000)");
	return kl_watch_fail(p, end, NULL);
}

int kl_watch_take_duration(struct kl_watch_parser *p, uint64_t *ns)
{
	const char *begin = p->at;
	double number;
	int error = kl_watch_take_number(p, KL_WATCH_TIME, &number);

	if (error)
		return error;
	/* This also rejects NaN. */
	if (!(number >= 0 && number <= 1e18))
		return kl_watch_fail(p, begin, "not a duration");
	*ns = (uint64_t)number;
	return 0;
}
