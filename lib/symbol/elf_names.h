/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of programs and libraries by offset in the file. Feeds elf_process.c. */
#ifndef KL_LIB_ELF_NAMES_H
#define KL_LIB_ELF_NAMES_H

#include "cfi.h"
#include "dwarf.h"

struct kl_elf_names;

/*
 * Read the symbols and the build id of an open file, and those of a separate debug file. Takes
 * ownership of @fd. @path: the file's path, or NULL. @mapped: map the files; only for a process
 * that may be killed if they are truncated. Debug information that must be linked first is always
 * mapped, so only such a process should use it. Returns NULL with errno if the file is not ELF or
 * cannot be read.
 */
struct kl_elf_names *kl_elf_names_open(int fd, const char *path, bool mapped);
void kl_elf_names_close(struct kl_elf_names *names);

/* The build id in hexadecimal; NULL if the file has none. */
const char *kl_elf_names_build_id(const struct kl_elf_names *names);

/* Function number @index of the symbol tables, sorted by address; NULL after the last. */
const char *kl_elf_names_function(const struct kl_elf_names *names, size_t index, uint64_t *address,
				  uint64_t *bytes);

/*
 * The functions at an offset in the file, innermost first: inlined functions, then the one that
 * contains them. @lines: use debug information, too. Returns their number, at most @room; 0 if
 * nothing is known.
 */
unsigned int kl_elf_names_find(struct kl_elf_names *names, uint64_t place, bool lines,
			       struct kl_dwarf_frame *frame, unsigned int room);

/*
 * The variable at an address that is @distance bytes from the loaded address of @place, an offset
 * in the file. *@offset: from the start of the variable. NULL: there is none.
 */
const char *kl_elf_names_variable(struct kl_elf_names *names, uint64_t place, uint64_t distance,
				  uint64_t *offset);

/*
 * The address of a named object in the file: a symbol, or a section in a file that is not linked
 * yet. False: it does not exist, or there is no debug information.
 */
bool kl_elf_names_place(struct kl_elf_names *names, const char *name, uint64_t *address);

/* Like kl_dwarf_line(), for an address of the file; reads debug information on first use. */
bool kl_elf_names_line(struct kl_elf_names *names, uint64_t address, struct kl_dwarf_frame *frame);

/* The unwind table; empty if the file has none or is damaged. Compiled on first use. */
const struct kl_cfi_table *kl_elf_names_unwind(struct kl_elf_names *names);

/* Name number @index of the libraries that the file needs; NULL after the last. */
const char *kl_elf_names_needed(const struct kl_elf_names *names, size_t index);

#endif /* KL_LIB_ELF_NAMES_H */
