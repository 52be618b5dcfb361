/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's functions and variables by name and by address: /proc/kallsyms. */
#ifndef KERNLENS_SYMBOLS_H
#define KERNLENS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <kernlens/public.h>

KL_PUBLIC_BEGIN

#define KL_SYMBOLS_PATH "/proc/kallsyms"

struct kl_symbols;

/**
 * struct kl_symbol - a symbol of the kernel
 * @address: where it is; of a per-CPU variable its offset in each CPU's area
 * @name: name
 * @module: the module it belongs to; empty for the kernel itself
 * @type: as nm says: t and T are functions, other letters data
 */
struct kl_symbol {
	uint64_t address;
	const char *name;
	const char *module;
	char type;
};

/**
 * kl_symbols_open - read the symbols of a kernel
 * @path: file in the layout of /proc/kallsyms; NULL: the running kernel's
 *
 * Takes some tens of milliseconds. Without privilege the kernel writes each
 * address as 0; names are then known, addresses are not (kl_symbols_hidden()).
 * Returns NULL with errno.
 */
struct kl_symbols *kl_symbols_open(const char *path);

/**
 * kl_symbols_close - free them
 * @symbols: or NULL
 */
void kl_symbols_close(struct kl_symbols *symbols);

/**
 * kl_symbols_count - how many there are
 * @symbols: symbols
 */
size_t kl_symbols_count(const struct kl_symbols *symbols);

/**
 * kl_symbols_hidden - whether the kernel does not say any address
 * @symbols: symbols
 */
bool kl_symbols_hidden(const struct kl_symbols *symbols);

/**
 * kl_symbols_find - a symbol by its name
 * @symbols: symbols
 * @name: NAME, or MODULE:NAME for that of a module alone; "kernel:NAME" for
 *        the kernel's own
 * @symbol: out: the first of that name, the kernel's before those of modules
 *
 * Returns how many symbols of that name there are (static functions of several
 * files may share one), -ENOENT if there is none, -EACCES if its address is
 * hidden, each with an error text; @symbol is set in the last case too.
 */
int kl_symbols_find(const struct kl_symbols *symbols, const char *name, struct kl_symbol *symbol);

/**
 * kl_symbols_lookup - the same, of a symbol that may not be there
 * @symbols: symbols
 * @name: as for kl_symbols_find()
 * @symbol: out: the first of that name; its address is 0 if it is hidden
 *
 * Returns how many there are, without an error text.
 */
unsigned int kl_symbols_lookup(const struct kl_symbols *symbols, const char *name,
			       struct kl_symbol *symbol);

/**
 * kl_symbols_at - the symbol at or before an address
 * @symbols: symbols
 * @address: of the kernel
 * @symbol: out
 * @offset: out: bytes from the symbol to @address
 *
 * Returns -ENOENT for addresses before the first symbol or more than 16 MiB
 * behind one, -EACCES if addresses are hidden. Sets an error text.
 */
int kl_symbols_at(const struct kl_symbols *symbols, uint64_t address, struct kl_symbol *symbol,
		  uint64_t *offset);

/**
 * kl_symbols_around - the symbol that an address is in, which may be anything
 * @symbols: symbols
 * @address: of the kernel
 * @symbol: out
 * @offset: out: bytes from the symbol to @address
 *
 * As kl_symbols_at(), but -ENOENT also where no other symbol of the kernel itself, or of the
 * same module, is behind it: the list does not say how long the last one is.
 */
int kl_symbols_around(const struct kl_symbols *symbols, uint64_t address, struct kl_symbol *symbol,
		      uint64_t *offset);

/**
 * kl_symbols_next - go through symbols that match, by address
 * @symbols: symbols
 * @pattern: as for a shell (* ? [a-z]), or MODULE:PATTERN; NULL: all
 * @functions: only functions
 * @position: in and out: 0 to begin
 * @symbol: out
 *
 * Returns false after the last.
 */
bool kl_symbols_next(const struct kl_symbols *symbols, const char *pattern, bool functions,
		     size_t *position, struct kl_symbol *symbol);

KL_PUBLIC_END

#endif /* KERNLENS_SYMBOLS_H */
