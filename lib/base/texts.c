// SPDX-License-Identifier: GPL-2.0
/* A hash set of texts. Each text is stored together with its demangled form. */
#include <errno.h>
#include <stdlib.h>

#include "base.h"
#include "demangle.h"
#include "texts.h"

#define SLOTS_LEAST 1024u

struct kl_text {
	bool looked_up;
	char *demangled;
	char text[];
};

void kl_texts_deinit(struct kl_texts *texts)
{
	for (size_t i = 0; i < texts->slots; i++) {
		if (texts->slot[i])
			free(texts->slot[i]->demangled);
		free(texts->slot[i]);
	}
	free(texts->slot);
	*texts = (struct kl_texts){};
}

static struct kl_text **find(struct kl_text **slot, size_t n, const char *text)
{
	uint64_t hash = kl_hash_bytes(KL_HASH_START, text, strlen(text));
	size_t at = (hash ^ hash >> 32) & (n - 1);

	while (slot[at] && strcmp(slot[at]->text, text) != 0)
		at = (at + 1) & (n - 1);
	return &slot[at];
}

static int grow(struct kl_texts *texts)
{
	size_t n = texts->slots ? 2 * texts->slots : SLOTS_LEAST;
	struct kl_text **slot;

	if (2 * texts->n < texts->slots)
		return 0;
	slot = calloc(n, sizeof(struct kl_text *));
	if (!slot)
		return kl_fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < texts->slots; i++)
		if (texts->slot[i])
			*find(slot, n, texts->slot[i]->text) = texts->slot[i];
	free(texts->slot);
	texts->slot = slot;
	texts->slots = n;
	return 0;
}

int kl_texts_keep(struct kl_texts *texts, const char **text)
{
	struct kl_text **slot;
	size_t bytes;

	if (!*text)
		return 0;
	if (grow(texts))
		return -ENOMEM;
	slot = find(texts->slot, texts->slots, *text);
	if (!*slot) {
		bytes = strlen(*text) + 1;
		*slot = malloc(sizeof(struct kl_text) + bytes);
		if (!*slot)
			return kl_fail(ENOMEM, "out of memory");
		**slot = (struct kl_text){};
		memcpy((*slot)->text, *text, bytes);
		texts->n++;
	}
	*text = (*slot)->text;
	return 0;
}

const char *kl_texts_demangled(struct kl_texts *texts, const char *text)
{
	struct kl_text *of = *find(texts->slot, texts->slots, text);

	if (!of->looked_up)
		of->demangled = kl_demangle(text);
	of->looked_up = true;
	return of->demangled;
}
