/* SPDX-License-Identifier: GPL-2.0 */
/* Which known name somebody may have meant, and which fit a pattern. */
#ifndef KL_LIB_NAMES_H
#define KL_LIB_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define KL_NEAR_BYTES 64

/* Zeroed by kl_near_init(); @best is the nearest name offered, NULL: none is near. */
struct kl_near {
	char name[KL_NEAR_BYTES];
	unsigned int distance; /* of the best, or the first that is too far */
	const char *best;
};

/* Edit distance of two names; long names are cut. */
unsigned int kl_name_distance(const char *a, const char *b);

/* What was written, @length bytes of it. */
void kl_near_init(struct kl_near *near, const char *name, size_t length);

/* @known must live as long as @near is used. */
void kl_near_offer(struct kl_near *near, const char *known);

/* Does a name fit a pattern as a shell has them? Quick where most names do not. */
bool kl_name_fits(const char *pattern, const char *name);

#endif /* KL_LIB_NAMES_H */
