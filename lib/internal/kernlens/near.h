/* SPDX-License-Identifier: GPL-2.0 */
/* Suggests the known name that a user may have meant. */
#ifndef KERNLENS_NEAR_H
#define KERNLENS_NEAR_H

#include <stddef.h>

#define KL_NEAR_BYTES 64

/**
 * struct kl_near - search for the name that is nearest to another
 * @name: the name that is not known, cut to fit
 * @distance: of @best, or the smallest that is too far: in insertions, deletions, replacements
 *            and exchanges of neighboring characters
 * @best: the nearest name offered so far; NULL: none is near
 */
struct kl_near {
	char name[KL_NEAR_BYTES];
	unsigned int distance;
	const char *best;
};

/**
 * kl_near_init - start a search
 * @near: overwritten
 * @name: the name that is not known
 * @length: of @name, in bytes
 *
 * Names are near if they differ by one change plus one for every five bytes. Nothing is near a
 * single byte.
 */
void kl_near_init(struct kl_near *near, const char *name, size_t length);

/**
 * kl_near_offer - offer a name
 * @near: its @best becomes @known if that is nearer; a name that @name abbreviates to three bytes
 *        or more counts as one change away
 * @known: must outlive @near
 */
void kl_near_offer(struct kl_near *near, const char *known);

#endif /* KERNLENS_NEAR_H */
