// SPDX-License-Identifier: GPL-2.0
/*
 * Suggests the known name that a user may have meant, by edit distance, and matches names against
 * patterns.
 */
#include <fnmatch.h>
#include <string.h>

#include "names.h"

unsigned int kl_name_distance(const char *a, const char *b)
{
	unsigned int rows[3][KL_NEAR_BYTES + 1], n = strnlen(b, KL_NEAR_BYTES);
	unsigned int *before = rows[0], *last = rows[1], *now = rows[2];

	for (unsigned int k = 0; k <= n; k++)
		last[k] = k;
	for (unsigned int i = 0; i < KL_NEAR_BYTES && a[i]; i++) {
		unsigned int *oldest = before;

		now[0] = i + 1;
		for (unsigned int k = 0; k < n; k++) {
			unsigned int change = last[k] + (a[i] != b[k]);

			if (last[k + 1] + 1 < change)
				change = last[k + 1] + 1;
			if (now[k] + 1 < change)
				change = now[k] + 1;
			if (i && k && a[i] == b[k - 1] && a[i - 1] == b[k] &&
			    before[k - 1] + 1 < change)
				change = before[k - 1] + 1;
			now[k + 1] = change;
		}
		before = last;
		last = now;
		now = oldest;
	}
	return last[n];
}

void kl_near_init(struct kl_near *near, const char *name, size_t length)
{
	if (length >= sizeof(near->name))
		length = sizeof(near->name) - 1;
	memcpy(near->name, name, length);
	near->name[length] = 0;
	near->best = NULL;
	near->distance = length > 1 ? 2 + length / 5 : 0;
}

void kl_near_offer(struct kl_near *near, const char *known)
{
	size_t length = strlen(near->name), other = strnlen(known, KL_NEAR_BYTES);
	bool is_short = length >= 3 && !strncmp(near->name, known, length);
	unsigned int distance;

	/* The difference in length is a lower bound of the distance. */
	if (!is_short && (length > other ? length - other : other - length) >= near->distance)
		return;
	distance = is_short ? 1 : kl_name_distance(near->name, known);
	if (distance >= near->distance)
		return;
	near->distance = distance;
	near->best = known;
}

/* Matches a name against a pattern in which only '*' is special. */
static bool fits_stars(const char *pattern, const char *name)
{
	const char *star = NULL, *again = name;

	for (;;) {
		if (*pattern == '*') {
			star = pattern++;
			again = name;
			if (!*pattern)
				return true;
		} else if (*pattern == *name) {
			if (!*name)
				return true;
			pattern++;
			name++;
		} else {
			if (!star || !*name)
				return false;
			pattern = star + 1;
			name = ++again;
		}
	}
}

bool kl_name_fits_rest(const char *pattern, const char *name)
{
	size_t plain = strcspn(pattern, "*?[\\");

	if (strncmp(pattern, name, plain) != 0)
		return false;
	pattern += plain;
	name += plain;
	/* fnmatch() converts everything to wide characters, which takes ten times as long. */
	return strpbrk(pattern, "?[\\") ? !fnmatch(pattern, name, 0) : fits_stars(pattern, name);
}
