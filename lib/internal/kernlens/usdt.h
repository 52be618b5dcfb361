/* SPDX-License-Identifier: GPL-2.0 */
/*
 * USDT markers of a program or library, as the macros of sys/sdt.h leave them: notes of the type
 * stapsdt, which name the marker, its location, its semaphore and where its arguments are.
 */
#ifndef KERNLENS_USDT_H
#define KERNLENS_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KL_USDT_ARGUMENTS_MAX 12 /* the most that the macros can pass */

enum kl_usdt_kind {
	KL_USDT_NONE, /* cannot be read: see @why */
	KL_USDT_CONSTANT, /* @number */
	KL_USDT_REGISTER, /* @base */
	KL_USDT_MEMORY, /* at the address @base + @index * @scale + @number */
	KL_USDT_ADDRESS, /* that address itself */
};

/**
 * struct kl_usdt_argument - where an argument is, at one location of a marker
 * @kind: which of the others are used
 * @bytes: 1, 2, 4 or 8
 * @is_signed: it is sign-extended
 * @is_32: addresses have 32 bits
 * @shift: bits of the register below the argument: 8 for %ah and the like
 * @scale: 1, 2, 4 or 8
 * @base: register by its number in instructions, or KL_BLOCK_IP; -1: none
 * @index: the same
 * @number: constant or displacement
 * @why: why it cannot be read, as in "is a floating-point number"; NULL if it can
 */
struct kl_usdt_argument {
	enum kl_usdt_kind kind;
	uint8_t bytes;
	bool is_signed;
	bool is_32;
	uint8_t shift;
	uint8_t scale;
	int8_t base;
	int8_t index;
	int64_t number;
	const char *why;
};

/**
 * struct kl_usdt_location - a place in the code where a marker is hit
 * @address: as in the file's symbol table
 * @offset: in the file
 * @semaphore: offset of its semaphore in the file; 0: it has none
 * @text: its arguments as the note has them
 * @n_arguments: number of arguments
 * @argument: parsed
 */
struct kl_usdt_location {
	uint64_t address;
	uint64_t offset;
	uint64_t semaphore;
	const char *text;
	unsigned int n_arguments;
	struct kl_usdt_argument argument[KL_USDT_ARGUMENTS_MAX];
};

/**
 * struct kl_usdt_type - type that an argument has at all locations of a marker
 * @bytes: of the widest
 * @is_signed: one of them is
 * @why: why it cannot be read at some location; NULL if it can be read at all
 */
struct kl_usdt_type {
	uint8_t bytes;
	bool is_signed;
	const char *why;
};

/**
 * struct kl_usdt_marker - a marker with all its locations
 * @provider: name of the provider
 * @name: name of the marker
 * @n_locations: at least 1
 * @location: by address
 * @n_arguments: the most that any location has
 * @type: of each argument
 */
struct kl_usdt_marker {
	const char *provider;
	const char *name;
	size_t n_locations;
	const struct kl_usdt_location *location;
	unsigned int n_arguments;
	struct kl_usdt_type type[KL_USDT_ARGUMENTS_MAX];
};

struct kl_usdt;

/**
 * kl_usdt_open - read the markers of a file
 * @path: ELF file for x86, of 64 or 32 bits
 *
 * Returns NULL with an error text and errno: EINVAL if the file or one of its notes is invalid, or
 * as open(2). A file without markers is no error.
 */
struct kl_usdt *kl_usdt_open(const char *path);

/**
 * kl_usdt_close - free the markers of a file
 * @usdt: or NULL
 */
void kl_usdt_close(struct kl_usdt *usdt);

/**
 * kl_usdt_marker - a marker
 * @usdt: markers of a file
 * @index: from 0, in the order of providers and names
 *
 * Returns NULL after the last.
 */
const struct kl_usdt_marker *kl_usdt_marker(const struct kl_usdt *usdt, size_t index);

/**
 * kl_usdt_next - find the next marker that matches
 * @usdt: markers of a file
 * @provider: name or pattern
 * @name: name or pattern
 * @position: 0 at first; advanced
 *
 * Returns NULL after the last.
 */
const struct kl_usdt_marker *kl_usdt_next(const struct kl_usdt *usdt, const char *provider,
					  const char *name, size_t *position);

/**
 * kl_usdt_fail_unknown - set the error text for a name that no marker has
 * @usdt: markers of a file
 * @path: the file, as the user wrote it
 * @provider: name or pattern
 * @name: name or pattern
 *
 * The text suggests the nearest name, or says that the file has no markers. Returns -ENOENT.
 */
int kl_usdt_fail_unknown(const struct kl_usdt *usdt, const char *path, const char *provider,
			 const char *name);

#endif /* KERNLENS_USDT_H */
