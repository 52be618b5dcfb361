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
	unsigned int row[KL_NEAR_BYTES + 1], n = strnlen(b, KL_NEAR_BYTES);

	for (unsigned int k = 0; k <= n; k++)
		row[k] = k;
	for (unsigned int i = 0; i < KL_NEAR_BYTES && a[i]; i++) {
		unsigned int corner = row[0]++;

		for (unsigned int k = 0; k < n; k++) {
			unsigned int change = corner + (a[i] != b[k]);

			corner = row[k + 1];
			if (row[k] + 1 < change)
				change = row[k] + 1;
			if (corner + 1 < change)
				change = corner + 1;
			row[k + 1] = change;
		}
	}
	return row[n];
}

void kl_near_init(struct kl_near *near, const char *name, size_t length)
{
	if (length >= sizeof(near->name))
		length = sizeof(near->name) - 1;
	memcpy(near->name, name, length);
	near->name[length] = 0;
	near->best = NULL;
	/*
	 * Two names are near if they differ by one change plus one for every five letters. Nothing
	 * is near a single letter.
	 */
	near->distance = length > 1 ? 2 + length / 5 : 0;
}

void kl_near_offer(struct kl_near *near, const char *known)
{
	size_t length = strlen(near->name), other = strnlen(known, KL_NEAR_BYTES);
	unsigned int distance;

	/* The difference in length is a lower bound of the distance. */
	if ((length > other ? length - other : other - length) >= near->distance)
		return;
	distance = kl_name_distance(near->name, known);
	if (distance >= near->distance)
		return;
	near->distance = distance;
	near->best = known;
}

bool kl_name_fits(const char *pattern, const char *name)
{
	size_t plain = strcspn(pattern, "*?[\\");

	/*
	 * Compare the literal prefix with strncmp(): fnmatch() converts everything to wide
	 * characters.
	 */
	if (strncmp(pattern, name, plain) != 0)
		return false;
	return pattern[plain] ? !fnmatch(pattern + plain, name + plain, 0) : !name[plain];
}
