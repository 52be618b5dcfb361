/* SPDX-License-Identifier: GPL-2.0 */
/* The unwind table of an ELF file. */
#ifndef KL_LIB_SYMBOL_ELF_UNWIND_H
#define KL_LIB_SYMBOL_ELF_UNWIND_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"

/*
 * Compile the call frame information of a program or library: .eh_frame, or else .debug_frame of
 * the file or of its separate debug file @debug, or NULL. @table: empty; the caller calls
 * kl_cfi_deinit(). A file without any gives an empty table. Returns 0, or a negative errno with an
 * error text.
 */
int kl_elf_unwind(Elf *elf, Elf *debug, struct kl_cfi_table *table);

/*
 * Where the function at an address begins, as the index of .eh_frame has it, which also stripped
 * files contain. False: the file has no index, or no function begins within the 1 MiB before the
 * address.
 */
bool kl_elf_function_start(Elf *elf, uint64_t address, uint64_t *start);

#endif /* KL_LIB_SYMBOL_ELF_UNWIND_H */
