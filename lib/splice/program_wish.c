// SPDX-License-Identifier: GPL-2.0
/* Which blocks of a program a user means: taking the text apart, naming the events. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/program.h>

#include "../base/base.h"
#include "block_want.h"

#define PREFIX "block:"
#define NO_PATH "\"'=<>&|!(" /* of expressions: a filter may have a slash, too */

bool kl_program_wish_is(const char *text)
{
	size_t length = strcspn(text, ":,"), end = length;

	if (text[length] != ':')
		return false;
	if (*text == '/' || !strncmp(text, "./", 2) || !strncmp(text, "../", 3))
		return true;
	/* A filter ends with a slash. */
	while (end && isspace((unsigned char)text[end - 1]))
		end--;
	return end && text[end - 1] != '/' && memchr(text, '/', end) &&
	       strcspn(text, NO_PATH) >= length;
}

int kl_program_wish_parse(struct kl_program_wish *wish, const char *text)
{
	const char *what = strncmp(text, PREFIX, strlen(PREFIX)) ? text : text + strlen(PREFIX);
	const char *colon = strchr(what, ':');
	int ret = -EINVAL;

	*wish = (struct kl_program_wish){};
	if (colon && colon > what) {
		wish->path = strndup(what, (size_t)(colon - what));
		ret = wish->path ? kl_block_want_take(&wish->want, colon + 1) : -ENOMEM;
		/* A program has no modules. */
		if (!ret && strchr(wish->want.pattern, ':'))
			ret = -EINVAL;
	}
	if (!ret)
		return 0;
	kl_program_wish_free(wish);
	if (ret == -ENOMEM)
		return kl_fail(ENOMEM, "out of memory");
	return kl_fail(EINVAL,
		       "invalid block \"%s\"; expected PATH:FUNCTION[+OFFSET|#NUMBER][:post]",
		       text);
}

void kl_program_wish_free(struct kl_program_wish *wish)
{
	free(wish->path);
	kl_block_want_free(&wish->want);
	*wish = (struct kl_program_wish){};
}

int kl_program_wish_name(const struct kl_program_wish *wish, const char *function,
			 const struct kl_block_graph *graph, uint32_t block, char *name,
			 size_t bytes)
{
	const char *side = wish->want.behind ? ":post" : "";
	int n;

	if (wish->want.at_offset)
		n = snprintf(name, bytes, PREFIX "%s:%s+0x%x%s", wish->path, function,
			     graph->block[block].begin, side);
	else
		n = snprintf(name, bytes, PREFIX "%s:%s#%u%s", wish->path, function, block, side);
	return n < (int)bytes ?
		       0 :
		       kl_fail(EINVAL, "%s:%s: the names are too long", wish->path, function);
}
