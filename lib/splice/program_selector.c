// SPDX-License-Identifier: GPL-2.0
/* Selects blocks of a program: parses the selector, and names the events. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/program.h>

#include "../base/base.h"
#include "block_want.h"

#define PREFIX "block:"
#define NO_PATH "\"'=<>&|!(" /* characters of expressions: a filter may contain a slash, too */

bool kl_program_selector_is(const char *text)
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

int kl_program_selector_parse(struct kl_program_selector *selector, const char *text)
{
	const char *what = strncmp(text, PREFIX, strlen(PREFIX)) ? text : text + strlen(PREFIX);
	const char *colon = strchr(what, ':');
	int ret = -EINVAL;

	*selector = (struct kl_program_selector){};
	if (colon && colon > what) {
		selector->path = strndup(what, (size_t)(colon - what));
		ret = selector->path ? kl_block_want_take(&selector->want, colon + 1) : -ENOMEM;
		/* A program has no modules. */
		if (!ret && strchr(selector->want.pattern, ':'))
			ret = -EINVAL;
	}
	if (!ret)
		return 0;
	kl_program_selector_free(selector);
	if (ret == -ENOMEM)
		return kl_fail(ENOMEM, "out of memory");
	return kl_fail(EINVAL,
		       "invalid block \"%s\"; expected PATH:FUNCTION[+OFFSET|#NUMBER][:post]",
		       text);
}

void kl_program_selector_free(struct kl_program_selector *selector)
{
	free(selector->path);
	kl_block_want_free(&selector->want);
	*selector = (struct kl_program_selector){};
}

int kl_program_selector_name(const struct kl_program_selector *selector, const char *function,
			     const struct kl_block_graph *graph, uint32_t block, char *name,
			     size_t bytes)
{
	const char *side = selector->want.behind ? ":post" : "";
	int n;

	if (selector->want.at_offset)
		n = snprintf(name, bytes, PREFIX "%s:%s+0x%x%s", selector->path, function,
			     graph->block[block].begin, side);
	else
		n = snprintf(name, bytes, PREFIX "%s:%s#%u%s", selector->path, function, block,
			     side);
	return n < (int)bytes ?
		       0 :
		       kl_fail(EINVAL, "%s:%s: the names are too long", selector->path, function);
}
