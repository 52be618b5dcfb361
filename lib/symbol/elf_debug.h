/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the separate debug file of a stripped file. */
#ifndef KL_LIB_SYMBOL_ELF_DEBUG_H
#define KL_LIB_SYMBOL_ELF_DEBUG_H

#include <libelf.h>

#define KL_BUILD_ID_MAX 32
#define KL_BUILD_ID_TEXT (2 * KL_BUILD_ID_MAX + 1)

/* The build id in hexadecimal; empty if the file has none. */
void kl_elf_build_id(Elf *elf, char text[KL_BUILD_ID_TEXT]);

/*
 * Open the debug file of @elf: by build id under /usr/lib/debug/.build-id, or by .gnu_debuglink in
 * the directory of @path (may be NULL), in .debug there, or under /usr/lib/debug. Returns a
 * descriptor of a matching regular file, or -1.
 */
int kl_elf_debug_open(Elf *elf, const char *build_id, const char *path);

#endif /* KL_LIB_SYMBOL_ELF_DEBUG_H */
