/* SPDX-License-Identifier: GPL-2.0 */
/* Parses the arguments of a USDT marker. Feeds usdt.c. */
#ifndef KL_LIB_SYMBOL_USDT_ARGUMENT_H
#define KL_LIB_SYMBOL_USDT_ARGUMENT_H

#include <kernlens/usdt.h>

/**
 * struct kl_usdt_file - what arguments depend on, besides their text
 * @is_32: the file's code has 32 bits
 * @is_fixed: the file is loaded at its own addresses, so they can be used as they are
 * @address: of the marker, in the file
 * @find: address of a symbol in the file; false if it has none of that name
 * @data: passed to @find
 */
struct kl_usdt_file {
	bool is_32;
	bool is_fixed;
	uint64_t address;
	bool (*find)(void *data, const char *name, uint64_t *address);
	void *data;
};

/*
 * Parse all arguments of a marker. What cannot be parsed becomes an argument of the kind
 * KL_USDT_NONE. Returns their number, at most KL_USDT_ARGUMENTS_MAX.
 */
unsigned int kl_usdt_parse(const struct kl_usdt_file *file, const char *text,
			   struct kl_usdt_argument argument[KL_USDT_ARGUMENTS_MAX]);

#endif /* KL_LIB_SYMBOL_USDT_ARGUMENT_H */
