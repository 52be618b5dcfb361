// SPDX-License-Identifier: GPL-2.0
/* Decides which bytes of a text are safe to print, for names and messages from any user. */
#include <string.h>

#include "plain.h"

size_t kl_utf8_length(const void *text, const void *end)
{
	const unsigned char *at = text;
	size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

	if (*at > 0xf4 || (const unsigned char *)end - at < (long)length)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* No overlong forms, no surrogates, nothing beyond U+10FFFF. */
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
	    (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
		return 0;
	return length;
}

size_t kl_plain_length(const void *text, const void *end)
{
	const unsigned char *at = text;

	if (*at < ' ' || *at == 0x7f)
		return 0;
	if (*at < 0x7f)
		return 1;
	/* C1 control characters are C2 80 to C2 9F. */
	if (*at == 0xc2 && (const unsigned char *)end - at > 1 && at[1] < 0xa0)
		return 0;
	return kl_utf8_length(at, end);
}

bool kl_is_plain(const char *text, size_t length)
{
	const char *end = text + length;

	while (text < end) {
		size_t step = kl_plain_length(text, end);

		if (!step)
			return false;
		text += step;
	}
	return true;
}

void kl_make_plain(char *text, size_t length)
{
	char *end = text + length;

	while (text < end) {
		size_t step;

		/* Nearly all text is ASCII, and a list of symbols is long. */
		while (text < end && *text >= ' ' && *text < 0x7f)
			text++;
		if (text == end)
			return;
		step = kl_plain_length(text, end);
		if (!step)
			*text = '?';
		text += step ? step : 1;
	}
}

void kl_make_plain_message(char *text)
{
	for (;; text++) {
		size_t length = strcspn(text, "\n\t");

		kl_make_plain(text, length);
		text += length;
		if (!*text)
			return;
		if (*text == '\n' && strncmp(text + 1, "  ", 2) != 0)
			*text = '?';
	}
}
