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
 * @address: for a per-CPU variable its offset in each CPU's area
 * @name: name
 * @module: module that contains it; empty for the kernel itself
 * @type: as in nm(1): t and T are functions, other letters data
 */
struct kl_symbol {
	uint64_t address;
	const char *name;
	const char *module;
	char type;
};

/**
 * kl_symbols_open - read the symbols of a kernel
 * @path: file in the format of /proc/kallsyms; NULL: the running kernel's
 *
 * Takes some tens of milliseconds. The kernel shows all addresses as 0 to unprivileged users:
 * names are known then, addresses are not (kl_symbols_hidden()). Returns NULL with errno.
 */
struct kl_symbols *kl_symbols_open(const char *path);

/**
 * kl_symbols_close - free the symbols
 * @symbols: or NULL
 */
void kl_symbols_close(struct kl_symbols *symbols);

/**
 * kl_symbols_hidden - does the kernel hide all addresses?
 * @symbols: symbols
 */
bool kl_symbols_hidden(const struct kl_symbols *symbols);

/**
 * kl_symbols_find - a symbol by its name
 * @symbols: symbols
 * @name: NAME, or MODULE:NAME for that of one module only; "kernel:NAME" for the kernel's own
 * @symbol: out: the first of that name; the kernel's own come before those of modules
 *
 * Returns the number of symbols of that name (static functions of several files may share one),
 * -ENOENT if there is none, or -EACCES if its address is hidden; errors have an error text.
 * @symbol is also set for -EACCES.
 */
int kl_symbols_find(const struct kl_symbols *symbols, const char *name, struct kl_symbol *symbol);

/**
 * kl_symbols_lookup - a symbol that may not exist, by its name
 * @symbols: symbols
 * @name: as for kl_symbols_find()
 * @symbol: out: the first of that name; its address is 0 if hidden
 *
 * Returns the number of symbols of that name. Sets no error text.
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
 * Returns 0, -ENOENT for addresses before the first symbol or more than 16 MiB after one, or
 * -EACCES if addresses are hidden; errors have an error text.
 */
int kl_symbols_at(const struct kl_symbols *symbols, uint64_t address, struct kl_symbol *symbol,
		  uint64_t *offset);

/**
 * kl_symbols_around - the symbol that contains an address, or may contain it
 * @symbols: symbols
 * @address: of the kernel
 * @symbol: out
 * @offset: out: bytes from the symbol to @address
 *
 * Like kl_symbols_at(), but also returns -ENOENT if the symbol is the last one of the kernel
 * itself or of its module, since its size is unknown then.
 */
int kl_symbols_around(const struct kl_symbols *symbols, uint64_t address, struct kl_symbol *symbol,
		      uint64_t *offset);

/**
 * kl_symbols_next - iterate over matching symbols, by address
 * @symbols: symbols
 * @pattern: shell pattern (* ? [a-z]), or MODULE:PATTERN; NULL: all
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
