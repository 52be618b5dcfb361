// SPDX-License-Identifier: GPL-2.0
/* Which blocks of a program a user means: taking the text apart, matching, naming the events. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kernlens/program.h>

#include "../base/base.h"

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

/* Takes ":post" and ":pre" off the end. */
static void take_side(struct kl_program_wish *wish)
{
	char *colon = strrchr(wish->pattern, ':');

	if (!colon || (strcmp(colon, ":post") != 0 && strcmp(colon, ":pre") != 0))
		return;
	wish->behind = !strcmp(colon, ":post");
	*colon = 0;
}

static bool take_number(struct kl_program_wish *wish)
{
	char *at = strpbrk(wish->pattern, "+#"), *rest;

	if (!at)
		return true;
	wish->at_offset = *at == '+';
	wish->at_number = *at == '#';
	*at++ = 0;
	wish->number = strtoull(at, &rest, 0);
	return isdigit((unsigned char)*at) && !*rest;
}

int kl_program_wish_parse(struct kl_program_wish *wish, const char *text)
{
	const char *what = strncmp(text, PREFIX, strlen(PREFIX)) ? text : text + strlen(PREFIX);
	const char *colon = strchr(what, ':');

	*wish = (struct kl_program_wish){};
	if (!colon)
		return kl_fail(EINVAL, "\"%s\" is not PATH:FUNCTION[+OFFSET|#NUMBER][:post]", text);
	wish->path = strndup(what, (size_t)(colon - what));
	wish->pattern = strdup(colon + 1);
	if (!wish->path || !wish->pattern) {
		kl_program_wish_free(wish);
		return kl_fail(ENOMEM, "out of memory");
	}
	take_side(wish);
	if (take_number(wish) && *wish->path && *wish->pattern && !strchr(wish->pattern, ':'))
		return 0;
	kl_program_wish_free(wish);
	return kl_fail(EINVAL, "\"%s\" is not PATH:FUNCTION[+OFFSET|#NUMBER][:post]", text);
}

void kl_program_wish_free(struct kl_program_wish *wish)
{
	free(wish->path);
	free(wish->pattern);
	*wish = (struct kl_program_wish){};
}

bool kl_program_wish_fits(const struct kl_program_wish *wish, const struct kl_block_graph *graph,
			  uint32_t block)
{
	if (wish->at_offset)
		return graph->block[block].begin == wish->number;
	return !wish->at_number || wish->number == block;
}

int kl_program_wish_name(const struct kl_program_wish *wish, const char *function,
			 const struct kl_block_graph *graph, uint32_t block, char *name,
			 size_t bytes)
{
	const char *side = wish->behind ? ":post" : "";
	int n;

	if (wish->at_offset)
		n = snprintf(name, bytes, PREFIX "%s:%s+0x%x%s", wish->path, function,
			     graph->block[block].begin, side);
	else
		n = snprintf(name, bytes, PREFIX "%s:%s#%u%s", wish->path, function, block, side);
	return n < (int)bytes ?
		       0 :
		       kl_fail(EINVAL, "%s:%s: the names are too long", wish->path, function);
}
