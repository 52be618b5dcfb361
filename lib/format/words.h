/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables from numbers to symbolic names, by format. words.c has the tables for system call
 * arguments, words_kernel.c those for the kernel's own values.
 */
#ifndef KL_LIB_FORMAT_WORDS_H
#define KL_LIB_FORMAT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include <kernlens/format.h>

struct kl_word {
	uint64_t number;
	const char *text;
};

/*
 * A number is split first: its bits under @choice_mask are one value of @choices; the rest are bits
 * of @flags. Either may be missing. Names of several bits precede those of their single bits.
 */
struct kl_words {
	const struct kl_word *choices;
	const struct kl_word *flags;
	uint16_t n_choices;
	uint16_t n_flags;
	uint64_t choice_mask; /* 0: no choices */
};

#define KL_WORD(name)                   \
	{                               \
		(uint64_t)(name), #name \
	}

/* Number of formats: the library's own, so that a new one leaves its interface as it is. */
enum {
#define KL_FORMAT(name, help) KL_FORMAT_INDEX_##name,
#include <kernlens/formats.def>
#undef KL_FORMAT
	KL_FORMAT_COUNT
};

extern const struct kl_words kl_words_call[KL_FORMAT_COUNT];
extern const struct kl_words kl_words_kernel[KL_FORMAT_COUNT];

/* The name of @number in @words, or NULL. */
const char *kl_word_find(const struct kl_word *words, size_t n, uint64_t number);

#endif /* KL_LIB_FORMAT_WORDS_H */
