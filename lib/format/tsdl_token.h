/* SPDX-License-Identifier: GPL-2.0 */
/* Tokens of TSDL, for tsdl_parse.c; tsdl_token.c has them. */
#ifndef KL_LIB_FORMAT_TSDL_TOKEN_H
#define KL_LIB_FORMAT_TSDL_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/metadata.h>

#define KL_TSDL_TEXT_MAX 512 /* of a name, string or help */

enum kl_token {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_NOTE, /* a comment that starts with @, without the @ */
	TOKEN_SIGN, /* one character */
};

struct kl_parser {
	const char *at;
	const char *end;
	unsigned int line;
	enum kl_token token;
	char text[KL_TSDL_TEXT_MAX]; /* of a word, string or note, cut at the size */
	char sign;
	int64_t number;
	int error;
	struct kl_schema *schema;
	struct kl_trace_info *info;
	int64_t format;
	char clock[32];
	uint64_t hz, offset, precision;
	int64_t offset_s;
	bool has_uuid;
};

/* The first failure counts; behind it there are no more tokens. */
void kl_parser_fail(struct kl_parser *p, const char *why);

/* The next token, which is also left in @p. */
enum kl_token kl_parser_next(struct kl_parser *p);

bool kl_parser_is_sign(const struct kl_parser *p, char sign);

/* The next token must be this. */
void kl_parser_expect(struct kl_parser *p, char sign);

/* From @depth braces inside a block, or before one, to behind its closing brace and ';'. */
void kl_parser_skip(struct kl_parser *p, unsigned int depth);

#endif /* KL_LIB_FORMAT_TSDL_TOKEN_H */
