/* SPDX-License-Identifier: GPL-2.0 */
/* Symbols of programs and their libraries, through libelf. */
#ifndef KL_LIB_SYMBOL_ELF_SYMBOL_H
#define KL_LIB_SYMBOL_ELF_SYMBOL_H

#include <stdint.h>

/*
 * Where a function begins in its file: what the kernel wants to know for a
 * uprobe. Returns -ENOENT if @path has no such function, or what opening it
 * said, with an error text.
 */
int kl_elf_file_offset(const char *path, const char *symbol, uint64_t *offset);

#endif /* KL_LIB_SYMBOL_ELF_SYMBOL_H */
