/* SPDX-License-Identifier: GPL-2.0 */
/* Stores each distinct text once. */
#ifndef KL_LIB_BASE_TEXTS_H
#define KL_LIB_BASE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

struct kl_text;

/* Zeroed: empty. */
struct kl_texts {
	struct kl_text **slot; /* open addressing; @slots is a power of two */
	size_t slots;
	size_t n;
};

void kl_texts_deinit(struct kl_texts *texts);

/*
 * Replace *@text with our own copy, the same one for equal texts. NULL stays NULL. Returns -ENOMEM.
 */
int kl_texts_keep(struct kl_texts *texts, const char **text);

/*
 * The demangled form of a stored text, computed once; NULL if it has none. @text: as
 * kl_texts_keep() returned it.
 */
const char *kl_texts_demangled(struct kl_texts *texts, const char *text);

#endif /* KL_LIB_BASE_TEXTS_H */
