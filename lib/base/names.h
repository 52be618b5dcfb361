/* SPDX-License-Identifier: GPL-2.0 */
/* Suggests the known name that a user may have meant, and matches names against patterns. */
#ifndef KL_LIB_NAMES_H
#define KL_LIB_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define KL_NEAR_BYTES 64

/* Zeroed by kl_near_init(). @best is the nearest name offered so far, or NULL if none is near. */
struct kl_near {
	char name[KL_NEAR_BYTES];
	unsigned int distance; /* of the best name, or the smallest that is too far */
	const char *best;
};

/* Edit distance of two names; long names are cut. */
unsigned int kl_name_distance(const char *a, const char *b);

/* Start a search for the name nearest to @length bytes at @name. */
void kl_near_init(struct kl_near *near, const char *name, size_t length);

/* Offer a candidate; @known must outlive @near. */
void kl_near_offer(struct kl_near *near, const char *known);

/* Does a name match a shell pattern? Fast for names that do not. */
bool kl_name_fits(const char *pattern, const char *name);

#endif /* KL_LIB_NAMES_H */
