/* SPDX-License-Identifier: GPL-2.0 */
/* The file that has what was stripped from another. */
#ifndef KL_LIB_SYMBOL_ELF_DEBUG_H
#define KL_LIB_SYMBOL_ELF_DEBUG_H

#include <libelf.h>

#define KL_BUILD_ID_MAX 32
#define KL_BUILD_ID_TEXT (2 * KL_BUILD_ID_MAX + 1)

/* In hexadecimal; empty if it has none. */
void kl_elf_build_id(Elf *elf, char text[KL_BUILD_ID_TEXT]);

/*
 * Open the debug file of @elf: by its build id under /usr/lib/debug/.build-id, or by its
 * .gnu_debuglink beside it (@path, or NULL), in .debug there, or under /usr/lib/debug.
 * Returns a descriptor of a regular file that belongs to it, or -1.
 */
int kl_elf_debug_open(Elf *elf, const char *build_id, const char *path);

#endif /* KL_LIB_SYMBOL_ELF_DEBUG_H */
