/* SPDX-License-Identifier: GPL-2.0 */
/* Finds functions and other symbols of a program in its file. */
#ifndef KL_LIB_SYMBOL_ELF_SYMBOL_H
#define KL_LIB_SYMBOL_ELF_SYMBOL_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The file offset of a function, which the kernel needs for a uprobe. Returns -ENOENT if @path has
 * no such function, -EINVAL if it is not an ELF file, or as kl_open_regular(), with an error text.
 */
int kl_elf_file_offset(const char *path, const char *symbol, uint64_t *offset);

/* The address of a symbol. @types: a bit for each type (STT_*) that it may have. */
bool kl_elf_find_symbol(Elf *elf, const char *name, uint32_t types, uint64_t *address);

/* The file offset that is loaded at @address; false: none is. */
bool kl_elf_to_offset(Elf *elf, uint64_t address, uint64_t *offset);

#endif /* KL_LIB_SYMBOL_ELF_SYMBOL_H */
