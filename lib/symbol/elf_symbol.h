/* SPDX-License-Identifier: GPL-2.0 */
/* Symbols of programs and their libraries, through libelf. */
#ifndef KL_LIB_SYMBOL_ELF_SYMBOL_H
#define KL_LIB_SYMBOL_ELF_SYMBOL_H

#include <stdint.h>

/*
 * The file offset of a function, which the kernel needs for a uprobe. Returns -ENOENT if @path has
 * no such function, or the error from opening it, with an error text.
 */
int kl_elf_file_offset(const char *path, const char *symbol, uint64_t *offset);

#endif /* KL_LIB_SYMBOL_ELF_SYMBOL_H */
