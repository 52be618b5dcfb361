/* SPDX-License-Identifier: GPL-2.0 */
/* The unwind table of an ELF file. */
#ifndef KL_LIB_SYMBOL_ELF_UNWIND_H
#define KL_LIB_SYMBOL_ELF_UNWIND_H

#include <libelf.h>

#include "cfi.h"

/*
 * Compile the call frame information of a program or library: .eh_frame, or else .debug_frame of
 * the file or of its separate debug file @debug, or NULL. @table: empty; the caller calls
 * kl_cfi_deinit(). A file without any gives an empty table. Returns 0, or a negative errno with an
 * error text.
 */
int kl_elf_unwind(Elf *elf, Elf *debug, struct kl_cfi_table *table);

#endif /* KL_LIB_SYMBOL_ELF_UNWIND_H */
