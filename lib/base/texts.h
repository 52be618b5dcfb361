/* SPDX-License-Identifier: GPL-2.0 */
/* Texts that are kept once, however often they come. */
#ifndef KL_LIB_BASE_TEXTS_H
#define KL_LIB_BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

struct kl_text;

/* Zeroed: none yet. */
struct kl_texts {
	struct kl_text **slot; /* open addressing; a power of two of them */
	size_t slots;
	size_t n;
};

void kl_texts_deinit(struct kl_texts *texts);

/* Makes of *@text our own copy, which is always the same one. NULL stays. Returns -ENOMEM. */
int kl_texts_keep(struct kl_texts *texts, const char **text);

/*
 * What kl_demangle() makes of a text that is kept, asked once; NULL if that is nothing.
 * @text: as kl_texts_keep() left it.
 */
const char *kl_texts_demangled(struct kl_texts *texts, const char *text);

#endif /* KL_LIB_BASE_TEXTS_H */
