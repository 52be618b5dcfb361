/* SPDX-License-Identifier: GPL-2.0 */
/* Compares names, for suggestions (kernlens/near.h), and matches them against patterns. */
#ifndef KL_LIB_NAMES_H
#define KL_LIB_NAMES_H

#include <stdbool.h>

#include <kernlens/near.h>

/*
 * Number of insertions, deletions, replacements and exchanges of neighbors that make one name the
 * other (optimal string alignment). Names are cut to KL_NEAR_BYTES.
 */
unsigned int kl_name_distance(const char *a, const char *b);

bool kl_name_fits_rest(const char *pattern, const char *name);

/* Does a name match a shell pattern? */
static inline bool kl_name_fits(const char *pattern, const char *name)
{
	/* Most names differ in the first character, and a kernel has 100,000 of them. */
	return (*pattern == *name || *pattern == '*' || *pattern == '?' || *pattern == '[' ||
		*pattern == '\\') &&
	       kl_name_fits_rest(pattern, name);
}

#endif /* KL_LIB_NAMES_H */
