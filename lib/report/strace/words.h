/* SPDX-License-Identifier: GPL-2.0 */
/* Defines the lists of words.c and words_net.c. */
#ifndef KL_LIB_REPORT_STRACE_WORDS_H
#define KL_LIB_REPORT_STRACE_WORDS_H

#include "../../format/words.h"
#include "call.h"

/* NAMES(list, unknown, zero, words...): see struct kl_wordlist. */
#define NAMES(list, unknown_, zero_, ...)                             \
	static const struct kl_word list##_words[] = { __VA_ARGS__ }; \
	const struct kl_wordlist kl_words_##list = {                  \
		.words = list##_words,                                \
		.n = KL_ARRAY_SIZE(list##_words),                     \
		.unknown = unknown_,                                  \
		.zero = zero_,                                        \
	}

#endif /* KL_LIB_REPORT_STRACE_WORDS_H */
