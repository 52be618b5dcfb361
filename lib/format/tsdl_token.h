/* SPDX-License-Identifier: GPL-2.0 */
/* Tokens of TSDL, for tsdl_parse.c; implemented in tsdl_token.c. */
#ifndef KL_LIB_FORMAT_TSDL_TOKEN_H
#define KL_LIB_FORMAT_TSDL_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include <kernlens/metadata.h>

#define KL_TSDL_TEXT_MAX 512 /* maximum size of a name, string or help */

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
	char text[KL_TSDL_TEXT_MAX]; /* of a word, string or note; long ones are cut */
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

/* Only the first failure is reported; there are no tokens after it. */
void kl_parser_fail(struct kl_parser *p, const char *why);

/* Read the next token into @p, and return it. */
enum kl_token kl_parser_next(struct kl_parser *p);

bool kl_parser_is_sign(const struct kl_parser *p, char sign);

/* Read the next token, which must be @sign. */
void kl_parser_expect(struct kl_parser *p, char sign);

/* Skip to the closing brace and ';' of a block, from @depth braces inside it, or from before it. */
void kl_parser_skip(struct kl_parser *p, unsigned int depth);

#endif /* KL_LIB_FORMAT_TSDL_TOKEN_H */
